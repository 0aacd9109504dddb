"""DeepEval: test cases, of one turn or of several, alone or in a test run, snake or camel case."""

from __future__ import annotations

from collections.abc import Iterator

from whileai_core.dialects.events import Ask, Call, Event, Result, Say
from whileai_core.dialects.messages.values import arguments_of, first, name_of, result_of
from whileai_core.dialects.records import labels
from whileai_core.dialects.records.payloads import input_events, output_events
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, head, kept, obj, objects, present, text
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_OUTPUT = ("actual_output", "actualOutput")
_TOOLS = ("tools_called", "toolsCalled")
_RUNS = ("testCases", "test_cases", "conversationalTestCases")


def _is_case(record: Object) -> bool:
    if "input" in record and ("actual_output" in record or "actualOutput" in record):
        return True
    return "turns" in record and _is_conversational(record)


def _is_conversational(record: Object) -> bool:
    marks = ("scenario", "expectedOutcome", "expected_outcome", "success", "metricsData")
    return any("role" in turn for turn in head(record.get("turns"))) and any(
        mark in record for mark in marks
    )


def _cases(value: object) -> Iterator[Object]:
    record = obj(value)
    if _is_case(record):
        yield record
        return
    for key in _RUNS:
        yield from objects(record.get(key))


def _matches(value: object) -> bool:
    record = obj(value)
    if _is_case(record):
        return True
    return any(_is_case(case) for key in _RUNS for case in head(record.get(key)))


def _row(case: Object) -> Row | None:
    row = kept(case, "name", "scenario", "expected_output", "expectedOutput", "context") | present(
        expected_outcome=text(first(case, ("expected_outcome", "expectedOutcome"))),
    )
    if isinstance(case.get("success"), bool):
        labels.grade(row, case["success"], "success")
    for metric in objects(first(case, ("metricsData", "metrics_data"))):
        labels.score(row, metric.get("name"), metric.get("score"))
    return row_from_events(_events(case), extra=row)


def _events(case: Object) -> list[Event]:
    turns = objects(case.get("turns"))
    if turns:
        return [event for turn in turns for event in _turn(turn)]
    asked = input_events(case.get("input"))
    return [*asked, *_called(case), *output_events(first(case, _OUTPUT))]


def _turn(turn: Object) -> list[Event]:
    said = text(turn.get("content"))
    if turn.get("role") == "user":
        return [Ask(said)]
    return [*_called(turn), *([Say(said)] if said else [])]


def _called(record: Object) -> list[Event]:
    """Return the tools that were called before the agent spoke."""
    events: list[Event] = []
    for tool in objects(first(record, _TOOLS)):
        given = arguments_of(first(tool, ("input_parameters", "inputParameters", "input")))
        events.append(Call(name_of(tool.get("name")), given))
        if tool.get("output") is not None:
            events.append(Result(result_of(tool["output"]), None, name_of(tool.get("name"))))
    return events


CASES = Reader(
    name="deepeval",
    matches=_matches,
    conversations=_cases,
    row=_row,
    markers=frozenset({*_OUTPUT, *_RUNS, "turns"}),
)
