"""Whether two records are of one call, when producers write its arguments and ids differently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.events import Call, Event, Result

if TYPE_CHECKING:
    from collections.abc import Sequence


def same_arguments(known: Any, arguments: Any) -> bool:
    """Tell whether two records of arguments can be of one call; an empty one says nothing."""
    return (
        not known
        or not arguments
        or known == arguments
        or _is_only_value(arguments, known)
        or _is_only_value(known, arguments)
    )


def _is_only_value(text: Any, arguments: Any) -> bool:
    """Tell whether a bare text is how a tracer wrote the only argument of a call."""
    return type(text) is str and type(arguments) is dict and [*arguments.values()] == [text]


def says_more(arguments: Any, known: Any) -> bool:
    """Tell whether arguments, of the same call, are more than what is known of them."""
    return bool(arguments) and (not known or (type(known) is str and type(arguments) is dict))


def differing_ids(events: Sequence[Event]) -> dict[str, str]:
    """Return the ids of calls that are answered under another id, to that one.

    Some producers write the id of an item where they write a call and the id of the call where
    they write its result: then neither is found on the other side, but they follow in order.
    """
    asked = {event.id for event in events if isinstance(event, Call)}
    answered = {event.id for event in events if isinstance(event, Result)}
    if answered <= asked:  # as most
        return {}
    pairs: dict[str, str] = {}
    waiting: list[Call] = []
    for event in events:
        if isinstance(event, Call) and event.id and event.id not in answered:
            waiting.append(event)
        elif isinstance(event, Result) and event.id and event.id not in asked:
            call = next((c for c in waiting if event.name in (None, c.name)), None)
            if call is not None and call.id:
                waiting.remove(call)
                pairs[call.id] = event.id
    return pairs
