"""Registers the flows with a Prefect server or Prefect Cloud, any number of times.

What `prefect.yaml` says of code, form, tags and triggers is brought up to date. What people set
on the server stays: parameters, schedules, pauses, the work pool, switched-off automations.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import httpx
import prefect.exceptions
import yaml
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.actions import (
    DeploymentScheduleCreate,
    DeploymentScheduleUpdate,
    DeploymentUpdate,
    WorkPoolCreate,
)
from prefect.client.schemas.objects import ConcurrencyOptions
from prefect.client.schemas.responses import DeploymentResponse
from prefect.client.schemas.schedules import CronSchedule
from prefect.events import AutomationCore, DeploymentEventTrigger
from prefect.flows import Flow, load_flow_from_entrypoint
from prefect.settings import PREFECT_API_URL, PREFECT_UI_URL
from prefect.utilities.callables import parameter_schema
from pydantic import ValidationError

from deployments.automations import notifications, standing, sync_automation
from whileai_core.cli.source_root import source_root
from whileai_core.errors import InputError, SettingsError, StoreError
from whileai_core.platform._redact import Redactor, shown_url
from whileai_core.version import __version__

_NIGHTLY = "nightly"  # the entry that the nights of single agents are copies of
# A night of an agent that is still going when its next is due is not joined by it. Runs started by
# hand, for whatever agent, have no limit: those of one agent wait for one another by themselves.
ONE_AT_A_TIME = {"limit": 1, "collision_strategy": "CANCEL_NEW"}
_OURS = "whileai"  # a tag of every deployment
_POOL = "local"
DEFAULT_CRON = "30 2 * * *"
_PAGE = 200  # deployments the server gives at once
_PUBLISHING = "publish"  # the work queue that a refused gate pauses


@dataclass(frozen=True)
class Night:
    """A night of one agent that is to run on a schedule.

    Attributes:
        agent: Agent the traces come from; also the name of the deployment.
        paths: Files, folders, globs or URLs with traces, as the worker sees them.
        cron: When it runs; None keeps the schedule it has, for a new one `DEFAULT_CRON`.
        timezone: IANA name of the zone that `cron` means.
    """

    agent: str
    paths: Sequence[str]
    cron: str | None
    timezone: str

    @property
    def deployment(self) -> str:
        """Name of the deployment: the agent's, without what Prefect does not allow in names."""
        return re.sub(r"[/%&<>]", "-", self.agent)


@dataclass
class Planned:
    """When the night that was put on a schedule runs.

    Attributes:
        deployment: Full name of its deployment.
        cron: Its schedule.
        timezone: IANA name of the zone that `cron` means.
        next: The next time, ISO 8601 in that zone.
        paused: Whether somebody has paused the deployment, so that it does not run.
    """

    deployment: str
    cron: str
    timezone: str
    next: str
    paused: bool


@dataclass
class Registered:
    """What is on the server now, by name.

    Attributes:
        api: Address of the server.
        ui: Address of its UI.
        deployments: Each was `created`, `updated`, or `removed`: a flow of an earlier version.
        automations: Each was `created` or `updated`.
        night: The night that was put on a schedule.
        dropped: Parameters people had set that the flow of a deployment has no longer.
    """

    api: str
    ui: str | None
    deployments: dict[str, str] = field(default_factory=dict)
    automations: dict[str, str] = field(default_factory=dict)
    night: Planned | None = None
    dropped: dict[str, list[str]] = field(default_factory=dict)


async def register(
    *,
    night: Night | None = None,
    pool: str | None = None,
    notify: str | None = None,
    publish: bool = False,
) -> Registered:
    """Register every flow, its triggers and the automations.

    Args:
        night: A night to run on a schedule; given again for its agent, it replaces the earlier.
        pool: Work pool of the runs, made when it is not there. Unset means the one a deployment
            has already, for a new one `local`.
        notify: Notification block, `type/name`, to tell of failed, late and refused runs.
        publish: Switch on that every pushed dataset is published; unset leaves that as it is.

    Raises:
        SettingsError: No Prefect API is configured, or it refuses.
        InputError: The schedule makes no sense, or there is no such block.
        StoreError: The Prefect API does not answer.
    """
    api = PREFECT_API_URL.value()
    if not api:
        raise SettingsError(
            "there is no Prefect server to register with; set PREFECT_API_URL, "
            "or start one with `whileai-pipelines serve`"
        )
    entries, pull = _read_entries()
    if night is not None:
        entries.append(await _entry_of(night, entries))
    shown = shown_url(api, presigned=False)
    async with _client(shown) as client:
        registration = _Registration(client, pull, pool, Registered(shown, PREFECT_UI_URL.value()))
        block = await registration.find_block(notify) if notify else None
        earlier = await registration.earlier()
        if night is not None:
            _check_name(night, entries[:-1], earlier)
        await registration.make_pool()
        for entry in [*entries, *_earlier_nights(earlier, entries)]:
            await registration.register(entry, publish=publish)
        await registration.remove_gone(earlier)
        await registration.sync_automations(block)
        if night is not None:
            registration.done.night = await registration.plan(night)
    return registration.done


