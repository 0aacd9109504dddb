"""Azure AI evaluation: rows of query and response, of calls, of conversations; scored rows."""

from __future__ import annotations

from typing import Any

from whileai_core.dialects.events import Call
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.values import text_id
from whileai_core.dialects.records import labels
from whileai_core.dialects.records.payloads import input_events, output_events
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, decoded, kept, obj, present
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_INPUT, _OUTPUT = "inputs.", "outputs."


def _matches(value: object) -> bool:
    record = obj(value)
    if "inputs.query" in record and "inputs.response" in record:
        return True
    if isinstance(obj(record.get("conversation")).get("messages"), list):
        return True
    if "query" not in record or not ("response" in record or "tool_calls" in record):
        return False
    if any(isinstance(decoded(record.get(key)), list) for key in ("query", "response")):
        return True
    return "tool_definitions" in record


def _row(record: Object) -> Row | None:
    given = _inputs(record)
    events = input_events(given.get("query")) + output_events(given.get("response"))
    if not any(isinstance(event, Call) for event in events):
        # The rows of the tool call evaluator hold the calls apart, without results.
        calls = {"role": "assistant", "tool_calls": decoded(given.get("tool_calls"))}
        events += [event for event in events_of([calls]) if isinstance(event, Call)]
    events += input_events(given.get("conversation"))
    row = kept(given, "ground_truth", "context") | present(
        tools=decoded(given.get("tool_definitions")),
        conversation_id=text_id(given.get("conversation_id")) or text_id(given.get("thread_id")),
    )
    for key, value in record.items():
        if key.startswith(_OUTPUT):
            labels.score(row, key.removeprefix(_OUTPUT), value)
    return row_from_events(events, extra=row)


def _inputs(record: Object) -> dict[str, Any]:
    if "inputs.query" not in record:
        return record
    return {k.removeprefix(_INPUT): v for k, v in record.items() if k.startswith(_INPUT)}


ROWS = Reader(
    name="azure-ai-evaluation",
    matches=_matches,
    conversations=lambda value: [value],
    row=_row,
    markers=frozenset({"response", "tool_calls", "conversation", "inputs.query"}),
)
