"""The row: one conversation as a JSON object, its schema version, its identity, its task.

Schema (the peer's, version 1): `prompt` (first ask, text), `steps` (time-ordered list of
`{"tool", "arguments", "result"}`, `{"user": text}` and `{"text": text}`), `final_text` (last
reply, text), optional `reward` (0 or 1; absent means ungraded). Every other key rides along.
"""

from __future__ import annotations

import hashlib
from typing import Any, TypeAlias

from whileai_core import jsonio

Row: TypeAlias = dict[str, Any]
Step: TypeAlias = dict[str, Any]

SCHEMA_VERSION = "1"
KNOWN_VERSIONS = frozenset({"0", "1"})
TASK_IDS = ("scenario_id", "task_id")
ROWS_NAMED_IN_AN_ERROR = 5

# A row is one line of a dataset, which readers hold whole; the gate takes none that is longer.
LONGEST_LINE_BYTES = 64 * 1024 * 1024
# The longest row an intake makes; the rest is for what rows are given later (ids, a judge's words).
LONGEST_ROW_BYTES = LONGEST_LINE_BYTES - 4 * 1024 * 1024

# Keys that say where a row came from or how it was read. They never decide who it is.
BOOKKEEPING = frozenset({"row_id", "revision", "origin", "schema_version"})


def row_id(row: Row) -> str:
    """Return the stable identity of a row: 32 hex digits over its canonical content.

    Two deliveries of one conversation get the same id, whatever file, order or night they come
    in; rows that differ in any key but `BOOKKEEPING` get different ones.
    """
    content = {key: value for key, value in row.items() if key not in BOOKKEEPING}
    return hashlib.sha256(jsonio.canonical(content)).hexdigest()[:32]


def task_key(row: Row) -> str | None:
    """Return the task a row belongs to, or None when the row is a task of its own.

    The first of `scenario_id`, `task_id`, `prompt` that is given, as text.
    """
    for key in TASK_IDS:
        identity = given_id(row.get(key))
        if identity is not None:
            text = str(identity)
            return text if text.strip() else None
    prompt = row.get("prompt")
    text = str(prompt) if prompt else ""
    return text if text.strip() else None


def given_id(value: Any) -> Any:
    """Return an id if one is given, else None.

    An id of 0 is an id; NaN, as tables have it where there is nothing, is none. Whole numbers
    that a table made floats are whole numbers.
    """
    if isinstance(value, float):
        if value != value:
            return None
        value = int(value) if value.is_integer() else value
    return value if value or type(value) is int else None


def schema_findings(row: object) -> list[str]:
    """Name what is wrong with one row; an empty list means it is well-formed."""
    if not isinstance(row, dict):
        return ["not_a_dict"]
    if not row:
        return ["empty_row"]
    version = row.get("schema_version", "0")
    if not isinstance(version, str) or version not in KNOWN_VERSIONS:
        return [f"unknown_schema_version:{version}"]
    return _stamped_findings(row) if version == SCHEMA_VERSION else []


def _stamped_findings(row: Row) -> list[str]:
    findings = [
        finding
        for key, kind, finding in (
            ("prompt", str, "prompt_not_str"),
            ("steps", list, "steps_not_list"),
            ("final_text", str, "final_text_not_str"),
        )
        if key in row and not isinstance(row[key], kind)
    ]
    reward = row.get("reward")
    if isinstance(reward, bool):
        findings.append("reward_is_bool")
    elif reward is not None and not isinstance(reward, int | float):
        findings.append("reward_not_number")
    if "calibration" in row and not isinstance(row["calibration"], dict):
        findings.append("calibration_invalid")
    return findings
