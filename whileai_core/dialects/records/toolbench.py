"""ToolBench: answer files of the search (`answer_generation`) and their ToolEval form."""

from __future__ import annotations

from collections.abc import Iterator

from whileai_core.dialects.events import Ask, Call, Event, Result, Say
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.values import arguments_of, first, name_of, result_of
from whileai_core.dialects.records import labels
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import (
    Object,
    decoded,
    kept,
    obj,
    objects,
    present,
    text,
    walk,
)
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

# The harness ends the user's question with this word.
_BEGIN = "Begin!"
_FINISH = "Finish"


def _matches(value: object) -> bool:
    record = obj(value)
    if isinstance(record.get("answer_generation"), dict):
        return True
    return "answer_details" in obj(record.get("answer"))


def _row(record: Object) -> Row | None:
    if "answer_details" in obj(record.get("answer")):
        return _converted_row(record)
    answer = obj(record.get("answer_generation"))
    query = text(answer.get("query"))
    events = _longest(answer) or [Ask(query), *_chain(record)]
    events = list(_asked_once(events, query))
    final = _answer_in(answer.get("final_answer"))
    if final:
        events.append(Say(final))
    row = present(tools=answer.get("function"), finish_type=answer.get("finish_type"))
    labels.grade(row, record.get("win"), "win")
    return row_from_events(events, extra=row)


def _longest(answer: Object) -> list[Event]:
    """Every call of the model is kept with all messages before it: the longest has them all."""
    lists = answer.get("train_messages")
    found = [m for m in lists if isinstance(m, list)] if isinstance(lists, list) else []
    return events_of(max(found, key=len)) if found else []


def _asked_once(events: list[Event], query: str) -> Iterator[Event]:
    """Keep one ask: later user messages are the search prompting for another attempt."""
    asked = False
    for event in events:
        if not isinstance(event, Ask):
            yield event
        elif not asked:
            asked = True
            yield Ask(query or event.text.strip().removesuffix(_BEGIN).strip())


def _chain(record: Object) -> Iterator[Event]:
    """Read the nodes of a run whose messages were not kept."""
    attempts = objects(record.get("trys"))
    candidates = record.get("compare_candidates")
    nodes = objects(attempts[-1].get("chain")) if attempts else []
    if not nodes and isinstance(candidates, list) and candidates:
        nodes = objects(candidates[-1])
    if not nodes:
        nodes = _deepest_path(obj(obj(record.get("tree")).get("tree")))
    name = ""
    for node in nodes:
        said = text(node.get("description"))
        kind = node.get("node_type")
        if kind == "Thought" and said.strip():
            yield Say(said)
        elif kind == "Action":
            name = said
        elif kind == "Action Input" and name:
            yield Call(name, arguments_of(said))
            if node.get("observation") is not None:
                yield Result(result_of(node["observation"]), None, name)
            name = ""


def _deepest_path(node: Object) -> list[Object]:
    path: list[Object] = []
    while node:
        path.append(node)
        children = objects(node.get("children"))
        node = max(children, key=_size, default={})
    return path


def _size(node: Object) -> int:
    return sum(1 for _ in walk(node, "children"))


def _answer_in(final: object) -> str:
    """The final answer is the arguments of the closing call, as text."""
    value = decoded(final)
    if isinstance(value, dict):
        return text(value.get("final_answer"))
    return value.strip() if isinstance(value, str) else ""


def _converted_row(record: Object) -> Row | None:
    """Read ToolEval's form: a chain of `{role, message, next}`."""
    answer = obj(record.get("answer"))
    events: list[Event] = [Ask(text(record.get("query")))]
    for node in _first_children(objects(answer.get("answer_details"))):
        said = node.get("message")
        if node.get("role") == "tool":
            events += _tool_call(said)
        elif node.get("role") == "assistant" and text(said):
            events.append(Say(text(said)))
    if final := _answer_in(answer.get("final_answer")):
        events.append(Say(final))
    row = kept(answer, "method", "total_steps") | present(tools=record.get("available_tools"))
    if "win" in record:
        labels.grade(row, record["win"], "win")
    return row_from_events(events, extra=row)


def _first_children(nodes: list[Object]) -> Iterator[Object]:
    while nodes:
        yield nodes[0]
        nodes = objects(nodes[0].get("next"))


def _tool_call(told: object) -> list[Event]:
    call = arguments_of(told)
    if not call:
        return []
    name = name_of(call.get("name"))
    response = first(call, ("response",))
    made = Call(name, arguments_of(call.get("arguments")))
    return [made] if response is None else [made, Result(result_of(response), None, name)]


ANSWERS = Reader(
    name="toolbench",
    matches=_matches,
    conversations=lambda value: [value],
    row=_row,
    markers=frozenset({"answer_generation", "answer"}),
)
