"""Behaviour signatures: what tells two ways of handling a conversation apart."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

from whileai_core.traces.values import json_text, plain_text

if TYPE_CHECKING:
    from whileai_core.rows import Row
    from whileai_core.traces.calls import ToolCall

_REFUSALS = ("can't", "cannot", "unable", "won't")
_WORDS_PER_BAND = 12
_LAST_BAND = 12

# (tool, ((argument, provenance), ...), status)
StepShape = tuple[str, tuple[tuple[str, str], ...], str]


class Signature(NamedTuple):
    """Rows with equal signatures behaved alike."""

    steps: tuple[StepShape, ...]
    refusal: bool
    band: int

    @property
    def digest(self) -> str:
        """The form that leaves the process: 12 hex digits."""
        text = repr((self.steps, self.refusal, self.band))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def signature_of(
    row: Row, calls: list[ToolCall], shared: dict[StepShape, StepShape] | None = None
) -> Signature:
    """Return the signature of a row whose tool calls are `calls`.

    Args:
        row: The row, for its prompt and final text.
        calls: Its tool calls in order.
        shared: Step shapes seen so far; equal shapes become one object, which keeps a set of
            many signatures small.
    """
    if shared is None:
        shared = {}
    final = plain_text(row.get("final_text")).lower()
    return Signature(
        _step_shapes(plain_text(row.get("prompt")).lower(), calls, shared),
        any(word in final for word in _REFUSALS),
        min(len(final.split()) // _WORDS_PER_BAND, _LAST_BAND),
    )


def _step_shapes(
    ask: str, calls: list[ToolCall], shared: dict[StepShape, StepShape]
) -> tuple[StepShape, ...]:
    shapes = []
    earlier = _Earlier()
    for call in calls:
        sources = [
            (name if type(name) is str else plain_text(name), _provenance(value, ask, earlier))
            for name, value in call.arguments.items()
        ]
        if len(sources) > 1:
            sources.sort()
        shape = (call.tool, tuple(sources), plain_text(call.answer.get("status")))
        shapes.append(shared.setdefault(shape, shape))
        if call.result is not None:
            earlier.waiting.append(call.result)
    return tuple(shapes)


class _Earlier:
    """The texts of the results seen so far, written only when something is looked up."""

    __slots__ = ("texts", "waiting")

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.waiting: list[Any] = []

    def hold(self, value: str) -> bool:
        if self.waiting:
            self.texts.extend(json_text(result).lower() for result in self.waiting)
            self.waiting.clear()
        return any(value in text for text in self.texts)


def _provenance(value: object, ask: str, earlier: _Earlier) -> str:
    # An argument of None is the word "None", as `str` has it.
    text = value if type(value) is str else ("none" if value is None else plain_text(value))
    text = text.strip().lower()
    if not text:
        return "absent"
    if text in ask:
        return "user"
    return "derived" if earlier.hold(text) else "invented"
