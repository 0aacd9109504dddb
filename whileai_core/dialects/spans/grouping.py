"""Which conversation each span belongs to."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from whileai_core import jsonio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whileai_core.dialects.spans.reading import Reading


def conversation_id(reading: Reading) -> str | None:
    """Return the conversation id a span carries itself; JSON quotes around it are no part of it."""
    value = reading.conversation
    if type(value) is str:
        if value[0] == '"' and value[-1] == '"' and len(value) > 2:
            value = value[1:-1]
        return value if value and not value.isspace() else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return None


def grouped(readings: Sequence[Reading]) -> dict[str, list[Reading]]:
    """Return the spans of each conversation; conversations and spans in the order given."""
    traces: dict[str, list[Reading]] = {}
    for reading in readings:
        members = traces.get(reading.trace)
        if members is None:
            traces[reading.trace] = [reading]
        else:
            members.append(reading)
    keys = {trace: _keys(trace, members) for trace, members in traces.items()}
    groups: dict[str, list[Reading]] = {}
    for reading in readings:
        found = keys[reading.trace]
        key = found if type(found) is str else found[id(reading)]
        groups.setdefault(key, []).append(reading)
    return groups


def _keys(trace: str, members: Sequence[Reading]) -> str | dict[int, str]:
    """Return the conversation of a whole trace, or that of each of its spans.

    A span's own id; else the id of the nearest span around it that has one; else the first id in
    the trace by time; else the trace id. Spans without a trace stay apart, by root.
    """
    own = {id(reading): conversation_id(reading) for reading in members}
    distinct = set(own.values())
    distinct.discard(None)
    if trace and not distinct:
        return trace
    if trace and len(distinct) == 1:
        return distinct.pop() or trace
    by_span = {reading.span: reading for reading in members if reading.span}
    named = [(reading.start, key) for reading in members if (key := own[id(reading)]) is not None]
    first = min(named, default=(0, trace))[1] if trace else None
    keys = {}
    for reading in members:
        chain = _chain(reading, by_span)
        inherited = next((key for r in chain if (key := own[id(r)]) is not None), None)
        keys[id(reading)] = inherited or first or _apart(chain[-1])
    return keys


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
    content = jsonio.text([root.name, root.start, *map(str, sorted(root.__dict__.items()))])
    return f"span:{hashlib.sha256(content.encode('utf-8', 'replace')).hexdigest()[:16]}"
