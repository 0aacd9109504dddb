"""Clients that push and pull all at once, and what of their rows comes back.

    python -m benchmarks.gate_load [--database sqlite|postgresql] [--clients 32] [--seconds 60]

Every client pushes sets of rows, pulls them back, compares, and at the end pulls all that it has
pushed once more. Exit code 1 when anything failed, or a row was lost or altered. Requests that the
gate slows down (429) are tried again by the client and are told apart.

    python -m benchmarks.gate_load --parts

compares a pull of 200 parts, each of which takes 20 ms, with fetching them one after the other.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from typing import Any

import httpx

from benchmarks.gate_kit import running_gate

_PARTS, _PART_SECONDS = 200, 0.020
_WANTED_RATIO = 7


def main() -> None:
    """Run what the arguments name."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--parts", action="store_true", help="measure the pull of many parts")
    args = parser.parse_args()
    fine = parts() if args.parts else load(args)
    sys.exit(0 if fine else 1)


# -- load


def load(args: argparse.Namespace) -> bool:
    """Let the clients work; tell what came of it."""
    with running_gate(args.database) as gate:
        keys = [gate.new_key(f"account-{number}") for number in range(4)]
        share = args.clients // args.processes
        with get_context("spawn").Pool(args.processes) as pool:
            orders = [
                (gate.origin, keys, args.seconds, range(first * share, (first + 1) * share))
                for first in range(args.processes)
            ]
            results = [one for some in pool.map(_work, orders) for one in some]
        asked = _requests(gate.origin)
        peak = gate.peak_megabytes()
        complaints = gate.complaints()
    took = [seconds for result in results for seconds in result["seconds"]]
    failures = [failure for result in results for failure in result["failures"]]
    wrong = [one for result in results for one in result["wrong"]]
    slowed = sum(count for (_, status), count in asked.items() if status == 429)
    broken = {key: count for key, count in asked.items() if key[1] >= 500 or key[1] == 0}
    sets, rows = (sum(result[name] for result in results) for name in ("sets", "rows"))
    print(
        f"{args.database}: {args.clients} clients, {args.seconds:g} s: {sets} sets of "
        f"{rows} rows pushed and pulled twice, {sum(asked.values())} requests, "
        f"{sets / args.seconds:.0f} sets/s; a push with its pull took "
        f"{statistics.median(took) * 1000:.0f} ms (p95 {_p95(took) * 1000:.0f} ms); "
        f"gate peak {peak:.0f} MB"
    )
    print(
        f"failures {len(failures)}, sets lost or altered {len(wrong)}, answers 429 {slowed}, "
        f"answers 5xx {sum(broken.values())}, complaints in the log {len(complaints)}"
    )
    for line in [*failures[:5], *wrong[:5], *map(str, broken), *complaints[:5]]:
        print("  ", line[:300])
    return not (failures or wrong or broken)


def _work(order: tuple[str, list[str], float, range]) -> list[dict[str, Any]]:
    origin, keys, seconds, numbers = order
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"WHILEAI_API_URL": origin, "WHILEAI_HOME": home}

        async def all_clients() -> list[dict[str, Any]]:
            end = time.monotonic() + seconds
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(_client(number, keys[number % len(keys)], end))
                    for number in numbers
                ]
            return [task.result() for task in tasks]

        return asyncio.run(all_clients())


async def _client(number: int, key: str, end: float) -> dict[str, Any]:
    import whileai_core as core

    chance = random.Random(number)
    result: dict[str, Any] = {"sets": 0, "rows": 0, "seconds": [], "failures": [], "wrong": []}
    pushed: list[tuple[str, list[Any]]] = []
    while time.monotonic() < end:
        rows = _rows(chance, f"{number}-{len(pushed)}")
        started = time.monotonic()
        try:
            entry = await core.push_rows(rows, f"load-{number}-{len(pushed)}", api_key=key)
            back = await core.pull(entry["datasetId"], api_key=key)
        except Exception as error:
            result["failures"].append(f"client {number}: {type(error).__name__}: {error}")
            continue
        result["seconds"].append(time.monotonic() - started)
        pushed.append((entry["datasetId"], rows))
        if back != rows:
            result["wrong"].append(f"{entry['datasetId']} came back altered at once")
    for dataset_id, rows in pushed:
        try:
            if await core.pull(dataset_id, api_key=key) != rows:
                result["wrong"].append(f"{dataset_id} is altered at the end")
        except Exception as error:
            result["failures"].append(f"client {number}: {type(error).__name__}: {error}")
    result["sets"] = len(pushed)
    result["rows"] = sum(len(rows) for _, rows in pushed)
    return result


def _rows(chance: random.Random, mark: str) -> list[Any]:
    return [
        {
            "prompt": f"{mark}-{n} é \u2028 漢",
            "steps": [{"tool": "t", "arguments": {"n": n}, "result": "x" * chance.randrange(400)}],
            "final_text": f"answer {chance.random()}",
            "reward": n % 2,
        }
        for n in range(chance.randrange(1, 60))
    ]


def _requests(origin: str) -> dict[tuple[str, int], int]:
    """Read how the gate has answered, by route, from its own counters."""
    found = {}
    for line in httpx.get(f"{origin}/metrics").text.splitlines():
        if line.startswith("whileai_gate_requests_total{"):
            labels, _, count = line.rpartition(" ")
            status = int(labels.rpartition('status="')[2].rstrip('"}'))
            found[labels, status] = int(count)
    return found


def _p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


# -- many parts


def parts() -> bool:
    """Compare pulling many slow parts with fetching them one after the other."""
    context = get_context("spawn")
    port = context.Queue()
    server = context.Process(target=_serve_parts, args=(port,), daemon=True)
    server.start()
    origin = f"http://127.0.0.1:{port.get()}"
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {
            "WHILEAI_API_URL": origin,
            "WHILEAI_API_KEY": "zp_benchmark",
            "WHILEAI_HOME": home,
        }
        expected = [{"n": number} for number in range(_PARTS)]
        ours, rows = _timed(_pull)
        theirs, other = _timed(lambda: _one_by_one(origin))
    server.kill()
    ratio = theirs / ours
    print(
        f"{_PARTS} parts of {_PART_SECONDS * 1000:.0f} ms: pull {ours:.2f} s, one after the other "
        f"{theirs:.2f} s, {ratio:.1f} times as fast (wanted: {_WANTED_RATIO})"
    )
    return rows == other == expected and ratio >= _WANTED_RATIO


def _pull() -> list[Any]:
    from whileai_core import sync

    rows: list[Any] = sync.pull("ds_1")
    return rows


def _one_by_one(origin: str) -> list[Any]:
    with httpx.Client() as client:
        return [client.get(f"{origin}/part/{number}").json() for number in range(_PARTS)]


def _timed(work: Callable[[], list[Any]]) -> tuple[float, list[Any]]:
    work()  # imports and connections of the first time
    started = time.monotonic()
    result = work()
    return time.monotonic() - started, result


def _serve_parts(port: Any) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _SlowParts)
    server.daemon_threads = True
    port.put(server.server_port)
    server.serve_forever()


class _SlowParts(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        if self.path.startswith("/part/"):
            time.sleep(_PART_SECONDS)
            body = b'{"n": %d}\n' % int(self.path.rpartition("/")[2])
        else:
            origin = f"http://{self.headers['Host']}"
            urls = ",".join(f'"{origin}/part/{number}"' for number in range(_PARTS))
            body = b'{"parts": [%b]}' % urls.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    main()
