"""Lists that producers spread over attribute names: `llm.input_messages.0.message.role` …"""

from __future__ import annotations

from typing import Any

from whileai_core.dialects.spans.values import decoded

_DEEPEST = 30
_BLOCKS = frozenset(
    {"text", "image", "thinking", "tool_use", "tool_result", "input_text", "output_text"}
)


def with_blocks(message: Any) -> Any:
    """Return a message whose content is a list of blocks, if it is JSON text of such a list."""
    content = message.get("content") if isinstance(message, dict) else None
    if type(content) is not str or not content.startswith("[{"):
        return message
    blocks = decoded(content)
    if isinstance(blocks, list) and all(
        isinstance(block, dict) and block.get("type") in _BLOCKS for block in blocks
    ):
        return {**message, "content": blocks}
    return message


def listed(pairs: dict[str, Any]) -> list[Any]:
    """Return the list behind names like `0.role`, `1.tool_calls.0.name`; gaps close up."""
    built = _built(_branched(pairs), 0)
    return [unlayered(item) for item in built] if isinstance(built, list) else []


def _branched(pairs: dict[str, Any]) -> dict[str, Any]:
    """Return `{"a.b": 1}` as `{"a": {"b": 1}}`."""
    root: dict[str, Any] = {}
    for path, value in pairs.items():
        node = root
        *stem, leaf = path.split(".")
        for part in stem:
            child = node.get(part)
            if not isinstance(child, dict):
                child = node[part] = {}
            node = child
        node.setdefault(leaf, value)
    return root


def _built(node: Any, depth: int) -> Any:
    if not isinstance(node, dict) or depth > _DEEPEST:
        return node
    if node and all(key.isdecimal() for key in node):
        return [_built(node[key], depth + 1) for key in sorted(node, key=int)]
    return {key: _built(value, depth + 1) for key, value in node.items()}


def unlayered(item: Any) -> Any:
    """Take away the layers OpenInference wraps around messages, tool calls and contents."""
    if isinstance(item, list):
        return [unlayered(inner) for inner in item]
    if not isinstance(item, dict):
        return item
    if len(item) == 1:
        for key in ("message", "tool_call", "message_content", "tool"):
            if isinstance(item.get(key), dict):
                return unlayered(item[key])
    if any("." in key for key in item):
        return unlayered(_branched(item))
    out = {key: unlayered(value) for key, value in item.items()}
    if "contents" in out and "content" not in out and "role" in out:
        out["content"] = out.pop("contents")
    return out