def _read_entries() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    path = source_root() / "deployments" / "prefect.yaml"
    config = yaml.safe_load(path.read_text("utf-8"))
    return config["deployments"], config["pull"]


def _check_name(
    night: Night, entries: list[dict[str, Any]], earlier: Sequence[DeploymentResponse]
) -> None:
    """See that a night takes no deployment over: of any agent, or of one with nearly its name."""
    if night.deployment in {entry["name"] for entry in entries}:
        raise InputError(f"the name {night.agent!r} is taken by a deployment; rename the agent")
    for deployment in earlier:
        agent = deployment.parameters.get("agent", night.agent)
        if deployment.name == night.deployment and agent != night.agent:
            raise InputError(
                f"the deployment {_NIGHTLY}/{night.deployment} is the night of {agent!r} already; "
                f"rename the agent {night.agent!r}"
            )


async def _next_time(cron: str, timezone: str) -> datetime:
    """Count when a schedule is due.

    Raises:
        ValueError: Never, or it makes no sense.
    """
    # Only the server's form of a schedule can count; it is heavy, and few commands need it.
    from prefect.server.schemas.schedules import CronSchedule as Counting

    (due,) = await Counting(cron=cron, timezone=timezone).get_dates(n=1)
    return due


async def _entry_of(night: Night, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Describe the deployment of one agent's night; unlike the others, what it says is set."""
    cron = DEFAULT_CRON if night.cron is None else night.cron
    try:
        CronSchedule(cron=cron, timezone=night.timezone)
        await _next_time(cron, night.timezone)
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise InputError(f"no schedule for the night of {night.agent}: {reason}") from error
    except ValueError as error:
        reason = f"{cron!r} never comes ({error})"
        raise InputError(f"no schedule for the night of {night.agent}: {reason}") from error
    schedule = {"cron": cron, "timezone": night.timezone, "slug": _NIGHTLY, "active": True}
    return {
        **_named(_NIGHTLY, entries),
        "name": night.deployment,
        "concurrency_limit": ONE_AT_A_TIME,
        "parameters": {"agent": night.agent, "paths": list(night.paths)},
        "schedules": [schedule],
        "set": True,
        "set_schedule": night.cron is not None,
    }


def _earlier_nights(
    earlier: Sequence[DeploymentResponse], entries: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Describe the nights of agents that are on the server already: they are updated too."""
    template = _named(_NIGHTLY, entries)
    known = {entry["name"] for entry in entries}
    return [
        {**template, "name": deployment.name, "concurrency_limit": ONE_AT_A_TIME}
        for deployment in earlier
        if deployment.entrypoint == template["entrypoint"] and deployment.name not in known
    ]


def _named(name: str, entries: list[dict[str, Any]]) -> dict[str, Any]:
    return next(entry for entry in entries if entry["name"] == name)


@asynccontextmanager
async def _client(api: str) -> AsyncIterator[PrefectClient]:
    """Open a client whose failures are errors of ours, without what the server says of secrets."""
    try:
        async with get_client() as client:
            problem = await client.api_healthcheck()
            if isinstance(problem, httpx.HTTPStatusError):
                raise problem
            if problem is not None:
                said = Redactor(()).clean(str(problem))
                raise StoreError(f"{api} does not answer: {said}; is the Prefect server up?")
            yield client
    except httpx.HTTPStatusError as error:
        status = error.response.status_code
        if status in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            said = "check PREFECT_API_KEY, or PREFECT_API_AUTH_STRING of a server of your own"
        else:
            said = Redactor(()).words(error.response.content).detail
        raise SettingsError(f"{api} refused with {status}: {said}") from None
    except httpx.HTTPError as error:
        said = Redactor(()).clean(str(error))
        raise StoreError(f"{api} went away: {said}; run the same command again") from None


class _Registration:
    """One pass over everything that is to be registered."""

    def __init__(
        self, client: PrefectClient, pull: list[dict[str, Any]], pool: str | None, done: Registered
    ) -> None:
        self._client = client
        self._pull = pull
        self._pool = pool
        self._publishing: set[UUID] = set()
        self.done = done

    async def find_block(self, notify: str) -> UUID:
        kind, _, name = notify.partition("/")
        try:
            block = await self._client.read_block_document_by_name(name, kind)
        except prefect.exceptions.ObjectNotFound:
            raise InputError(
                f"there is no block {notify}; make one in the UI under Blocks, for instance of "
                "type Slack Webhook, and name it like slack-webhook/team"
            ) from None
        return block.id

    async def make_pool(self) -> None:
        name = self._pool or _POOL
        try:
            await self._client.read_work_pool(name)
        except prefect.exceptions.ObjectNotFound:
            await self._client.create_work_pool(WorkPoolCreate(name=name, type="process"))

    async def earlier(self) -> list[DeploymentResponse]:
        """Every deployment that this or an earlier version has registered."""
        found: list[DeploymentResponse] = []
        while page := await self._client.read_deployments(limit=_PAGE, offset=len(found)):
            found += page
        return [deployment for deployment in found if _OURS in deployment.tags]

    async def remove_gone(self, earlier: Sequence[DeploymentResponse]) -> None:
        """Remove deployments of flows that this version does not have: their runs would fail.

        What people have made themselves has code of its own, and stays.
        """
        for deployment in earlier:
            file = (deployment.entrypoint or "").partition(":")[0]
            if deployment.pull_steps == self._pull and not (source_root() / file).is_file():
                flow = await self._client.read_flow(deployment.flow_id)
                await self._client.delete_deployment(deployment.id)
                self.done.deployments[f"{flow.name}/{deployment.name}"] = "removed"

    async def register(self, entry: dict[str, Any], *, publish: bool) -> None:
        flow: Flow[..., Any] = load_flow_from_entrypoint(str(source_root() / entry["entrypoint"]))
        name = f"{flow.name}/{entry['name']}"
        options = dict(entry.get("concurrency_limit", {}))
        limit = options.pop("limit", None)
        ours: dict[str, Any] = {
            "version": __version__,
            "description": entry["description"],
            "tags": entry["tags"],
            "entrypoint": entry["entrypoint"],
            "pull_steps": self._pull,
            "parameter_openapi_schema": parameter_schema(flow).model_dump(exclude_unset=True),
            "concurrency_limit": limit,
            "concurrency_options": ConcurrencyOptions(**options) if options else None,
        }
        try:
            there = await self._client.read_deployment_by_name(name)
        except prefect.exceptions.ObjectNotFound:
            identity = await self._create(entry, await self._client.create_flow(flow), ours)
            self.done.deployments[name] = "created"
        else:
            identity = there.id
            known = parameter_schema(flow).properties
            parameters = {key: value for key, value in there.parameters.items() if key in known}
            if gone := sorted(there.parameters.keys() - known):
                ours["parameters"] = parameters
                self.done.dropped[name] = gone
            await self._update(entry, there.id, parameters, ours)
            self.done.deployments[name] = "updated"
        for spec in entry.get("triggers", ()):
            trigger = DeploymentEventTrigger.model_validate(spec)
            trigger.set_deployment_id(identity)
            await self._sync(trigger.as_automation(), switch_on=publish)
        await self._note_queue(entry, identity)

    async def _create(self, entry: dict[str, Any], flow: UUID, ours: dict[str, Any]) -> UUID:
        schedules = entry.get("schedules", ())
        return await self._client.create_deployment(
            flow,
            entry["name"],
            work_pool_name=self._pool or entry["work_pool"]["name"],
            work_queue_name=entry["work_pool"].get("work_queue_name"),
            parameters=entry.get("parameters"),
            schedules=[DeploymentScheduleCreate(**_schedule(values)) for values in schedules],
            enforce_parameter_schema=True,
            **ours,
        )

    async def _update(
        self,
        entry: dict[str, Any],
        identity: UUID,
        parameters: dict[str, Any],
        ours: dict[str, Any],
    ) -> None:
        if self._pool:
            ours["work_pool_name"] = self._pool
            ours["work_queue_name"] = entry["work_pool"].get("work_queue_name")
        if entry.get("set"):
            ours["parameters"] = parameters | entry["parameters"]
        if entry.get("set_schedule"):
            ours["schedules"] = [
                DeploymentScheduleUpdate(**_schedule(values)) for values in entry["schedules"]
            ]
        await self._client.update_deployment(identity, DeploymentUpdate(**ours))

    async def _note_queue(self, entry: dict[str, Any], identity: UUID) -> None:
        if entry["work_pool"].get("work_queue_name") == _PUBLISHING:
            deployment = await self._client.read_deployment(identity)
            if deployment.work_queue_id is not None:
                self._publishing.add(deployment.work_queue_id)

    async def plan(self, night: Night) -> Planned | None:
        """Look when a night that is registered runs; None where people took its schedule away."""
        name = f"{_NIGHTLY}/{night.deployment}"
        deployment = await self._client.read_deployment_by_name(name)
        for there in deployment.schedules:
            if isinstance(there.schedule, CronSchedule):
                cron, zone = there.schedule.cron, there.schedule.timezone or "UTC"
                when = (await _next_time(cron, zone)).isoformat(timespec="minutes")
                return Planned(name, cron, zone, when, deployment.paused or not there.active)
        return None

    async def sync_automations(self, block: UUID | None) -> None:
        for automation in standing(sorted(self._publishing)):
            await self._sync(automation)
        for automation in notifications(block) if block else ():
            await self._sync(automation)

    async def _sync(self, automation: AutomationCore, *, switch_on: bool = False) -> None:
        what = await sync_automation(self._client, automation, switch_on=switch_on)
        self.done.automations[automation.name] = what


def _schedule(values: dict[str, Any]) -> dict[str, Any]:
    """Put a schedule of the file into the client's words."""
    schedule = CronSchedule(cron=values["cron"], timezone=values["timezone"])
    return {"schedule": schedule, "slug": values["slug"], "active": values["active"]}
