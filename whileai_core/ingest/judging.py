"""Grade what production left ungraded: each row once, within a budget, before the split.

A verdict is in the ledger as soon as it is given, by row identity, judge and version, so that
neither a kill nor a night that fails makes the judge give it again. A judge that failed leaves no
reward. Some rows that have a label already are judged too, and only compared: their agreement
says what the judge's labels are worth.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from whileai_core.errors import EndpointDead, SpendExhausted
from whileai_core.quality.grades import grade_of, label_of
from whileai_core.quality.intervals import wilson_interval
from whileai_core.simulation.evaluating import judge_rows, scored_row
from whileai_core.simulation.judges import OpenJudge, Verdict, open_judge
from whileai_core.simulation.references import resolve_judge
from whileai_core.simulation.spend import Spend
from whileai_core.traces.labels import binary

if TYPE_CHECKING:
    from whileai_core.ingest.ledger import Ledger
    from whileai_core.rows import Row
    from whileai_core.rowset import RowSet, RowSetStore

CONCURRENCY = 8
_CHUNK = 200  # rows looked up and judged together; bounds what is held
_CHECK_SHARE = 5  # at most one in so many calls goes to rows that have a label


@dataclass(frozen=True, slots=True)
class Judged:
    """The rows of a night with the judge's verdicts.

    Attributes:
        rows: All rows, in their order.
        report: What was judged, how it went, and how far the judge agrees with labels.
    """

    rows: RowSet
    report: dict[str, Any]


@dataclass(frozen=True, slots=True)
class JudgeOrder:
    """Who judges a night, and what it may cost.

    Attributes:
        judge: A reference: an endpoint, `module:attribute` or `outcome`.
        rubric: What earns a reward of 1, for an endpoint.
        max_calls: Judgements at most; None is any number.
        max_tokens: Tokens at most, for an endpoint.
        check: How many rows with a label to compare the judge on.
    """

    judge: str
    rubric: str | None = None
    max_calls: int | None = None
    max_tokens: int | None = None
    check: int = 50

    def examine(self, *, api_key: str | None = None) -> None:
        """Find out whether there is such a judge, before a night's work is done.

        Raises:
            SettingsError: It is not allowed, or its key is not set.
            InputError: It does not exist, or a limit is no positive number.
        """
        resolve_judge(self.judge, api_key=api_key)
        Spend(self.max_calls, self.max_tokens)


async def judge_night(
    rows: RowSet,
    order: JudgeOrder,
    *,
    store: RowSetStore,
    ledger: Ledger,
    night: str,
    api_key: str | None = None,
) -> Judged:
    """Judge the rows of a night that have no reward.

    Args:
        rows: The rows, each with its `row_id`.
        order: Who judges, within which budget.
        store: Where to put the result.
        ledger: Remembers verdicts.
        night: Date of the night, kept with them.
        api_key: Key of the judge's endpoint; default from the settings.

    Raises:
        SettingsError: The judge is not allowed, or its key is not set.
        InputError: There is no such judge.
        StoreError: Store or ledger failed; what was judged is remembered.
    """
    spend = Spend(order.max_calls, order.max_tokens)
    judge = resolve_judge(order.judge, api_key=api_key)
    async with open_judge(
        judge, rubric=order.rubric, spend=spend, concurrency=CONCURRENCY
    ) as opened:
        desk = _Desk(opened, ledger, night)
        return await _judge_rows(rows, desk, store, spend, order.check)


async def _judge_rows(
    rows: RowSet, desk: _Desk, store: RowSetStore, spend: Spend, check: int
) -> Judged:
    labelled = await _in_thread(_to_check, rows, desk.name, _check_size(check, spend))
    await desk.judge(labelled)
    chunks = _chunks(row for row in rows if grade_of(row) is None)
    while not desk.stopped and (chunk := await _in_thread(next, chunks, None)):
        await desk.judge(chunk)
    counts: Counter[str] = Counter()
    graded = await _in_thread(lambda: store.write(_graded(rows, desk, counts)))
    report = {
        "judge": desk.name,
        "version": desk.version,
        "ungraded": counts.total(),
        "passed": counts["passed"],
        "failed": counts["failed"],
        "between": counts["between"],
        "no_verdict": {
            status: counts[status]
            for status in ("error", "invalid_result", "missing_reward", "timeout")
            if counts[status]
        },
        "not_judged": counts["not_judged"],
        "remembered": desk.remembered,
        "asked": desk.asked,
        "answered": desk.answered,
        "stopped": _why(desk.stopped, spend),
        "endpoint_dead": isinstance(desk.stopped, EndpointDead),
        "first_error": desk.first_error,
        "agreement": await _in_thread(_agreement, labelled, desk),
        "spend": spend.report(),
    }
    return Judged(graded, report)


class _Desk:
    """Has rows judged that were not yet, and keeps what is said."""

    def __init__(self, judge: OpenJudge, ledger: Ledger, night: str) -> None:
        self.name = judge.name
        self.version = judge.version
        self.stopped: EndpointDead | SpendExhausted | None = None
        self.remembered = 0
        self.asked = 0  # rows that were put to the judge, now or before
        self.answered = 0  # of these, rows with a reward from it
        self.first_error: str | None = None
        self._judge = judge
        self._ledger = ledger
        self._night = night
        self._failed: dict[str, Verdict] = {}  # not in the ledger: another run asks again
        self._waiting: dict[str, dict[str, Any]] = {}
        self._writing = anyio.Lock()

    @property
    def lineage(self) -> dict[str, Any]:
        """What judged rows carry; the same on every run, so that their bytes are too."""
        digest = hashlib.sha256(f"{self.name}\0{self.version}".encode()).hexdigest()
        return {
            "scoring_run_id": f"score_{digest[:12]}",
            "source": "grade",
            "judge": self.name,
            "judge_version": self.version,
        }

    async def judge(self, rows: Sequence[Row]) -> None:
        """Judge those rows that have no verdict yet, as long as the budget lasts."""
        known = await _in_thread(self.verdicts, rows)
        self.remembered += len(known)
        self.asked += len(known)
        self.answered += len(known)
        missing = [row for row in rows if row["row_id"] not in known]
        if self.stopped or not missing:
            return
        _, self.stopped = await judge_rows(
            missing, self._judge, concurrency=CONCURRENCY, keep=self._keep
        )

    def verdicts(self, rows: Iterable[Row]) -> dict[str, Verdict]:
        """Return what is known of these rows, by row id."""
        identities = [row["row_id"] for row in rows]
        kept = self._ledger.judgements(self.name, self.version, identities)
        found = {
            row_id: Verdict(**verdict)
            for row_id, verdict in kept.items()
            if verdict["reward"] is not None  # an earlier version kept these too
        }
        return found | {key: self._failed[key] for key in identities if key in self._failed}

    async def _keep(self, row: Row, verdict: Verdict) -> None:
        """Keep a verdict; those that come while one is being written are written together."""
        self.asked += 1
        if verdict.reward is None:
            self._failed[row["row_id"]] = verdict
            self.first_error = self.first_error or _trouble(verdict)
            return
        self.answered += 1
        self._waiting[row["row_id"]] = asdict(verdict)
        async with self._writing:
            batch, self._waiting = self._waiting, {}
            await _in_thread(
                self._ledger.keep_judgements, self.name, self.version, self._night, batch
            )


def _check_size(check: int, spend: Spend) -> int:
    return check if spend.max_calls is None else min(check, spend.max_calls // _CHECK_SHARE)


def _to_check(rows: Iterable[Row], judge: str, size: int) -> list[Row]:
    """Return rows with a label that is not the judge's own; row ids are hashes, so by chance."""
    labelled = (
        row
        for row in rows
        if binary(row.get("reward")) is not None and row.get("judge_name") != judge
    )
    return heapq.nsmallest(size, labelled, key=lambda row: str(row["row_id"]))


