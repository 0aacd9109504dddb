"""The nightly flow: discover, normalise, merge, report, split, check for leakage, push, announce.

Runs plain (`python -m flows.nightly PATHS… --agent NAME`), from the command line
(`whileai-pipelines nightly`) and from a Prefect server. A repeat takes nothing twice; after a
kill at any moment, running it again gives what an undisturbed run would have given.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date
from typing import Annotated, Any, Literal, TypeAlias
from uuid import UUID

from prefect import flow
from pydantic import Field

from flows._runs import night_date, night_name, open_run, page_links, tag_run
from flows._server import prefect_api
from flows._shards import check_cluster, make_shards
from tasks import night as steps
from tasks import push_rows, trace_report
from tasks._progress import Progress
from tasks._retry import WHILE_AWAY, when_platform_away
from tasks._threads import in_thread
from tasks.credentials import secret_in
from whileai_core.errors import PublishGateError
from whileai_core.ingest.judging import JudgeOrder
from whileai_core.ingest.lock import night_lock
from whileai_core.ingest.night import NightPlan, check_judge, check_losses
from whileai_core.ingest.sharing import check_sharing
from whileai_core.ingest.summary import (
    account_line,
    account_markdown,
    judging_lines,
    judging_warnings,
    night_markdown,
    report_markdown,
)
from whileai_core.ingest.summary import night_text as as_text
from whileai_core.ingest.unfinished import naming_plan
from whileai_core.ingest.workspace import Workspace
from whileai_core.rowset import RowSet
from whileai_core.settings import get_settings
from whileai_core.urls import check_paths

__all__ = ["as_text", "main", "nightly", "run"]

_ROWS_WORTH_WATCHING = 1000  # a push of fewer is over before anybody looks

Gate: TypeAlias = Literal["report", "enforce", "off"]

_log = logging.getLogger("whileai_core.nightly")


@flow(name="nightly", flow_run_name=night_name)
async def nightly(
    paths: Annotated[list[str], Field(min_length=1)],
    agent: Annotated[str, Field(min_length=1, pattern=r"\S")],
    night: date | None = None,
    holdout: Annotated[float, Field(gt=0, lt=1)] = 0.2,
    seed: int = 0,
    leak_threshold: Annotated[float, Field(gt=0, le=1)] = 0.9,
    max_bad_share: Annotated[float, Field(ge=0, le=1)] = 0.05,
    strict: bool = False,
    redact: bool = False,
    gate: Gate = "report",
    credentials: str | None = None,
    judge: str | None = None,
    judge_rubric: str | None = None,
    judge_key: str | None = None,
    judge_max_calls: Annotated[int, Field(ge=1)] | None = 1000,
    judge_max_tokens: Annotated[int, Field(ge=1)] | None = None,
    judge_check: Annotated[int, Field(ge=0)] = 50,
) -> dict[str, Any]:
    """Turn what is new under `paths` into a training set and a linked holdout.

    Args:
        paths: Files, folders, globs or fsspec URLs with traces.
        agent: Agent the traces come from; names the datasets.
        night: Date of the night; empty means the day on which the run is due, UTC.
        holdout: Share of rows to hold out, by whole tasks.
        seed: Another seed holds out other tasks.
        leak_threshold: Similarity from which an ask is a near copy of another.
        max_bad_share: Fail when a larger share of the records is unreadable.
        strict: Fail when any record is unreadable.
        redact: Replace secrets and personal data before anything is stored.
        gate: Publish gate over the training set: report what it says, enforce it, or off.
        credentials: Name of a `WhileCredentials` block; empty means the worker's own settings.
        judge: Who grades rows without a reward: a chat endpoint (`openai:<model>`,
            `vllm:<model>@<address>`) or `module:attribute`; empty leaves them ungraded.
        judge_rubric: What earns a reward of 1, for a chat endpoint.
        judge_key: Name of a Secret block with the endpoint's key; empty means the worker's own.
        judge_max_calls: Judgements a night may cost; empty means any number.
        judge_max_tokens: Tokens they may cost; empty means any number.
        judge_check: How many rows with a label to compare the judge on.

    Returns:
        `agent`, `night`, `account` (where every record went), `judging`, `report`, `split`,
        `gate`, `datasets`, `quarantine` and `resumed` (nights of an earlier, killed run that were
        finished first).

    Raises:
        SourceNotFound: One of the paths names nothing.
        BadShareExceeded: Too much of the night is unreadable; nothing was pushed.
        ModelError: The judge gave no verdict on any row; nothing was pushed.
        PublishGateError: The gate is enforced and refuses; nothing was pushed.
        PlatformError: The push failed; the next run finishes it, or it is given up
            (`whileai-pipelines forget-unfinished`).
    """
    check_paths(paths)
    agent = agent.strip().lower()
    dated = night_date(night)
    await open_run(f"agent:{agent}", f"night:{dated}")
    order = await _judge_order(
        judge, judge_rubric, judge_max_calls, judge_max_tokens, judge_check, key=judge_key
    )
    with Workspace(agent, redact=redact) as workspace:
        async with _locked(workspace, credentials):
            resumed = await _finish_interrupted(workspace, credentials)
            found = await steps.discover(workspace, paths)
            _log.info("found %d new files, %d known", found.new, found.known)
            shards = await make_shards(workspace, found.shards)
            merged = await steps.merge_shards(workspace, shards, dated)
            quarantine = await steps.keep_rejects(workspace, shards, merged, dated)
            _log.info("%s", account_line(merged.account.total))
            check_losses(
                merged.account,
                max_bad_share=max_bad_share,
                strict=strict,
                quarantine=quarantine,
                skipped=found.skipped,
            )
            rows, judging = await _judge(workspace, merged.rows, order, dated, judge_key)
            report = await trace_report(rows)
            assignment = await steps.split_by_task(workspace, rows, holdout, seed, leak_threshold)
            sides = await steps.check_leakage(workspace, rows, assignment, leak_threshold)
            verdict, gate_page = await _gate(sides.train, gate, agent, dated)
            plan = await steps.plan_push(
                workspace, dated, found, merged, sides, report, verdict, quarantine, judging
            )
            result = await _push(workspace, plan, credentials)
    await _show(result, gate_page)
    return {**result, "resumed": resumed}


@asynccontextmanager
async def _locked(workspace: Workspace, credentials: str | None) -> AsyncIterator[None]:
    """One night at a time per agent; then clear away what a killed run left."""
    check_cluster(workspace.settings)
    check_sharing(workspace.settings, workspace.ledger, hosted=credentials is not None)
    lock = night_lock(workspace.settings.home, workspace.ledger)
    await in_thread(lock.__enter__)
    try:
        await in_thread(workspace.sweep)
        yield
    finally:
        lock.__exit__(None, None, None)


async def _finish_interrupted(
    workspace: Workspace, credentials: str | None
) -> list[dict[str, Any]]:
    """Finish the night that a killed run had begun to push, if there is one."""
    pending = await in_thread(workspace.ledger.pending)
    if pending is None:
        return []
    plan = NightPlan.from_dict(pending)
    _log.info("finishing the interrupted night %s", plan.night)
    return [await _push_planned(workspace, plan, credentials)]


async def _judge_order(
    judge: str | None,
    rubric: str | None,
    max_calls: int | None,
    max_tokens: int | None,
    check: int,
    *,
    key: str | None,
) -> JudgeOrder | None:
    """Put the judge's parameters together, and refuse what could only fail at the end."""
    if not judge:
        return None
    order = JudgeOrder(judge, rubric or None, max_calls, max_tokens, check)
    order.examine(api_key=await secret_in(key))
    return order


