"""Judge rows: copies with a reward, a status and a lineage; a judge that fails is never a 0."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Literal

import anyio

from whileai_core.errors import (
    EndpointDead,
    InputError,
    ModelError,
    SpendExhausted,
    WhileError,
)
from whileai_core.quality.tasks import checked_rows
from whileai_core.rows import Row
from whileai_core.simulation.judges import Judge, OpenJudge, Verdict, open_judge
from whileai_core.simulation.scored import ScoredData
from whileai_core.simulation.spend import Spend
from whileai_core.traces.tasks import fold

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

# What an earlier judge left on a row; a new one replaces it whole.
JUDGE_KEYS = (
    "reward",
    "reason",
    "judge_status",
    "judge_name",
    "judge_meta",
    "failure_class",
)
_MISSING_NAMED = 20


async def evaluate(
    rows: Iterable[Row],
    judge: Judge | None = None,
    *,
    grader: Judge | None = None,
    model: str | None = None,
    eval_set: Iterable[Row] | None = None,
    judge_name: str | None = None,
    run_id: str | None = None,
    concurrency: int = 8,
    timeout: float | None = None,
    scale: Sequence[float] | None = None,
    rubric: str | None = None,
    policy: str | None = None,
    tools: object = None,
    spend: Spend | None = None,
    source: Literal["eval", "grade"] = "eval",
) -> ScoredData:
    """Judge rows and return scored copies, in the order of the rows.

    A row whose judge failed has no `reward`; `judge_status` says what happened (`error`,
    `timeout`, `missing_reward`, `invalid_result`, or `skipped` where the endpoint was gone or
    the budget used up). What was judged until then is kept.

    Args:
        rows: The rows; they are not changed.
        judge: A plain or async callable of a row that returns a boolean, a number from 0 to 1, or
            an object with `reward` and maybe `reason`; a `ChatEndpoint` or a reference.
        grader: The same under its older name; give one of the two.
        model: The model that was evaluated, for the lineage.
        eval_set: Rows that should be covered; `eval_coverage` says which prompts are missing.
        judge_name: What rows call the judge; default its own name.
        run_id: Id of this scoring; default a fresh one.
        concurrency: Rows judged at once.
        timeout: Seconds per row.
        scale: Lowest and highest rating, if the judge rates on such a scale.
        rubric: What earns a reward of 1, for a chat endpoint.
        policy: The agent's instructions, for a chat endpoint.
        tools: The agent's tools, for a chat endpoint.
        spend: Budget of the judge, maybe shared with a simulation.
        source: What the lineage says of these rewards: an evaluation, or grades to train on.

    Raises:
        InputError: Both or neither of judge and grader are given, or one cannot be used.
        SettingsError: A reference is malformed, not allowed, or its key is not set.
    """
    listed = checked_rows(rows)
    chosen = _one_of(judge, grader)
    if type(concurrency) is not int or concurrency < 1:
        raise InputError(f"concurrency={concurrency!r} must be a whole number, 1 or more")
    async with open_judge(
        chosen,
        name=judge_name,
        rubric=rubric,
        policy=policy,
        tools=tools,
        spend=spend,
        timeout=timeout,
        scale=scale,
        concurrency=concurrency,
    ) as opened:
        verdicts, stopped = await judge_rows(listed, opened, concurrency=concurrency)
    lineage = {
        "scoring_run_id": run_id or f"score_{uuid.uuid4().hex[:12]}",
        "source": source,
        "judge": opened.name,
        "judge_version": opened.version,
        **({"model": model} if model else {}),
    }
    scored = [
        scored_row(row, verdict, parent=_name_of(row, position), lineage=lineage)
        for position, (row, verdict) in enumerate(zip(listed, verdicts, strict=True))
    ]
    return ScoredData(
        scored,
        warnings=_warnings(verdicts, stopped),
        eval_coverage=None if eval_set is None else _coverage(listed, eval_set),
    )


async def judge_rows(
    rows: Sequence[Row],
    judge: OpenJudge,
    *,
    concurrency: int,
    keep: Callable[[Row, Verdict], Awaitable[None]] | None = None,
) -> tuple[list[Verdict], EndpointDead | SpendExhausted | None]:
    """Judge rows, some at once.

    Args:
        rows: The rows.
        judge: Who judges them.
        concurrency: How many at once.
        keep: Awaited with each row that was judged and its verdict.

    Returns:
        A verdict per row, and why it ended early, if it did; rows that were not reached then are
        `skipped`.

    Raises:
        WhileError: What `keep` raised.
    """
    verdicts: list[Verdict | None] = [None] * len(rows)
    stopped: list[EndpointDead | SpendExhausted] = []
    broken: list[WhileError] = []
    places = iter(range(len(rows)))

    async def work() -> None:
        for place in places:
            if stopped or broken:
                return
            try:
                verdict = verdicts[place] = await judge.judge(rows[place])
            except (EndpointDead, SpendExhausted) as error:
                stopped.append(error)
                return
            try:
                if keep is not None:
                    await keep(rows[place], verdict)
            except WhileError as error:  # as itself, not in a group of errors
                broken.append(error)

    async with anyio.create_task_group() as group:
        for _ in range(min(concurrency, len(rows))):
            group.start_soon(work)
    if broken:
        raise broken[0]
    why = stopped[0] if stopped else None
    skipped = Verdict(None, "skipped", meta={"why": str(why)})
    return [verdict or skipped for verdict in verdicts], why


def scored_row(row: Row, verdict: Verdict, *, parent: str, lineage: Mapping[str, Any]) -> Row:
    """Return a copy of a row with a verdict on it; the row itself is not changed.

    Args:
        row: The row.
        verdict: What the judge made of it.
        parent: What the lineage calls the row.
        lineage: What to add to its lineage; `judge` becomes its `judge_name` too.
    """
    judged_before = "judge_status" in row or "reward" in row
    copy = {key: value for key, value in row.items() if not judged_before or key not in JUDGE_KEYS}
    meta = dict(verdict.meta)
    failure_class, markers = meta.pop("failure_class", None), meta.pop("markers", None)
    if verdict.reward is not None:
        copy["reward"] = verdict.reward
    if verdict.reason:
        copy["reason"] = verdict.reason
    copy["judge_status"] = verdict.status
    copy["judge_name"] = lineage["judge"]
    if meta:
        copy["judge_meta"] = meta
    if failure_class:
        copy["failure_class"] = failure_class
    if isinstance(markers, dict):
        copy["markers"] = {**_object(row.get("markers")), **markers}
    earlier = _object(row.get("lineage"))
    copy["lineage"] = {**earlier, **lineage, "parent": parent}
    if "scoring_run_id" in earlier:
        copy["lineage"]["prior_scoring_run_id"] = earlier["scoring_run_id"]
    return copy


def _name_of(row: Row, position: int) -> str:
    return str(row.get("scenario_id") or row.get("id") or f"row_{position}")


def _one_of(judge: Judge | None, grader: Judge | None) -> Judge:
    if (judge is None) == (grader is None):
        raise InputError("evaluate takes either judge= or grader=, one of the two")
    chosen = grader if judge is None else judge
    assert chosen is not None  # noqa: S101 - one of the two is there
    return chosen


def _warnings(verdicts: Sequence[Verdict], stopped: ModelError | None) -> list[str]:
    warnings = [f"judging ended early: {stopped}"] if stopped else []
    failed = [verdict for verdict in verdicts if verdict.status not in ("ok", "skipped")]
    if failed:
        counts = dict.fromkeys(sorted({verdict.status for verdict in failed}), 0)
        for verdict in failed:
            counts[verdict.status] += 1
        listed = ", ".join(f"{count} {status}" for status, count in counts.items())
        first = failed[0].meta.get("error")
        warnings.append(
            f"{len(failed)} of {len(verdicts)} rows got no verdict ({listed}) and have no reward"
            + (f"; the first: {first}" if first else "")
        )
    skipped = sum(verdict.status == "skipped" for verdict in verdicts)
    if skipped:
        warnings.append(f"{skipped} of {len(verdicts)} rows were not judged")
    return warnings


def _coverage(rows: Sequence[Row], eval_set: Iterable[Row]) -> dict[str, Any]:
    wanted = {fold(prompt): prompt for row in checked_rows(eval_set) if (prompt := _prompt(row))}
    seen = {fold(_prompt(row)) for row in rows}
    missing = [prompt for folded, prompt in wanted.items() if folded not in seen]
    return {
        "eval_set": len(wanted),
        "covered": len(wanted) - len(missing),
        "missing": missing[:_MISSING_NAMED],
    }


def _prompt(row: Row) -> str:
    prompt = row.get("prompt")
    return prompt if isinstance(prompt, str) else ""


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
