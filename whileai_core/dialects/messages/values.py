"""Values that every message shape carries: texts, tool arguments, tool results."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio

if TYPE_CHECKING:
    from collections.abc import Iterable

# Content blocks that are text. Everything else (images, files, reasoning) says nothing a row keeps.
TEXT_BLOCKS = frozenset({"text", "input_text", "output_text"})
_OTHER_KINDS = ("block_type", "content_type", "$type")  # of frameworks that do not say `type`
_OTHER_TEXTS = ("content", "Text")
_JSON_STARTS = frozenset('{["-0123456789tfn')
_LONGEST_PYTHON_LITERAL = 100_000


def text_of(content: object, joiner: str = "\n") -> str:
    """Return the text of message content: a text, a block, or a list of blocks and texts."""
    if type(content) is str:
        return content
    if content is None:
        return ""
    if isinstance(content, list | tuple):
        return joiner.join(filter(None, map(block_text, content)))
    if isinstance(content, dict):
        parts = content.get("parts")
        if isinstance(parts, list):
            return text_of(parts, joiner)
        found = block_text(content)
        return found if found or "type" in content else jsonio.text(content)
    return str(content)


def block_text(block: object) -> str:
    """Return the text of one content block, or "" when it is no text."""
    if isinstance(block, str):
        return block
    if not isinstance(block, dict) or block.get("thought") is True:
        return ""
    kind = block.get("type")
    if kind is None and not _is_other_text(first(block, _OTHER_KINDS)):
        return ""
    if kind == "refusal":
        return _plain_text(block.get("refusal"))
    if kind is None or (isinstance(kind, str) and kind in TEXT_BLOCKS):
        return _plain_text(block.get("text")) or _plain_text(first(block, _OTHER_TEXTS))
    return ""


def _is_other_text(kind: object) -> bool:
    if not isinstance(kind, str):
        return kind is None
    return kind.lower() in ("text", "textcontent") or kind.startswith("text/")


def _plain_text(value: object) -> str:
    if isinstance(value, dict):  # {"value": text, "annotations": [...]}
        value = value.get("value")
    return value if isinstance(value, str) else ""


def arguments_of(value: object) -> dict[str, Any]:
    """Return tool arguments as an object; JSON text is decoded, also when encoded twice.

    What is no object in the end gives an empty one.
    """
    for _ in range(3):
        if isinstance(value, dict):
            return value
        if not isinstance(value, str):
            return {}
        text = value
        try:
            value = jsonio.loads(text)
        except ValueError:
            return _python_object(text)
    return {}


def _python_object(text: str) -> dict[str, Any]:
    value = python_value(text)
    return value if isinstance(value, dict) and all(isinstance(key, str) for key in value) else {}


def python_value(text: str) -> Any:
    """Read a dict, or a list of them, as Python prints it: some tracers write that for JSON.

    Text that is nothing of the kind comes back as it is.
    """
    if not text.lstrip().startswith(("{'", "[{'")) or len(text) > _LONGEST_PYTHON_LITERAL:
        return text
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def free_arguments(value: object) -> dict[str, Any]:
    """Return the arguments of a tool that takes free text: that text under `input`."""
    return value if isinstance(value, dict) else {"input": value}


def result_of(content: object) -> Any:
    """Return a tool result: text that is JSON is decoded, objects stay, blocks give their text."""
    if type(content) is str:
        return _decoded(content)
    if isinstance(content, list):
        return _result_of_list(content)
    return content


def answer_of(content: object) -> Any:
    """Return what a tool message answers: its result; no content is the empty text.

    An answer without words is an answer; None would say that none was seen.
    """
    return "" if content is None else result_of(content)


def _decoded(text: str) -> Any:
    start = text[:1] if text[:1] in _JSON_STARTS else text.lstrip()[:1]
    if start not in _JSON_STARTS or not start:
        return text
    try:
        value = jsonio.loads_strict(text)
    except ValueError:
        return _decoded_loosely(text)
    encoded_twice = type(value) is str and value[:1] in ("{", "[")
    return _decoded(value) if encoded_twice else value


def _decoded_loosely(text: str) -> Any:
    """Decode objects and lists that hold NaN and the like; other text stays text."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return jsonio.strict(jsonio.loads(text))
    except ValueError:
        return text


def _result_of_list(content: list[Any]) -> Any:
    if len(content) == 1 and isinstance(content[0], dict):
        block = content[0]
        if "json" in block and block.get("type", "json") == "json":
            return block["json"]
    if all(isinstance(block, str) or _is_block(block) for block in content):
        text = text_of(content)
        return _decoded(text) if text or not content else content
    return content


def _is_block(block: object) -> bool:
    if not isinstance(block, dict):
        return False
    kind = block.get("type")
    return isinstance(kind, str) or (kind is None and isinstance(block.get("text"), str))


def error_result(value: object, said: object = None) -> dict[str, Any]:
    """Wrap the result of a failed call, so that it reads as a fault.

    Args:
        value: The result.
        said: What it was read from; text is quoted as it was written.
    """
    if isinstance(value, dict):
        return {"error": jsonio.text(value), "status": "error"} | value
    text = next((text for text in (said, value) if isinstance(text, str)), None)
    if text is None:
        text = jsonio.text(value)
    return {"error": text, "status": "error"}


def first(message: dict[str, Any], keys: Iterable[str]) -> Any:
    """Return the value of the first key that is there and not None."""
    for key in keys:
        value = message.get(key)
        if value is not None:
            return value
    return None


def text_id(value: object) -> str | None:
    """Return a call id as text; an empty one is none."""
    return str(value) if value not in (None, "") else None


def name_of(value: object) -> str:
    """Return a tool name as text, `tool` when it has none."""
    return value if isinstance(value, str) and value else "tool"
