"""Counters of this process in the text format Prometheus reads."""

from __future__ import annotations

from collections import Counter, defaultdict

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
_REQUESTS = "whileai_gate_requests_total"
_SECONDS = "whileai_gate_request_seconds"


class Metrics:
    """Counts requests by method, route template and status: nothing that names anybody."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: defaultdict[tuple[str, str], float] = defaultdict(float)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answered request."""
        method = method if method in _METHODS else "other"  # a caller can make up any number
        self._requests[method, route, status] += 1
        self._seconds[method, route] += seconds

    def text(self) -> str:
        """Return all counters."""
        lines = [
            f"# HELP {_REQUESTS} Requests answered.",
            f"# TYPE {_REQUESTS} counter",
        ]
        answered: Counter[tuple[str, str]] = Counter()
        for (method, route, status), count in sorted(self._requests.items()):
            answered[method, route] += count
            lines.append(f'{_REQUESTS}{{{_labels(method, route)},status="{status}"}} {count}')
        lines += [
            f"# HELP {_SECONDS} Time from a request to the end of its answer.",
            f"# TYPE {_SECONDS} summary",
        ]
        for (method, route), seconds in sorted(self._seconds.items()):
            labels = _labels(method, route)
            lines.append(f"{_SECONDS}_sum{{{labels}}} {seconds:.6f}")
            lines.append(f"{_SECONDS}_count{{{labels}}} {answered[method, route]}")
        return "\n".join(lines) + "\n"


def _labels(method: str, route: str) -> str:
    return f'method="{method}",route="{route}"'
