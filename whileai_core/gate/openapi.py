"""The gate's OpenAPI description, from the table of its operations."""

from __future__ import annotations

from whileai_core.gate.operations import KEY, OPERATIONS, PAGE, PUBLIC, SESSION, Operation
from whileai_core.gate.schemas import SCHEMAS, TEXT, Schema, named
from whileai_core.version import __version__


def description() -> Schema:
    """Return the OpenAPI document."""
    paths: dict[str, Schema] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _described(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "whileai gate", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {
                KEY: {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
                SESSION: {"type": "http", "scheme": "bearer"},
            },
        },
    }


def _described(operation: Operation) -> Schema:
    described: Schema = {
        "summary": operation.summary,
        "parameters": _parameters(operation),
        "responses": _responses(operation),
        "security": [] if operation.auth == PUBLIC else [{operation.auth: []}],
    }
    content = _content(operation)
    return described | ({"requestBody": {"content": content}} if content else {})


def _content(operation: Operation) -> Schema:
    if operation.method == "put":
        return {media: {"schema": {"type": "string"}} for media in operation.media}
    if operation.body is None:
        return {}
    return {operation.takes: {"schema": operation.body}}


def _parameters(operation: Operation) -> list[Schema]:
    names = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    in_path = [{"name": n, "in": "path", "required": True, "schema": TEXT} for n in names]
    in_query = [{"name": n, "in": "query", "schema": s} for n, s in operation.query.items()]
    return in_path + in_query


def _responses(operation: Operation) -> Schema:
    responses: Schema = {}
    for status, schema in operation.answers.items():
        empty = operation.method == "put" or status == 303
        media_types = () if empty else operation.media
        content = {media: {"schema": schema} if schema else {} for media in media_types}
        responses[str(status)] = {"description": "Done", "content": content}
    error: Schema = {"application/json": {"schema": named("Error")}}
    if operation.media == (PAGE,):
        error |= {PAGE: {}}
    for status in sorted({*operation.refusals, *_common_refusals(operation)}):
        responses[str(status)] = {"description": _REASONS[status], "content": error}
    return responses


def _common_refusals(operation: Operation) -> tuple[int, ...]:
    body = (400, 413) if operation.body is not None else ()
    auth = () if operation.auth == PUBLIC else (401, 429)
    return (*body, *auth, 503)


_REASONS = {
    400: "Malformed",
    401: "No good credential",
    403: "The address is forged or has expired, or the form is another site's",
    404: "Not there, or not yours",
    408: "Took too long",
    409: "Not in this state",
    413: "Too large",
    415: "In no encoding this call takes",
    422: "The data is not JSONL",
    429: "Too many requests; Retry-After says when to try again",
    503: "The database is busy or away; Retry-After says when to try again",
}
