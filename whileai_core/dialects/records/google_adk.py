"""Google ADK: eval sets (old and new), eval results, and stored sessions with their events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from whileai_core.dialects.events import Ask, Call, Event, Result, Say
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.values import (
    arguments_of,
    first,
    name_of,
    result_of,
    text_id,
)
from whileai_core.dialects.records import labels
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, mostly, obj, objects, present, text
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_CASES = ("eval_cases", "evalCases")
_RESULTS = ("eval_case_results", "evalCaseResults")
_PASSED, _FAILED = (1, "PASSED"), (2, "FAILED")


class _Conversation(NamedTuple):
    turns: list[Object]
    record: Object


def _matches(value: object) -> bool:
    record = obj(value)
    if isinstance(first(record, (*_CASES, *_RESULTS)), list):
        return True
    if any(_is_old_turn(turn) for turn in objects(record.get("data"))[:1]):
        return True
    if any(_is_event(event) for event in objects(record.get("events"))[:3]):
        return True
    return _is_case(record)


def _is_case(record: Object) -> bool:
    turns = objects(record.get("conversation"))
    return bool(turns) and ("user_content" in turns[0] or "userContent" in turns[0])


def _is_old_turn(value: object) -> bool:
    record = obj(value)
    return "query" in record and ("expected_tool_use" in record or "reference" in record)


def _is_event(value: object) -> bool:
    record = obj(value)
    content = obj(record.get("content"))
    return "author" in record and isinstance(content.get("parts"), list)


def _conversations(value: object) -> Iterator[_Conversation]:
    record = obj(value)
    for case in objects(first(record, _CASES)):
        yield _Conversation(objects(case.get("conversation")), case)
    for result in objects(first(record, _RESULTS)):
        yield _Conversation(list(_actual_turns(result)), result)
    if _is_case(record):
        yield _Conversation(objects(record.get("conversation")), record)
    elif "data" in record or "events" in record:
        yield _Conversation(objects(record.get("data")) or objects(record.get("events")), record)


def _actual_turns(result: Object) -> Iterator[Object]:
    keys = ("eval_metric_result_per_invocation", "evalMetricResultPerInvocation")
    for invocation in objects(first(result, keys)):
        yield obj(first(invocation, ("actual_invocation", "actualInvocation")))


def _of_file(values: Iterable[object]) -> list[_Conversation]:
    return [_Conversation(objects(list(values)), {})]


def _row(part: _Conversation) -> Row | None:
    turns, record = part
    row = present(
        eval_id=text(first(record, ("eval_id", "evalId", "name"))),
        conversation_id=text_id(first(record, ("session_id", "sessionId")))
        or (text_id(record.get("id")) if "events" in record else None),
        agent=text(first(record, ("app_name", "appName"))),
    )
    status = first(record, ("final_eval_status", "finalEvalStatus"))
    if status in _PASSED or status in _FAILED:
        labels.grade(row, status in _PASSED, "final_eval_status")
    for metric in objects(first(record, ("overall_eval_metric_results", "eval_metric_results"))):
        labels.score(row, first(metric, ("metric_name", "metricName")), metric.get("score"))
    return row_from_events([event for turn in turns for event in _events(turn)], extra=row)


def _events(turn: Object) -> list[Event]:
    if _is_event(turn):
        return _session_event(turn)
    if _is_old_turn(turn):
        return list(_old_turn(turn))
    asked = events_of([_as("user", first(turn, ("user_content", "userContent")))])
    between = obj(first(turn, ("intermediate_data", "intermediateData")))
    answered = events_of([_as("model", first(turn, ("final_response", "finalResponse")))])
    return [*asked, *_between(between), *answered]


def _as(role: str, content: object) -> Object:
    return {"role": role} | {k: v for k, v in obj(content).items() if k == "parts"}


def _session_event(event: Object) -> list[Event]:
    if event.get("partial") is True:  # a piece of a streamed reply; the whole one follows
        return []
    role = "user" if event.get("author") == "user" else "model"
    found = events_of([_as(role, event.get("content"))])
    return [e for e in found if not (isinstance(e, Ask) and not e.text)]


def _between(data: Object) -> Iterator[Event]:
    for event in objects(first(data, ("invocation_events", "invocationEvents"))):
        yield from _session_event(event)
    for call in objects(first(data, ("tool_uses", "toolUses"))):
        yield Call(
            name_of(call.get("name")), arguments_of(call.get("args")), text_id(call.get("id"))
        )
    for answer in objects(first(data, ("tool_responses", "toolResponses"))):
        name = text(answer.get("name")) or None
        yield Result(result_of(answer.get("response")), text_id(answer.get("id")), name)
    responses = first(data, ("intermediate_responses", "intermediateResponses"))
    for response in responses if isinstance(responses, list) else []:
        # Written as a pair: author, parts.
        if isinstance(response, list) and len(response) > 1 and isinstance(response[1], list):
            yield from events_of([{"role": "model", "parts": response[1]}])


def _old_turn(turn: Object) -> Iterator[Event]:
    yield Ask(text(turn.get("query")))
    for call in objects(turn.get("expected_tool_use")):
        made = Call(name_of(call.get("tool_name")), arguments_of(call.get("tool_input")))
        yield made
        if call.get("mock_tool_output") is not None:
            yield Result(result_of(call["mock_tool_output"]), None, made.name)
    for response in objects(turn.get("expected_intermediate_agent_responses")):
        if said := text(response.get("text")):
            yield Say(said)
    if said := text(turn.get("reference")):
        yield Say(said)


def _matches_turns(head: Sequence[object]) -> bool:
    return mostly(head, lambda turn: _is_old_turn(turn) and "expected_tool_use" in obj(turn))


def _matches_events(head: Sequence[object]) -> bool:
    return mostly(head, lambda event: _is_event(event) and "id" in obj(event))


def _matches_list(head: Sequence[object]) -> bool:
    return _matches_turns(head) or _matches_events(head)


EVAL_SETS = Reader(
    name="google-adk",
    matches=_matches,
    conversations=_conversations,
    row=_row,
    markers=frozenset({*_CASES, *_RESULTS, "conversation", "data", "events"}),
)
TURNS = Reader(name="google-adk", matches=_matches_list, conversations=_of_file, row=_row)
