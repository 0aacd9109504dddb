"""Hugging Face: the connected account, publishing a dataset, importing one."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import secrets
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from starlette.exceptions import HTTPException
from starlette.routing import Route

from whileai_core import jsonio
from whileai_core.errors import (
    InputError,
    NotAuthenticated,
    PlatformError,
    SettingsError,
    WhileError,
)
from whileai_core.gate import fields, hubjobs, jobs
from whileai_core.gate.database import now_ms
from whileai_core.gate.http import Json, JsonResponse, gate_of, idempotency_key, keyed, read_json
from whileai_core.gate.store import (
    IMPORTING,
    READY,
    find_earlier,
    own_dataset,
    register_agent,
)
from whileai_core.gate.tables import Account, Dataset
from whileai_core.gate.views import dataset_row
from whileai_core.hub.account import NOT_CONNECTED, find_account
from whileai_core.hub.client import Hub
from whileai_core.hub.importing import Wanted
from whileai_core.hub.targets import checked_names, repo_name

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession
    from starlette.requests import Request
    from starlette.responses import Response

    from whileai_core.hub.account import Account as HubAccount

_MOST_ROWS = 100_000_000
_MOST_ANCESTORS = 100
_PATIENCE = 30.0
# What makes two imports the same, besides the commit: what the dataset is, and what is read.
_ABOUT = ("name", "purpose", "mode", "agent", "description")
_PART = ("repo", "split", "config", "maxRows")
_TRY_AGAIN = {"Retry-After": "5"}


@keyed
async def status(_request: Request, _account: str) -> Response:
    """`GET /hf/me`: whom the connected token belongs to."""
    unconnected: Json = {"connected": False, "username": None, "namespaces": [], "scopes": []}
    account = _account_or_refusal()
    if account is None:
        return JsonResponse(unconnected)
    try:
        with anyio.fail_after(_PATIENCE):
            me = await anyio.to_thread.run_sync(lambda: Hub(account).me(), abandon_on_cancel=True)
    except TimeoutError:
        raise HTTPException(503, "the Hub does not answer in time", _TRY_AGAIN) from None
    except NotAuthenticated as error:
        return JsonResponse(unconnected | {"error": str(error)})
    except PlatformError as error:
        raise HTTPException(503, str(error), _TRY_AGAIN) from None
    return JsonResponse(
        {
            "connected": True,
            "username": me.name,
            "namespaces": me.namespaces,
            "scopes": me.scopes,
        }
    )


@keyed
async def publish(request: Request, account: str) -> Response:
    """`POST /datasets/{id}/hf-publish`: begin, or join what is under way with the same target."""
    target = await read_target(request, private=False)
    async with gate_of(request).database.write() as session:
        dataset = await own_dataset(session, account, request.path_params["id"], lock=True)
        require_account()
        if dataset.status != READY:
            raise HTTPException(409, f"dataset {dataset.id} is {dataset.status}, not ready")
        if not dataset.rows:
            raise HTTPException(409, f"dataset {dataset.id} has no rows to publish")
        if target["repo"] is None:
            target |= await _usual_target(session, dataset, target["namespace"])
        dataset.hf = await begin(
            session,
            hubjobs.PUBLISH,
            {"account": account, "id": dataset.id} | target,
            {"split": hubjobs.split_of(dataset), "tag": f"zp-{dataset.id}"},
            now=dataset.hf,
        )
    request.app.state.on_hub_job()
    return JsonResponse({"datasetId": dataset.id, "hf": dataset.hf}, status_code=202)


async def read_target(request: Request, *, private: bool) -> Json:
    """Read where to publish: `namespace`, `repo` (maybe None) and `private`.

    Raises:
        HTTPException: 400 when a name is none on the Hub.
    """
    body = await read_json(request)
    flag = body.get("private", private)
    if not isinstance(flag, bool):
        raise HTTPException(400, "private must be true or false")
    try:
        namespace, repo = checked_names(fields.text(body, "namespace"), fields.text(body, "repo"))
    except InputError as error:
        raise HTTPException(400, str(error)) from None
    return {"namespace": namespace, "repo": repo, "private": flag}


async def begin(
    session: AsyncSession, kind: str, payload: Json, about: Json, *, now: Json | None
) -> Json:
    """Note a job that publishes; return the state of the publication.

    Args:
        session: The transaction.
        kind: Kind of the job.
        payload: What the job is told: whose and which thing, and the target.
        about: What the state says from the start.
        now: The state there is.

    Raises:
        HTTPException: 409 when the thing is just being published to somewhere else.
    """
    named = "/".join(filter(None, (payload["namespace"], payload["repo"])))
    state = {"status": hubjobs.PUSHING, "repo": named, "private": payload["private"]} | about
    public = _public_repo(now or {})
    if public is not None:
        state["publicRepo"] = public
    if now is not None and now["status"] == hubjobs.PUSHING:
        if now == state:
            return now
        raise HTTPException(
            409, f"it is just being published to {now['repo']}; wait until that is done"
        )
    await jobs.note(session, kind, payload)
    return state


def _public_repo(hf: Json) -> str | None:
    """Return where a thing was last published for everybody."""
    if hf.get("status") == hubjobs.DONE and not hf.get("private"):
        return str(hf["repo"])
    return hf.get("publicRepo")


def require_account() -> None:
    """Refuse where nothing is connected.

    Raises:
        HTTPException: 409.
    """
    if _account_or_refusal() is None:
        raise HTTPException(409, NOT_CONNECTED)


def _account_or_refusal() -> HubAccount | None:
    try:
        return find_account()
    except (SettingsError, InputError) as error:
        raise HTTPException(409, str(error)) from None


async def _usual_target(session: AsyncSession, dataset: Dataset, namespace: str | None) -> Json:
    """Name a dataset's repository: where it or what it comes from is, else the first one's name.

    So a holdout joins its training set, and the nights of an agent share one repository.
    """
    origin = dataset
    for _ in range(_MOST_ANCESTORS):
        if origin.hf is not None and origin.hf["status"] != hubjobs.ERROR:
            where, _, name = str(origin.hf["repo"]).rpartition("/")
            return {"namespace": namespace or where or None, "repo": name}
        query = select(Dataset).where(
            Dataset.id == origin.parent_id, Dataset.account_id == dataset.account_id
        )
        parent = await session.scalar(query) if origin.parent_id else None
        if parent is None:
            break
        origin = parent
    return {"namespace": namespace, "repo": repo_name(origin.name)}


@keyed
async def take_in(request: Request, account: str) -> Response:
    """`POST /datasets/import-hf`: what was imported already, or is being, is the dataset it became.

    A new commit makes a new dataset. The same Idempotency-Key gets the same dataset in any case.
    """
    body = await read_json(request)
    wanted = _wanted(body)
    require_account()
    key = idempotency_key(request)
    dataset = _new_import(account, body, wanted, key)
    async with gate_of(request).database.read() as session:
        known = await _imports_like(session, dataset)
    commit = await _commit_of(wanted) if any(one.status == READY for one in known) else None
    try:
        dataset = await _create_or_find(request, dataset, fields.agent(body), wanted, commit)
    except IntegrityError:  # the same key twice at the same moment: now the other one is there
        dataset = _new_import(account, body, wanted, key)
        dataset = await _create_or_find(request, dataset, fields.agent(body), wanted, commit)
    request.app.state.on_hub_job()
    return JsonResponse(dataset_row(dataset), status_code=202)


def _wanted(body: Json) -> Wanted:
    repo = (fields.text(body, "repo", limit=300) or "").strip()
    if not repo:
        raise HTTPException(400, "repo is required: namespace/name on the Hub")
    most = fields.whole_number(body, "max_rows")
    if most is not None and not 0 < most <= _MOST_ROWS:
        raise HTTPException(400, f"max_rows must be between 1 and {_MOST_ROWS}")
    wanted = Wanted(
        repo,
        split=fields.text(body, "split", limit=200) or "train",
        config=fields.text(body, "config", limit=200),
        revision=fields.text(body, "revision", limit=200),
    )
    return wanted if most is None else dataclasses.replace(wanted, max_rows=most)


def _new_import(account: str, body: Json, wanted: Wanted, key: str | None) -> Dataset:
    agent = fields.agent(body)
    return Dataset(
        id=f"ds_{secrets.token_hex(12)}",
        account_id=account,
        name=fields.text(body, "name", limit=1000) or wanted.repo,
        purpose=fields.choice(body, "purpose", fields.PURPOSES) or "train",
        mode=fields.choice(body, "mode", fields.MODES),
        agent=agent[0] if agent is not None else None,
        description=fields.text(body, "description"),
        status=IMPORTING,
        created_at=now_ms(),
        idempotency_key=key,
        request_digest=hashlib.sha256(jsonio.canonical(body)).hexdigest() if key else None,
        hf_import={
            "repo": wanted.repo,
            "split": wanted.split,
            "revision": wanted.revision,
            "config": wanted.config,
            "maxRows": wanted.max_rows,
        },
    )


async def _imports_like(session: AsyncSession, new: Dataset) -> list[Dataset]:
    """Return imports of the same, done or under way, whatever the revision; oldest first."""
    query = select(Dataset).where(
        Dataset.account_id == new.account_id,
        Dataset.status.in_((READY, IMPORTING)),
        Dataset.hf_import.is_not(None),
        *(getattr(Dataset, name) == getattr(new, name) for name in _ABOUT),
    )
    found = await session.scalars(query.order_by(Dataset.number))
    asked = new.hf_import or {}
    return [
        one
        for one in found
        if one.hf_import and all(one.hf_import.get(part) == asked[part] for part in _PART)
    ]


async def _commit_of(wanted: Wanted) -> str | None:
    """Return the commit an import would read; None when that cannot be told, as the job will."""
    account = _account_or_refusal()
    if account is None:
        return None
    commit: str | None = None
    with anyio.move_on_after(_PATIENCE), contextlib.suppress(WhileError):
        repo = await anyio.to_thread.run_sync(
            lambda: Hub(account).repo(wanted.repo, "dataset", wanted.revision),
            abandon_on_cancel=True,
        )
        commit = repo.head
    return commit


def _is_known(one: Dataset, wanted: Wanted, commit: str | None) -> bool:
    about = one.hf_import or {}
    if one.status == IMPORTING:
        return bool(about["revision"] == wanted.revision)
    return commit is not None and about.get("commit") == commit


async def _create_or_find(
    request: Request,
    dataset: Dataset,
    agent: tuple[str, str] | None,
    wanted: Wanted,
    commit: str | None,
) -> Dataset:
    async with gate_of(request).database.write() as session:
        account = dataset.account_id
        # Two who ask for the same at once: the second finds what the first one makes.
        await session.execute(select(Account.id).where(Account.id == account).with_for_update())
        if dataset.idempotency_key is not None:
            earlier = await find_earlier(session, dataset)
            if earlier is not None:
                return earlier
        for one in await _imports_like(session, dataset):
            if _is_known(one, wanted, commit):
                return one
        if agent is not None:
            await register_agent(session, account, *agent)
        session.add(dataset)
        payload = {"account": account, "id": dataset.id, "wanted": dataclasses.asdict(wanted)}
        await jobs.note(session, hubjobs.IMPORT, payload)
    return dataset


routes = [
    Route("/hf/me", status, methods=["GET"]),
    Route("/datasets/import-hf", take_in, methods=["POST"]),
    Route("/datasets/{id}/hf-publish", publish, methods=["POST"]),
]
