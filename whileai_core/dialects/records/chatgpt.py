"""ChatGPT data exports: `conversations.json`, each conversation a tree of messages.

The branch that ends in `current_node` is what the user saw last; edited asks and regenerated
replies stand on other branches. A message to a tool is addressed (`recipient`) and may say what it
wants as code.
"""

from __future__ import annotations

from whileai_core.dialects.events import Ask, Call, Event, Instruct, Result, Say
from whileai_core.dialects.messages.values import arguments_of, result_of, text_id
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, obj, objects, present, text
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_SILENT = frozenset(
    {"thoughts", "reasoning_recap", "user_editable_context", "model_editable_context"}
)
_EVERYONE = ("all", "")


def _matches(value: object) -> bool:
    mapping = obj(obj(value).get("mapping"))
    return any("message" in obj(n) and "children" in obj(n) for n in list(mapping.values())[:3])


def _row(record: Object) -> Row | None:
    messages = [message for node in _branch(record) if (message := obj(node.get("message")))]
    models = (text(obj(message.get("metadata")).get("model_slug")) for message in messages)
    extra = present(
        conversation_id=text_id(record.get("conversation_id")) or text_id(record.get("id")),
        title=text(record.get("title")),
        ts=record.get("create_time"),
        model=next(filter(None, models), "") or text(record.get("default_model_slug")),
    )
    return row_from_events([e for message in messages for e in _events(message)], extra=extra)


def _branch(record: Object) -> list[Object]:
    """Return the nodes from the root to the current one, else to the last that was written."""
    mapping = obj(record.get("mapping"))
    name = text(record.get("current_node"))
    if name not in mapping:
        name = next(reversed(mapping), "")
    nodes: list[Object] = []
    seen: set[str] = set()
    while name in mapping and name not in seen:
        seen.add(name)
        node = obj(mapping[name])
        nodes.append(node)
        name = text(node.get("parent"))
    return nodes[::-1]


def _events(message: Object) -> list[Event]:
    author = obj(message.get("author"))
    role = text(author.get("role"))
    content = obj(message.get("content"))
    kind = text(content.get("content_type"))
    if kind in _SILENT or obj(message.get("metadata")).get("is_visually_hidden_from_conversation"):
        return []
    said = _said(content)
    if role == "assistant":
        addressed = text(message.get("recipient"))
        if addressed not in _EVERYONE:
            return [Call(addressed, arguments_of(said) or {"input": said})]
        return [Say(said)] if said else []
    if role == "tool":
        return [Result(result_of(said), None, text(author.get("name")) or None)]
    if role == "user":
        return [Ask(said)]
    return [Instruct(said)] if role == "system" and said else []


def _said(content: Object) -> str:
    """Return the text of a content: of its parts (a spoken one by its transcript), or its own."""
    parts = content.get("parts")
    if not isinstance(parts, list):
        return text(content.get("text")) or text(content.get("result"))
    spoken = [text(part.get("text")) for part in objects(parts)]
    written = [part for part in parts if isinstance(part, str)]
    return "\n".join(filter(None, spoken + written))


CONVERSATION = Reader(
    name="chatgpt",
    matches=_matches,
    conversations=lambda value: [value],
    row=_row,
    markers=frozenset({"mapping"}),
)
