"""The gate's OpenAPI description, from one table of its operations.

A test compares the table with the routes, and another one calls the gate by it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from whileai_core import __version__
from whileai_core.gate.deliveries import PROTOBUF
from whileai_core.gate.schemas import (
    ABOUT,
    ANYTHING,
    CHECK,
    FLAG,
    MAYBE_TEXT,
    SCHEMAS,
    TEXT,
    WHOLE,
    Schema,
    list_of,
    named,
    object_of,
    or_null,
)

_KEY, _SESSION, _PUBLIC = "key", "session", "public"


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
        {200: object_of({"status": TEXT, "version": TEXT})},
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
    _Operation("get", "/openapi.json", "This description", {200: object_of()}, auth=_PUBLIC),
    _Operation(
        "get",
        "/me",
        "The account behind the key",
        {200: object_of({"user_id": TEXT, "name": TEXT, "expires_at": MAYBE_TEXT})},
    ),
    _Operation("post", "/usage", "Usage of models", {200: object_of()}, body=object_of()),
    _Operation(
        "post",
        "/datasets",
        "Create a dataset",
        {201: object_of({"datasetId": TEXT, "uploadUrl": TEXT})},
        (404, 409),
        body=object_of({"name": TEXT}, parentDatasetId=MAYBE_TEXT, **ABOUT),
    ),
    _Operation(
        "get",
        "/datasets",
        "Own datasets, newest first",
        {200: object_of({"datasets": list_of(named("Dataset")), "usedBytes": WHOLE})},
    ),
    _Operation("get", "/datasets/{id}", "One dataset", {200: named("Dataset")}, (404,)),
    _Operation(
        "delete",
        "/datasets/{id}",
        "Delete a dataset with its data",
        {200: object_of({"deleted": FLAG, "datasetId": TEXT})},
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
        {200: named("Dataset")},
        (404, 409, 422),
        body=object_of(sizeBytes=or_null(WHOLE), sha256=MAYBE_TEXT),
    ),
    _Operation(
        "post",
        "/datasets/{id}/meta",
        "Change what is said of a dataset",
        {200: named("Dataset")},
        (404,),
        body=object_of(**ABOUT),
    ),
    _Operation(
        "get",
        "/datasets/{id}/preview",
        "The first rows",
        {200: object_of({"datasetId": TEXT, "rows": list_of(ANYTHING), "report": object_of()})},
        (404, 409),
    ),
    _Operation(
        "get",
        "/datasets/{id}/profile",
        "The trainer's numbers",
        {200: object_of({"profile": object_of({"rows": WHOLE, "graded": WHOLE})})},
        (404, 409),
        query={"force": TEXT},
    ),
    _Operation(
        "get",
        "/datasets/{id}/download",
        "Addresses of the parts",
        {200: named("Grant")},
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
        {200: named("Card")},
        (404, 409),
        body=object_of({"agent": TEXT}, description=MAYBE_TEXT),
    ),
    _Operation(
        "post",
        "/datasets/{id}/unpublish",
        "Take a dataset out of the catalog",
        {200: object_of({"datasetId": TEXT, "public": FLAG})},
        (404,),
    ),
    _Operation(
        "get",
        "/catalog",
        "Public datasets",
        {200: object_of({"datasets": list_of(named("Card")), "agents": list_of(TEXT)})},
        auth=_PUBLIC,
    ),
    _Operation(
        "get",
        "/catalog/{id}/download",
        "Addresses of a public dataset's parts",
        {200: named("Grant")},
        (404, 409),
        auth=_PUBLIC,
    ),
    _Operation(
        "post",
        "/check",
        "The publish gate's verdict on rows or on a dataset",
        {200: named("Verdict")},
        (404, 409),
        body=CHECK,
    ),
    _Operation(
        "get", "/agents", "Own agents", {200: object_of({"agents": list_of(named("Agent"))})}
    ),
    _Operation(
        "post",
        "/agents",
        "Create or change an agent",
        {200: named("Agent")},
        body=object_of(
            {"name": TEXT},
            description=MAYBE_TEXT,
            system_prompt=MAYBE_TEXT,
            tools=or_null(list_of(ANYTHING)),
        ),
    ),
    _Operation(
        "delete",
        "/agents/{slug}",
        "Delete an agent's record",
        {200: object_of({"deleted": FLAG, "agent": TEXT})},
        (400,),
    ),
    _Operation(
        "get",
        "/traces",
        "A page of own traces",
        {200: object_of({"traces": list_of(object_of({"traceId": TEXT})), "total": WHOLE})},
        (400,),
        query={"agent": TEXT, "from": TEXT, "limit": WHOLE, "page": WHOLE},
    ),
    _Operation(
        "delete",
        "/traces/{id}",
        "Delete a trace",
        {200: object_of({"deleted": FLAG, "traceId": TEXT})},
    ),
    _Operation(
        "post",
        "/v1/traces",
        "OTLP/HTTP spans",
        {202: object_of({"datasetId": MAYBE_TEXT, "rows": WHOLE})},
        (415,),
        body=object_of(resourceSpans=list_of(object_of())),
        media=("application/json", PROTOBUF),
    ),
    _Operation(
        "get",
        "/hf/me",
        "The Hugging Face account",
        {200: object_of({"connected": FLAG, "username": MAYBE_TEXT})},
    ),
    _Operation("post", "/datasets/import-hf", "Import from Hugging Face", {}, (409,)),
    _Operation("post", "/datasets/{id}/hf-publish", "Publish on Hugging Face", {}, (404, 409)),
    _Operation(
        "post",
        "/runs",
        "Begin a training run",
        {201: object_of({"runId": TEXT})},
        body=object_of(name=MAYBE_TEXT, config=ANYTHING, total_steps=or_null(WHOLE)),
    ),
    _Operation(
        "get", "/runs", "Own runs, newest first", {200: object_of({"runs": list_of(named("Run"))})}
    ),
    _Operation("get", "/runs/{id}", "One run with its log", {200: named("Run")}, (404,)),
    _Operation(
        "delete",
        "/runs/{id}",
        "Delete a run",
        {200: object_of({"deleted": FLAG, "runId": TEXT})},
        (404,),
    ),
    _Operation(
        "post",
        "/runs/{id}/log",
        "Add a log entry",
        {200: object_of({"runId": TEXT})},
        (404,),
        body=object_of(),
    ),
    _Operation(
        "post",
        "/runs/{id}/finish",
        "End a run",
        {200: named("Run")},
        (404,),
        body=object_of(status=MAYBE_TEXT),
    ),
    _Operation("post", "/runs/{id}/hf-publish", "Publish an adapter", {}, (404, 409)),
    _Operation(
        "post",
        "/auth/issue-credential",
        "Make a delegated credential",
        {200: named("Credential")},
        (409,),
        auth=_SESSION,
        body=object_of(name=MAYBE_TEXT, ttlSeconds=or_null({"type": "integer", "minimum": 1})),
    ),
    _Operation(
        "post",
        "/auth/refresh-credential",
        "Prolong a delegated credential",
        {200: named("Credential")},
        (404,),
        auth=_SESSION,
        body=object_of({"credential": TEXT}, ttlSeconds=or_null({"type": "integer", "minimum": 1})),
    ),
    _Operation(
        "post",
        "/auth/revoke-credential",
        "End a delegated credential",
        {200: object_of({"revoked": FLAG})},
        (404,),
        auth=_SESSION,
        body=object_of({"credential": TEXT}),
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
            "schemas": SCHEMAS,
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
    in_path = [{"name": n, "in": "path", "required": True, "schema": TEXT} for n in names]
    in_query = [{"name": n, "in": "query", "schema": s} for n, s in operation.query.items()]
    return in_path + in_query


def _responses(operation: _Operation) -> Schema:
    responses: Schema = {}
    media_types = () if operation.method == "put" else operation.media
    for status, schema in operation.answers.items():
        content = {media: {"schema": schema} if schema else {} for media in media_types}
        responses[str(status)] = {"description": "Done", "content": content}
    error = {"application/json": {"schema": named("Error")}}
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
