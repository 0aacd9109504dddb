"""GenAI spans as agents send them, as OTLP/JSON and through the real OpenTelemetry exporter."""

from __future__ import annotations

import hashlib
import json
from typing import Any

SECOND = 1_000_000_000
START = 1_760_000_000 * SECOND


def hex_id(text: str, digits: int) -> str:
    """Return an id of hexadecimal digits that stands for a readable name."""
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


def trace_id(name: str) -> str:
    """Return the trace id of a named trace."""
    return hex_id(f"trace {name}", 32)


def span(trace: str, name: str, at: int = 0, **attributes: Any) -> dict[str, Any]:
    """Return one OTLP/JSON span; `at` are seconds, dots in names are double underscores."""
    return {
        "traceId": trace_id(trace),
        "spanId": hex_id(f"{trace} {name}", 16),
        "name": name,
        "kind": 3,
        "startTimeUnixNano": str(START + at * SECOND),
        "endTimeUnixNano": str(START + (at + 1) * SECOND),
        "attributes": [
            {"key": key.replace("__", "."), "value": {"stringValue": value}}
            for key, value in attributes.items()
        ],
        "status": {},
    }


def chat(trace: str, asked: str, said: str, at: int = 0, **more: Any) -> dict[str, Any]:
    """Return a model call of the GenAI conventions."""
    return span(
        trace,
        f"chat {at}",
        at,
        gen_ai__operation__name="chat",
        gen_ai__input__messages=message("user", asked),
        gen_ai__output__messages=message("assistant", said),
        **more,
    )


def message(role: str, text: str) -> str:
    """Return a list of one message, as attributes hold it."""
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def tool(trace: str, name: str, at: int = 0, result: str = "{}") -> dict[str, Any]:
    """Return a tool call."""
    return span(
        trace,
        f"execute_tool {name}",
        at,
        gen_ai__operation__name="execute_tool",
        gen_ai__tool__name=name,
        gen_ai__tool__call__id=f"call-{name}",
        gen_ai__tool__call__arguments="{}",
        gen_ai__tool__call__result=result,
    )


def request(*spans: dict[str, Any], service: str = "helpdesk", **resource: str) -> dict[str, Any]:
    """Return an OTLP/JSON request with one resource."""
    about = {"service.name": service} | {k.replace("__", "."): v for k, v in resource.items()}
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in about.items()]
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": attributes},
                "scopeSpans": [{"scope": {"name": "kit"}, "spans": list(spans)}],
            }
        ]
    }