def _graded(rows: Iterable[Row], desk: _Desk, counts: Counter[str]) -> Iterator[Row]:
    """Yield all rows, those without a reward with their verdict; count them by what came of it."""
    lineage = desk.lineage
    for chunk in _chunks(iter(rows)):
        verdicts = desk.verdicts(row for row in chunk if grade_of(row) is None)
        for row in chunk:
            verdict = verdicts.get(row["row_id"])
            if grade_of(row) is not None:
                yield row
            elif verdict is None:
                counts["not_judged"] += 1
                yield row
            else:
                counts[_outcome(verdict)] += 1
                yield scored_row(row, verdict, parent=row["row_id"], lineage=lineage)


def _trouble(verdict: Verdict) -> str:
    if verdict.status == "error":
        return str(verdict.meta["error"])
    kind = verdict.meta.get("returned_type")
    return f"{verdict.status}: the judge returned {kind}" if kind else verdict.status


def _why(stopped: EndpointDead | SpendExhausted | None, spend: Spend) -> str | None:
    """Say why judging ended early, in the words of the night's own options."""
    if not isinstance(stopped, SpendExhausted):
        return None if stopped is None else str(stopped)
    if spend.max_calls is not None and spend.calls.total() >= spend.max_calls:
        return f"--judge-max-calls {spend.max_calls} is used up"
    return f"--judge-max-tokens {spend.max_tokens} does not allow another call"


def _outcome(verdict: Verdict) -> str:
    if verdict.reward is None:
        return verdict.status
    if verdict.reward in (0, 1):
        return "passed" if verdict.reward else "failed"
    return "between"


def _agreement(labelled: Sequence[Row], desk: _Desk) -> dict[str, Any]:
    """Compare the judge's verdicts with the labels rows had, where both are 0 or 1."""
    verdicts = desk.verdicts(labelled)
    pairs: Counter[tuple[int, int]] = Counter()
    for row in labelled:
        verdict = verdicts.get(row["row_id"])
        label, judged = label_of(row), None if verdict is None else binary(verdict.reward)
        if label is not None and judged is not None:
            pairs[label, judged] += 1
    agreed, compared = pairs[0, 0] + pairs[1, 1], pairs.total()
    interval = wilson_interval(agreed, compared)
    return {
        "n": compared,
        "agreed": agreed,
        "rate": agreed / compared if compared else None,
        "interval95": None if interval is None else [interval.low, interval.high],
        "passed_by_judge_only": pairs[0, 1],
        "passed_by_label_only": pairs[1, 0],
        "labelled_without_verdict": len(labelled) - compared,
    }


def _chunks(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while chunk := list(islice(rows, _CHUNK)):
        yield chunk


async def _in_thread(function: Any, *args: Any) -> Any:
    return await anyio.to_thread.run_sync(function, *args)
