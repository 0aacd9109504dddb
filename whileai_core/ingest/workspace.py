"""The places a night works in, and its steps as plain functions of that place."""

from __future__ import annotations

import shutil
import socket
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whileai_core.atomic import atomic_file, owner_tag, sweep_temporaries
from whileai_core.errors import SettingsError
from whileai_core.ingest import discover as discovery
from whileai_core.ingest.judging import Judged, JudgeOrder, judge_night
from whileai_core.ingest.ledger import Ledger
from whileai_core.ingest.merge import Merged, merge
from whileai_core.ingest.night import NightPlan
from whileai_core.ingest.quarantine import Quarantine
from whileai_core.ingest.shards import Shard, ShardStore, normalise
from whileai_core.ingest.sides import Assignment, Sides, assign_sides, check_sides
from whileai_core.ingest.spill import sweep_spills
from whileai_core.settings import Settings, get_settings
from whileai_core.sources.discovery import STDIN, open_raw, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whileai_core.ingest.discover import ShardPlan
    from whileai_core.redaction import Redactor
    from whileai_core.rowset import RowSet


@dataclass(frozen=True)
class Discovery:
    """What a night found under its paths.

    Attributes:
        shards: What is new, grouped into shards.
        new: Number of new files.
        known: Number of files whose content an earlier night ingested.
        sources: For the ledger: the new files.
        skipped: What was come across and is no file that can be read, `{"source", "reason"}`.
    """

    shards: tuple[ShardPlan, ...]
    new: int
    known: int
    sources: tuple[dict[str, Any], ...]
    skipped: tuple[dict[str, str], ...] = ()


