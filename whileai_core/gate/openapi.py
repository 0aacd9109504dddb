"""The gate's OpenAPI description, from one table of its operations.

A test compares the table with the routes, and another one calls the gate by it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from whileai_core import __version__
from whileai_core.gate.deliveries import PROTOBUF
from whileai_core.gate.fields import MODES, PURPOSES

Schema = dict[str, Any]

_KEY, _SESSION, _PUBLIC = "key", "session", "public"
_TEXT: Schema = {"type": "string"}
_WHOLE: Schema = {"type": "integer"}
_FLAG: Schema = {"type": "boolean"}
_ANYTHING: Schema = {}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _object(required: Schema | None = None, **optional: Schema) -> Schema:
    needed = required or {}
    described: Schema = {"type": "object", "properties": needed | optional}
    return described | ({"required": sorted(needed)} if needed else {})


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _named(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


_MAYBE_TEXT = _or_null(_TEXT)
_PURPOSE = _or_null({"enum": [*PURPOSES, ""]})
_MODE = _or_null({"enum": [*MODES, ""]})
_ABOUT = {
    "purpose": _PURPOSE,
    "mode": _MODE,
    "agent": _MAYBE_TEXT,
    "description": _MAYBE_TEXT,
}
_DATASET_FACTS = {
    "datasetId": _TEXT,
    "name": _TEXT,
    "purpose": _MAYBE_TEXT,
    "mode": _MAYBE_TEXT,
    "agent": _MAYBE_TEXT,
    "description": _MAYBE_TEXT,
    "rows": _or_null(_WHOLE),
    "sizeBytes": _WHOLE,
}
_SCHEMAS: dict[str, Schema] = {
    "Error": _object({"error": _TEXT}),
    "Dataset": _object(
        _DATASET_FACTS
        | {
            "parentDatasetId": _MAYBE_TEXT,
            "status": {"enum": ["pending", "importing", "ready", "failed"]},
            "createdAt": _TEXT,
            "public": _FLAG,
        }
    ),
    "Card": _object(_DATASET_FACTS | {"publishedAt": _MAYBE_TEXT}),
    "Grant": _object(
        {
            "datasetId": _TEXT,
            "parts": _list(_TEXT),
            "downloadUrl": _TEXT,
            "expiresIn": _WHOLE,
            "partSizes": _list(_WHOLE),
            "partSha256": _list(_TEXT),
        }
    ),
    "Agent": _object(
        {
            "agent": _TEXT,
            "name": _TEXT,
            "description": _MAYBE_TEXT,
            "tools": _or_null(_list(_ANYTHING)),
            "system_prompt": _MAYBE_TEXT,
            "traces": _WHOLE,
            "datasets": {"type": "object", "additionalProperties": _WHOLE},
            "public": _WHOLE,
        }
    ),
    "Run": _object({"runId": _TEXT, "name": _MAYBE_TEXT, "status": _TEXT, "createdAt": _TEXT}),
    "Credential": _object(
        {"credential": _TEXT, "name": _TEXT, "ttlSeconds": _WHOLE, "expiresAt": _TEXT}
    ),
}


@dataclass(frozen=True)
class _Operation:
    """One call.

    Attributes:
        method: In lower case.
        path: Template, as the routes have it.
        summary: What it does.
        answers: Status of success to the schema of its JSON; None for other content, which is
            nothing for uploads.
        refusals: Statuses it refuses with, besides those every call of its kind has.
        auth: Who may call it.
        body: Schema of the JSON body; None when the call takes none.
        query: Query parameters.
        media: Content types of body and answer where that is not JSON.
    """

    method: str
    path: str
    summary: str
    answers: dict[int, Schema | None]
    refusals: tuple[int, ...] = ()
    auth: str = _KEY
    body: Schema | None = None
    query: dict[str, Schema] = field(default_factory=dict)
    media: tuple[str, ...] = ("application/json",)


_OPERATIONS = (
    _Operation(
        "get",
        "/healthz",
        "Whether the database answers",
        {200: _object({"status": _TEXT, "version": _TEXT})},
        auth=_PUBLIC,
    ),
    _Operation(
        "get",
        "/metrics",
        "Counters for Prometheus",
        {200: None},
        auth=_PUBLIC,
        media=("text/plain",),
    ),
    _Operation("get", "/openapi.json", "This description", {200: _object()}, auth=_PUBLIC),
    _Operation(
        "get",
        "/me",
        "The account behind the key",
        {200: _object({"user_id": _TEXT, "name": _TEXT, "expires_at": _MAYBE_TEXT})},
    ),
    _Operation("post", "/usage", "Usage of models", {200: _object()}, body=_object()),
    _Operation(
        "post",
        "/datasets",
        "Create a dataset",
        {201: _object({"datasetId": _TEXT, "uploadUrl": _TEXT})},
        (404, 409),
        body=_object({"name": _TEXT}, parentDatasetId=_MAYBE_TEXT, **_ABOUT),
    ),
    _Operation(
        "get",
        "/datasets",
        "Own datasets, newest first",
        {200: _object({"datasets": _list(_named("Dataset")), "usedBytes": _WHOLE})},
    ),
    _Operation("get", "/datasets/{id}", "One dataset", {200: _named("Dataset")}, (404,)),
    _Operation(
        "delete",
        "/datasets/{id}",
        "Delete a dataset with its data",
        {200: _object({"deleted": _FLAG, "datasetId": _TEXT})},
        (404,),
    ),
    _Operation(
        "put",
        "/upload/{token}",
        "Upload a dataset's rows",
        {200: None},
        (403, 404, 408, 409, 413),
        auth=_PUBLIC,
        media=("application/jsonl",),
    ),
    _Operation(
        "post",
        "/datasets/{id}/finalize",
        "Make the upload the data",
        {200: _named("Dataset")},
        (404, 409, 422),
        body=_object(sizeBytes=_or_null(_WHOLE), sha256=_MAYBE_TEXT),
    ),
    _Operation(
        "post",
        "/datasets/{id}/meta",
        "Change what is said of a dataset",
        {200: _named("Dataset")},
        (404,),
        body=_object(**_ABOUT),
    ),
    _Operation(
        "get",
        "/datasets/{id}/preview",
        "The first rows",
        {200: _object({"datasetId": _TEXT, "rows": _list(_ANYTHING), "report": _object()})},
        (404, 409),
    ),
    _Operation(
        "get",
        "/datasets/{id}/profile",
        "The trainer's numbers",
        {200: _object({"profile": _object({"rows": _WHOLE, "graded": _WHOLE})})},
        (404, 409),
        query={"force": _TEXT},
    ),
    _Operation(
        "get",
        "/datasets/{id}/download",
        "Addresses of the parts",
        {200: _named("Grant")},
        (404, 409),
    ),
    _Operation(
        "get",
        "/parts/{token}",
        "The bytes of a part",
        {200: None},
        (403, 404),
        auth=_PUBLIC,
        media=("application/jsonl",),
    ),
    _Operation(
        "post",
        "/datasets/{id}/publish",
        "Make a dataset public",
        {200: _named("Card")},
        (404, 409),
        body=_object({"agent": _TEXT}, description=_MAYBE_TEXT),
    ),
    _Operation(
        "post",
        "/datasets/{id}/unpublish",
        "Take a dataset out of the catalog",
        {200: _object({"datasetId": _TEXT, "public": _FLAG})},
        (404,),
    ),
    _Operation(
        "get",
        "/catalog",
        "Public datasets",
        {200: _object({"datasets": _list(_named("Card")), "agents": _list(_TEXT)})},
        auth=_PUBLIC,
    ),
    _Operation(
        "get",
        "/catalog/{id}/download",
        "Addresses of a public dataset's parts",
        {200: _named("Grant")},
        (404, 409),
        auth=_PUBLIC,
    ),
    _Operation("get", "/agents", "Own agents", {200: _object({"agents": _list(_named("Agent"))})}),
    _Operation(
        "post",
        "/agents",
        "Create or change an agent",
        {200: _named("Agent")},
        body=_object(
            {"name": _TEXT},
            description=_MAYBE_TEXT,
            system_prompt=_MAYBE_TEXT,
            tools=_or_null(_list(_ANYTHING)),
        ),
    ),
    _Operation(
        "delete",
        "/agents/{slug}",
        "Delete an agent's record",
        {200: _object({"deleted": _FLAG, "agent": _TEXT})},
        (400,),
    ),
    _Operation(
        "get",
        "/traces",
        "A page of own traces",
        {200: _object({"traces": _list(_object({"traceId": _TEXT})), "total": _WHOLE})},
        (400,),
        query={"agent": _TEXT, "from": _TEXT, "limit": _WHOLE, "page": _WHOLE},
    ),
    _Operation(
        "delete",
        "/traces/{id}",
        "Delete a trace",
        {200: _object({"deleted": _FLAG, "traceId": _TEXT})},
    ),
    _Operation(
        "post",
        "/v1/traces",
        "OTLP/HTTP spans",
        {202: _object({"datasetId": _MAYBE_TEXT, "rows": _WHOLE})},
        (415,),
        body=_object(resourceSpans=_list(_object())),
        media=("application/json", PROTOBUF),
    ),
    _Operation(
        "get",
        "/hf/me",
        "The Hugging Face account",
        {200: _object({"connected": _FLAG, "username": _MAYBE_TEXT})},
    ),
    _Operation("post", "/datasets/import-hf", "Import from Hugging Face", {}, (409,)),
    _Operation("post", "/datasets/{id}/hf-publish", "Publish on Hugging Face", {}, (404, 409)),
    _Operation(
        "post",
        "/runs",
        "Begin a training run",
        {201: _object({"runId": _TEXT})},
        body=_object(name=_MAYBE_TEXT, config=_ANYTHING, total_steps=_or_null(_WHOLE)),
    ),
    _Operation(
        "get", "/runs", "Own runs, newest first", {200: _object({"runs": _list(_named("Run"))})}
    ),
    _Operation("get", "/runs/{id}", "One run with its log", {200: _named("Run")}, (404,)),
    _Operation(
        "delete",
        "/runs/{id}",
        "Delete a run",
        {200: _object({"deleted": _FLAG, "runId": _TEXT})},
        (404,),
    ),
    _Operation(
        "post",
        "/runs/{id}/log",
        "Add a log entry",
        {200: _object({"runId": _TEXT})},
        (404,),
        body=_object(),
    ),
    _Operation(
        "post",
        "/runs/{id}/finish",
        "End a run",
        {200: _named("Run")},
        (404,),
        body=_object(status=_MAYBE_TEXT),
    ),
    _Operation("post", "/runs/{id}/hf-publish", "Publish an adapter", {}, (404, 409)),
    _Operation(
        "post",
        "/auth/issue-credential",
        "Make a delegated credential",
        {200: _named("Credential")},
        (409,),
        auth=_SESSION,
        body=_object(name=_MAYBE_TEXT, ttlSeconds=_or_null({"type": "integer", "minimum": 1})),
    ),
    _Operation(
        "post",
        "/auth/refresh-credential",
        "Prolong a delegated credential",
        {200: _named("Credential")},
        (404,),
        auth=_SESSION,
        body=_object({"credential": _TEXT}, ttlSeconds=_or_null({"type": "integer", "minimum": 1})),
    ),
    _Operation(
        "post",
        "/auth/revoke-credential",
        "End a delegated credential",
        {200: _object({"revoked": _FLAG})},
        (404,),
        auth=_SESSION,
        body=_object({"credential": _TEXT}),
    ),
)


def description() -> Schema:
    """Return the OpenAPI document."""
    paths: dict[str, Schema] = {}
    for operation in _OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _described(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "whileai gate", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {
                _KEY: {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
                _SESSION: {"type": "http", "scheme": "bearer"},
            },
        },
    }


def _described(operation: _Operation) -> Schema:
    described: Schema = {
        "summary": operation.summary,
        "parameters": _parameters(operation),
        "responses": _responses(operation),
        "security": [] if operation.auth == _PUBLIC else [{operation.auth: []}],
    }
    content = _content(operation)
    return described | ({"requestBody": {"content": content}} if content else {})


def _content(operation: _Operation) -> Schema:
    if operation.method == "put":
        return {media: {"schema": {"type": "string"}} for media in operation.media}
    if operation.body is None:
        return {}
    return {"application/json": {"schema": operation.body}}


def _parameters(operation: _Operation) -> list[Schema]:
    names = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    in_path = [{"name": n, "in": "path", "required": True, "schema": _TEXT} for n in names]
    in_query = [{"name": n, "in": "query", "schema": s} for n, s in operation.query.items()]
    return in_path + in_query


def _responses(operation: _Operation) -> Schema:
    responses: Schema = {}
    media_types = () if operation.method == "put" else operation.media
    for status, schema in operation.answers.items():
        content = {media: {"schema": schema} if schema else {} for media in media_types}
        responses[str(status)] = {"description": "Done", "content": content}
    error = {"application/json": {"schema": _named("Error")}}
    for status in sorted({*operation.refusals, *_common_refusals(operation)}):
        responses[str(status)] = {"description": _REASONS[status], "content": error}
    return responses


def _common_refusals(operation: _Operation) -> tuple[int, ...]:
    body = (400, 413) if operation.body is not None else ()
    auth = () if operation.auth == _PUBLIC else (401, 429)
    return (*body, *auth, 503)


_REASONS = {
    400: "Malformed",
    401: "No good credential",
    403: "The address is forged or has expired",
    404: "Not there, or not yours",
    408: "Took too long",
    409: "Not in this state",
    413: "Too large",
    415: "In no encoding this call takes",
    422: "The data is not JSONL",
    429: "Too many requests; Retry-After says when to try again",
    503: "The database is busy or away; Retry-After says when to try again",
}
