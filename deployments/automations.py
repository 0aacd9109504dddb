"""What the Prefect server does by itself: end runs that died, hold publishing, tell people.

Automations are known by their names: registering again updates them, and one that was switched
off in the UI stays off. Those that tell people exist once a notification block is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.objects import StateType
from prefect.events import (
    Automation,
    AutomationCore,
    ChangeFlowRunState,
    EventTrigger,
    PauseWorkQueue,
    Posture,
    ResourceSpecification,
    SendNotification,
)

from tasks.night import GATE_REFUSED

# A run says every three minutes that it lives; three silent turns are a dead one. One that is
# killed as it begins has not said anything yet, but the server knows that it is Running.
SILENCE = timedelta(seconds=540)

FLOWS = ["nightly", "hill-climb", "climb-round", "hub-publish", "hub-import"]

_EVERY_RUN = ResourceSpecification({"prefect.resource.id": "prefect.flow-run.*"})
_OF_OUR_FLOWS = ResourceSpecification(  # also those that were started by hand, without a tag
    {"prefect.resource.role": "flow", "prefect.resource.name": FLOWS}
)
_OUR_RUNS = ResourceSpecification(
    {"prefect.resource.role": "tag", "prefect.resource.id": "prefect.tag.whileai"}
)
_RUN = """\
{{ flow_run.name }} is {{ flow_run.state.name }}: {{ flow_run.state.message }}
{{ flow_run|ui_url }}"""
_REFUSED = """\
{{ event.payload.agent }}, night {{ event.payload.night }}: {{ event.payload.refusal }}
Look at the run's publish-gate page. Publishing waits until the work queue is resumed in the UI.
{{ flow_run|ui_url }}"""
_NO_WORKER = "No worker asks for runs of {{ work_pool.name }}. {{ work_pool|ui_url }}"


def standing(publishing: Sequence[UUID]) -> list[AutomationCore]:
    """Return the automations every installation has.

    Args:
        publishing: Work queues whose runs publish; a refused gate pauses them.
    """
    zombies = AutomationCore(
        name="whileai: a run that fell silent has crashed",
        description="A run whose process died together with its worker would be Running for ever "
        "and keep the next night from starting.",
        trigger=EventTrigger(
            posture=Posture.Proactive,
            after={"prefect.flow-run.Running", "prefect.flow-run.heartbeat"},
            expect={"prefect.flow-run.*"},
            match=_EVERY_RUN,
            match_related=_OF_OUR_FLOWS,
            for_each={"prefect.resource.id"},
            threshold=1,
            within=SILENCE,
        ),
        actions=[
            ChangeFlowRunState(
                name=None,
                state=StateType.CRASHED,
                force=False,
                message="No sign of life for nine minutes. Run it again: nothing is taken twice.",
            )
        ],
    )
    held = AutomationCore(
        name="whileai: a refused gate holds publishing",
        description="The publish gate refused a training set. Runs that publish wait until a "
        "person resumes their work queue, and cancels those that should not happen.",
        trigger=_at_once(GATE_REFUSED),
        actions=[PauseWorkQueue(source="selected", work_queue_id=queue) for queue in publishing],
    )
    return [zombies, held] if publishing else [zombies]


def notifications(block: UUID) -> list[AutomationCore]:
    """Return the automations that tell people, through one notification block."""

    def tell(name: str, trigger: EventTrigger, subject: str, body: str) -> AutomationCore:
        notification = SendNotification(block_document_id=block, subject=subject, body=body)
        return AutomationCore(
            name=f"whileai: tell of {name}", trigger=trigger, actions=[notification]
        )

    ended = ("Failed", "Crashed", "TimedOut")
    failed = _at_once(*(f"prefect.flow-run.{state}" for state in ended), related=_OUR_RUNS)
    late = _at_once("prefect.flow-run.Late", related=_OUR_RUNS)
    idle = _at_once("prefect.work-pool.not-ready")
    subject = "{{ flow_run.name }}: {{ flow_run.state.name }}"
    return [
        tell("failed runs", failed, subject, _RUN),
        tell("late runs", late, subject, _RUN),
        tell("missing workers", idle, "No worker for {{ work_pool.name }}", _NO_WORKER),
        tell("refused gates", _at_once(GATE_REFUSED), "Publishing is on hold", _REFUSED),
    ]


def _at_once(*events: str, related: ResourceSpecification | None = None) -> EventTrigger:
    """Fire for each of these events; a window would drop those that come close together."""
    return EventTrigger(
        posture=Posture.Reactive,
        expect=set(events),
        match_related=related or ResourceSpecification({}),
        for_each={"prefect.resource.id"},
        threshold=1,
        within=timedelta(0),
    )


async def sync_automation(
    client: PrefectClient, wanted: AutomationCore, *, switch_on: bool = False
) -> str:
    """Make the automation of this name what is wanted, on or off as it was.

    Args:
        client: Client of the server.
        wanted: What it is to be; whether it is on counts for a new one alone.
        switch_on: Switch it on in any case.

    Returns:
        `created` or `updated`.
    """
    existing: list[Automation] = await client.read_automations_by_name(wanted.name)
    if not existing:
        enabled = switch_on or wanted.enabled
        await client.create_automation(wanted.model_copy(update={"enabled": enabled}))
        return "created"
    first, *copies = existing
    changed = AutomationCore(  # without the owner, which cannot be changed
        name=wanted.name,
        description=wanted.description,
        enabled=switch_on or first.enabled,
        trigger=wanted.trigger,
        actions=wanted.actions,
    )
    await client.update_automation(first.id, changed)
    for copy in copies:
        await client.delete_automation(copy.id)
    return "updated"
