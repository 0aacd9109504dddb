"""A night's plan: what will be pushed, frozen before the first push, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whileai_core.errors import BadShareExceeded, ModelError, WhileError
from whileai_core.rowset import RowSet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whileai_core.ingest.account import Account


@dataclass(frozen=True, slots=True)
class NightPlan:
    """Everything a push needs, so that another process can finish it.

    Attributes:
        agent: Whose night.
        night: Its date, `YYYY-MM-DD`.
        name: Name of the training set; the holdout is `<name>-holdout`.
        train: Rows to train on; None when the split leaves none.
        holdout: The held-out slice; None when it is empty.
        parent: Dataset id of the last night's training set, which starts the lineage.
        changes: What the ledger remembers once all is pushed.
        account: Where every record went.
        report: The trace report over all rows of the night.
        split: How tasks were shared out, and near copies found.
        gate: What the publish gate says of the training set, if it was asked.
        quarantine: The night's quarantine file, if it has one.
        judging: What a judge made of ungraded rows, if there was one.
    """

    agent: str
    night: str
    name: str
    train: RowSet | None
    holdout: RowSet | None
    parent: str | None
    changes: RowSet
    account: dict[str, Any] = field(default_factory=dict)
    report: dict[str, Any] = field(default_factory=dict)
    split: dict[str, Any] = field(default_factory=dict)
    gate: dict[str, Any] | None = None
    quarantine: str | None = None
    judging: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as a JSON object."""
        plain = {name: getattr(self, name) for name in _PLAIN}
        return {**plain, **{name: _handle(getattr(self, name)) for name in _HANDLES}}

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> NightPlan:
        """Read back what `to_dict` gave."""
        # A plan that an earlier version left behind may lack what is new.
        fields: dict[str, Any] = {name: value[name] for name in _PLAIN if name in value}
        for name in _HANDLES:
            fields[name] = None if value[name] is None else RowSet.from_dict(value[name])
        return cls(**fields)

    def pushes(self) -> Iterator[tuple[str, RowSet, str]]:
        """Yield (purpose, rows, name) of each dataset to push, the parent before its holdout."""
        if self.train is not None:
            yield "train", self.train, self.name
        if self.holdout is not None:
            yield "holdout", self.holdout, f"{self.name}-holdout"

    def result(self, pushed: list[dict[str, Any]]) -> dict[str, Any]:
        """Return what the night brought, as a JSON object."""
        return {
            "agent": self.agent,
            "night": self.night,
            "account": self.account,
            "judging": self.judging,
            "report": self.report,
            "split": self.split,
            "gate": self.gate,
            "datasets": pushed,
            "quarantine": self.quarantine,
        }


_FEWEST_TO_REFUSE = 5  # rows without a verdict; fewer can be chance
_HANDLES = ("train", "holdout", "changes")
_PLAIN = (
    "agent",
    "night",
    "name",
    "parent",
    "account",
    "report",
    "split",
    "gate",
    "quarantine",
    "judging",
)


def _handle(rows: RowSet | None) -> dict[str, Any] | None:
    return None if rows is None else rows.to_dict()


def check_losses(
    account: Account,
    *,
    max_bad_share: float,
    strict: bool,
    quarantine: str | None,
    skipped: Sequence[dict[str, str]] = (),
) -> None:
    """Refuse a night that lost more than the caller allows; what was lost is in quarantine.

    Args:
        account: The complete account of the night.
        max_bad_share: Largest share of quarantined records, 0 to 1.
        strict: Allow no loss at all: neither quarantined records nor skipped files.
        quarantine: Where the rejects lie, for the message.
        skipped: What is no file that can be read, `{"source", "reason"}`.

    Raises:
        BadShareExceeded: Too much is unreadable; the night must not be pushed.
        WhileError: The account does not add up, so something was lost or doubled.
    """
    total = account.total
    if not total.balanced:
        raise WhileError(
            f"the account does not add up: {total.records} records against {total.rows} rows, "
            f"{total.duplicates} duplicates, {total.quarantined} quarantined and {total.ignored} "
            "ignored; nothing was pushed. This is a fault of the product, please report it"
        )
    share = total.quarantined / total.records if total.records else 0.0
    limit = 0.0 if strict else max_bad_share
    if share > limit:
        advice = "run without --strict" if strict else "allow more (--max-bad-share)"
        raise BadShareExceeded(
            f"{total.quarantined} of {total.records} records ({share:.1%}) are unreadable, "
            f"more than the {limit:.1%} allowed; nothing was pushed. Look at {quarantine}, "
            f"then mend the source or {advice}"
        )
    if strict and skipped:
        first = skipped[0]
        raise BadShareExceeded(
            f"{len(skipped)} of what lies under the paths cannot be read, first {first['source']} "
            f"({first['reason']}); nothing was pushed. Remove it, name the traces alone (a glob), "
            "or run without --strict"
        )


def check_judge(judging: dict[str, Any]) -> None:
    """Refuse a night whose judge gave not one verdict; ungraded rows would not be judged again.

    Args:
        judging: The report of the judge.

    Raises:
        ModelError: The judge failed on every row it was asked about, five or more; the night
            must not be pushed.
    """
    unreached = judging["not_judged"] if judging["endpoint_dead"] else 0
    owed = judging["asked"] + unreached
    if judging["answered"] or owed < _FEWEST_TO_REFUSE:
        return
    trouble = judging["first_error"] or judging["stopped"]
    raise ModelError(
        f"judge {judging['judge']} gave no verdict on any of {owed} rows ({trouble}); nothing was "
        "pushed. Mend the judge or run without --judge; the next run sees all of the night again"
    )
