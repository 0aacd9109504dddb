"""The steps of a climb. Each is done once: what it left is found again by the next run."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.climb.journal import Journal
from whileai_core.errors import (
    CutShort,
    InputError,
    PublishGateError,
    SpendExhausted,
    WhileError,
)
from whileai_core.rowset import RowSet, RowSetStore
from whileai_core.settings import get_settings
from whileai_core.simulation.references import (
    AgentSpec,
    reference_version,
    resolve_agent,
    resolve_improver,
    resolve_judge,
    resolve_tools,
)
from whileai_core.simulation.shown import shown_error
from whileai_core.simulation.spend import Spend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whileai_core.climb.plan import ClimbPlan
    from whileai_core.platform import ApiKey
    from whileai_core.rows import Row
    from whileai_core.settings import Settings

_CUT = {"spend_exhausted", "endpoint_dead", "agent_failed"}
_HOLDOUT_SEED = 1_000_003  # far from the seeds of the rounds, which count up from the plan's


class Climb:
    """One climb: its plan, its folder, and its steps.

    Args:
        plan: What to do.
        settings: Where things are kept; by default as the environment says.
        api_key: Credential of the platform; by default as for `push_rows`.
        endpoint_key: Key of the chat endpoints; by default from the environment.
    """

    def __init__(
        self,
        plan: ClimbPlan,
        settings: Settings | None = None,
        *,
        api_key: ApiKey = None,
        endpoint_key: str | None = None,
    ) -> None:
        self.plan = plan
        self.key = f"{plan.name}-{_hash_of(plan.shape(), _code_behind(plan))}"
        self._api_key = api_key
        self._endpoint_key = endpoint_key
        self.settings = settings or get_settings()
        self.journal = Journal(self.settings.home / "climbs" / self.key)
        self.store = RowSetStore(self.settings.store)

    async def gather(self) -> dict[str, Any]:
        """Read what the climb starts from: `rows` (a RowSet handle or None) and `tools`.

        Raises:
            SourceNotFound: A path names nothing.
            InputError: There is neither a trace nor a tool to go by.
        """
        return await self.journal.once("start", self._gather)

    async def simulate(self, number: int) -> dict[str, Any]:
        """Roll out the asks of a round, aimed at what failed in the round before.

        A killed round goes on from its checkpoint.
        """
        return await self.journal.once(f"round-{number}/simulated", lambda: self._simulate(number))

    async def evaluate(self, number: int) -> dict[str, Any]:
        """Grade the rows of a round."""
        return await self.journal.once(f"round-{number}/scored", lambda: self._evaluate(number))

    async def push(self, number: int) -> dict[str, Any]:
        """Push the round's rows behind the publish gate, as a child of the last pushed round."""
        return await self.journal.once(f"round-{number}/pushed", lambda: self._push(number))

    async def measure(self, number: int) -> dict[str, Any]:
        """Try the round's agent on the held-out tasks; the first round draws them."""
        return await self.journal.once(f"round-{number}/held", lambda: self._measure(number))

    async def improve(self, number: int) -> dict[str, Any]:
        """Make the next round's agent out of the failures, where there is an improver."""
        return await self.journal.once(f"round-{number}/next", lambda: self._improve(number))

    async def finish(self, number: int) -> dict[str, Any]:
        """Put the round's numbers together; with this the round is done for good."""
        return await self.journal.once(f"round-{number}/record", lambda: self._record(number))

    def finished(self, number: int) -> dict[str, Any] | None:
        """Return the record of a finished round."""
        return self.journal.read(f"round-{number}/record")

    def agent(self, number: int) -> AgentSpec:
        """Return the agent of a round."""
        if number == 1:
            return AgentSpec(self.plan.agent, self.plan.system_prompt)
        return AgentSpec.from_dict(self._left(f"round-{number - 1}/next"))

    async def _gather(self) -> dict[str, Any]:
        import anyio

        from whileai_core.dialects.load import load_all
        from whileai_core.platform import pull
        from whileai_core.traces.harness import tools_from_traces

        rows: list[Row] = await anyio.to_thread.run_sync(load_all, self.plan.paths)
        if self.plan.dataset is not None:
            pulled = await pull(self.plan.dataset, api_key=self._api_key)
            rows += pulled if isinstance(pulled, list) else []
        tools = resolve_tools(self.plan.tools) or tools_from_traces(rows)
        if not tools and not self.plan.system_prompt:
            raise InputError(
                "the climb has nothing to go by: give tools or a system prompt, or traces in "
                "which tools are used"
            )
        return {"rows": self._keep(rows) if rows else None, "tools": tools}

    async def _simulate(self, number: int) -> dict[str, Any]:
        return await self._roll_out(
            f"round-{number}/simulated",
            self.agent(number),
            traces=self._flaws(number - 1) or None,
            avoid=None if number == 1 else self._rows("round-1/held"),
            budget=self.plan.budget,
            repeats=self.plan.repeats,
            seed=self.plan.seed + number - 1,
        )

    async def _evaluate(self, number: int) -> dict[str, Any]:
        return await self._grade(f"round-{number}/simulated")

    async def _push(self, number: int) -> dict[str, Any]:
        from whileai_core.platform import push_rows

        parents = [self._left(f"round-{earlier}/pushed") for earlier in range(1, number)]
        parent = next((p["datasetId"] for p in reversed(parents) if p["datasetId"]), None)
        name = f"{self.plan.name}-round-{number}"
        rows = self._rows(f"round-{number}/scored")
        pushed: dict[str, Any] = {"datasetId": None, "parentDatasetId": parent, "refusal": None}
        if not rows:
            return pushed
        try:
            entry = await push_rows(
                rows,
                name,
                parent=parent,
                gate=True,
                mode="rl",
                purpose="train",
                agent=self.plan.name,
                api_key=self._api_key,
            )
        except PublishGateError as error:
            return {**pushed, "refusal": str(error)}
        return {**pushed, "datasetId": entry["datasetId"]}

    async def _measure(self, number: int) -> dict[str, Any]:
        if number > 1:
            tasks = self._rows("round-1/held")
            return await self._held(
                number, tasks=tasks, repeats=self.plan.repeats, budget=max(1, len(tasks))
            )
        return await self._held(
            number,
            traces=self._flaws(1) or self._flaws(0) or None,
            avoid=self._rows("round-1/scored"),
            budget=self.plan.holdout_tasks * self.plan.repeats,
            repeats=self.plan.repeats,
        )

    async def _held(self, number: int, **options: Any) -> dict[str, Any]:
        step = f"round-{number}/tried"
        await self.journal.once(
            step,
            lambda: self._roll_out(
                step,
                self.agent(number),
                seed=self.plan.seed + _HOLDOUT_SEED,
                repeat_policy="fixed",
                **options,
            ),
        )
        return await self._grade(step)

    async def _improve(self, number: int) -> dict[str, Any]:
        spec = self.agent(number)
        failures = self._failures(number)
        if self.plan.improver is None or not failures:
            return spec.to_dict()
        spend = self._spend()
        improver = resolve_improver(self.plan.improver, spend=spend, api_key=self._endpoint_key)
        try:
            return (await improver(spec, failures)).to_dict()
        except SpendExhausted as error:
            raise CutShort("spend_exhausted", str(error)) from None
        except WhileError as error:
            raise CutShort("improver_failed", str(error)) from None
        except Exception as error:
            reason = f"{self.plan.improver} raised {shown_error(error)}"
            # Alone: what is logged of its cause would say what was masked.
            raise CutShort("improver_failed", reason) from None
        finally:
            self._keep_spend(spend)

    async def _record(self, number: int) -> dict[str, Any]:
        from whileai_core.climb.record import round_record

        held = self._rows(f"round-{number}/held")
        before = self._rows(f"round-{number - 1}/held") if number > 1 else None
        return round_record(
            number,
            agent=self.agent(number),
            agent_before=self.agent(number - 1) if number > 1 else None,
            simulated=self._left(f"round-{number}/simulated"),
            judged=self._left(f"round-{number}/scored"),
            rows=self._rows(f"round-{number}/scored"),
            pushed=self._left(f"round-{number}/pushed"),
            held=held,
            held_before=before,
        )

    async def _roll_out(self, step: str, spec: AgentSpec, **options: Any) -> dict[str, Any]:
        from whileai_core.simulation.simulating import simulate

        spend = self._spend()
        checkpoint = self.journal.folder / f"{step}.jsonl"
        checkpoint.parent.mkdir(parents=True, exist_ok=True)
        data = await simulate(
            resolve_agent(spec, api_key=self._endpoint_key),
            tools=self._left("start")["tools"],
            system_prompt=spec.system_prompt or None,
            mode="rl",
            concurrency=self.plan.concurrency,
            checkpoint=checkpoint,
            spend=spend,
            **options,
        )
        self._keep_spend(spend)
        if data.stopped_because in _CUT:
            reason = data.warnings[0] if data.warnings else "the agent gave no reply"
            raise CutShort(data.stopped_because, reason, rows=len(data.rows))
        checkpoint.unlink(missing_ok=True)
        return {
            "rows": self._keep(data.rows),
            "search": data.search,
            "stopped_because": data.stopped_because,
            "warnings": list(data.warnings),
            "degraded": list(data.degraded),
        }

    async def _grade(self, step: str) -> dict[str, Any]:
        from whileai_core.simulation.evaluating import evaluate

        spend = self._spend()
        rows = self._rows(step)
        judge = resolve_judge(self.plan.judge, api_key=self._endpoint_key)
        scored = await evaluate(rows, judge, source="grade", spend=spend)
        self._keep_spend(spend)
        statuses = {row["judge_status"] for row in scored}
        if "skipped" in statuses or (rows and "ok" not in statuses):
            # Rows nobody graded would stay so: better to stop here and grade them next time.
            code = "spend_exhausted" if spend.exhausted else "judge_failed"
            raise CutShort(code, scored.warnings[0], rows=len(rows))
        return {"rows": self._keep(list(scored)), "warnings": scored.warnings}

    def _flaws(self, number: int) -> list[Row]:
        """Return the flaw rows a round left; round 0 is what the climb started from."""
        from whileai_core.traces.mining import flaw_rows

        rows = self._rows("start") if number == 0 else self._rows(f"round-{number}/scored")
        return flaw_rows(rows)

    def _failures(self, number: int) -> list[Row]:
        return [row for row in self._rows(f"round-{number}/scored") if row.get("reward") == 0]

    def _spend(self) -> Spend:
        """Return the budget for model calls, with what the climb has used of it."""
        used = self.journal.read("spend")
        return Spend(self.plan.max_calls, self.plan.max_tokens, earlier=used)

    def _keep_spend(self, spend: Spend) -> None:
        self.journal.write("spend", spend.report())

    def _left(self, step: str) -> dict[str, Any]:
        left = self.journal.read(step)
        if left is None:
            raise InputError(f"step {step} of climb {self.key} has not been done yet")
        return left

    def _rows(self, step: str) -> list[Row]:
        handle = self._left(step)["rows"]
        return [] if handle is None else list(RowSet.from_dict(handle))

    def _keep(self, rows: Sequence[Row]) -> dict[str, Any]:
        return self.store.write(rows).to_dict()


def _code_behind(plan: ClimbPlan) -> list[str | None]:
    """Return the versions of the code that the plan names: edited code makes another climb."""
    named = (plan.agent, plan.judge, plan.improver)
    return [None if reference is None else reference_version(reference) for reference in named]


def _hash_of(*parts: object) -> str:
    return hashlib.sha256(jsonio.canonical(parts)).hexdigest()[:12]
