"""Spans to rows: group by conversation, once per span, in time order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from whileai_core import jsonio
from whileai_core.dialects.events import Call, Event, Result
from whileai_core.dialects.spans.families.family import AGENT, MODEL
from whileai_core.dialects.spans.reading import Reading, carries_content, read
from whileai_core.dialects.spans.span import Span
from whileai_core.dialects.spans.transcript import Transcript
from whileai_core.dialects.spans.values import (
    decoded,
    input_events,
    loose_answer,
    loose_ask,
    output_events,
    tool_arguments,
)
from whileai_core.rows import SCHEMA_VERSION, Row

_FAILED_WORDS = frozenset({"error", "failed", "failure"})
_CLEAN_WORDS = frozenset({"ok", "success", "created", "deleted", "clean", "no fault", "exit_0"})


class Collector:
    """Takes spans as they come and gives the rows of their conversations.

    Only what rows need is kept of a span. Order of arrival and repeated delivery change nothing
    but the order of the rows.
    """

    def __init__(self, reward_keys: Iterable[str]) -> None:
        self._reward_keys = tuple(reward_keys)
        self._readings: list[Reading] = []
        self._places: dict[tuple[str, str, str], int] = {}

    def add(self, span: Span) -> None:
        """Take one span."""
        reading = read(span, self._reward_keys)
        if not reading.trace:
            reading.trace = ""
        if not reading.span:
            self._readings.append(reading)
            return
        key = (reading.trace, reading.span, reading.name)
        place = self._places.setdefault(key, len(self._readings))
        if place == len(self._readings):
            self._readings.append(reading)
        elif _weight(reading) > _weight(self._readings[place]):
            self._readings[place] = reading

    def rows(self) -> list[Row]:
        """Return the rows of all conversations, in the order of their first spans."""
        rows = []
        for key, group in _grouped(self._readings).items():
            row = _row(key, group)
            if row is not None:
                rows.append(row)
        return rows


def _weight(reading: Reading) -> tuple[int, int, str]:
    """Order two deliveries of one span: the fuller one is the span."""
    content = [
        [name, getattr(reading, name)]
        for name in Reading.__slots__
        if getattr(reading, name) not in (None, "", [], 0, False)
    ]
    return (reading.end, len(content), jsonio.text(content))


def conversation_of(span: Span) -> str | None:
    """Return the conversation id a span carries itself, or None."""
    return _conversation_id(read(span))


def _conversation_id(reading: Reading) -> str | None:
    value = reading.conversation
    if type(value) is str:
        if value[:1] == '"' and value[-1:] == '"' and len(value) > 2:
            try:
                value = jsonio.loads(value)
            except ValueError:
                value = value.strip('"')
        return value if isinstance(value, str) and value.strip() else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return None


# Grouping


def _grouped(readings: list[Reading]) -> dict[str, list[Reading]]:
    traces: dict[str, list[Reading]] = {}
    for reading in readings:
        traces.setdefault(reading.trace, []).append(reading)
    groups: dict[str, list[Reading]] = {}
    keys: dict[int, str] = {}
    for trace, members in traces.items():
        for reading, key in zip(members, _keys(trace, members), strict=True):
            keys[id(reading)] = key
    for reading in readings:
        groups.setdefault(keys[id(reading)], []).append(reading)
    return groups


def _keys(trace: str, members: list[Reading]) -> list[str]:
    """Return the conversation of each span of one trace.

    Its own id; else the id of the nearest span around it that has one; else the first id in the
    trace by time; else the trace id. Spans without a trace stay apart, by root.
    """
    own = [_conversation_id(reading) for reading in members]
    by_span = {reading.span: index for index, reading in enumerate(members) if reading.span}
    if trace:
        first = min(
            (
                (members[index].start, index, key)
                for index, key in enumerate(own)
                if key is not None
            ),
            default=None,
        )
        fallback: str | None = first[2] if first else trace
    else:
        fallback = None
    keys = []
    for index, reading in enumerate(members):
        key = own[index]
        if key is None:
            key = _inherited(index, members, by_span, own)
        if key is None:
            key = fallback or _apart(index, members, by_span)
        keys.append(key)
    return keys


def _inherited(
    index: int, members: list[Reading], by_span: dict[str, int], own: list[str | None]
) -> str | None:
    visited = {index}
    at = by_span.get(members[index].parent)
    while at is not None and at not in visited:
        if own[at] is not None:
            return own[at]
        visited.add(at)
        at = by_span.get(members[at].parent)
    return None


def _apart(index: int, members: list[Reading], by_span: dict[str, int]) -> str:
    """Name the conversation of a span that has neither trace nor conversation: by its root."""
    visited = {index}
    at = index
    while (above := by_span.get(members[at].parent)) is not None and above not in visited:
        visited.add(above)
        at = above
    root = members[at]
    if root.span:
        return f"span:{root.span}"
    content = jsonio.text([root.name, root.start, root.inputs, root.outputs, root.arguments])
    digest = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:16]
    return f"span:{digest}"


# One conversation


def _row(key: str, group: list[Reading]) -> Row | None:
    tree = _Tree(group)
    ordered = tree.ordered()
    transcript = _transcribed(ordered, tree, delegates_speak=False)
    if not transcript.prompt and not transcript.final_text and tree.delegates:
        transcript = _transcribed(ordered, tree, delegates_speak=True)
    _fill_from_frames(transcript, ordered, tree)
    if not (transcript.prompt or transcript.steps or transcript.final_text):
        return None
    row: Row = {
        "prompt": transcript.prompt,
        "steps": transcript.steps,
        "final_text": transcript.final_text,
        "conversation_id": key,
    }
    if ordered[0].start:
        row["ts"] = ordered[0].start
    _add_facts(row, ordered, tree, transcript)
    return row


def _add_facts(row: Row, ordered: list[Reading], tree: _Tree, transcript: Transcript) -> None:
    for reading in ordered:
        if reading.reward is not None:
            row["reward"] = reading.reward
            break
    model = _first_text(ordered, "model_version") or _first_text(ordered, "model")
    if model:
        row["model_version"] = model
    usage = _usage(ordered, tree)
    if usage is not None:
        row["usage"] = usage
    row["schema_version"] = SCHEMA_VERSION
    instructions = _instructions(ordered, transcript)
    if instructions:
        row["system"] = instructions
    own = [reading for reading in ordered if reading.span not in tree.delegates]
    agent = _first_text(own, "agent")
    if agent:
        row["agent"] = agent
    trace = next((reading.trace for reading in ordered if reading.trace), None)
    if trace and trace != row["conversation_id"]:
        row["trace_id"] = trace
    scores = {name: value for r in ordered if r.scores for name, value in r.scores.items()}
    if scores:
        row["scores"] = scores
    source = next((r.reward_source for r in ordered if r.reward is not None), None)
    if source:
        row["reward_source"] = source
    tools = next((r.tools for r in ordered if r.tools), None)
    if tools:
        row["tools"] = _definitions(tools)


def _definitions(tools: Any) -> Any:
    found = decoded(tools)
    return [decoded(tool) for tool in found] if isinstance(found, list) else found


def _first_text(ordered: list[Reading], field: str) -> str:
    for reading in ordered:
        value = getattr(reading, field)
        if value is not None and not isinstance(value, dict | list):
            text = str(value)
            if text:
                return text
    return ""


def _instructions(ordered: list[Reading], transcript: Transcript) -> str:
    if transcript.instructions:
        return "\n".join(transcript.instructions)
    for reading in ordered:
        if reading.system:
            found = decoded(reading.system)
            if isinstance(found, str):
                return found
            events = input_events([{"role": "system", "content": _parts(found)}])
            return "\n".join(event.text for event in events if not isinstance(event, Call | Result))
    return ""


def _parts(found: Any) -> Any:
    if isinstance(found, dict) and isinstance(found.get("parts"), list):
        return found["parts"]
    return found


class _Tree:
    """Who is inside whom, within one conversation."""

    def __init__(self, group: list[Reading]) -> None:
        self._group = group
        self._by_span = {reading.span: reading for reading in group if reading.span}
        self._enclosing: dict[str, tuple[str, ...]] = {}
        self.delegates = self._delegates()

    def enclosing(self, reading: Reading) -> tuple[str, ...]:
        """Return the ids of the spans around one, innermost first; cycles end the walk."""
        known = self._enclosing.get(reading.span)
        if known is not None and reading.span:
            return known
        chain: list[str] = []
        seen = {reading.span}
        above = self._by_span.get(reading.parent)
        while above is not None and above.span not in seen:
            chain.append(above.span)
            seen.add(above.span)
            above = self._by_span.get(above.parent)
        self._enclosing[reading.span] = tuple(chain)
        return self._enclosing[reading.span]

    def ordered(self) -> list[Reading]:
        """Return the spans by start; of those that start together the outer ones first."""
        return sorted(self._group, key=lambda r: (r.start, len(self.enclosing(r)), r.span, r.trace))

    def _delegates(self) -> set[str]:
        """Return the ids of spans that run inside a tool call."""
        tools = {reading.span for reading in self._group if reading.span and reading.is_tool}
        if not tools:
            return set()
        return {
            reading.span
            for reading in self._group
            if reading.parent and not tools.isdisjoint(self.enclosing(reading))
        }

    def agent_around(self, reading: Reading) -> str:
        """Return the name of the innermost agent around a span."""
        for span in self.enclosing(reading):
            around = self._by_span[span]
            if around.kind == AGENT and isinstance(around.agent, str):
                return around.agent
        return ""


def _transcribed(ordered: list[Reading], tree: _Tree, *, delegates_speak: bool) -> Transcript:
    transcript = Transcript()
    for reading in ordered:
        inside = reading.span in tree.delegates
        if reading.is_tool:
            _run(transcript, reading, tree, inside)
            continue
        before, after = _messages(reading)
        if inside and not delegates_speak:
            transcript.delegated([*before, *after])
        elif before or after:
            transcript.said(before, after, reading.trace)
    return transcript


def _messages(reading: Reading) -> tuple[list[Event], list[Event]]:
    if reading.transcript is not None:
        events = input_events(reading.transcript)
        if events:
            return events, [event for event in events if not isinstance(event, Call | Result)]
    before = [event for payload in reading.inputs for event in input_events(payload)]
    after = [event for payload in reading.outputs for event in output_events(payload)]
    return before, after


def _run(transcript: Transcript, reading: Reading, tree: _Tree, inside: bool) -> None:
    arguments, result = tool_arguments(reading.arguments), decoded(reading.result)
    if arguments is None and (reading.inputs or reading.outputs):
        arguments, result = _call_in_messages(reading, result)
    call_id = str(reading.tool_id) if reading.tool_id not in (None, "") else None
    result, call_id, broken = _unwrapped_result(result, call_id)
    failed = broken or _has_failed(reading, result)
    if failed:
        result = _failure(reading, result)
    step = transcript.ran(
        str(reading.tool_name or _tool_of_span(reading.name)),
        arguments,
        result,
        call_id=call_id,
        span=reading.span,
        parent=reading.parent,
        failed=failed,
        enclosing=frozenset(tree.enclosing(reading)),
    )
    if inside:
        agent = tree.agent_around(reading)
        if agent:
            step.setdefault("agent", agent)


def _tool_of_span(name: str) -> str:
    return name.removeprefix("execute_tool ").strip() or "tool"


def _call_in_messages(reading: Reading, result: Any) -> tuple[Any, Any]:
    """Read the call a tool span runs from the messages it carries instead of attributes."""
    before, after = _messages(reading)
    call = next((event for event in (*before, *after) if isinstance(event, Call)), None)
    answer = next((event for event in (*after, *before) if isinstance(event, Result)), None)
    arguments = None
    if call is not None:
        arguments = call.arguments
        reading.tool_id = reading.tool_id or call.id
    if answer is not None and result is None:
        result = answer.value
        reading.tool_id = reading.tool_id or answer.id
    return arguments, result


def _unwrapped_result(result: Any, call_id: str | None) -> tuple[Any, str | None, bool]:
    """Take a LangChain tool message apart into its content, its call id and its status."""
    if isinstance(result, dict) and "tool_call_id" in result and "content" in result:
        inner = result["tool_call_id"]
        call_id = call_id or (str(inner) if inner else None)
        return decoded(result["content"]), call_id, result.get("status") == "error"
    return result, call_id, False


def _has_failed(reading: Reading, result: Any) -> bool:
    status = str(result.get("status") or "").strip().lower() if isinstance(result, dict) else ""
    if reading.failed or reading.error is not None:
        return not status or status in _CLEAN_WORDS
    word = str(reading.tool_status or "").strip().lower()
    return word in _FAILED_WORDS and not status


def _failure(reading: Reading, result: Any) -> dict[str, Any]:
    failure: dict[str, Any] = {"status": "error", "output": result}
    error = reading.exception or reading.message or reading.error
    if error:
        failure["error"] = error
    return failure


def _fill_from_frames(transcript: Transcript, ordered: list[Reading], tree: _Tree) -> None:
    """Take from agents and chains around model calls what no model call says."""
    if transcript.prompt and transcript.final_text:
        return
    frames = [
        reading
        for reading in ordered
        if (reading.value_in is not None or reading.value_out is not None)
        and reading.kind != "other"
        and reading.span not in tree.delegates
    ]
    if not frames:
        return
    loose = Transcript()
    for reading in frames:
        loose.said(loose_ask(reading.value_in), loose_answer(reading.value_out), reading.trace)
    if not transcript.prompt:
        asked = [step for step in loose.steps if "user" in step]
        transcript.prompt = loose.prompt
        transcript.steps = [*asked, *transcript.steps] if not transcript.steps else transcript.steps
    if not transcript.final_text:
        transcript.final_text = loose.final_text
    if not transcript.steps:
        transcript.steps = loose.steps


def _usage(ordered: list[Reading], tree: _Tree) -> dict[str, int] | None:
    """Sum the tokens of the innermost spans that count any: outer ones repeat them."""
    counted = [
        (reading, _count(reading.tokens_in), _count(reading.tokens_out)) for reading in ordered
    ]
    counted = [item for item in counted if item[1] is not None or item[2] is not None]
    if not counted:
        return None
    outer: set[str] = set()
    for reading, _, _ in counted:
        outer.update(tree.enclosing(reading))
    models = [reading for reading, _, _ in counted if reading.kind == MODEL]
    total_in = total_out = 0
    for reading, tokens_in, tokens_out in counted:
        if reading.span and reading.span in outer:
            continue
        if reading.kind == AGENT and any(
            model.trace == reading.trace and reading.start <= model.start <= reading.end
            for model in models
        ):
            continue
        total_in += tokens_in or 0
        total_out += tokens_out or 0
    return {"input_tokens": total_in, "output_tokens": total_out}


def _count(value: Any) -> int | None:
    if value is None or isinstance(value, bool | dict | list):
        return None
    try:
        number = int(float(value))
    except (TypeError, ValueError, OverflowError):
        return None
    return number if number >= 0 else None


def rows_from_spans(
    spans: Iterable[Span], *, reward_keys: Iterable[str] = ("whileai.reward",)
) -> list[Row]:
    """Return one row per conversation, in the order of their first spans.

    The same spans give the same rows in any order and however often they are repeated. Spans
    without conversation content give none.

    Args:
        spans: Spans of whole conversations: a row is as good as the spans it is made from.
        reward_keys: Attributes that may hold the reward, by precedence.
    """
    collector = Collector(reward_keys)
    for span in spans:
        collector.add(span)
    return collector.rows()


__all__ = ["Collector", "carries_content", "conversation_of", "rows_from_spans"]
