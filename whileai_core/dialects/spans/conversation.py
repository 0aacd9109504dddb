"""The spans of one conversation to one row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.events import Call, Event, Result
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.spans.calls import run_of
from whileai_core.dialects.spans.facts import add_facts
from whileai_core.dialects.spans.frames import frame_answers, frame_asks
from whileai_core.dialects.spans.kinds import OTHER
from whileai_core.dialects.spans.plain import names_only, plain_events
from whileai_core.dialects.spans.transcript import Place, Transcript
from whileai_core.dialects.spans.tree import Tree
from whileai_core.dialects.spans.values import (
    JOINER,
    decoded,
    input_events,
    output_events,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whileai_core.dialects.spans.histories import History
    from whileai_core.dialects.spans.reading import Reading
    from whileai_core.rows import Row


def row_of(key: str, group: Sequence[Reading]) -> Row | None:
    """Return the row of one conversation, or None when nothing was said or done in it.

    Args:
        key: The conversation id.
        group: All its spans, each once, in any order.
    """
    tree = Tree(group)
    transcript = _Telling(tree).told(asides_speak=False)
    if tree.aside and not transcript.prompt and not transcript.final_text:
        # Nothing but a tool's own trace: what is said in there is all there is.
        transcript = _Telling(tree).told(asides_speak=True)
    if not transcript.prompt or not transcript.final_text:
        _fill_from_frames(transcript, tree)
    if not (transcript.prompt or transcript.steps or transcript.final_text):
        return None
    row: Row = {
        "prompt": transcript.prompt,
        "steps": transcript.steps,
        "final_text": transcript.final_text,
        "conversation_id": key,
    }
    start = next((reading.start for reading in tree.ordered if reading.start), 0)
    if start:
        row["ts"] = start
    add_facts(row, tree, transcript.instructions)
    return row


class _Telling:
    """Tells a transcript what the spans of one conversation say, in time order."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._runs = {id(reading): run_of(reading) for reading in tree.ordered if reading.is_tool}
        self._transcript = Transcript({run.call_id for run in self._runs.values() if run.call_id})
        # Calls that a tool span tells whole: the model's own message about them adds nothing.
        self._told_by_spans = {
            run.call_id
            for run in self._runs.values()
            if run.call_id and run.arguments and type(run.arguments) is not str
        }
        # Trace to its last history and where that one stands.
        self._last: dict[str, tuple[History, Place]] = {}

    def told(self, *, asides_speak: bool) -> Transcript:
        """Return the transcript, what is said inside tool calls included or not."""
        aside = self._tree.aside
        for reading in self._tree.ordered:
            if reading.is_tool:
                self._ran(reading)
            elif reading.span in aside and not asides_speak:
                before, after = _messages(reading)
                self._transcript.delegated([*before, *after])
            elif reading.history is not None:
                self._told_history(reading, reading.history)
            elif reading.inputs or reading.outputs or reading.transcript is not None:
                before, after = self._told_messages(reading)
                if before or after:
                    self._transcript.said(before, after, reading.trace)
        return self._transcript

    def _ran(self, reading: Reading) -> None:
        run = self._runs[id(reading)]
        step = self._transcript.ran(
            run.name,
            run.arguments,
            run.result,
            call_id=run.call_id,
            span=reading.span,
            failed=run.failed,
            around=self._tree.around(reading),
        )
        if reading.span in self._tree.aside:
            agent = self._tree.agent_around(reading)
            if agent:
                step.setdefault("agent", agent)

    def _told_history(self, reading: Reading, history: History) -> None:
        after = self._answer_events(reading.outputs)
        last = self._last.get(reading.trace)
        if last is not None:
            rest = history.after(last[0])
            if rest is not None and self._transcript.goes_on(
                self._new_events(rest), after, last[1]
            ):
                self._last[reading.trace] = (history, last[1])
                return
        place = self._transcript.said(self._new_events(history.text), after, reading.trace)
        self._last[reading.trace] = (history, place)

    def _new_events(self, text: str) -> list[Event]:
        """Return what a history says, calls left out that spans have told whole."""
        messages = decoded(text)
        if type(messages) is not list:
            return input_events(text)
        knows = self._transcript.knows
        rest = [message for message in messages if not knows(message)]
        events: list[Event] = []
        for message in rest:
            plain = plain_events(message)
            if plain is None:
                return events_of(rest, joiner=JOINER)
            events += plain
        return events

    def _told_messages(self, reading: Reading) -> tuple[list[Event], list[Event]]:
        if reading.transcript is not None:
            events = input_events(reading.transcript)
            if events:
                return events, [e for e in events if not isinstance(e, Call | Result)]
        before = [event for payload in reading.inputs for event in input_events(payload)]
        return before, self._answer_events(reading.outputs)

    def _answer_events(self, payloads: Sequence[Any]) -> list[Event]:
        events: list[Event] = []
        for payload in payloads:
            found = decoded(payload)
            if type(found) is list:
                told = self._told_by_spans
                if all(names_only(message, told) for message in found):
                    continue
                plain = plain_events(found[0]) if len(found) == 1 else None
                if plain is not None:
                    events += plain
                    continue
            events += output_events(payload, found)
        return events


def _messages(reading: Reading) -> tuple[list[Event], list[Event]]:
    given = [reading.history.text] if reading.history is not None else reading.inputs
    if reading.transcript is not None:
        given = [reading.transcript]
    before = [event for payload in given for event in input_events(payload)]
    return before, [
        event for payload in reading.outputs for event in output_events(payload, decoded(payload))
    ]


def _fill_from_frames(transcript: Transcript, tree: Tree) -> None:
    """Take from agents and chains around model calls what no model call says."""
    loose = Transcript()
    for reading in tree.ordered:
        if reading.value_in is None and reading.value_out is None:
            continue
        if reading.kind != OTHER and reading.span not in tree.aside:
            loose.said(
                frame_asks(reading.value_in), frame_answers(reading.value_out), reading.trace
            )
    if not transcript.prompt:
        transcript.prompt = loose.prompt
        if not transcript.steps:
            transcript.steps = loose.steps
    if not transcript.final_text:
        transcript.final_text = loose.final_text
