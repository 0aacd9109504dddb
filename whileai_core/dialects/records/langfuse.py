"""Langfuse: exported traces with their observations, and lists of observations.

Read are `{trace, observations}` (UI and script exports), the trace object of the public API with
`observations` inside, traces without observations, pages `{data: [...]}` of either, and files
with one observation per record. Names come in camel case (API) or snake case (blob export).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from whileai_core.dialects.messages.values import first, text_id
from whileai_core.dialects.records import labels
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.runs import Run, RunKind, conversation, run_facts
from whileai_core.dialects.records.shape import Object, decoded, mostly, obj, objects, present, text
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_OF_A_TRACE = frozenset({"htmlPath", "bookmarked", "projectId", "project_id", "observations"})


class _Trace(NamedTuple):
    trace: Object
    observations: list[Object]


def _matches(value: object) -> bool:
    record = obj(value)
    page = record.get("data")
    if isinstance(page, list):
        return bool(page) and all(_is_trace(item) or _is_observation(item) for item in page[:3])
    if isinstance(record.get("trace"), dict) and isinstance(record.get("observations"), list):
        return True
    return _is_trace(record) or _is_observation(record)


def _is_trace(value: object) -> bool:
    record = obj(value)
    return (
        "id" in record
        and "timestamp" in record
        and ("input" in record or "output" in record)
        and not _OF_A_TRACE.isdisjoint(record)
    )


def _is_observation(value: object) -> bool:
    record = obj(value)
    return (
        ("traceId" in record or "trace_id" in record)
        and ("startTime" in record or "start_time" in record)
        and isinstance(record.get("type"), str)
        and record["type"].isupper()
        and ("input" in record or "output" in record)
    )


def _traces(value: object) -> Iterator[_Trace]:
    record = obj(value)
    if isinstance(record.get("data"), list):
        yield from _traces_in_list(record["data"])
    elif isinstance(record.get("trace"), dict):
        yield _Trace(record["trace"], objects(record.get("observations")))
    elif _is_observation(record):
        yield _Trace({}, [record])
    else:
        yield _Trace(record, objects(record.get("observations")))


def _traces_in_list(values: Iterable[object]) -> Iterator[_Trace]:
    """Group observations by trace; traces among them stand for themselves."""
    by_trace: dict[str | None, list[Object]] = {}
    for record in map(obj, values):
        if _is_observation(record):
            by_trace.setdefault(text_id(first(record, ("traceId", "trace_id"))), []).append(record)
        elif record:
            yield from _traces(record)
    for observations in by_trace.values():
        yield _Trace({}, observations)


def _row(part: _Trace) -> Row | None:
    trace, observations = part
    runs = [_run(observation) for observation in observations]
    extra = present(
        conversation_id=text_id(first(trace, ("sessionId", "session_id"))),
        trace_id=text_id(trace.get("id")) or _trace_id(observations),
        ts=text(first(trace, ("timestamp",))) or (min((r.start for r in runs), default="")),
        agent=text(trace.get("name")),
        **run_facts(runs),
    )
    for given in objects(trace.get("scores")):
        labels.score(extra, given.get("name"), given.get("value"))
    row = row_from_events(conversation(_under_trace(trace, runs)), extra=extra)
    tools = [tool for o in observations for tool in _tool_definitions(o)]
    if tools:
        row.setdefault("tools", _distinct(tools))
    return row


def _under_trace(trace: Object, runs: list[Run]) -> list[Run]:
    """Put the trace above its observations, as the run that has its input and output."""
    given, told = trace.get("input"), trace.get("output")
    if not given and not told:
        return runs
    start = min((run.start for run in runs), default="")
    top = Run("", None, "other", "", start, input=given, output=told)
    return [top, *(replace(run, parent=run.parent or "") for run in runs)]


def _run(observation: Object) -> Run:
    metadata = obj(decoded(observation.get("metadata")))
    attributes = obj(metadata.get("attributes"))
    tokens = obj(first(observation, ("usageDetails", "usage_details", "usage")))
    failed = observation.get("level") == "ERROR"
    message = text(first(observation, ("statusMessage", "status_message")))
    return Run(
        id=text_id(observation.get("id")),
        parent=text_id(first(observation, ("parentObservationId", "parent_observation_id"))),
        kind=_kind(observation, attributes),
        name=_tool_name(observation, attributes),
        start=text(first(observation, ("startTime", "start_time"))),
        input=_without_definitions(observation.get("input")),
        output=observation.get("output"),
        error=(message or "error") if failed else None,
        model=text(first(observation, ("model", "providedModelName", "provided_model_name")))
        or None,
        tokens_in=tokens.get("input"),
        tokens_out=tokens.get("output"),
        call_id=text_id(attributes.get("gen_ai.tool.call.id")),
    )


def _kind(observation: Object, attributes: Object) -> RunKind:
    kind = observation.get("type")
    if kind == "GENERATION":
        return "model"
    # Older SDKs have no TOOL type: their tools are spans that say so in their attributes.
    says_tool = (
        attributes.get("openinference.span.kind") == "TOOL"
        or attributes.get("gen_ai.operation.name") == "execute_tool"
        or "gen_ai.tool.name" in attributes
    )
    return "tool" if kind == "TOOL" or (kind == "SPAN" and says_tool) else "other"


def _tool_name(observation: Object, attributes: Object) -> str:
    named = first(attributes, ("gen_ai.tool.name", "tool.name"))
    name = text(named) or text(observation.get("name"))
    return name.removeprefix("execute_tool ")


def _is_definition(message: object) -> bool:
    record = obj(message)
    content = obj(record.get("content"))
    return record.get("role") == "tool" and content.get("type") == "function"


def _without_definitions(payload: object) -> Any:
    """Tool definitions are stored among the messages, with the role of a tool."""
    value = decoded(payload)
    if isinstance(value, list):
        return [message for message in value if not _is_definition(message)]
    return value


def _tool_definitions(observation: Object) -> list[Object]:
    value = decoded(observation.get("input"))
    listed = value if isinstance(value, list) else []
    return [obj(m["content"]) for m in listed if _is_definition(m)]


def _distinct(items: list[Object]) -> list[Object]:
    return [item for index, item in enumerate(items) if item not in items[:index]]


def _trace_id(observations: list[Object]) -> str | None:
    return next((text_id(first(o, ("traceId", "trace_id"))) for o in observations), None)


def _matches_list(head: Sequence[object]) -> bool:
    return mostly(head, _is_observation)


TRACE = Reader(
    name="langfuse",
    matches=_matches,
    conversations=_traces,
    row=_row,
    markers=frozenset({"trace", "observations", "data", "traceId", "trace_id"}) | _OF_A_TRACE,
)
OBSERVATIONS = Reader(
    name="langfuse", matches=_matches_list, conversations=_traces_in_list, row=_row
)
