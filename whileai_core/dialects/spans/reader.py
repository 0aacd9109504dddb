"""Reads one span by the families' declarations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.spans.families import FAMILIES
from whileai_core.dialects.spans.functions import function_arguments, function_output
from whileai_core.dialects.spans.histories import history_of
from whileai_core.dialects.spans.indexed import listed, with_blocks
from whileai_core.dialects.spans.kinds import MODEL, TOOL
from whileai_core.dialects.spans.reading import Reading
from whileai_core.dialects.spans.slots import EVENT_READERS, KINDS_BY_NAME, SLOTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whileai_core.dialects.spans.slots import Slot
    from whileai_core.dialects.spans.span import Span

REWARD_KEYS = ("whileai.reward",)
_EVALUATION = "gen_ai.evaluation.result"
_TOOL_SPAN_NAME = "execute_tool "


def read(span: Span, reward_keys: Iterable[str] = ()) -> Reading:
    """Return what one span says.

    Args:
        span: The span; it is not changed.
        reward_keys: Attributes that may hold the reward, by precedence.
    """
    reading = Reading(
        span.trace_id,
        span.span_id,
        span.parent_id,
        span.start_ns,
        span.end_ns,
        span.name,
        span.failed,
        span.message,
    )
    odd = _take_fields(span, reading)
    guess_kind(reading)
    if odd:
        _take_indexed(odd, reading)
    if span.events:
        _take_events(span, reading)
    if odd:
        for finish in _finishes(odd):
            finish(span, reading)
    settle(reading)
    for key in reward_keys:
        reward = reward_in(span.attributes.get(key))
        if reward is not None:
            reading.reward, reading.reward_source = reward, key
            break
    return reading


def settle(reading: Reading) -> None:
    """Bring what was read of a span to its place once all of it is known."""
    if reading.value_in is not None or reading.value_out is not None:
        _place_values(reading)
    if len(reading.inputs) == 1:
        history = history_of(reading.inputs[0])
        if history is not None:
            reading.history = history
            reading.inputs = ()


def _take_fields(span: Span, reading: Reading) -> list[tuple[str, Any, Slot]]:
    """Put the attributes with a place of their own there; return those that ask for more."""
    ranks: dict[str, int] = {}
    odd: list[tuple[str, Any, Slot]] = []
    for key, value in span.attributes.items():
        slot = SLOTS[key]
        if slot is None or value is None or value == "":
            continue
        if slot.is_odd:
            odd.append((key, value, slot))
        field = slot.field
        if slot.kinds:
            value = slot.kinds.get(str(value).strip('"').lower())
        if field and value is not None:
            rank = ranks.get(field)
            if rank is None or slot.rank < rank:
                ranks[field] = slot.rank
                # Not by __dict__: while that is not asked for, instances share their keys.
                setattr(reading, field, value)
    return odd


def guess_kind(reading: Reading) -> None:
    """Tell the kind of a span that does not name it by what else it says."""
    if reading.kind:
        return
    kind = KINDS_BY_NAME.get(reading.name, "")
    if kind:
        reading.kind = kind
    elif reading.name.startswith(_TOOL_SPAN_NAME) or (
        reading.tool_name is not None
        and (reading.result is not None or reading.tool_id is not None)
    ):
        reading.kind = TOOL


def _take_indexed(odd: list[tuple[str, Any, Slot]], reading: Reading) -> None:
    pairs: dict[str, dict[str, dict[str, Any]]] = {}
    for key, value, slot in odd:
        if slot.target:
            by_prefix = pairs.setdefault(slot.target, {})
            by_prefix.setdefault(slot.prefix, {})[key[len(slot.prefix) + 1 :]] = value
    for target, by_prefix in pairs.items():
        items = next((found for found in map(listed, by_prefix.values()) if found), None)
        if items is None:
            continue
        if target == "messages_in" and not reading.inputs:
            reading.given([with_blocks(item) for item in items])
        elif target == "messages_out" and not reading.outputs:
            reading.gave([_as_reply(with_blocks(item)) for item in items])
        elif target == "tools" and reading.tools is None:
            reading.tools = items


def _as_reply(item: Any) -> Any:
    return {"role": "assistant", **item} if isinstance(item, dict) else item


def _take_events(span: Span, reading: Reading) -> None:
    for event in span.events:
        take = EVENT_READERS.get(event.name)
        if take is not None:
            take(event, reading)
        elif "exception.message" in event.attributes:
            reading.exception = event.attributes["exception.message"]
        elif event.name == _EVALUATION:
            _take_score(event.attributes, reading)


def _take_score(attributes: dict[str, Any], reading: Reading) -> None:
    name = attributes.get("gen_ai.evaluation.name")
    value = attributes.get("gen_ai.evaluation.score.value")
    if isinstance(name, str) and isinstance(value, int | float) and not isinstance(value, bool):
        reading.scores = {**(reading.scores or {}), name: value}


def _finishes(odd: list[tuple[str, Any, Slot]]) -> list[Callable[[Span, Reading], None]]:
    """Return what the families have to finish, each once, in order of precedence."""
    asked = {slot.finish.name for _, _, slot in odd if slot.finish is not None}
    return [
        family.finish for family in FAMILIES if family.name in asked and family.finish is not None
    ]


def _place_values(reading: Reading) -> None:
    """Give input and output whose meaning depends on the kind their place."""
    if reading.is_tool:
        if reading.arguments is None:
            reading.arguments = function_arguments(reading.value_in)
        if reading.result is None:
            reading.result = function_output(reading.value_out)
    elif reading.kind == MODEL:
        if reading.value_in is not None and not reading.inputs:
            reading.given(reading.value_in)
        if reading.value_out is not None and not reading.outputs:
            reading.gave(reading.value_out)
    else:
        return
    reading.value_in = reading.value_out = None


def reward_in(value: Any) -> int | float | None:
    """Return a reward in [0, 1], whole ones as integers; None for anything else."""
    if value is None or isinstance(value, dict | list):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if not 0 <= number <= 1:
        return None
    return int(number) if number in (0, 1) else number
