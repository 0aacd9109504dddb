"""The public operation: spans from wherever they lie to rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from whileai_core import jsonio
from whileai_core.dialects.spans.assemble import Collector
from whileai_core.dialects.spans.payloads import is_span_payload, spans_in
from whileai_core.dialects.spans.span import Span
from whileai_core.rows import Row
from whileai_core.sources.items import Ignored, Origin, Reject
from whileai_core.sources.otlp import looks_like_otlp_protobuf, protobuf_batches

_MEMORY = Origin("<memory>")


def rows_from_otel(
    source: object, *, reward_keys: Iterable[str] = ("whileai.reward",)
) -> list[Row]:
    """Return one row per conversation found in OpenTelemetry traces."""
    collector = Collector([reward_keys] if isinstance(reward_keys, str) else reward_keys)
    for item in _spans(source):
        if isinstance(item, Span):
            collector.add(item)
    return collector.rows()


def _spans(source: Any) -> Iterator[Span | Reject | Ignored]:
    if source is None:
        return
    if isinstance(source, Path):
        yield from _bytes(source.read_bytes())
    elif isinstance(source, bytes):
        yield from _bytes(source)
    elif isinstance(source, str):
        if source.lstrip()[:1] in ("{", "["):
            yield from _bytes(source.encode())
        else:
            yield from _bytes(Path(source).read_bytes())
    elif isinstance(source, dict):
        yield from spans_in(source, _MEMORY)
    else:
        for item in source:
            yield from spans_in(item, _MEMORY)


def _bytes(data: bytes) -> Iterator[Span | Reject | Ignored]:
    if looks_like_otlp_protobuf(data[:64]):
        for batch in protobuf_batches(data):
            if isinstance(batch, dict):
                yield from spans_in(batch, _MEMORY)
        return
    try:
        yield from spans_in(jsonio.loads(data), _MEMORY)
    except ValueError:
        for line in data.splitlines():
            try:
                yield from spans_in(jsonio.loads(line), _MEMORY)
            except ValueError:
                continue


_ = is_span_payload
