"""The JSON schemas that the gate's OpenAPI description speaks of."""

from __future__ import annotations

from typing import Any

from whileai_core.gate.fields import MODES, PURPOSES

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
ANYTHING: Schema = {}


def or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def object_of(required: Schema | None = None, **optional: Schema) -> Schema:
    needed = required or {}
    described: Schema = {"type": "object", "properties": needed | optional}
    return described | ({"required": sorted(needed)} if needed else {})


def list_of(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def named(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


MAYBE_TEXT = or_null(TEXT)
PURPOSE = or_null({"enum": [*PURPOSES, ""]})
MODE = or_null({"enum": [*MODES, ""]})
ABOUT = {
    "purpose": PURPOSE,
    "mode": MODE,
    "agent": MAYBE_TEXT,
    "description": MAYBE_TEXT,
}
PUBLISHING = object_of(namespace=MAYBE_TEXT, repo=MAYBE_TEXT, private=FLAG)
DATASET_FACTS = {
    "datasetId": TEXT,
    "name": TEXT,
    "purpose": MAYBE_TEXT,
    "mode": MAYBE_TEXT,
    "agent": MAYBE_TEXT,
    "description": MAYBE_TEXT,
    "rows": or_null(WHOLE),
    "sizeBytes": WHOLE,
}
CHECK = object_of(
    rows=list_of(object_of()),
    datasetId=TEXT,
    mode=MODE,
    band=list_of({"type": "number"}),
    policy=MAYBE_TEXT,
    model=MAYBE_TEXT,
    endorsed=list_of(TEXT),
    strict_hacks=FLAG,
    holdout={"type": "number"},
)
SCHEMAS: dict[str, Schema] = {
    "Error": object_of({"error": TEXT}),
    "Dataset": object_of(
        DATASET_FACTS
        | {
            "parentDatasetId": MAYBE_TEXT,
            "status": {"enum": ["pending", "importing", "ready", "failed"]},
            "createdAt": TEXT,
            "public": FLAG,
        },
        hf=named("Publication"),
        hfImport=object_of({"repo": TEXT, "split": TEXT}, error=TEXT),
    ),
    "Publication": object_of(
        {
            "status": {"enum": ["pushing", "done", "error"]},
            "repo": TEXT,
            "private": FLAG,
            "tag": TEXT,
        },
        publicRepo=TEXT,
        url=TEXT,
        commit=TEXT,
        split=TEXT,
        error=TEXT,
    ),
    "Card": object_of(DATASET_FACTS | {"publishedAt": MAYBE_TEXT}),
    "Grant": object_of(
        {
            "datasetId": TEXT,
            "parts": list_of(TEXT),
            "downloadUrl": TEXT,
            "expiresIn": WHOLE,
            "partSizes": list_of(WHOLE),
            "partSha256": list_of(TEXT),
        }
    ),
    "Agent": object_of(
        {
            "agent": TEXT,
            "name": TEXT,
            "description": MAYBE_TEXT,
            "tools": or_null(list_of(ANYTHING)),
            "system_prompt": MAYBE_TEXT,
            "traces": WHOLE,
            "datasets": {"type": "object", "additionalProperties": WHOLE},
            "public": WHOLE,
        }
    ),
    "Run": object_of(
        {"runId": TEXT, "name": MAYBE_TEXT, "status": TEXT, "createdAt": TEXT},
        hf=named("Publication"),
        adapter=object_of({"files": list_of(object_of({"path": TEXT, "sizeBytes": WHOLE}))}),
    ),
    "Verdict": object_of(
        {
            "ok": FLAG,
            "code": MAYBE_TEXT,
            "refusal": MAYBE_TEXT,
            "warnings": list_of(TEXT),
            "rows": WHOLE,
            "datasetId": MAYBE_TEXT,
            "report": object_of(),
        }
    ),
    "Credential": object_of(
        {"credential": TEXT, "name": TEXT, "ttlSeconds": WHOLE, "expiresAt": TEXT}
    ),
}
