"""One span, read: what it says about the conversation, whichever family wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.spans.indexed import unlayered
from whileai_core.dialects.spans.kinds import MODEL, TOOL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whileai_core.dialects.spans.histories import History, Passage


class Reading:
    """What one span says; a field is None or empty when the span says nothing of it.

    Attributes:
        trace, span, parent, start, end, name: As in `Span`.
        kind: `tool`, `agent`, `model`, `chain`, `other` or "".
        conversation: The span's own conversation id, as written.
        inputs: Payloads of messages the model was given, as the producer wrote them.
        history: The only input payload, when it is a long JSON text; `inputs` is empty then.
        outputs: Payloads of messages the model gave.
        repeated: The only output payload, while a later history holds it; `outputs` is empty then.
        transcript: A payload with both sides of a whole conversation.
        value_in, value_out: Input and output of a frame around others.
        arguments, result: Of a tool call, as written.
        failed, message: Failure by span status.
        exception: Message of the last exception event.
        reward, reward_source: First usable reward and the attribute that held it.
        scores: Other scores by name.
    """

    # Class attributes are the defaults: most spans say little, and there are many spans.
    agent: Any = None
    arguments: Any = None
    conversation: Any = None
    error: Any = None
    exception: Any = None
    failed = False
    history: History | None = None
    inputs: Sequence[Any] = ()
    kind = ""
    message = ""
    model: Any = None
    model_version: Any = None
    outputs: Sequence[Any] = ()
    repeated: Passage | None = None
    response_id: Any = None
    result: Any = None
    reward: int | float | None = None
    reward_source: str | None = None
    scores: dict[str, Any] | None = None
    system: Any = None
    tokens_in: Any = None
    tokens_out: Any = None
    tool_id: Any = None
    tool_name: Any = None
    tool_status: Any = None
    tools: Any = None
    transcript: Any = None
    value_in: Any = None
    value_out: Any = None

    def __init__(
        self,
        trace: str,
        span: str,
        parent: str,
        start: int,
        end: int,
        name: str,
        failed: bool = False,
        message: str = "",
    ) -> None:
        self.trace = trace
        self.span = span
        self.parent = parent
        self.start = start
        self.end = end
        self.name = name
        if failed:
            self.failed = True
        if message:
            self.message = message

    def _set_messages_in(self, payload: Any) -> None:
        self.inputs = (unlayered(payload) if type(payload) is list else payload,)

    def _set_messages_out(self, payload: Any) -> None:
        self.outputs = (unlayered(payload) if type(payload) is list else payload,)

    # What families name their message attributes; there is one payload of each.
    messages_in = property(fset=_set_messages_in)
    messages_out = property(fset=_set_messages_out)

    def given(self, payload: Any) -> None:
        """Add a payload of messages the model was given."""
        self.inputs = [*self.inputs, payload]

    def gave(self, payload: Any) -> None:
        """Add a payload of messages the model gave."""
        self.outputs = [*self.outputs, payload]

    def reading(self) -> Reading:
        """Return itself: what is held of an unusual span."""
        return self

    def repeated_in(self, later: History) -> None:
        """Keep no copy of the outputs if a later history of the same conversation repeats them."""
        if self.history is not None and len(self.outputs) == 1 and type(self.outputs[0]) is str:
            self.repeated = later.passage(self.history, self.outputs[0])
            if self.repeated is not None:
                self.outputs = ()

    def restore(self) -> None:
        """Take the outputs back from the history that repeats them."""
        if self.repeated is not None:
            self.outputs = (self.repeated.text,)
            self.repeated = None

    @property
    def is_tool(self) -> bool:
        """Whether the span is one tool call."""
        return self.arguments is not None or self.kind == TOOL

    @property
    def has_content(self) -> bool:
        """Whether the span says anything of a conversation beyond its place in the tree."""
        return bool(
            self.inputs
            or self.history
            or self.outputs
            or self.repeated
            or self.is_tool
            or self.transcript
            or self.value_in
            or self.value_out
        )


# Instances of one class take room for every field that any of them has. Tools and models have few
# fields in common: as classes of their own they take a third less.
class _ToolReading(Reading):
    """What a tool span says."""


class _ModelReading(Reading):
    """What the span of a model call says."""


READING_OF: dict[str, type[Reading]] = {TOOL: _ToolReading, MODEL: _ModelReading}