async def _judge(
    workspace: Workspace, rows: RowSet, order: JudgeOrder | None, night: str, key: str | None
) -> tuple[RowSet, dict[str, Any] | None]:
    """Have the rows without a reward judged, where somebody was named for it."""
    if order is None or not rows.rows:
        return rows, None
    judged = await steps.judge_ungraded(workspace, rows, order, night, key)
    for line in judging_lines(judged.report):
        _log.info("%s", line)
    for warning in judging_warnings(judged.report):
        _log.warning("%s", warning)
    check_judge(judged.report)
    return judged.rows, judged.report


async def _gate(
    train: RowSet | None, how: Gate, agent: str, night: str
) -> tuple[dict[str, Any] | None, UUID | None]:
    """Ask the publish gate, show its page; on a refusal say so, and stop where it is enforced."""
    if train is None or how == "off":
        return None, None
    check = await steps.publish_gate(train)
    page = await steps.show(
        "publish-gate", check.page, "Whether the training set is fit to train on"
    )
    if not check.report["ok"]:
        await steps.announce_refusal(agent, night, check.report["refusal"])
        if how == "enforce":
            raise PublishGateError(check.report["refusal"])
    return check.report, page


async def _push(workspace: Workspace, plan: NightPlan, credentials: str | None) -> dict[str, Any]:
    """Make the plan durable and carry it out; a night that brought nothing leaves no trace."""
    if not plan.changes.rows:
        return plan.result([])
    await steps.begin_push(workspace, plan)
    return await _push_planned(workspace, plan, credentials)


