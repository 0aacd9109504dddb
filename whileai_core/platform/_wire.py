"""What the client reads from replies, checked at the edge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from whileai_core.errors import BadReply

Reply: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Created:
    """The answer to a create.

    Attributes:
        status: State of the set where the server tells it: `ready` for one known by its
            idempotency key and finished before.
        row: The answer as it came.
    """

    dataset_id: str
    upload_url: str | None
    status: str | None
    row: Reply

    @classmethod
    def from_reply(cls, reply: Reply) -> Created:
        """Read a create reply; a set that is not ready must come with an upload address."""
        dataset_id = text_field(reply, "datasetId", call="POST /datasets")
        status = reply.get("status")
        upload_url = reply.get("uploadUrl")
        if not (isinstance(upload_url, str) and upload_url):
            upload_url = None
        if upload_url is None and status != "ready":
            raise BadReply(
                f"POST /datasets gave {dataset_id} no uploadUrl; the bytes cannot be sent",
                dataset_id=dataset_id,
                stage="create",
            )
        known = status if isinstance(status, str) else None
        return cls(dataset_id, upload_url, known, reply)


@dataclass(frozen=True, slots=True)
class Grant:
    """Leave to download the parts of one dataset, in their order.

    Attributes:
        urls: One presigned address per part.
        sizes: Bytes of each part, where the server announces them.
    """

    urls: tuple[str, ...]
    sizes: tuple[int, ...] | None

    @classmethod
    def of_nothing(cls) -> Grant:
        """Return the grant of a set that is known to be empty."""
        return cls((), ())

    @classmethod
    def from_reply(cls, reply: Reply, *, dataset_id: str) -> Grant:
        """Read a download grant: `parts`, else `downloadUrl`; at least one address."""
        parts = reply.get("parts") or [reply.get("downloadUrl")]
        if not isinstance(parts, list) or not all(isinstance(u, str) and u for u in parts):
            raise BadReply(
                f"the download grant of {dataset_id} names no usable part; the set may not be "
                "finalized yet",
                dataset_id=dataset_id,
            )
        sizes = reply.get("partSizes")
        if not isinstance(sizes, list) or len(sizes) != len(parts):
            return cls(tuple(parts), None)
        return cls(tuple(parts), tuple(sizes))


def text_field(reply: Reply, key: str, *, call: str) -> str:
    """Return a field the protocol promises as text."""
    value = reply.get(key)
    if not isinstance(value, str) or not value:
        raise BadReply(f"the reply to {call} has no {key}; is this address the platform?")
    return value


def list_field(reply: Reply, key: str, *, call: str) -> list[Any]:
    """Return a field the protocol promises as a list."""
    value = reply.get(key)
    if not isinstance(value, list):
        raise BadReply(f"the reply to {call} has no list {key!r}; is this address the platform?")
    return value


def object_field(reply: Reply, key: str, *, call: str) -> dict[str, Any]:
    """Return a field the protocol promises as an object."""
    value = reply.get(key)
    if not isinstance(value, dict):
        raise BadReply(f"the reply to {call} has no object {key!r}; is this address the platform?")
    return value
