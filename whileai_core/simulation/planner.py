"""Turns situations into prompts: whose turn it is, what is asked, and that it copies nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from whileai_core.simulation.cards import Card, Writer
from whileai_core.simulation.checkpoint import Checkpoint
from whileai_core.simulation.focus import EXPLORE, Focus
from whileai_core.simulation.leak import LeakGate
from whileai_core.simulation.mint import Mint, reference_parameter
from whileai_core.simulation.probes import probe
from whileai_core.simulation.repeats import Group
from whileai_core.simulation.situations import REPLAY, SEED, Explorer, Situation
from whileai_core.simulation.templates import TemplateWriter, asked_tools

_REWRITES = 5
_OTHER_SITUATIONS = 8
_PROBE_EVERY = 10
_BATCH = 8
_BATCHES_AT_ONCE = 8


@dataclass(slots=True)
class _Draft:
    """A prompt on its way."""

    situation: Situation
    slot: int
    probe: int | None = None  # number of the probe, for asks outside the grid
    text: str | None = None
    writer: str = ""


class Planner:
    """Opens groups: the next situations, with prompts that are new to the run and to its sources.

    Args:
        settled: Situations whose prompts are given (seeds, tasks), in order.
        explorer: Picks from the whole grid; None when only settled situations are asked.
        focus: Picks aimed situations, if the run aims.
        gates: What prompts must not copy.
        tools: Schemas of the agent's tools.
        templates: The offline writer.
        writer: Who writes instead, if somebody does.
        seed: Seed of the run.
        phrasings: Prompts per situation.
        limit: Most situations, None for any number.
        checkpoint: Where messages of `writer` are kept.
    """

    def __init__(
        self,
        *,
        settled: Sequence[Situation],
        explorer: Explorer | None,
        focus: Focus | None,
        gates: Sequence[LeakGate],
        tools: Sequence[Mapping[str, Any]],
        templates: TemplateWriter,
        writer: Writer | None,
        seed: int,
        phrasings: int,
        limit: int | None,
        checkpoint: Checkpoint | None,
    ) -> None:
        self._settled = list(settled)
        self._explorer = explorer
        self._focus = focus
        self._gates = gates
        self._tools = tools
        self._mint = Mint(tools)
        self._templates = templates
        self._writer = writer
        self._seed = seed
        self._phrasings = phrasings
        self._left = limit
        self._checkpoint = checkpoint
        self._shares = focus.shares if focus is not None else {EXPLORE: 1.0}
        self._rows: Counter[str] = Counter()
        self._explored = 0
        self._used: set[str] = set()
        self._slots = 0
        self._probes = 0
        self._current: tuple[Situation, int] | None = None  # with phrasings left to write
        self.fell_back = 0
        self.dropped_seeds: list[str] = []
        self.exhausted = False

    @property
    def described_ids(self) -> tuple[str, ...]:
        """Ids that the tools' descriptions name."""
        return self._mint.described

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to open."""
        if self._settled or self._current is not None:
            return False
        return self._explorer is None or self._left == 0 or self.exhausted

    @property
    def has_untried(self) -> bool:
        """Whether a failure signature waits for its first situation."""
        return self._focus is not None and self._focus.has_untried

    @property
    def replays(self) -> bool:
        """Whether only given situations are asked."""
        return self._explorer is None

    async def open(self, n: int, target: int, so_far: Iterable[Group] = ()) -> list[Group]:
        """Return up to `n` new groups; fewer only when the planner is finished after them.

        Args:
            n: How many.
            target: How many rollouts each is to get at first.
            so_far: The groups that are open; kinds that have too few rows are next.
        """
        groups: list[Group] = []
        self._rows = self._rows_by_kind(so_far)
        while len(groups) < n and not self.finished:
            drafts: list[_Draft] = []
            while len(groups) + len(drafts) < n and not self.finished:
                drafts.append(self._next_draft(target))
            groups += [
                Group(draft.situation, draft.text, draft.writer, target)
                for draft in await self._written(drafts)
                if draft.text is not None
            ]
        return groups

    def by_need(self, groups: Iterable[Group], so_far: Iterable[Group]) -> list[Group]:
        """Return groups in such an order that one more row each keeps the shares of kinds."""
        rows = self._rows_by_kind(so_far)
        waiting: dict[str, list[Group]] = {}
        for group in groups:
            waiting.setdefault(self._kind_of(group), []).append(group)
        ordered = []
        while waiting:
            kind = self._most_behind(waiting, rows, 1)
            rows[kind] += 1
            ordered.append(waiting[kind].pop(0))
            if not waiting[kind]:
                del waiting[kind]
        return ordered

    def _most_behind(self, kinds: Iterable[str], rows: Counter[str], more: int) -> str:
        total = sum(rows.values()) + more
        return max(kinds, key=lambda kind: self._shares[kind] * total - rows[kind])

    def _rows_by_kind(self, groups: Iterable[Group]) -> Counter[str]:
        """Count the rows that groups have or are to get, by what their situations are for."""
        rows: Counter[str] = Counter()
        for group in groups:
            rows[self._kind_of(group)] += group.target
        return rows

    def _kind_of(self, group: Group) -> str:
        origin = group.situation.origin
        return origin if origin in self._shares else EXPLORE

    def _next_draft(self, target: int) -> _Draft:
        self._slots += 1
        if self._settled:
            if self._left is not None:
                self._left = max(0, self._left - 1)
            return _Draft(self._settled.pop(0), self._slots)
        if self._current is None:
            situation, number = self._next_situation(target)
            if self._left is not None:
                self._left -= 1
            if number is not None:
                return _Draft(situation, self._slots, number)
            self._current = situation, self._phrasings
        situation, phrasings = self._current
        self._current = (situation, phrasings - 1) if phrasings > 1 else None
        return _Draft(situation, self._slots)

    def _next_situation(self, target: int) -> tuple[Situation, int | None]:
        """Return the next situation, and the number of the probe if it is one."""
        kind = self._most_behind(self._shares, self._rows, target)
        self._rows[kind] += target * self._phrasings
        self._explored += kind == EXPLORE
        if kind == EXPLORE and self._explored % _PROBE_EVERY == 0:
            self._probes += 1
            return probe(self._seed, self._probes, self._hard_only, 0), self._probes
        return self._pick(kind), None

    def _pick(self, kind: str) -> Situation:
        """Return a situation of a kind; a cell of the grid where all of the kind are held out."""
        assert self._explorer is not None  # noqa: S101  # `finished` is asked before
        if self._focus is not None and kind in self._shares and kind != EXPLORE:
            for _ in range(_OTHER_SITUATIONS):
                situation = self._focus.pick(kind)
                if not any(situation.id in gate.scenario_ids for gate in self._gates):
                    return situation
        return self._explorer.pick()

    @property
    def _hard_only(self) -> bool:
        return self._explorer is not None and self._explorer.hard_share == 1

    async def _written(self, drafts: list[_Draft]) -> list[_Draft]:
        """Return the drafts with a prompt each; those that only ever copied have none."""
        open_drafts = drafts
        for round_ in range(_REWRITES + _OTHER_SITUATIONS):
            if round_ > _REWRITES:
                self._replace(open_drafts)
            await self._write(open_drafts, round_)
            open_drafts = self._refused(open_drafts)
            if not open_drafts:
                break
        for draft in open_drafts:
            draft.text = None
            if draft.situation.origin == SEED:
                self.dropped_seeds.append(draft.situation.prompt or "")
            else:
                self.exhausted = True
        return drafts

    def _replace(self, drafts: list[_Draft]) -> None:
        """Give the slots of prompts that cannot be told apart from copies to other situations."""
        for draft in drafts:
            if draft.situation.origin not in (SEED, REPLAY):
                draft.situation = self._pick(draft.situation.origin)
                draft.probe = None

    async def _write(self, drafts: list[_Draft], rewrite: int) -> None:
        cards: list[tuple[_Draft, Card]] = []
        for draft in drafts:
            if draft.probe is not None and rewrite:
                draft.situation = probe(self._seed, draft.probe, self._hard_only, rewrite)
            if draft.situation.prompt is not None:
                draft.text = draft.situation.prompt
                draft.writer = draft.situation.writer or "seed"
            else:
                cards.append((draft, self._card(draft)))
        messages = await self._messages([card for _, card in cards], rewrite)
        for (draft, card), message in zip(cards, messages, strict=True):
            draft.text, draft.writer = message, self._writer.name if self._writer else ""
            if message is None:
                draft.text = self._templates.message(card, rewrite)
                draft.writer = self._templates.name
                self.fell_back += self._writer is not None

    async def _messages(self, cards: list[Card], rewrite: int) -> list[str | None]:
        """Return what the model writes for cards, None for each where there is no model."""
        messages: list[str | None] = [None] * len(cards)
        writer = self._writer
        if writer is None:
            return messages
        if self._checkpoint is not None:
            messages = [self._checkpoint.message(f"{card.slot}:{rewrite}") for card in cards]
        wanted = [place for place, message in enumerate(messages) if message is None]
        limiter = anyio.CapacityLimiter(_BATCHES_AT_ONCE)

        async def write(places: list[int]) -> None:
            async with limiter:
                written = await writer.write([cards[place] for place in places], rewrite)
            for place, message in zip(places, written, strict=True):
                messages[place] = message
                if message is not None and self._checkpoint is not None:
                    self._checkpoint.add_message(f"{cards[place].slot}:{rewrite}", message)

        async with anyio.create_task_group() as group:
            for start in range(0, len(wanted), _BATCH):
                group.start_soon(write, wanted[start : start + _BATCH])
        return messages

    def _card(self, draft: _Draft) -> Card:
        situation = draft.situation
        references: dict[str, str] = {}
        listed = []
        for tool in asked_tools(situation.assignment, self._tools):
            parameter = reference_parameter(tool)
            if parameter is not None:
                made = self._mint.reference(tool, draft.slot, self._seed, situation.id)
                listed.append(references.setdefault(parameter, made or ""))
        return Card(situation.id, situation.assignment, draft.slot, tuple(listed), situation.brief)

    def _refused(self, drafts: list[_Draft]) -> list[_Draft]:
        """Take the prompts that are new; return the drafts whose prompts are not."""
        refused: set[int] = set()
        checked = [draft for draft in drafts if draft.situation.origin != REPLAY]
        for gate in self._gates:
            left = [draft for draft in checked if id(draft) not in refused]
            verdicts = gate.rejects([draft.text or "" for draft in left])
            refused |= {id(draft) for draft, copies in zip(left, verdicts, strict=True) if copies}
        for draft in checked:
            if id(draft) not in refused:
                if draft.text in self._used:
                    refused.add(id(draft))
                self._used.add(draft.text or "")
        return [draft for draft in drafts if id(draft) in refused]
