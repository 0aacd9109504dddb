"""The span: one producer-independent carrier between the payload readers and the assembly."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, NamedTuple


class SpanEvent(NamedTuple):
    """A named moment inside a span."""

    name: str
    attributes: dict[str, Any]


class Span:
    """One span with plain attribute values.

    Attributes:
        trace_id: 32 lower-case hex digits where the producer's id can be read as one, else the
            producer's own text; empty when there is none.
        span_id: 16 hex digits likewise.
        parent_id: Span id of the parent; empty for a root.
        start_ns: Start in nanoseconds since the epoch; 0 when unknown.
        end_ns: End likewise.
        attributes: Attribute name to plain JSON value.
        failed: Whether the status says error.
        message: The status text.
        service: `service.name` of the resource.
        scope: Name of the instrumentation scope.
    """

    __slots__ = (
        "attributes",
        "end_ns",
        "events",
        "failed",
        "message",
        "name",
        "parent_id",
        "scope",
        "service",
        "span_id",
        "start_ns",
        "trace_id",
    )

    def __init__(
        self,
        trace_id: str = "",
        span_id: str = "",
        parent_id: str = "",
        name: str = "",
        start_ns: int = 0,
        end_ns: int = 0,
        attributes: dict[str, Any] | None = None,
        events: list[SpanEvent] | None = None,
        failed: bool = False,
        message: str = "",
        service: str = "",
        scope: str = "",
    ) -> None:
        self.trace_id = trace_id
        self.span_id = span_id
        self.parent_id = parent_id
        self.name = name
        self.start_ns = start_ns
        self.end_ns = end_ns
        self.attributes = {} if attributes is None else attributes
        self.events = [] if events is None else events
        self.failed = failed
        self.message = message
        self.service = service
        self.scope = scope

    def to_json(self) -> dict[str, Any]:
        """Return the span as a JSON object; `from_json` gives back an equal span."""
        out = {name: value for name, value in zip(_NAMES, _values(self), strict=True) if value}
        if self.events:
            out["events"] = [[event.name, event.attributes] for event in self.events]
        return out

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Span:
        """Read what `to_json` wrote.

        Raises:
            TypeError: The object holds keys that are no fields of a span.
        """
        if "events" not in value:
            return cls(**value)
        events = [SpanEvent(name, attributes) for name, attributes in value["events"]]
        return cls(**{**value, "events": events})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Span):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]  # mutable, compared by content

    def __repr__(self) -> str:
        return f"Span({self.name!r}, trace={self.trace_id!r}, span={self.span_id!r})"


_NAMES = Span.__slots__
_values = attrgetter(*_NAMES)
