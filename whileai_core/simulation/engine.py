"""The loop of a run: open prompts, roll them out by rounds, decide what to repeat, go on.

What a round holds is decided before it starts, from rounds that are over. Rows are therefore the
same at any concurrency, and after a resume.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

from whileai_core.errors import AgentError, EndpointDead, SpendExhausted
from whileai_core.rows import Row
from whileai_core.simulation.agents import Runner
from whileai_core.simulation.checkpoint import Checkpoint
from whileai_core.simulation.focus import AIMED
from whileai_core.simulation.planner import Planner
from whileai_core.simulation.repeats import Group, Repeats
from whileai_core.simulation.row import Provenance, row_of
from whileai_core.simulation.worlds import World

_ROUND = 256  # rollouts whose outcome decides nothing
_ROUND_THAT_TELLS = 64
_MOST_TRIES = 4
_FEWEST_ERRORS = 16

Grade = Callable[[list[Row]], Awaitable[list[Row]]]
Progress = Callable[[dict[str, int]], Any]
Job = tuple[Group, int]


@dataclass(slots=True)
class Outcome:
    """What a run came to.

    Attributes:
        rows: The rows that landed, in the order they were planned.
        stopped_because: Why it ended.
        why: The error that ended it, or the first one an agent made.
        planned: Rollouts that were asked for.
        planned_for: Those aimed at a failure, by its signature.
        resumed: Rows taken from the checkpoint.
        errors: Tries that gave no row.
        lost_by: Rollouts that gave no row, by kind of error.
    """

    rows: list[Row] = field(default_factory=list)
    stopped_because: str = ""
    why: str = ""
    planned: int = 0
    planned_for: Counter[str] = field(default_factory=Counter)
    resumed: int = 0
    errors: int = 0
    lost_by: Counter[str] = field(default_factory=Counter)


class Engine:
    """Runs one simulation.

    Args:
        planner: Opens prompts.
        repeats: Decides how often each is rolled out.
        runner: The agent.
        provenance: What rows say about the run.
        new_world: Makes the world of a group's rollout.
        budget: Rows wanted.
        concurrency: Rollouts at once.
        checkpoint: Where rows are kept, if anywhere.
        grade: Grades rows of a round, if labels are to decide on repeats.
        on_progress: Told after each row how many there are.
    """

    def __init__(
        self,
        *,
        planner: Planner,
        repeats: Repeats,
        runner: Runner,
        provenance: Provenance,
        new_world: Callable[[Group], World],
        budget: int,
        concurrency: int,
        checkpoint: Checkpoint | None,
        grade: Grade | None,
        on_progress: Progress | None,
    ) -> None:
        self._planner = planner
        self._repeats = repeats
        self._runner = runner
        self._provenance = provenance
        self._new_world = new_world
        self._budget = budget
        self._limiter = anyio.CapacityLimiter(concurrency)
        self._checkpoint = checkpoint
        self._grade = grade
        self._on_progress = on_progress
        self._groups: list[Group] = []
        self._landed = 0
        self.outcome = Outcome()

    async def run(self, time_budget: float | None) -> Outcome:
        """Run until the budget is used, nothing is left to ask, or the agent is gone."""
        seconds = float("inf") if time_budget is None else time_budget
        with anyio.move_on_after(seconds) as scope:
            self.outcome.stopped_because = await self._rounds()
        if scope.cancelled_caught:
            self.outcome.stopped_because = "time_budget"
        self._mark_cut()
        self.outcome.rows = [
            group.rows[index] for group in self._groups for index in sorted(group.rows)
        ]
        return self.outcome

    async def _rounds(self) -> str:
        while self._landed < self._budget:
            landed = self._landed
            try:
                jobs = await self._next_jobs(self._budget - landed)
                if not jobs:
                    break
                await self._round(jobs)
            except (EndpointDead, SpendExhausted) as error:
                self.outcome.why = str(error)
                return "endpoint_dead" if isinstance(error, EndpointDead) else "spend_exhausted"
            if self._landed == landed and self._is_hopeless():
                return "agent_failed"
            self._repeats.decide(self._groups, self._by_need, hurried=self._planner.has_untried)
        return self._reason_of_end()

    async def _next_jobs(self, left: int) -> list[Job]:
        """Return the rollouts of the next round: repeats that are owed first, then new prompts."""
        size = min(left, _ROUND_THAT_TELLS if self._repeats.adapts else _ROUND)
        jobs = self._owed(size)
        if len(jobs) < size:
            await self._open(self._openable(left, size - len(jobs)), self._repeats.first)
            jobs = self._owed(size)
        if not jobs and self._repeats.resume(self._groups, left, self._by_need):
            jobs = self._owed(size)
        if not jobs:  # what is left does not make up a whole group
            await self._open(1, min(left, self._repeats.first))
            jobs = self._owed(size)
        return jobs

    async def _open(self, n: int, target: int) -> None:
        self._groups += await self._planner.open(n, target, self._groups)

    def _by_need(self, groups: list[Group]) -> list[Group]:
        return self._planner.by_need(groups, self._groups)

    def _openable(self, left: int, room: int) -> int:
        """Return how many prompts to open, so that no mixed one lacks repeats in the end."""
        if not self._repeats.adapts:
            return -(-room // self._repeats.k)
        free = left - self._repeats.reserved(self._groups)
        return max(0, min(room // self._repeats.first, free // self._repeats.k))

    def _owed(self, size: int) -> list[Job]:
        owing = [group for group in self._groups if group.owed > 0 and not group.stopped]
        owing.sort(key=lambda group: not group.split)
        jobs = [(group, index) for group in owing for index in range(group.done, group.target)]
        return jobs[:size]

    async def _round(self, jobs: Sequence[Job]) -> None:
        """Roll out jobs, some at once.

        Raises:
            EndpointDead: The agent's endpoint is gone; what landed before is kept.
            SpendExhausted: The budget for calls is used up; what landed before is kept.
        """
        self.outcome.planned += len(jobs)
        self.outcome.planned_for.update(
            str(group.situation.steering["signature"])
            for group, _ in jobs
            if group.situation.steering and group.situation.origin == AIMED
        )
        failures: list[Exception] = []

        async def work(group: Group, index: int) -> None:
            async with self._limiter:
                try:
                    await self._rollout(group, index)
                except Exception as error:  # told below, by itself and not as a group
                    failures.append(error)
                    tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            for group, index in jobs:
                tasks.start_soon(work, group, index)
        await self._tell(jobs)
        if self._checkpoint is not None:
            self._checkpoint.sync()
        if failures:
            raise failures[0]

    async def _tell(self, jobs: Sequence[Job]) -> None:
        """Note how the rollouts of a round came out, graded if there is a grader."""
        landed = [(group, index) for group, index in jobs if index in group.rows]
        ungraded = [
            (group, index)
            for group, index in landed
            if group.rows[index].get("judge_status") in (None, "skipped")
        ]
        if self._grade is not None and ungraded:
            graded = await self._grade([group.rows[index] for group, index in ungraded])
            for (group, index), row in zip(ungraded, graded, strict=True):
                group.rows[index] = row
                if self._checkpoint is not None:
                    self._checkpoint.add_row(row)
        for group, index in landed:
            row = group.rows[index]
            group.outcomes.append(row.get("reward", row["behavior_signature"]))

    async def _rollout(self, group: Group, index: int) -> None:
        """Put the row of one rollout into its group, or count it as lost."""
        row = None
        if self._checkpoint is not None:
            row = self._checkpoint.row((group.situation.id, group.prompt, index))
            self.outcome.resumed += row is not None
        if row is None:
            row = await self._tried(group, index)
        if row is None:
            group.lost += 1
            return
        group.rows[index] = row
        self._landed += 1
        if self._on_progress is not None:
            told = self._on_progress({"rows": self._landed, "budget": self._budget})
            if inspect.isawaitable(told):
                await told

    async def _tried(self, group: Group, index: int) -> Row | None:
        kind = ""
        for _ in range(min(_MOST_TRIES, 1 + self._repeats.k)):
            world = self._new_world(group)
            try:
                rollout = await self._runner.roll_out(
                    group.prompt, world, rollout_index=index, seed=self._provenance.seed
                )
                row = row_of(group, rollout, world, index, self._provenance)
            except AgentError as error:
                self.outcome.errors += 1
                self.outcome.why = self.outcome.why or str(error)
                kind = error.kind
                continue
            if self._checkpoint is not None:
                self._checkpoint.add_row(row)
            return row
        self.outcome.lost_by[kind] += 1
        return None

    def _is_hopeless(self) -> bool:
        return not self._landed or self.outcome.errors > max(_FEWEST_ERRORS, 2 * self._budget)

    def _reason_of_end(self) -> str:
        if self._planner.exhausted and self._landed < self._budget:
            return "writer_exhausted"
        complete = self._planner.finished and not self._owed(1)
        if complete and self._planner.replays:
            return "tasks_done"
        return "budget" if self._landed >= self._budget else "situations_exhausted"

    def _mark_cut(self) -> None:
        """Mark the rows of groups that the end of the run left short of their repeats."""
        for group in self._groups:
            if group.done < (self._repeats.k if group.split else self._repeats.first):
                for row in group.rows.values():
                    row["group_cut"] = True