class Workspace:
    """Store, ledger and quarantine of one agent.

    Sent to another machine it takes along whose nights, and where the store is; everything else
    it finds in the settings there, credentials above all.

    Args:
        agent: Whose nights.
        redact: Redact everything before it is stored.
        settings: Where things lie; default from the environment.
    """

    def __init__(
        self, agent: str, *, redact: bool = False, settings: Settings | None = None
    ) -> None:
        self.agent = agent
        self.redact = redact
        self.settings = settings or get_settings()
        self.store = ShardStore(self.settings.store)
        self.quarantine = Quarantine.from_settings(self.settings)
        self._inbox: Path | None = None
        self._away = False

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (self.agent, self.redact, self.settings.store)

    @cached_property
    def ledger(self) -> Ledger:
        """The agent's ledger; close the workspace to give it back."""
        return Ledger.from_settings(self.settings, self.agent)

    @property
    def work(self) -> Path:
        """Folder for temporary files."""
        return self.settings.home / "work"

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        if "ledger" in self.__dict__:
            self.ledger.close()
        if self._inbox is not None:
            shutil.rmtree(self._inbox, ignore_errors=True)

    def sweep(self) -> int:
        """Remove what killed runs left under the home folder and in the store; count it."""
        swept = sweep_temporaries(self.settings.home) + sweep_spills(self.work)
        return swept + (self.store.sweep() if self.settings.store_url else 0)

    def discover(self, paths: Sequence[str]) -> Discovery:
        """Find what is new under `paths` (see `whileai_core.ingest.discover.discover`)."""
        files, skipped = discovery.discover([self._spooled(path) for path in paths])
        known = self.ledger.known_sources([file.sha256 for file in files])
        new = [file for file in files if file.sha256 not in known]
        shards = discovery.plan_shards(new, redaction=_fingerprint(self._redactor()))
        sources = tuple(
            {"table": "sources", "sha256": file.sha256, "name": shown(file.name)} for file in new
        )
        named = tuple({"source": name, "reason": reason} for name, reason in skipped)
        return Discovery(tuple(shards), len(new), len(files) - len(new), sources, named)

    def normalise(self, plan: ShardPlan) -> Shard:
        """Make one shard, or find it made.

        Raises:
            SettingsError: This machine would make other rows of the files than the one that
                planned the shard.
        """
        redactor = self._redactor()
        if plan.key != discovery.shard_key(plan.files, _fingerprint(redactor)):
            raise SettingsError(
                f"{socket.gethostname()} would make other rows than the machine that runs the "
                "night: install the same version of whileai-pipelines on both and, where nights "
                f"are redacted, copy its redaction.key to {self.settings.home}"
            )
        if self._away:
            for file in plan.files:
                if file.name.startswith("file://"):
                    discovery.check_same(file)
        return normalise(plan, self.store, redactor=redactor)

    def merge(self, shards: Sequence[Shard], *, night: str) -> Merged:
        """Put the night's shards together with what the ledger knows."""
        return merge(shards, self.store, self.ledger, night=night, work=self.work)

    def keep_rejects(self, shards: Sequence[Shard], merged: Merged, *, night: str) -> str | None:
        """Write the rejects of the night's shards and of their merge to quarantine."""
        entries = rejects(shards, merged)
        return self.quarantine.keep(self.agent, night, entries, redacted=self.redact)

    async def judge(
        self, rows: RowSet, order: JudgeOrder, *, night: str, api_key: str | None = None
    ) -> Judged:
        """Judge the rows of the night that have no reward, each once."""
        return await judge_night(
            rows,
            order,
            store=self.store.rowsets,
            ledger=self.ledger,
            night=night,
            api_key=api_key,
        )

    def split(self, rows: RowSet, *, fraction: float, seed: int, threshold: float) -> Assignment:
        """Give every task of the night its side."""
        return assign_sides(
            rows,
            self.store.rowsets,
            self.ledger,
            fraction=fraction,
            seed=seed,
            threshold=threshold,
        )

    def check_leakage(self, rows: RowSet, assignment: Assignment, *, threshold: float) -> Sides:
        """Leave near copies of held-out asks out of the remainder."""
        return check_sides(rows, assignment, self.store.rowsets, self.ledger, threshold=threshold)

    def plan(
        self,
        *,
        night: str,
        found: Discovery,
        merged: Merged,
        sides: Sides,
        report: dict[str, Any],
        gate: dict[str, Any] | None,
        quarantine: str | None,
        judging: dict[str, Any] | None = None,
    ) -> NightPlan:
        """Put together what a push needs and what the ledger will remember."""
        changes = self.store.rowsets.write(
            {"night": night, **change}
            for change in chain(found.sources, merged.changes, sides.changes)
        )
        account = merged.account.to_dict() | {
            "train": sides.train.rows if sides.train else 0,
            "holdout": sides.holdout.rows if sides.holdout else 0,
            "leaky": sides.leaky,
            "files": found.new,
            "files_known": found.known,
            "files_skipped": list(found.skipped),
        }
        repeat = self.ledger.nights_on(night)
        return NightPlan(
            agent=self.agent,
            night=night,
            name=f"{self.agent}-{night}" + (f"-{repeat + 1}" if repeat else ""),
            train=sides.train,
            holdout=sides.holdout,
            parent=self.ledger.last_train_dataset(),
            changes=changes,
            account=account,
            report=report,
            split=sides.report,
            gate=gate,
            quarantine=quarantine,
            judging=judging,
        )

    def _spooled(self, path: str) -> str:
        """Copy what can be read only once (standard input, a pipe) to a file of the workspace."""
        if path != STDIN and not Path(path).is_fifo():
            return path
        if self._inbox is None:
            self._inbox = self.work / f"spill-{owner_tag()}"
        copy = self._inbox / ("stdin" if path == STDIN else Path(path).name)
        with atomic_file(copy) as file, open_raw(path) as source:
            shutil.copyfileobj(source, file)
        return str(copy)

    def _redactor(self) -> Redactor | None:
        if not self.redact:
            return None
        from whileai_core.redaction import Redactor

        return Redactor.from_home(self.settings)


def rejects(shards: Sequence[Shard], merged: Merged) -> Iterator[dict[str, Any]]:
    """Yield all that a night could not take, as entries for the quarantine."""
    return chain(*(shard.rejects for shard in shards), merged.rejects)


def _arrived(agent: str, redact: bool, store: str) -> Workspace:
    """Set up on this machine what another one sent."""
    settings = get_settings().model_copy(update={"store_url": store})
    workspace = Workspace(agent, redact=redact, settings=settings)
    workspace._away = True
    return workspace


def _fingerprint(redactor: Redactor | None) -> str:
    return "" if redactor is None else redactor.fingerprint
