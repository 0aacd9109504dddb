"""The OpenAPI description is true: schemathesis calls the gate by it."""

from __future__ import annotations

import functools
from typing import Any

import schemathesis
from hypothesis import HealthCheck, settings
from otlp_kit import chat, request, trace_id
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from whileai_core.gate.app import create_app
from whileai_core.gate.openapi import description
from whileai_core.gate.settings import GateSettings

load_all_checks()
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@schemathesis.serializer("application/jsonl")
def _as_it_is(_context: Any, value: Any) -> bytes:
    return str(value).encode()


schema = schemathesis.openapi.from_dict(description())


def test_every_route_is_described_and_nothing_else(tmp_path: Any) -> None:
    app = create_app(GateSettings(folder=tmp_path))
    routes = {(m.lower(), r.path) for r in app.routes for m in r.methods - {"HEAD"}}
    paths = description()["paths"]
    assert routes == {(method, path) for path, methods in paths.items() for method in methods}


def test_the_description_is_served(user: Any) -> None:
    assert user.http.get("/openapi.json").json() == description()


@functools.cache  # once a test, since every test has a user of its own
def _existing(user: Any, path: str) -> dict[str, str]:
    """Make what a path is about; return the path parameters under which it is found."""
    first = path.split("/")[1]
    if "{" not in path:
        return {}
    if first == "runs":
        return {"id": user.call("POST", "/runs", 201, json={"name": "n"})["runId"]}
    if first == "traces":
        user.call("POST", "/v1/traces", 202, json=request(chat("a", "Rain?", "No.")))
        return {"id": trace_id("a")}
    dataset, upload = user.create(name="described")
    if first == "upload":
        return {"token": upload.rsplit("/", 1)[1]}
    user.http.put(upload, content=b'{"prompt": "a", "reward": 1}\n')
    user.call("POST", f"/datasets/{dataset}/finalize", 200)
    if first == "parts":
        part = user.call("GET", f"/datasets/{dataset}/download", 200)["downloadUrl"]
        return {"token": part.rsplit("/", 1)[1]}
    user.call("POST", f"/datasets/{dataset}/publish", 200, json={"agent": "described"})
    return {"slug": "described"} if first == "agents" else {"id": dataset}


@schema.parametrize()
@settings(
    max_examples=4,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_the_gate_answers_as_described(case: Any, served: Any, user: Any) -> None:
    headers = {"X-Api-Key": user.key, "Authorization": f"Bearer {user.key}"}
    call = {"base_url": served.origin, "headers": headers, "checks": CHECKS}
    case.call_and_validate(**call)
    if case.path_parameters:
        case.path_parameters.update(_existing(user, case.path))
        case.call_and_validate(**call)
