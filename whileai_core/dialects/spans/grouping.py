"""Which conversation each span belongs to."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whileai_core.dialects.spans.briefs import Brief
    from whileai_core.dialects.spans.reading import Reading


_NOTHING: tuple[Any, ...] = (None, "", 0, ())
_NO_ID = frozenset({"null", "none", "undefined", "nan"})  # what a missing id is printed as


def conversation_id(value: Any) -> str | None:
    """Return a conversation id as text; JSON quotes around it are no part of it."""
    if type(value) is str:
        if value[0] == '"' and value[-1] == '"' and len(value) > 2:
            value = value[1:-1]
        return value if value.strip() and value.lower() not in _NO_ID else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return None


def each_once(members: list[Reading]) -> list[Reading]:
    """Return the spans of one trace, each once: of several deliveries the fullest."""
    if len({reading.span for reading in members}) == len(members):
        return members
    for reading in members:
        reading.restore()
    places: dict[tuple[str, str], int] = {}
    once: list[Reading] = []
    for reading in members:
        place = places.setdefault((reading.span, reading.name), len(once))
        if place == len(once) or not reading.span:
            once.append(reading)
        elif _weight(reading) > _weight(once[place]):
            once[place] = reading
    return once


def _weight(reading: Reading) -> tuple[int, int, str]:
    """Order two deliveries of one span: the one that ended later and says more is the span."""
    content = _content(reading)
    return (reading.end, len(content), jsonio.text(content))


def _content(reading: Reading) -> dict[str, Any]:
    """Return what a span says as plain values, the same whichever way it was read."""
    content = {name: value for name, value in vars(reading).items() if value not in _NOTHING}
    if reading.history is not None:
        del content["history"]
        content["inputs"] = (reading.history.text,)
    if reading.repeated is not None:
        del content["repeated"]
        content["outputs"] = (reading.repeated.text,)
    return dict(sorted(content.items()))


def whole_traces(
    members: Iterable[Brief | Reading],
) -> dict[str, list[list[Brief | Reading]]] | None:
    """Return the traces of each conversation, None if one trace is part of several.

    Conversations, traces and spans come in the order given; spans delivered twice stay twice.
    """
    traces: dict[str, list[Brief | Reading]] = {}
    for member in members:
        known = traces.get(member.trace)
        if known is None:
            traces[member.trace] = [member]
        else:
            known.append(member)
    groups: dict[str, list[list[Brief | Reading]]] = {}
    for trace, spans in traces.items():
        key = _only_key(trace, spans) if trace else None
        if key is None:
            return None
        groups.setdefault(key, []).append(spans)
    return groups


def grouped(readings: Sequence[Reading]) -> dict[str, list[Reading]]:
    """Return the spans of each conversation, each once; all in the order given."""
    traces: dict[str, list[Reading]] = {}
    for reading in readings:
        traces.setdefault(reading.trace, []).append(reading)
    keys: dict[int, str] = {}
    for trace, members in traces.items():
        only = _only_key(trace, members) if trace else None
        once = each_once(members)
        own = _keys(trace, once) if only is None else [only] * len(once)
        keys |= zip(map(id, once), own, strict=True)
    groups: dict[str, list[Reading]] = {}
    for reading in readings:
        key = keys.get(id(reading))
        if key is not None:
            groups.setdefault(key, []).append(reading)
    return groups


def _only_key(trace: str, members: Sequence[Brief | Reading]) -> str | None:
    """Return the conversation that a whole trace is part of, None if there are several."""
    only = last = None
    for member in members:
        if member.conversation is last:  # as most: equal ids are one object
            continue
        last = member.conversation
        key = conversation_id(last)
        if only is None:
            only = key
        elif key is not None and key != only:
            return None
    return only or trace


def _keys(trace: str, members: Sequence[Reading]) -> list[str]:
    """Return the conversation of each span of one trace.

    A span's own id; else the id of the nearest span around it that has one; else the first id in
    the trace by time; else the trace id. Spans without a trace stay apart, by root.
    """
    own = [conversation_id(reading.conversation) for reading in members]
    distinct = {key for key in own if key is not None}
    if len(distinct) > 1:
        own = _without_responses(own, members)
        distinct = {key for key in own if key is not None}
    if trace and len(distinct) < 2:
        return [distinct.pop() if distinct else trace] * len(members)
    named = dict(zip(map(id, members), own, strict=True))
    by_span = {reading.span: reading for reading in members if reading.span}
    starts = [(reading.start, key) for reading, key in zip(members, own, strict=True) if key]
    first = min(starts, default=(0, trace))[1] if trace else None
    keys = []
    for reading in members:
        chain = _chain(reading, by_span)
        inherited = next((key for r in chain if (key := named[id(r)]) is not None), None)
        keys.append(inherited or first or _apart(chain[-1]))
    return keys


def _without_responses(own: list[str | None], members: Sequence[Reading]) -> list[str | None]:
    """Take away ids that only name the response before: the next call of one conversation."""
    responses = {reading.response_id for reading in members if type(reading.response_id) is str}
    return [None if key in responses else key for key in own]


def _chain(reading: Reading, by_span: dict[str, Reading]) -> list[Reading]:
    """Return a span and those around it, innermost first."""
    chain = [reading]
    seen = {id(reading)}
    above = by_span.get(reading.parent)
    while above is not None and id(above) not in seen:
        chain.append(above)
        seen.add(id(above))
        above = by_span.get(above.parent)
    return chain


def _apart(root: Reading) -> str:
    """Name the conversation of spans that carry neither a trace nor a conversation id."""
    if root.span:
        return f"span:{root.span}"
    content = jsonio.text(_content(root))
    return f"span:{hashlib.sha256(content.encode('utf-8', 'replace')).hexdigest()[:16]}"
