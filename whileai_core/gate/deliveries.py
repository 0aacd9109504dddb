"""The bytes of an OTLP request to spans, each with what it is filed under."""

from __future__ import annotations

import hashlib
import re
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException

from whileai_core import jsonio
from whileai_core.dialects.spans import Span, carries_content, conversation_of, spans_in
from whileai_core.gate.http import too_large
from whileai_core.sources.items import Origin, Reject
from whileai_core.sources.otlp import attributes_of
from whileai_core.sources.otlp_protobuf import protobuf_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

JSON, PROTOBUF = "application/json", "application/x-protobuf"
_MEDIA_TYPES = {JSON: JSON, PROTOBUF: PROTOBUF, "application/protobuf": PROTOBUF}
_DATASET_ATTRIBUTE = "zeroproof.dataset"
_MAX_DATASET_NAME = 200
_RESOURCES = ("resourceSpans", "resource_spans")
_TRACE_ID = re.compile(r"[A-Za-z0-9._~-]{1,80}", re.ASCII)
_ORIGIN = Origin("/v1/traces")


@dataclass(frozen=True)
class Delivered:
    """One span and what it is filed under.

    Attributes:
        span: The span.
        body: It as JSON, from which `Span.from_json` makes it again.
        digest: Of the body: equal for equal spans.
        conversation: Hash of the conversation id it carries itself.
        dataset_name: The dataset its resource asks for.
        has_content: Whether it says anything of a conversation.
    """

    span: Span
    body: bytes
    digest: str
    conversation: str | None
    dataset_name: str | None
    has_content: bool


@dataclass
class Delivery:
    """The spans of one request, and what could not be read."""

    spans: list[Delivered] = field(default_factory=list)
    rejected: int = 0
    problem: str | None = None


def media_type(content_type: str) -> str:
    """Return which of the two encodings a request is in.

    Raises:
        HTTPException: 415 for any other.
    """
    known = _MEDIA_TYPES.get(content_type.partition(";")[0].strip().lower())
    if known is None:
        raise HTTPException(415, f"send OTLP as {PROTOBUF} or {JSON}")
    return known


def unpacked(body: bytes, encoding: str, limit: int) -> bytes:
    """Undo the Content-Encoding of a body.

    Raises:
        HTTPException: 400 when it is damaged, 413 when it grows past `limit`, 415 for another
            encoding than gzip and deflate.
    """
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise HTTPException(415, "Content-Encoding must be gzip, deflate or absent")
    stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # either header
    try:
        data = stream.decompress(body, limit + 1)
    except zlib.error:
        raise HTTPException(400, f"the body is not {encoding}") from None
    if len(data) > limit:
        raise too_large(limit)
    if not stream.eof:
        raise HTTPException(400, f"the {encoding} body is cut off")
    return data


def read_delivery(body: bytes, media: str) -> Delivery:
    """Read the spans of a request; what is no span is counted, the rest is taken.

    Raises:
        HTTPException: 400 when the body as a whole is no OTLP traces request.
    """
    delivery = Delivery()
    for resource in _resources(_payload(body, media)):
        name = _dataset_name(resource)
        for piece in spans_in({"resourceSpans": [resource]}, _ORIGIN):
            if isinstance(piece, Reject):
                _reject(delivery, f"{piece.reason}: {piece.detail}")
            elif isinstance(piece, Span):
                _take(delivery, piece, name)
    return delivery


def _payload(body: bytes, media: str) -> Any:
    if media == PROTOBUF:
        for batch in protobuf_batches(body):
            if isinstance(batch, ValueError):
                raise HTTPException(400, "the body is not an OTLP traces request in protobuf")
            return batch
        return {}
    try:
        return jsonio.loads(body) if body.strip() else {}
    except ValueError:
        raise HTTPException(400, "the body is not JSON") from None


def _resources(payload: Any) -> Iterator[Any]:
    if not isinstance(payload, dict):
        raise HTTPException(400, "the body is not a JSON object with resourceSpans")
    for key in _RESOURCES:
        found = payload.get(key)
        if not isinstance(found, list | None):
            raise HTTPException(400, f"{key} must be a list")
        yield from found or ()


def _dataset_name(resource: Any) -> str | None:
    about = resource.get("resource") if isinstance(resource, dict) else None
    attributes = attributes_of(about.get("attributes")) if isinstance(about, dict) else {}
    name = attributes.get(_DATASET_ATTRIBUTE)
    if not isinstance(name, str):
        return None
    # Cleaned rather than refused: an exporter could do nothing about it.
    kept = "".join(character for character in name if character.isprintable()).strip()
    return kept[:_MAX_DATASET_NAME] or None


def _take(delivery: Delivery, span: Span, dataset_name: str | None) -> None:
    if not _TRACE_ID.fullmatch(span.trace_id):
        _reject(delivery, "bad_trace_id: a trace id is 32 hexadecimal digits")
        return
    content = jsonio.strict(span.to_json())
    body = jsonio.dumps(content)
    filed_under = jsonio.canonical([content, dataset_name])
    conversation = conversation_of(span)
    delivery.spans.append(
        Delivered(
            span,
            body,
            hashlib.sha256(filed_under).hexdigest(),
            _hash(conversation) if conversation else None,
            dataset_name,
            carries_content(span),
        )
    )


def _reject(delivery: Delivery, problem: str) -> None:
    delivery.rejected += 1
    delivery.problem = delivery.problem or problem


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
