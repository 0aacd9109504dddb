"""The columns of a published split: the same in every split and version, one rule for each.

`row_json` is the row, exactly: the text that was pushed, digit for digit. The other columns are
made from it, for people, trainers and the Hub's viewer; nothing is ever read back from them.

The JSON columns hold what every reader of such columns can carry: integers beyond 64 bits and
anything nested deeper than `_DEEPEST` stand there as text, NaN and infinities as null.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.hub.conversation import HARNESS, messages_of, session_text
from whileai_core.quality.grades import grade_of
from whileai_core.rows import task_key
from whileai_core.traces.intake import as_schema_row
from whileai_core.traces.toolset import tool_schemas

if TYPE_CHECKING:
    from whileai_core.rows import Row

EXACT = "row_json"
TEXT, WHOLE, NUMBER, JSON, JSON_LIST = "text", "whole", "number", "json", "json list"

# Name -> kind, in the order of the file. The names up to `file_path` are the Hub's own for agent
# traces; `messages` and `tools` are also what trainers read.
COLUMNS = {
    "prompt": TEXT,
    "messages": JSON_LIST,
    "tools": JSON_LIST,
    "metadata": JSON,
    "harness": TEXT,
    "session_id": TEXT,
    "sent_at": TEXT,
    "num_user_messages": WHOLE,
    "num_tool_calls": WHOLE,
    "trace": JSON,
    "file_path": TEXT,
    "steps": JSON_LIST,
    "final_text": TEXT,
    "reward": NUMBER,
    "task": TEXT,
    EXACT: TEXT,
}

_DEEPEST = 100
_LEAST, _MOST = -(2**63), 2**63 - 1
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # only an escape can spell half a character
_SESSION_KEYS = ("conversation_id", "session_id", "trace_id", "row_id")
# Keys that have a column of their own, or hold the conversation in another form.
_SHOWN = {"prompt", "steps", "final_text", "reward", "tools", "system"}
_NS = 1_000_000_000


def columns_of(text: str) -> dict[str, Any]:
    """Return the values of every column for one row; JSON columns as JSON text.

    Args:
        text: The row as JSON text; it becomes `row_json` as it is.
    """
    row = as_schema_row(_storable(text)) or {}
    messages = messages_of(row)
    session = _session_id(row, text)
    values = {
        "prompt": _text(row.get("prompt")),
        "messages": messages,
        "tools": _tools(row.get("tools")),
        "metadata": {key: kept for key, kept in row.items() if _is_metadata(key, kept)},
        "harness": HARNESS,
        "session_id": session,
        "sent_at": _instant(row.get("ts")),
        "num_user_messages": sum(message["role"] == "user" for message in messages),
        "num_tool_calls": sum(len(message.get("tool_calls", ())) for message in messages),
        "trace": session_text(messages, session, row.get("model")),
        "file_path": None,
        "steps": row["steps"] if isinstance(row.get("steps"), list) else [],
        "final_text": _text(row.get("final_text")),
        "reward": grade_of(row),
        "task": _text(task_key(row)),
    }
    return {name: _cell(values[name], kind) for name, kind in COLUMNS.items() if name != EXACT} | {
        EXACT: text
    }


def _storable(text: str) -> Any:
    """Return the value of a row with texts that UTF-8 can carry."""
    value = jsonio.loads(text)
    if not _SURROGATE.search(text):
        return value
    try:
        return jsonio.strict(value)
    except ValueError:  # too deep to be cleaned
        return None


def _cell(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind == JSON:
        return _json_text(value)
    if kind == JSON_LIST:
        return [_json_text(item) for item in value]
    return float(value) if kind == NUMBER else value


def _json_text(value: Any) -> str:
    return jsonio.dumps(_carried(value, _DEEPEST)).decode()


def _carried(value: Any, levels: int) -> Any:
    if isinstance(value, dict | list) and not levels:
        return _as_text(value)
    if isinstance(value, dict):
        return {key: _carried(child, levels - 1) for key, child in value.items()}
    if isinstance(value, list):
        return [_carried(child, levels - 1) for child in value]
    if isinstance(value, int) and not _LEAST <= value <= _MOST:
        return str(value)
    return value


def _as_text(value: Any) -> str:
    try:
        return jsonio.text(value)
    except ValueError:
        return jsonio.TOO_DEEP


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _tools(value: object) -> list[dict[str, Any]]:
    return [
        {"type": "function", "function": schema}
        for schema in tool_schemas(value if isinstance(value, list) else None, strict=False)
    ]


def _is_metadata(key: str, value: object) -> bool:
    return key not in _SHOWN and not isinstance(value, list)


def _session_id(row: Row, text: str) -> str:
    for key in _SESSION_KEYS:
        found = row.get(key)
        if isinstance(found, str) and found:
            return found
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _instant(nanoseconds: object) -> str | None:
    if type(nanoseconds) is not int or not 0 < nanoseconds < 2**63:
        return None
    moment = datetime.fromtimestamp(nanoseconds // _NS, UTC)
    milliseconds = nanoseconds % _NS // 1_000_000
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds:03d}Z"
