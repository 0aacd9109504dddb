"""Where a trace goes: the agent it is of, and that agent's raw dataset."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select
from starlette.exceptions import HTTPException

from whileai_core.gate import fields
from whileai_core.gate.database import now_ms
from whileai_core.gate.store import READY, register_agent
from whileai_core.gate.tables import Dataset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.ext.asyncio import AsyncSession

    from whileai_core.gate.spans import Stored

RAW = "raw"
_AGENT_ATTRIBUTE = "gen_ai.agent.name"
_NAMELESS = "unnamed"
_MAX_NAME = 200


@dataclass(frozen=True)
class Destination:
    """The agent of a trace, its name as given, and the dataset its part belongs to."""

    slug: str
    name: str
    dataset_name: str


def destination_of(stored: Sequence[Stored]) -> Destination:
    """Return where a trace belongs, by its spans in any order.

    The agent is the one named by the span that began first, since agents inside agents begin
    later; else the service.
    """
    ordered = sorted(stored, key=lambda one: (one.span.start_ns, one.span.span_id))
    named = (_name(one.span.attributes.get(_AGENT_ATTRIBUTE)) for one in ordered)
    services = (_name(one.span.service) for one in ordered)
    name = next(filter(None, named), None) or next(filter(None, services), None) or _NAMELESS
    slug = _slug(name)
    asked = next((one.dataset_name for one in ordered if one.dataset_name), None)
    return Destination(slug, name, asked or f"{slug}-traces")


async def raw_dataset(session: AsyncSession, account: str, to: Destination) -> Dataset:
    """Return the raw dataset of a destination, made when missing.

    The account must be locked, or two could be made at once.
    """
    found = await session.scalar(
        select(Dataset).where(
            Dataset.account_id == account,
            Dataset.purpose == RAW,
            Dataset.name == to.dataset_name,
        )
    )
    await register_agent(session, account, to.slug, to.name)
    if found is not None:
        return found
    dataset = Dataset(
        id=f"ds_{secrets.token_hex(12)}",
        account_id=account,
        name=to.dataset_name,
        purpose=RAW,
        agent=to.slug,
        status=READY,
        rows=0,
        size_bytes=0,
        created_at=now_ms(),
    )
    session.add(dataset)
    await session.flush()
    return dataset


def _name(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    kept = "".join(character for character in value if character.isprintable()).strip()
    return kept[:_MAX_NAME] or None


def _slug(name: str) -> str:
    try:
        return fields.agent_slug(name)
    except HTTPException:  # a name in another script still is one agent of its own
        return f"agent-{hashlib.sha256(name.encode()).hexdigest()[:12]}"
