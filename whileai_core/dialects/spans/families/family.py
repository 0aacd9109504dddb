"""What a family of producers declares: where it keeps things, never how they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whileai_core.dialects.spans.reading import Reading
    from whileai_core.dialects.spans.span import Span, SpanEvent


@dataclass(frozen=True)
class Family:
    """One family of span producers.

    Attributes:
        name: Shown in accounts and documents.
        namespaces: Prefixes of the attributes that are this family's own.
        fields: Field of `Reading` to the attributes that hold it, the first non-blank winning.
        kinds: Attribute that names the kind of a span, to its values (lower case) and our kinds.
        names: Span names that tell the kind where no attribute does.
        indexed: Prefix of attributes spread over indices (`gen_ai.prompt.0.role`) to field.
        events: Span event name to the reader of such an event.
        finish: Called once the fields of a span of this family are known, to unwrap what the
            producer wraps; only for spans that have one of `finish_on`.
        finish_on: Attributes or attribute prefixes that make a span one for `finish`.
    """

    name: str
    namespaces: tuple[str, ...]
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kinds: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    indexed: Mapping[str, str] = field(default_factory=dict)
    events: Mapping[str, Callable[[SpanEvent, Reading], None]] = field(default_factory=dict)
    finish: Callable[[Span, Reading], None] | None = None
    finish_on: tuple[str, ...] = ()
