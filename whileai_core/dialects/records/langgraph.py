"""LangGraph: states of threads, as snapshots, checkpoint histories or threads of its server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.values import text_id
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, mostly, obj, present
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_OF_A_STATE = frozenset({"next", "checkpoint", "parent_config", "thread_id"})


def _matches(value: object) -> bool:
    record = obj(value)
    messages = obj(record.get("values")).get("messages")
    return isinstance(messages, list) and not _OF_A_STATE.isdisjoint(record)


def _threads(values: Iterable[object]) -> Iterator[Object]:
    """Yield of each thread the state that holds most: every state repeats the one before."""
    threads: dict[str | None, Object] = {}
    for number, state in enumerate(map(obj, values)):
        thread = _thread_id(state) or f"#{number}"
        if len(_messages(state)) > len(_messages(threads.get(thread, {}))):
            threads[thread] = state
    yield from threads.values()


def _messages(state: Object) -> list[object]:
    found = obj(state.get("values")).get("messages")
    return found if isinstance(found, list) else []


def _thread_id(state: Object) -> str | None:
    for holder in (
        state,
        obj(state.get("checkpoint")),
        obj(obj(state.get("config")).get("configurable")),
    ):
        found = text_id(holder.get("thread_id"))
        if found is not None:
            return found
    return None


def _row(state: Object) -> Row | None:
    extra = present(conversation_id=_thread_id(state), ts=state.get("created_at"))
    return row_from_events(events_of(_messages(state)), extra=extra)


def _matches_list(head: Sequence[object]) -> bool:
    return mostly(head, _matches)


STATE = Reader(
    name="langgraph",
    matches=_matches,
    conversations=lambda value: [value],
    row=_row,
    markers=frozenset({"values"}),
)
STATES = Reader(name="langgraph", matches=_matches_list, conversations=_threads, row=_row)
