"""What a tool result says went wrong, as one fault name.

The documented statuses, and beyond them the failure marks that producers
use beside `status`: flags, exit codes, HTTP codes, content blocks and plain error text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.traces.calls import JsonObject, ToolCall, as_object, tool_calls
from whileai_core.traces.values import json_text, plain_text

if TYPE_CHECKING:
    from whileai_core.rows import Row

NO_FAULT = "no fault"

_ALIASES = {
    "already_acted_on": "already_done",
    "entity already acted on": "already_done",
    "permission_denied": "deny",
    "denied": "deny",
    "unauthorized": "deny",
    "blocked": "deny",
    "malformed_result": "malformed",
    "stale_result": "stale",
    "entity missing": "not_found",
    "missing": "not_found",
}
_CLEAN = frozenset({"", "ok", "created", "deleted", "success", "exit_0", NO_FAULT, "clean"})
_KNOWN = frozenset(
    {
        "rejected", "not_found", "error", "failed", "invalid", "timeout", "stale", "malformed",
        "already_done", "deny", "garbled", *_ALIASES,
    }
)  # fmt: skip

_PERMITTED = re.compile(r"granted|approved|(?<!dis)allowed")
_REFUSED = re.compile(r"not|den[iy]|un(?:granted|approved)")

# What stands in a text field where there was no error.
_NO_ERROR = frozenset({"", "null", "none", "nil", "false", "n/a", "no error"})
# Flags and what they are when the call failed; some producers spell them as text or number.
_SPELLED_TRUE = frozenset({"true", "1"})
_SPELLED_FALSE = frozenset({"false", "0"})
_FLAGS = {
    "isError": _SPELLED_TRUE,
    "is_error": _SPELLED_TRUE,
    "success": _SPELLED_FALSE,
    "ok": _SPELLED_FALSE,
}
_EXIT_CODES = ("exit_code", "exitCode", "exit_status", "exitStatus", "returncode", "return_code")
_HTTP_CODES = ("status_code", "statusCode", "http_status", "httpStatus", "http_code", "httpCode")
_ERROR_FIELDS = ("errorMessage", "error_message")
# Objects around a result, read when it is all they hold.
_WRAPPERS = ("result", "output", "response")
_FURTHER_MARKS = frozenset(
    {
        *_FLAGS,
        *_EXIT_CODES,
        *_HTTP_CODES,
        *_ERROR_FIELDS,
        *_WRAPPERS,
        "content",
        "errors",
        "metadata",
    }
)

_ERROR_TEXT = re.compile(
    r"""\s*(?:[^\x00-\x7f]+\s*)?(?:  # signs such as a cross or a warning may stand before it
        [\[<(*]*(?:tool_use_)?error[\])>*]*\s*[:>\u2013-](?!\s*(?:null|none|false|0)\b)
      | [\[<](?:tool_use_)?error[\]>]
      | (?!no_?error)[\w.]{0,80}?(?:error|exception)\s*(?:
            :\s(?!\s*(?:null|none|false|0)\b) | [.!]?\s*\Z )
      | (?:an?\s+)?(?:(?:unexpected|internal|unknown)\s+)?error\s+
        (?:executing|calling|running|invoking|while|during|occurred)\b
      | (?:an?\s+)?(?:unexpected|internal|unknown)(?:\s+server)?\s+error\s*(?:[:.,!]|$)
      | traceback\ \(most\ recent\ call\ last\)
      | (?:fatal|panic)(?:\ error)?\s*:\s
      | failed\ to\s | fail(?:ed|ure)\s*:\s(?!\s*(?:null|none|false|0)\b)
      | (?:permission|access)\ denied\b
      | (?:\w{1,20}\ )?timed\ out\b(?:\ after\b|\s*[:.,!(]|\s*\Z)
      | timeout\s*(?::\s+[a-z]|after\b|[.!]?\s*\Z)
      | connection\ (?:refused|reset|aborted|error|timed\ out)\b
      | [^\n]{0,200}:\ (?:command\ not\ found|no\ such\ file\ or\ directory)\s*\Z
      | (?:command\ not\ found|no\ such\ file\ or\ directory)\b
      | HTTP(?:/[\d.]+)?\s+(?:error\ |status\ )?[45]\d\d\b
      | [45]\d\d\s+(?:bad\ request|unauthorized|forbidden|not\ found|too\ many\ requests
            |internal\ server\ error|bad\ gateway|service\ unavailable|gateway\ time-?out)\b
      | (?:tool|command|execution|process)\ (?:execution\ )?(?:failed|errored|timed\ out)\b
      | (?:process\ |command\ )?exit(?:ed)?\ (?:with\ )?(?:code|status)[: ]+[1-9]
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def fault_of_result(result: object) -> str | None:
    """Return the fault of one tool result, or None when nothing in it says so.

    Examples:
        >>> fault_of_result({"status": "denied"})
        'deny'
        >>> fault_of_result({"data": [1], "error": None}) is None
        True
    """
    return None if result is None else _fault(result, as_object(result))


def fault_of_call(call: ToolCall) -> str | None:
    """Return the fault of one tool call, or None; a call without a result has none."""
    return None if call.result is None else _fault(call.result, call.answer)


def fault_of_row(row: Row) -> str | None:
    """Return the first fault a row shows; a planned one only when no result was seen at all."""
    seen = False
    for call in tool_calls(row):
        if call.result is not None:
            seen = True
            fault = _fault(call.result, call.answer)
            if fault is not None:
                return fault
    return None if seen else planned_fault(row)


def planned_fault(row: Row) -> str | None:
    """Return the first fault a row's `faults` plan names, or None."""
    plan = row.get("faults")
    if isinstance(plan, dict):
        for entry in plan.values():
            if isinstance(entry, dict):
                name = _folded(entry.get("mode"))
                name = _ALIASES.get(name, name)
                if name not in _CLEAN:
                    return name
    return None


def _fault(result: object, answer: JsonObject) -> str | None:
    if not answer:
        return _fault_of_text(result)
    if _is_garbled(answer):
        return "malformed"
    if answer.get("stale"):
        return "stale"
    status = _folded(answer.get("status"))
    if status in ("already_done", "already_acted_on") or (
        "reason" in answer and _folded(answer["reason"]) == "already_acted_on"
    ):
        return "already_done"
    if status in _KNOWN:
        return _ALIASES.get(status, status)
    if _status_fails(status):
        return status
    if "error" in answer and _error_fails(answer, status):
        return "error"
    if _FURTHER_MARKS.isdisjoint(answer):
        return None
    return _marked_fault(answer)


def _folded(value: object) -> str:
    if type(value) is str:
        return value.strip().lower()
    if type(value) is float and value.is_integer():  # a whole number out of a table with gaps
        value = int(value)
    return plain_text(value).strip().lower()


def _is_garbled(answer: JsonObject) -> bool:
    try:
        # Both patterns are plain ASCII without escapes: the quick spelling finds the same.
        raw = jsonio.dumps(answer)
    except (TypeError, ValueError, RecursionError):
        raw = json_text(answer).encode("utf-8", "replace")
    raw = raw.lower()
    return b"garbled" in raw and (b"<<garbled" in raw or b"garbled resp" in raw)


def _status_fails(status: str) -> bool:
    if len(status) == 3 and status.isdecimal():
        return status[0] in "45"
    if status.startswith("exit_"):
        return status not in ("exit_0", "exit_")
    return "permission" in status and (
        _PERMITTED.search(status) is None or _REFUSED.search(status) is not None
    )


def _error_fails(answer: JsonObject, status: str) -> bool:
    error = answer["error"]
    if error != "" and type(error) is str and error.strip().lower() in _NO_ERROR:
        return False
    if error == "" and not status:
        return len(answer) == 1  # an answer that is nothing but an error, however wordless
    return bool(error) and status not in _CLEAN - {""}


def _marked_fault(answer: JsonObject) -> str | None:
    if any(key in answer and _folded(answer[key]) in failed for key, failed in _FLAGS.items()):
        return "error"
    metadata = answer.get("metadata")
    for holder in (answer, metadata if isinstance(metadata, dict) else {}):
        if any(_whole_number(holder.get(key)) for key in _EXIT_CODES):
            return "error"
    for key in _HTTP_CODES:
        code = _whole_number(answer.get(key))
        if code is not None and 400 <= code <= 599:
            return str(code)
    if any(_folded(answer.get(key)) not in _NO_ERROR for key in _ERROR_FIELDS):
        return "error"
    if answer.get("errors") and isinstance(answer["errors"], list) and not answer.get("data"):
        return "error"  # as GraphQL answers when it has nothing else to say
    return _fault_inside(answer)


def _fault_inside(answer: JsonObject) -> str | None:
    """Read what an object wraps: content blocks, or a result that is all there is in it."""
    if "content" in answer:
        content = answer["content"]
        return _fault_of_blocks(content) or _fault_of_wrapped(answer, content)
    return next(
        (_fault_of_wrapped(answer, answer[key]) for key in _WRAPPERS if key in answer), None
    )


def _fault_of_wrapped(answer: JsonObject, value: object) -> str | None:
    if len(answer) > 1:
        return None
    if isinstance(value, str):
        return _fault_of_inner_text(value)
    return _fault(value, value) if isinstance(value, dict) else None


def _whole_number(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return int(value)
    except (ValueError, OverflowError):
        return None


def _fault_of_text(result: object) -> str | None:
    if isinstance(result, str):
        return "error" if _ERROR_TEXT.match(result) else None
    return _fault_of_blocks(result)


def _fault_of_blocks(content: object) -> str | None:
    """Read a list of typed content blocks, the shape in which tool servers answer."""
    if not isinstance(content, list):
        return None
    for block in content:
        if not isinstance(block, dict) or not isinstance(kind := block.get("type"), str):
            return None
        if kind == "error" or block.get("is_error") is True or block.get("isError") is True:
            return "error"
        text = block.get("text")
        if isinstance(text, str):
            fault = _fault_of_inner_text(text)
            if fault is not None:
                return fault
    return None


def _fault_of_inner_text(text: str) -> str | None:
    answer = as_object(text)
    return _fault(answer, answer) if answer else _fault_of_text(text)