async def _push_planned(
    workspace: Workspace, plan: NightPlan, credentials: str | None
) -> dict[str, Any]:
    """Push both sides, announce them, and only then remember the night.

    Every step is repeatable: a push has an idempotency key of its content, the ledger is
    written in one transaction, and an announcement that comes twice publishes once.
    """
    pushed: list[dict[str, Any]] = []
    parent = plan.parent
    pushes = list(plan.pushes())
    total = sum(rows.rows for _, rows, _ in pushes)
    progress = Progress("pushed", "Rows pushed", total, least=_ROWS_WORTH_WATCHING)
    await progress.begin()
    for purpose, rows, name in pushes:
        with naming_plan(plan):
            entry = await _push_patiently(
                rows,
                name,
                purpose=purpose,
                agent=plan.agent,
                parent=parent,
                credentials=credentials,
            )
        pushed.append(
            {
                "datasetId": entry["datasetId"],
                "name": name,
                "purpose": purpose,
                "rows": rows.rows,
                "parentDatasetId": parent,
            }
        )
        parent = entry["datasetId"]
        await progress.advance(rows.rows)
        _log.info("pushed %d rows for %s as %s", rows.rows, purpose, parent)
    await tag_run(*(f"dataset:{entry['datasetId']}" for entry in pushed))
    result = plan.result(pushed)
    for entry in pushed:
        await steps.announce(entry, plan.agent, plan.night)
    await steps.commit_night(workspace, plan, result)
    return result


# A night outlasts a platform that restarts; a repeated push makes no second dataset.
_push_patiently = push_rows.with_options(
    retries=len(WHILE_AWAY),
    retry_delay_seconds=WHILE_AWAY,
    retry_condition_fn=when_platform_away,
)


async def _show(result: dict[str, Any], gate_page: UUID | None) -> None:
    """Attach the run's pages; the UI lists them in no order, so the summary links the others."""
    pages = {"publish gate": gate_page} if gate_page else {}
    for key, title, page in (
        ("trace-report", "what the traces hold", report_markdown(result)),
        ("where-it-went", "where it went", account_markdown(result)),
    ):
        pages[title] = await steps.show(key, page, title.capitalize())
    summary = night_markdown(result, page=get_settings().dataset_page, more=page_links(pages))
    await steps.show("night-summary", summary, "Start here: what the night brought")


def run(**parameters: Any) -> dict[str, Any]:
    """Run the flow to its end from plain code and return its result.

    Raises:
        StoreError: There is no Prefect API and a temporary server does not start.
    """
    with prefect_api():
        return asyncio.run(nightly(**parameters))


def main() -> int:
    """Run the flow from `python -m flows.nightly`, with the command line's own arguments."""
    from whileai_core.cli import main as command_line

    return command_line(["nightly", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
