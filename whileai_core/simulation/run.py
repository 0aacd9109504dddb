"""A run from its settings to its result: what it needs is put together here."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whileai_core.rows import Row
from whileai_core.simulation.agents import Runner
from whileai_core.simulation.aim import aim_results
from whileai_core.simulation.behaviour_state import behavior_state
from whileai_core.simulation.cards import Writer
from whileai_core.simulation.checkpoint import Checkpoint
from whileai_core.simulation.data import Rows, SimulationData
from whileai_core.simulation.endpoint import ChatEndpoint
from whileai_core.simulation.engine import Engine, Outcome, Progress
from whileai_core.simulation.findings import findings_of
from whileai_core.simulation.focus import EXPLORATION, Focus
from whileai_core.simulation.ground import Ground
from whileai_core.simulation.leak import LeakGate
from whileai_core.simulation.mint import ids_in
from whileai_core.simulation.options import Options
from whileai_core.simulation.planner import Planner
from whileai_core.simulation.repeats import Group, Repeats
from whileai_core.simulation.row import Provenance
from whileai_core.simulation.situations import Explorer, Situation
from whileai_core.simulation.templates import TemplateWriter
from whileai_core.simulation.worlds import Execute, World
from whileai_core.traces.mining import mine_traces

if TYPE_CHECKING:
    from whileai_core.simulation.judges import Judge
    from whileai_core.simulation.spend import Spend


_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Run:
    """A run whose arguments are checked; `of` runs it.

    Attributes:
        options: The settings.
        ground: The agent's tools and grid, and what the traces tell.
        settled: Situations whose prompts are given, in order.
        replays: Whether only those are asked.
        avoid: What prompts must not copy beside the traces.
        simulator: The model that writes prompts, if one does.
        grader: Judges rows during the run.
        execute: The caller's own world.
        checkpoint: File to keep rows in.
        on_progress: Told after each row.
        spend: Budget for model calls.
        warnings: What is worth knowing so far.
    """

    options: Options
    ground: Ground
    settled: list[Situation]
    replays: bool
    avoid: LeakGate | None
    simulator: ChatEndpoint | str | bool | None
    grader: Judge | None
    execute: Execute | None
    checkpoint: str | Path | None
    on_progress: Progress | None
    spend: Spend | None
    warnings: list[str]

    async def of(self, runner: Runner, model_version: str | None) -> SimulationData:
        """Run an opened agent; rows call it by its own name when they are given none."""
        options, ground = self.options, self.ground
        name = model_version or runner.name
        provenance = Provenance(options.seed, name, ground.policy, runner)
        focus = self._focus()
        leak = None if ground.traces is None else LeakGate.of_rows(ground.traces)
        async with self._writer() as writer:
            with self._open_checkpoint(runner, model_version) as checkpoint:
                if checkpoint is not None and checkpoint.n_rows:
                    _log.warning("going on from %d rows of an earlier run", checkpoint.n_rows)
                planner = self._planner(focus, leak, writer, checkpoint)
                engine = Engine(
                    planner=planner,
                    repeats=Repeats(options.policy, options.repeats),
                    runner=runner,
                    provenance=provenance,
                    new_world=self._new_world(planner),
                    budget=options.budget,
                    concurrency=options.concurrency,
                    checkpoint=checkpoint,
                    grade=None if self.grader is None else self._graded,
                    on_progress=self.on_progress,
                )
                outcome = await engine.run(options.time_budget)
        flags, warnings = findings_of(outcome, planner, ground.tools, runner)
        return SimulationData(
            rows=Rows(outcome.rows),
            stopped_because=outcome.stopped_because,
            warnings=[*self.warnings, *warnings],
            degraded=flags,
            search=self._search(outcome, focus, leak),
            dimensions=ground.axes,
            knobs=options.knobs(),
        )

    def _focus(self) -> Focus | None:
        options, traces = self.options, self.ground.traces
        if not traces or options.strategy == "broad" or self.replays:
            return None
        exploration = options.exploration
        if exploration is None:
            exploration = 0.0 if options.strategy == "targeted" else EXPLORATION
        focus = Focus(traces, self.ground.axes, options.seed, exploration)
        if not focus.targets:
            self.warnings.append("the traces hold no failure to aim at; the whole grid is explored")
        return focus

    def _planner(
        self,
        focus: Focus | None,
        leak: LeakGate | None,
        writer: Writer | None,
        checkpoint: Checkpoint | None,
    ) -> Planner:
        options, ground = self.options, self.ground
        explorer = Explorer(
            axes=ground.axes,
            seed=options.seed,
            fault_rate=options.fault_rate,
            hard_share=options.hard_share,
            # Where faults were seen, they are worth more than one visit in ten.
            flip=options.flip and ground.traces is None,
            avoid=frozenset() if self.avoid is None else self.avoid.scenario_ids,
        )
        return Planner(
            settled=self.settled,
            explorer=None if self.replays else explorer,
            focus=focus,
            gates=[gate for gate in (leak, self.avoid) if gate is not None],
            tools=ground.tools,
            templates=TemplateWriter(ground.tools, options.seed),
            writer=writer,
            seed=options.seed,
            phrasings=options.phrasings,
            limit=self._limit(),
            checkpoint=checkpoint,
        )

    def _limit(self) -> int | None:
        situations = self.options.situations
        return None if situations is None else max(situations, len(self.settled))

    def _new_world(self, planner: Planner) -> Callable[[Group], World]:
        asked = ids_in(situation.prompt or "" for situation in self.settled)
        known = frozenset((*planner.described_ids, *self.ground.known_ids, *asked))

        def new_world(group: Group) -> World:
            return World(
                self.ground.tools,
                faults=group.situation.faults,
                world_state=group.situation.world_state,
                seed=group.situation.world_seed,
                prompt=group.prompt,
                known_ids=known,
                shapes=self.ground.shapes,
                execute=self.execute,
            )

        return new_world

    async def _graded(self, rows: list[Row]) -> list[Row]:
        from whileai_core.simulation.evaluating import evaluate

        scored = await evaluate(
            rows,
            self.grader,
            source="grade",
            concurrency=self.options.concurrency,
            policy=self.ground.policy,
            tools=self.ground.tools,
            spend=self.spend,
        )
        return scored.rows

    @asynccontextmanager
    async def _writer(self) -> AsyncIterator[Writer | None]:
        if not isinstance(self.simulator, str | ChatEndpoint):
            yield None
            return
        from whileai_core.simulation.writer import open_writer

        async with open_writer(
            self.simulator,
            tools=self.ground.tools,
            policy=self.ground.policy,
            seed=self.options.seed,
            spend=self.spend,
        ) as writer:
            yield writer

    def _open_checkpoint(
        self, runner: Runner, model_version: str | None
    ) -> AbstractContextManager[Checkpoint | None]:
        if self.checkpoint is None:
            return nullcontext()
        names = ("seed", "mode", "phrasings", "repeats", "policy", "fault_rate", "hard_share")
        run = {
            "agent": model_version or runner.name,
            # Who names the agent's version vouches for it.
            **({} if model_version else {"agent_source": runner.version}),
            **{name: getattr(self.options, name) for name in names},
            **self.ground.fingerprint(),
        }
        return Checkpoint(self.checkpoint, run)

    def _search(
        self, outcome: Outcome, focus: Focus | None, leak: LeakGate | None
    ) -> dict[str, Any]:
        search: dict[str, Any] = {
            "rollouts": {
                "planned": outcome.planned,
                "landed": len(outcome.rows),
                "resumed": outcome.resumed,
                "errors": outcome.errors,
                "lost_by": dict(outcome.lost_by),
            },
            "aim": []
            if focus is None
            else aim_results(focus.entries(outcome.planned_for), outcome.rows),
        }
        if leak is not None:
            search["trace_leakage"] = leak.report()
            search["trace_mining"] = self._mining()
            search["behavior_state"] = behavior_state(self.ground.traces or ())
            earlier = {row.get("scenario_id") for row in self.ground.traces or ()}
            shared = {row["scenario_id"] for row in outcome.rows} & earlier
            search["shared_scenario_ids"] = len(shared)
        if self.avoid is not None:
            search["avoided"] = self.avoid.report()
        if self.spend is not None:
            search["spend"] = self.spend.report()
        return search

    def _mining(self) -> dict[str, Any]:
        mined = mine_traces(self.ground.traces)
        return {
            "n_traces": mined["n"],
            "n_flaw_rows": len(mined["flaw_rows"]),
            "failure_seeds": 0,  # failing asks are varied, never asked again
            "faults": mined["faults"],
            "tools": mined["tools"],
            "result_exemplars": sum(map(len, self.ground.shapes.values())),
        }
