"""What the store holds, as a person wants to see it: an overview, and a page per dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import anyio.to_thread
from sqlalchemy import ColumnElement, func, or_, select
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse
from starlette.routing import Route

from whileai_core.gate import fields
from whileai_core.gate.accounts import BROWSER_SECONDS, SIGN_INS, begin_browsing
from whileai_core.gate.http import gate_of, identify, unauthorized
from whileai_core.gate.pages.conversation import conversation_of
from whileai_core.gate.pages.html import page
from whileai_core.gate.pages.lineage import Link, chains, family
from whileai_core.gate.pages.samples import sample_rows
from whileai_core.gate.pages.session import (
    Viewer,
    for_people,
    read_form,
    sign_in,
    sign_out,
    viewer_of,
)
from whileai_core.gate.rawsets import RAW
from whileai_core.gate.routes.agents import agents_of
from whileai_core.gate.routes.profiles import profile_of
from whileai_core.gate.store import READY, parts_of
from whileai_core.gate.tables import Account, Dataset, Part
from whileai_core.quality import pass_rate_plot, pass_rate_text, task_rates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.ext.asyncio import AsyncSession
    from starlette.requests import Request
    from starlette.responses import Response

    from whileai_core.gate.http import Json
    from whileai_core.gate.state import Gate

_SECTIONS = (*fields.PURPOSES, RAW, "other")
_NEWEST, _PAGE = 15, 100
_CARDS, _CHAINS = 100, 20
_LISTED_TASKS = 300
_SEE_OTHER = 303
_QUICK_BYTES = 64 * 1024 * 1024  # a profile of so much is computed while somebody waits for a page


class _Section(NamedTuple):
    name: str
    total: int
    datasets: Sequence[Dataset]


@for_people
async def overview(request: Request) -> Response:
    """`GET /`: agents, datasets by purpose, lineage, catalog; a form to sign in for who has not."""
    viewer = await viewer_of(request)
    if viewer is None:
        return await _welcome(request)
    section, number = _wanted(request)
    async with gate_of(request).database.read() as session:
        account = await session.get_one(Account, viewer.account)
        mine = Dataset.account_id == viewer.account
        if section is not None:
            found = [await _section(session, mine, section, _PAGE, (number - 1) * _PAGE)]
        else:
            found = [await _section(session, mine, name, _NEWEST) for name in _SECTIONS]
        links = await _links(session, viewer.account)
        agents = await agents_of(session, viewer.account)
        cards = await _cards(session)
    return page(
        "overview.html",
        viewer=viewer,
        account=account.name,
        sections=found,
        chosen=section,
        number=number,
        pages=-(-found[0].total // _PAGE),
        names={link.id: link.name for link in links},
        chains=chains(links)[:_CHAINS],
        agents=agents,
        cards=cards,
    )


async def _welcome(request: Request, *, status: int = 200, problem: str = "") -> Response:
    async with gate_of(request).database.read() as session:
        cards = await _cards(session)
    return page("welcome.html", status=status, viewer=None, problem=problem, cards=cards)


def _wanted(request: Request) -> tuple[str | None, int]:
    """Return the one section that is asked for, if any, and the page of it."""
    section = request.query_params.get("section")
    if section is not None and section not in _SECTIONS:
        raise HTTPException(404, "there is no such section")
    number = request.query_params.get("page", "1")
    if not (number.isascii() and number.isdecimal() and 0 < int(number) <= 1_000_000):
        raise HTTPException(404, "there is no such page")
    return section, int(number)


async def _section(
    session: AsyncSession, mine: ColumnElement[bool], name: str, limit: int, offset: int = 0
) -> _Section:
    purpose = Dataset.purpose.is_(None) if name == "other" else Dataset.purpose == name
    query = select(Dataset).where(mine, purpose).order_by(Dataset.number.desc())
    total = await session.scalar(select(func.count()).select_from(Dataset).where(mine, purpose))
    datasets = await session.scalars(query.limit(limit).offset(offset))
    return _Section(name, total or 0, datasets.all())


async def _links(session: AsyncSession, account: str) -> list[Link]:
    query = select(
        Dataset.id,
        Dataset.name,
        Dataset.purpose,
        Dataset.rows,
        Dataset.created_at,
        Dataset.parent_id,
    )
    query = query.where(Dataset.account_id == account).order_by(Dataset.number)
    return [Link(*row) for row in await session.execute(query)]


async def _cards(session: AsyncSession) -> Sequence[Dataset]:
    newest = Dataset.published_at.desc(), Dataset.number.desc()
    query = select(Dataset).where(Dataset.published_at.is_not(None)).order_by(*newest)
    return (await session.scalars(query.limit(_CARDS))).all()


@for_people
async def dataset(request: Request) -> Response:
    """`GET /data/{id}`: an own dataset, or a public one, in numbers and samples."""
    viewer = await viewer_of(request)
    gate = gate_of(request)
    async with gate.database.read() as session:
        found = await _visible(session, viewer, request.path_params["id"])
        owned = viewer is not None and found.account_id == viewer.account
        parts = await parts_of(session, found) if found.status == READY else []
        links = await _links(session, found.account_id) if owned else []
    chain, followers = family(found.id, links) if owned else (None, [])
    asked = owned and request.query_params.get("profile") == "1"
    quick = asked or found.profile is not None or found.size_bytes <= _QUICK_BYTES
    samples = await anyio.to_thread.run_sync(sample_rows, gate.blobs, parts)
    return page(
        "dataset.html",
        viewer=viewer,
        dataset=found,
        owned=owned,
        runs=gate.settings.runs_url if owned else None,
        parts=len(parts),
        chain=chain,
        followers=followers,
        conversations=[conversation_of(row, number) for number, row in samples],
        **await _numbers(gate, found, parts if quick else ()),
    )


async def _visible(session: AsyncSession, viewer: Viewer | None, dataset_id: str) -> Dataset:
    allowed: list[ColumnElement[bool]] = [Dataset.published_at.is_not(None)]
    if viewer is not None:
        allowed.append(Dataset.account_id == viewer.account)
    found = await session.scalar(select(Dataset).where(Dataset.id == dataset_id, or_(*allowed)))
    if found is None:
        raise HTTPException(404, "there is no such dataset of this account, nor a public one")
    return found


async def _numbers(gate: Gate, dataset: Dataset, parts: Sequence[Part]) -> Json:
    """Return the profile, in words and as a plot; None where no parts are given."""
    if not parts:
        return {"profile": None, "pass_rate": None, "plot": None, "tasks": []}
    profile = await profile_of(gate, dataset, parts)
    graded = [task for task in profile["per_task"] if task["graded"]]
    hardest = sorted(graded, key=lambda task: (task["pass_rate"], str(task["task"])))
    return {
        "profile": profile,
        "pass_rate": pass_rate_text(
            profile["split"]["pass"],
            profile["graded"],
            profile["pass_rate_interval95"],
            tasks=profile["graded_tasks"],
        ),
        "plot": pass_rate_plot(task_rates(graded)) if graded else None,
        "tasks": hardest[:_LISTED_TASKS],
    }


@for_people
async def begin(request: Request) -> Response:
    """`POST /sign-in`: a key or session token, once, for a cookie that shows its account."""
    key = (await read_form(request)).get("key", "").strip()
    if not key or await identify(request, key, SIGN_INS) is None:
        refusal = unauthorized(request, "this key is unknown, revoked or expired")
        return await _welcome(request, status=refusal.status_code, problem=refusal.detail)
    token = await begin_browsing(gate_of(request).database, key)
    response = RedirectResponse("/", _SEE_OTHER)
    sign_in(request, response, token, BROWSER_SECONDS)
    return response


@for_people
async def end(request: Request) -> Response:
    """`POST /sign-out`: the cookie is worthless from now on."""
    viewer = await viewer_of(request)
    await read_form(request, viewer)
    response = RedirectResponse("/", _SEE_OTHER)
    await sign_out(request, response)
    return response


routes = [
    Route("/", overview, methods=["GET"]),
    Route("/data/{id}", dataset, methods=["GET"]),
    Route("/sign-in", begin, methods=["POST"]),
    Route("/sign-out", end, methods=["POST"]),
]
