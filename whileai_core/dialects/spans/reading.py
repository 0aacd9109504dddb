"""One span, read: what it says about the conversation, whichever family wrote it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whileai_core.dialects.spans.families import FAMILIES
from whileai_core.dialects.spans.families.family import AGENT, MODEL, TOOL, Family
from whileai_core.dialects.spans.values import decoded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whileai_core.dialects.spans.span import Span

_SCALAR_FIELDS = (
    "agent",
    "arguments",
    "conversation",
    "error",
    "model",
    "model_version",
    "result",
    "system",
    "tokens_in",
    "tokens_out",
    "tool_id",
    "tool_name",
    "tool_status",
    "tools",
    "transcript",
    "value_in",
    "value_out",
)


class Reading:
    """What one span says; every field is None or empty when the span says nothing of it.

    Attributes:
        trace, span, parent, start, end, name: From the span.
        kind: `tool`, `agent`, `model`, `chain`, `other` or "".
        family: Name of the family that claimed the span's kind or content.
        conversation: The span's own conversation id.
        inputs: Payloads of messages the model was given, as the producer wrote them.
        outputs: Payloads of messages the model gave.
        message_events: Input messages that came one per span event.
        transcript: A payload with both sides of a whole conversation.
        value_in, value_out: Input and output whose meaning depends on the kind.
        arguments, result: Of a tool call, as written.
        failed, message: Failure by span status.
        exception: Message of the last exception event.
        reward, reward_source: First usable reward and the attribute that held it.
        scores: Other scores by name.
    """

    __slots__ = (
        *_SCALAR_FIELDS,
        "end",
        "exception",
        "failed",
        "family",
        "inputs",
        "kind",
        "message",
        "message_events",
        "name",
        "outputs",
        "parent",
        "reward",
        "reward_source",
        "scores",
        "span",
        "start",
        "trace",
    )

    agent: Any
    arguments: Any
    conversation: Any
    error: Any
    model: Any
    model_version: Any
    result: Any
    system: Any
    tokens_in: Any
    tokens_out: Any
    tool_id: Any
    tool_name: Any
    tool_status: Any
    tools: Any
    transcript: Any
    value_in: Any
    value_out: Any

    def __init__(self, span: Span) -> None:
        self.trace = span.trace_id
        self.span = span.span_id
        self.parent = span.parent_id
        self.start = span.start_ns
        self.end = span.end_ns
        self.name = span.name
        self.failed = span.failed
        self.message = span.message
        self.agent = self.arguments = self.conversation = self.error = self.model = None
        self.model_version = self.result = self.system = self.tokens_in = self.tokens_out = None
        self.tool_id = self.tool_name = self.tool_status = self.tools = self.transcript = None
        self.value_in = self.value_out = self.exception = self.reward = self.reward_source = None
        self.scores: dict[str, Any] | None = None
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.message_events: list[dict[str, Any]] = []
        self.kind = ""
        self.family = ""

    @property
    def is_tool(self) -> bool:
        """Whether the span is one tool call."""
        return self.kind == TOOL or self.arguments is not None


class _Slot:
    """Where one attribute goes."""

    __slots__ = ("family", "field", "kinds", "rank")

    def __init__(
        self, family: str, field: str, rank: int, kinds: dict[str, str] | None = None
    ) -> None:
        self.family = family
        self.field = field
        self.rank = rank
        self.kinds = kinds


_INDEXED = re.compile(r"\.\d+(\.|$)")


class _Slots(dict[str, "_Slot | None"]):
    """Attribute name to slot; names spread over indices are looked up once and remembered."""

    _MOST_REMEMBERED = 20_000

    def __missing__(self, key: str) -> _Slot | None:
        slot = self._indexed(key)
        if len(self) < self._MOST_REMEMBERED:
            self[key] = slot
        return slot

    @staticmethod
    def _indexed(key: str) -> _Slot | None:
        match = _INDEXED.search(key)
        if match is None:
            return None
        prefix = key[: match.start()]
        for family in FAMILIES:
            field = family.indexed.get(prefix)
            if field is not None:
                return _Slot(family.name, "indexed", 0, {prefix: field})
        return None


def _table() -> _Slots:
    slots = _Slots()
    for family in FAMILIES:
        for field, keys in family.fields.items():
            for key in keys:
                rank = sum(1 for slot in slots.values() if slot is not None and slot.field == field)
                slots.setdefault(key, _Slot(family.name, field, rank))
        for key, kinds in family.kinds.items():
            slots[key] = _Slot(family.name, "kind", 0, dict(kinds))
        for key in family.finish_on:
            slots.setdefault(key, _Slot(family.name, "finish", 0))
    return slots


_SLOTS = _table()
_BY_NAME: dict[str, Family] = {family.name: family for family in FAMILIES}
_NAMED_KINDS = {name: kind for family in FAMILIES for name, kind in family.names.items()}
_EVENT_READERS = {name: read for family in FAMILIES for name, read in family.events.items()}
_FINISHING = tuple(family for family in FAMILIES if family.finish is not None)
# Span names by convention: "<operation> <target>".
_NAME_STARTS = {"execute_tool": TOOL, "invoke_agent": AGENT, "chat": MODEL}


def read(span: Span, reward_keys: Iterable[str] = ()) -> Reading:
    """Return what one span says."""
    reading = Reading(span)
    attributes = span.attributes
    indexed: dict[str, dict[str, Any]] | None = None
    ranks: dict[str, int] = {}
    finishing = False
    for key, value in attributes.items():
        slot = _SLOTS[key]
        if slot is None or value is None or value == "":
            continue
        field = slot.field
        if field == "kind":
            if not reading.kind and slot.kinds is not None:
                reading.kind = slot.kinds.get(str(value).strip('"').lower(), "")
                reading.family = slot.family if reading.kind else reading.family
        elif field == "indexed":
            if indexed is None:
                indexed = {}
            ((prefix, target),) = (slot.kinds or {}).items()
            indexed.setdefault(target, {})[key[len(prefix) + 1 :]] = value
        elif field == "finish":
            finishing = True
        else:
            rank = ranks.get(field)
            if rank is None or slot.rank < rank:
                ranks[field] = slot.rank
                if field == "input":
                    reading.inputs = [value]
                elif field == "output":
                    reading.outputs = [value]
                else:
                    setattr(reading, field, value)
    if indexed:
        _take_indexed(indexed, reading)
    if not reading.kind:
        reading.kind = _kind_by_name(span.name)
    if span.events:
        _take_events(span, reading)
    _finish(span, reading, finishing)
    _settle(reading)
    for key in reward_keys:
        value = attributes.get(key)
        if value is not None and _reward(value) is not None:
            reading.reward, reading.reward_source = _reward(value), key
            break
    return reading


def _kind_by_name(name: str) -> str:
    kind = _NAMED_KINDS.get(name)
    return kind if kind is not None else ""


def _take_events(span: Span, reading: Reading) -> None:
    for event in span.events:
        reader = _EVENT_READERS.get(event.name)
        if reader is not None:
            reader(event, reading)
        elif "exception.message" in event.attributes:
            reading.exception = event.attributes["exception.message"]
        elif event.name == "gen_ai.evaluation.result":
            _take_score(event.attributes, reading)
    if reading.message_events:
        reading.inputs.append(reading.message_events)


def _take_score(attributes: dict[str, Any], reading: Reading) -> None:
    name = attributes.get("gen_ai.evaluation.name")
    value = attributes.get("gen_ai.evaluation.score.value")
    if isinstance(name, str) and isinstance(value, int | float) and not isinstance(value, bool):
        reading.scores = {**(reading.scores or {}), name: value}


def _finish(span: Span, reading: Reading, finishing: bool) -> None:
    for family in _FINISHING:
        if family.finish is not None and _touches(family, span.attributes, finishing):
            family.finish(span, reading)


def _touches(family: Family, attributes: dict[str, Any], finishing: bool) -> bool:
    for key in family.finish_on:
        if key.endswith("."):
            if any(name.startswith(key) for name in attributes):
                return True
        elif key in attributes:
            return True
    return False


def _settle(reading: Reading) -> None:
    """Give the values whose meaning depends on the kind their place."""
    if reading.kind == TOOL:
        if reading.arguments is None:
            reading.arguments = reading.value_in
        if reading.result is None:
            reading.result = reading.value_out
        reading.value_in = reading.value_out = None
    elif reading.kind == MODEL:
        if reading.value_in is not None and not reading.inputs:
            reading.inputs.append(reading.value_in)
        if reading.value_out is not None and not reading.outputs:
            reading.outputs.append(_any_agent_output(reading.value_out))
        reading.value_in = reading.value_out = None
    elif reading.kind == "" and reading.result is not None and reading.tool_name:
        reading.kind = TOOL


def _any_agent_output(value: Any) -> Any:
    """Read a list of `{"tool.name", "tool.args"}` as the calls of one message."""
    found = decoded(value)
    if (
        isinstance(found, list)
        and found
        and all(isinstance(call, dict) and "tool.name" in call for call in found)
    ):
        calls = [
            {"function": {"name": call["tool.name"], "arguments": call.get("tool.args")}}
            for call in found
        ]
        return [{"role": "assistant", "tool_calls": calls}]
    return value


def _take_indexed(indexed: dict[str, dict[str, Any]], reading: Reading) -> None:
    for target, pairs in indexed.items():
        items = [_unwrapped(item) for item in _tree(pairs)]
        if target == "input" and not reading.inputs:
            reading.inputs.append(items)
        elif target == "output" and not reading.outputs:
            reading.outputs.append([_as_reply(item) for item in items])
        elif target == "tools" and reading.tools is None:
            reading.tools = items


def _tree(pairs: dict[str, Any]) -> list[Any]:
    """Build the list behind `0.a`, `0.b.1.c` … names."""
    root: dict[Any, Any] = {}
    for path, value in pairs.items():
        node = root
        *stem, leaf = path.split(".")
        for part in stem:
            child = node.get(part)
            if not isinstance(child, dict):
                child = node[part] = {}
            node = child
        node.setdefault(leaf, value)
    listed = _listed(root, 0)
    return listed if isinstance(listed, list) else []


def _listed(node: Any, depth: int) -> Any:
    if not isinstance(node, dict) or depth > 30:
        return node
    if node and all(key.isdecimal() for key in node):
        return [_listed(node[key], depth + 1) for key in sorted(node, key=int)]
    return {key: _listed(value, depth + 1) for key, value in node.items()}


def _unwrapped(item: Any) -> Any:
    """Take OpenInference's `message`, `tool_call` and `message_content` layers away."""
    if isinstance(item, list):
        return [_unwrapped(inner) for inner in item]
    if not isinstance(item, dict):
        return item
    for key in ("message", "tool_call", "message_content", "tool"):
        if len(item) == 1 and isinstance(item.get(key), dict):
            return _unwrapped(item[key])
    out = {key: _unwrapped(value) for key, value in item.items()}
    if "contents" in out and "content" not in out and "role" in out:
        out["content"] = out.pop("contents")
    if isinstance(out.get("tool_calls"), list):
        out["tool_calls"] = [call for call in out["tool_calls"] if isinstance(call, dict)]
    return out


def _as_reply(item: Any) -> Any:
    return {"role": "assistant", **item} if isinstance(item, dict) else item


def _reward(value: Any) -> int | float | None:
    """Return a reward in [0, 1], whole ones as integers; None for anything else."""
    if isinstance(value, dict | list):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if not 0 <= number <= 1:
        return None
    return int(number) if number in (0, 1) else number


def carries_content(reading: Reading) -> bool:
    """Tell whether a span says anything about a conversation, beyond its place in the tree."""
    return bool(
        reading.inputs
        or reading.outputs
        or reading.is_tool
        or reading.transcript
        or reading.value_in
        or reading.value_out
    )
