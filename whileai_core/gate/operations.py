"""Every call the gate takes, as its OpenAPI description tells it.

A test compares the table with the routes, and another one calls the gate by it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from whileai_core.gate.deliveries import PROTOBUF
from whileai_core.gate.schemas import (
    ABOUT,
    ANYTHING,
    CHECK,
    FLAG,
    MAYBE_TEXT,
    PUBLISHING,
    TEXT,
    WHOLE,
    Schema,
    list_of,
    named,
    object_of,
    or_null,
)

KEY, SESSION, PUBLIC = "key", "session", "public"
PAGE = "text/html"
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Operation:
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
        takes: Content type of the body of a call that takes one.
    """

    method: str
    path: str
    summary: str
    answers: dict[int, Schema | None]
    refusals: tuple[int, ...] = ()
    auth: str = KEY
    body: Schema | None = None
    query: dict[str, Schema] = field(default_factory=dict)
    media: tuple[str, ...] = ("application/json",)
    takes: str = "application/json"


OPERATIONS = (
    Operation(
        "get",
        "/healthz",
        "Whether the database answers",
        {200: object_of({"status": TEXT, "version": TEXT})},
        auth=PUBLIC,
    ),
    Operation(
        "get",
        "/metrics",
        "Counters for Prometheus",
        {200: None},
        auth=PUBLIC,
        media=("text/plain",),
    ),
    Operation("get", "/openapi.json", "This description", {200: object_of()}, auth=PUBLIC),
    Operation(
        "get",
        "/me",
        "The account behind the key",
        {200: object_of({"user_id": TEXT, "name": TEXT, "expires_at": MAYBE_TEXT})},
    ),
    Operation("post", "/usage", "Usage of models", {200: object_of()}, body=object_of()),
    Operation(
        "post",
        "/datasets",
        "Create a dataset",
        {201: object_of({"datasetId": TEXT, "uploadUrl": TEXT})},
        (404, 409),
        body=object_of({"name": TEXT}, parentDatasetId=MAYBE_TEXT, **ABOUT),
    ),
    Operation(
        "get",
        "/datasets",
        "Own datasets, newest first",
        {200: object_of({"datasets": list_of(named("Dataset")), "usedBytes": WHOLE})},
    ),
    Operation("get", "/datasets/{id}", "One dataset", {200: named("Dataset")}, (404,)),
    Operation(
        "delete",
        "/datasets/{id}",
        "Delete a dataset with its data",
        {200: object_of({"deleted": FLAG, "datasetId": TEXT})},
        (404,),
    ),
    Operation(
        "put",
        "/upload/{token}",
        "Upload a dataset's rows",
        {200: None},
        (403, 404, 408, 409, 413),
        auth=PUBLIC,
        media=("application/jsonl",),
    ),
    Operation(
        "post",
        "/datasets/{id}/finalize",
        "Make the upload the data",
        {200: named("Dataset")},
        (404, 409, 422),
        body=object_of(sizeBytes=or_null(WHOLE), sha256=MAYBE_TEXT),
    ),
    Operation(
        "post",
        "/datasets/{id}/meta",
        "Change what is said of a dataset",
        {200: named("Dataset")},
        (404,),
        body=object_of(**ABOUT),
    ),
    Operation(
        "get",
        "/datasets/{id}/preview",
        "The first rows",
        {200: object_of({"datasetId": TEXT, "rows": list_of(ANYTHING), "report": object_of()})},
        (404, 409),
    ),
    Operation(
        "get",
        "/datasets/{id}/profile",
        "The trainer's numbers",
        {200: object_of({"profile": object_of({"rows": WHOLE, "graded": WHOLE})})},
        (404, 409),
        query={"force": TEXT},
    ),
    Operation(
        "get",
        "/datasets/{id}/download",
        "Addresses of the parts",
        {200: named("Grant")},
        (404, 409),
    ),
    Operation(
        "get",
        "/parts/{token}",
        "The bytes of a part",
        {200: None},
        (403, 404),
        auth=PUBLIC,
        media=("application/jsonl",),
    ),
    Operation(
        "post",
        "/datasets/{id}/publish",
        "Make a dataset public",
        {200: named("Card")},
        (404, 409),
        body=object_of({"agent": TEXT}, description=MAYBE_TEXT),
    ),
    Operation(
        "post",
        "/datasets/{id}/unpublish",
        "Take a dataset out of the catalog",
        {200: object_of({"datasetId": TEXT, "public": FLAG})},
        (404,),
    ),
    Operation(
        "get",
        "/catalog",
        "Public datasets",
        {200: object_of({"datasets": list_of(named("Card")), "agents": list_of(TEXT)})},
        auth=PUBLIC,
    ),
    Operation(
        "get",
        "/catalog/{id}/download",
        "Addresses of a public dataset's parts",
        {200: named("Grant")},
        (404, 409),
        auth=PUBLIC,
    ),
    Operation(
        "post",
        "/check",
        "The publish gate's verdict on rows or on a dataset",
        {200: named("Verdict")},
        (404, 409),
        body=CHECK,
    ),
    Operation(
        "get", "/agents", "Own agents", {200: object_of({"agents": list_of(named("Agent"))})}
    ),
    Operation(
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
    Operation(
        "delete",
        "/agents/{slug}",
        "Delete an agent's record",
        {200: object_of({"deleted": FLAG, "agent": TEXT})},
        (400,),
    ),
    Operation(
        "get",
        "/traces",
        "A page of own traces",
        {200: object_of({"traces": list_of(object_of({"traceId": TEXT})), "total": WHOLE})},
        (400,),
        query={"agent": TEXT, "from": TEXT, "limit": WHOLE, "page": WHOLE},
    ),
    Operation(
        "delete",
        "/traces/{id}",
        "Delete a trace",
        {200: object_of({"deleted": FLAG, "traceId": TEXT})},
    ),
    Operation(
        "post",
        "/v1/traces",
        "OTLP/HTTP spans",
        {202: object_of({"datasetId": MAYBE_TEXT, "rows": WHOLE})},
        (415,),
        body=object_of(resourceSpans=list_of(object_of())),
        media=("application/json", PROTOBUF),
    ),
    Operation(
        "get",
        "/hf/me",
        "The Hugging Face account",
        {
            200: object_of(
                {
                    "connected": FLAG,
                    "username": MAYBE_TEXT,
                    "namespaces": list_of(TEXT),
                    "scopes": list_of(TEXT),
                },
                error=TEXT,
            )
        },
        (409,),
    ),
    Operation(
        "post",
        "/datasets/import-hf",
        "Import from Hugging Face",
        {202: named("Dataset")},
        (409,),
        body=object_of(
            {"repo": TEXT},
            split=MAYBE_TEXT,
            config=MAYBE_TEXT,
            revision=MAYBE_TEXT,
            name=MAYBE_TEXT,
            max_rows=or_null({"type": "integer", "minimum": 1}),
            **ABOUT,
        ),
    ),
    Operation(
        "post",
        "/datasets/{id}/hf-publish",
        "Publish on Hugging Face",
        {202: object_of({"datasetId": TEXT, "hf": named("Publication")})},
        (404, 409),
        body=PUBLISHING,
    ),
    Operation(
        "post",
        "/runs",
        "Begin a training run",
        {201: object_of({"runId": TEXT})},
        body=object_of(name=MAYBE_TEXT, config=ANYTHING, total_steps=or_null(WHOLE)),
    ),
    Operation(
        "get", "/runs", "Own runs, newest first", {200: object_of({"runs": list_of(named("Run"))})}
    ),
    Operation("get", "/runs/{id}", "One run with its log", {200: named("Run")}, (404,)),
    Operation(
        "delete",
        "/runs/{id}",
        "Delete a run",
        {200: object_of({"deleted": FLAG, "runId": TEXT})},
        (404,),
    ),
    Operation(
        "post",
        "/runs/{id}/log",
        "Add a log entry",
        {200: object_of({"runId": TEXT})},
        (404,),
        body=object_of(),
    ),
    Operation(
        "post",
        "/runs/{id}/finish",
        "End a run",
        {200: named("Run")},
        (404,),
        body=object_of(status=MAYBE_TEXT),
    ),
    Operation(
        "post",
        "/runs/{id}/adapter",
        "Announce the files of an adapter",
        {
            201: object_of(
                {
                    "runId": TEXT,
                    "files": list_of(object_of({"path": TEXT, "uploadUrl": TEXT})),
                    "expiresIn": WHOLE,
                }
            )
        },
        (404,),
        body=object_of({"files": list_of(TEXT)}),
    ),
    Operation(
        "put",
        "/adapters/{token}",
        "Upload a file of an adapter",
        {200: None},
        (403, 404, 408, 413),
        auth=PUBLIC,
        media=("application/octet-stream",),
    ),
    Operation(
        "post",
        "/runs/{id}/hf-publish",
        "Publish an adapter",
        {202: object_of({"runId": TEXT, "hf": named("Publication")})},
        (404, 409),
        body=PUBLISHING,
    ),
    Operation(
        "post",
        "/auth/issue-credential",
        "Make a delegated credential",
        {200: named("Credential")},
        (409,),
        auth=SESSION,
        body=object_of(name=MAYBE_TEXT, ttlSeconds=or_null({"type": "integer", "minimum": 1})),
    ),
    Operation(
        "post",
        "/auth/refresh-credential",
        "Prolong a delegated credential",
        {200: named("Credential")},
        (404,),
        auth=SESSION,
        body=object_of({"credential": TEXT}, ttlSeconds=or_null({"type": "integer", "minimum": 1})),
    ),
    Operation(
        "post",
        "/auth/revoke-credential",
        "End a delegated credential",
        {200: object_of({"revoked": FLAG})},
        (404,),
        auth=SESSION,
        body=object_of({"credential": TEXT}),
    ),
    Operation(
        "get",
        "/",
        "The page of what the account has, for people; a form to sign in",
        {200: None},
        (404, 429),
        auth=PUBLIC,
        query={"section": TEXT, "page": WHOLE},
        media=(PAGE,),
    ),
    Operation(
        "get",
        "/data/{id}",
        "The page of an own or public dataset",
        {200: None},
        (404, 429),
        auth=PUBLIC,
        query={"profile": TEXT},
        media=(PAGE,),
    ),
    Operation(
        "post",
        "/sign-in",
        "A key for a cookie that opens pages",
        {303: None},
        (401, 403, 429),
        auth=PUBLIC,
        body=object_of({"key": TEXT}),
        media=(PAGE,),
        takes=FORM,
    ),
    Operation(
        "post",
        "/sign-out",
        "End the session of the cookie",
        {303: None},
        (403, 429),
        auth=PUBLIC,
        body=object_of(form_token=TEXT),
        media=(PAGE,),
        takes=FORM,
    ),
)
