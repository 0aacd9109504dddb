"""The quick way for the straight conversation: one agent, its model calls, its tool calls.

Straight is what most instrumented agents write: in one trace, every model call repeats the
history so far and the answer before it, and every call in a message has a tool span with its id.
Then all messages are in the last history, which is read once, in step with the spans. Whatever
is not so is left to the long way (`conversation`), which gives the same row for what is.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.dialects.events import Ask, Instruct, Say
from whileai_core.dialects.spans.briefs import Brief
from whileai_core.dialects.spans.calls import ended_run
from whileai_core.dialects.spans.facts import FIRST_OF, count, place_facts
from whileai_core.dialects.spans.functions import called_arguments, tool_result
from whileai_core.dialects.spans.histories import Passage
from whileai_core.dialects.spans.identity import are_usual_span_ids, span_id
from whileai_core.dialects.spans.kinds import AGENT, MODEL, TOOL
from whileai_core.dialects.spans.plain import names_only, plain_events
from whileai_core.dialects.spans.spellings import failure_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whileai_core.dialects.spans.histories import History
    from whileai_core.dialects.spans.reading import Reading
    from whileai_core.rows import Row, Step

_by_start = attrgetter("start")
_by_span = attrgetter("span")
_by_parent = attrgetter("parent")


class _NotStraight(Exception):
    """The conversation has to be read the long way."""


def straight_row(key: str, members: Sequence[Brief | Reading]) -> Row | None:
    """Return the row of a straight conversation, None for one that has to be read the long way.

    Args:
        key: The conversation id.
        members: All spans of its only trace, in any order.
    """
    try:
        return _row(key, _in_order(members))
    except (_NotStraight, LookupError, TypeError, ValueError, AttributeError):
        return None


def _in_order(members: Sequence[Brief | Reading]) -> list[Brief]:
    """Return the spans by start, if that is a sure order and nothing runs inside models or tools.

    Raises:
        _NotStraight: It is not so, or a span was delivered twice.
    """
    ordered = sorted(members, key=_by_start)
    briefs = [member for member in ordered if type(member) is Brief and member.part]
    spans = set(map(_by_span, briefs))
    if not len(members) == len(briefs) == len(spans) == len(set(map(_by_start, briefs))):
        raise _NotStraight
    frames = {brief.span for brief in briefs if brief.part == AGENT}
    around = set(map(span_id, set(map(_by_parent, briefs))))
    if not frames >= around & spans or not are_usual_span_ids(spans):
        raise _NotStraight
    return briefs


def _row(key: str, ordered: list[Brief]) -> Row:
    found: dict[str, Any] = dict.fromkeys(FIRST_OF)
    for brief in ordered:
        if brief.reward is not None and found["reward"] is None:
            found["reward"], found["reward_source"] = brief.reward
        for field, index in brief.plan.facts:
            if found[field] is None:
                found[field] = FIRST_OF[field](brief.values[index])
    models = [brief for brief in ordered if brief.part == MODEL]
    _check_numbers([brief for brief in ordered if brief.part == TOOL])
    telling = _Telling(ordered, models)
    if not (telling.prompt or telling.steps or telling.final_text):
        raise _NotStraight
    # Raises where a surrogate stands alone: parsers take none, so the rest of the row has none.
    jsonio.dumps([key, ordered[0].trace, found, telling.as_written])
    row: Row = {
        "prompt": telling.prompt,
        "steps": telling.steps,
        "final_text": telling.final_text,
        "conversation_id": key,
    }
    if ordered[0].start:
        row["ts"] = ordered[0].start
    place_facts(
        row,
        found,
        usage=_usage(models),
        trace=ordered[0].trace,
        scores={},
        said=telling.instructions,
    )
    return row


def _usage(models: list[Brief]) -> dict[str, int] | None:
    """Sum the tokens of the model calls, which no other span counts."""
    totals = [0, 0]
    any_counted = False
    for model in models:
        for side, index in enumerate(model.plan.tokens):
            tokens = count(model.values[index]) if index >= 0 else None
            if tokens is not None:
                totals[side] += tokens
                any_counted = True
    return {"input_tokens": totals[0], "output_tokens": totals[1]} if any_counted else None


class _Telling:
    """Prompt, steps and last reply, told by the last history in step with the spans."""

    def __init__(self, ordered: list[Brief], models: list[Brief]) -> None:
        self.prompt = ""
        self.steps: list[Step] = []
        self.final_text = ""
        self.instructions: list[str] = []
        # Calls that spans have told whole: what messages say of them adds nothing.
        self._settled: set[str] = set()
        self._has_asked = False
        # What ends in the row and has not come from the parser as it is.
        self.as_written: list[Any] = []
        answer, messages = _last_messages(models)
        self._answer: Any = None
        for brief in ordered:
            if brief.part == TOOL:
                self._ran(brief)
            elif brief.part == MODEL:
                self._heard(messages)
        if answer["role"] != "assistant":
            raise _NotStraight
        self._said(answer)

    def _heard(self, messages: Iterator[Any]) -> None:
        """Take the messages that a model call was given, up to the one that answers them."""
        if self._answer is not None:
            self._said(self._answer)
        for message in messages:
            if message["role"] == "assistant":
                self._answer = message
                return
            self._said(message)

    def _said(self, message: Any) -> None:
        if names_only(message, self._settled):
            return
        events = plain_events(message)
        if events is None:
            raise _NotStraight
        for event in events:
            if isinstance(event, Say):
                self.final_text = event.text
            elif isinstance(event, Ask):
                self._asked(event.text)
            elif isinstance(event, Instruct) and event.text not in self.instructions:
                self.instructions.append(event.text)

    def _asked(self, text: str) -> None:
        if not text or text.isspace():
            return
        if self._has_asked:
            self.steps.append({"user": text})
        else:
            self.prompt = text
            self._has_asked = True

    def _ran(self, brief: Brief) -> None:
        values, at = brief.values, brief.plan.at
        call_id, name, written, result = _call(brief)
        parsed = jsonio.loads_exact(written)
        arguments = called_arguments(parsed)
        failed, message = failure_in(brief.status) if brief.status else (False, "")
        error = values[at["error"]] if "error" in at else None
        run = ended_run(
            str(name),
            arguments,
            jsonio.loads_exact(result) if result[0] == "{" else tool_result(result),
            call_id,
            failed=failed or error is not None,
            status=values[at["tool_status"]] if "tool_status" in at else None,
            error=message or error,
        )
        is_whole = arguments and type(arguments) is dict and run.result is not None
        if not is_whole or type(call_id) is not str or call_id in self._settled:
            raise _NotStraight
        self._settled.add(call_id)
        is_parsed = arguments is parsed and result[0] in "{[" and not run.failed
        self.as_written.append(name if is_parsed else (name, arguments, run.result))
        self.steps.append({"tool": run.name, "arguments": arguments, "result": run.result})


def _check_numbers(tools: list[Brief]) -> None:
    """Leave texts that the quick parser would round to the long way, all in one look.

    Only arguments and results can hold numbers that end in the row.

    Raises:
        _NotStraight: There may be such a number.
    """
    texts = [text for tool in tools for text in _call(tool)[2:]]
    if jsonio.has_long_integers("".join(texts)):
        raise _NotStraight


def _last_messages(models: list[Brief]) -> tuple[Any, Iterator[Any]]:
    """Return what the last model call gave and was given: all messages of the conversation.

    Raises:
        _NotStraight: The histories do not repeat each other and the answers.
    """
    last = models[0]
    history = _history(last)
    for later in models[1:]:
        passage = last.values[last.plan.answered]
        longer = _history(later)
        if type(passage) is not Passage or not longer.goes_on_from(history, passage):
            raise _NotStraight
        last, history = later, longer
    messages = jsonio.loads_exact(history.text)
    [answer] = jsonio.loads_exact(last.values[last.plan.answered])
    # So each answer among the messages is the one that followed a history.
    if sum([message["role"] == "assistant" for message in messages]) != len(models) - 1:
        raise _NotStraight
    return answer, iter(messages)


def _history(brief: Brief) -> History:
    if brief.history is None:
        raise _NotStraight
    return brief.history


def _call(brief: Brief) -> tuple[Any, ...]:
    if brief.plan.call is None:
        raise _NotStraight
    return brief.plan.call(brief.values)
