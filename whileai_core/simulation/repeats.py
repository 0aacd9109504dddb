"""How often each prompt is rolled out: a fixed number, or as often as repeats tell something."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from whileai_core.rows import Row
from whileai_core.simulation.situations import Situation

Order = Callable[[list["Group"]], list["Group"]]
Policy = Literal["fixed", "successive"]
_PROBES = 2


@dataclass(slots=True)
class Group:
    """The rollouts of one prompt.

    Attributes:
        situation: What the prompt is about.
        prompt: The prompt.
        writer: Who wrote it.
        target: How many rollouts it gets.
        rows: The rows that landed, by rollout index.
        outcomes: What they show, as far as it tells rollouts apart.
        lost: Rollouts that gave no row.
        stopped: Whether more repeats would probably tell nothing.
    """

    situation: Situation
    prompt: str
    writer: str
    target: int
    rows: dict[int, Row] = field(default_factory=dict)
    outcomes: list[object] = field(default_factory=list)
    lost: int = 0
    stopped: bool = False

    @property
    def done(self) -> int:
        """Rollouts that are over, whether or not they gave a row."""
        return len(self.rows) + self.lost

    @property
    def split(self) -> bool:
        """Whether rollouts of the prompt came out differently."""
        return len(set(self.outcomes)) > 1

    @property
    def owed(self) -> int:
        """Rollouts that are still to be made."""
        return self.target - self.done


class Repeats:
    """Decides how many rollouts each prompt gets.

    `successive`: two probes; a prompt whose rollouts came out differently gets all `k`, one whose
    rollouts agree goes on only while the next one may still split it.

    Args:
        policy: `fixed` or `successive`.
        k: Most rollouts of a prompt.
    """

    def __init__(self, policy: Policy, k: int) -> None:
        self.k = k
        self.adapts = policy == "successive" and k > _PROBES
        self.first = min(_PROBES, k) if self.adapts else k
        self._probed = 0
        self._split = 0
        self._continued: dict[int, int] = {}
        self._split_at: dict[int, int] = {}

    def decide(self, groups: Sequence[Group], by_need: Order, *, hurried: bool) -> None:
        """Set how many rollouts the groups of a round get, now that the round is over.

        Args:
            groups: All groups.
            by_need: Puts the groups first that should go on before others.
            hurried: There are prompts to open that are worth more than a group in agreement.
        """
        if not self.adapts:
            return
        open_groups = [group for group in groups if not group.stopped]
        waiting = [group for group in open_groups if group.owed <= 0 and group.target < self.k]
        for group in waiting:
            self._learn(group)
            if group.split:
                group.target = self.k
        for group in by_need([group for group in waiting if not group.split]):
            if not hurried and (not group.rows or self._may_split(group.target)):
                self._continued[group.target] = self._continued.get(group.target, 0) + 1
                group.target += 1
            else:
                group.stopped = True

    def reserved(self, groups: Iterable[Group]) -> int:
        """Return how many rollouts the groups that go on may come to need."""
        return sum(self.k - group.done for group in groups if not group.stopped)

    def resume(self, groups: Sequence[Group], room: int, by_need: Order) -> bool:
        """Let stopped groups go on, as far as there is room for all they may come to need.

        Returns:
            Whether there was one.
        """
        resumed = False
        for group in by_need([group for group in groups if group.stopped]):
            if self.k - group.done <= room:
                room -= self.k - group.done
                group.stopped = False
                group.target += 1
                resumed = True
        return resumed

    def _learn(self, group: Group) -> None:
        n = group.target
        if n == self.first:
            self._probed += 1
        elif group.split:
            self._split_at[n - 1] = self._split_at.get(n - 1, 0) + 1
        self._split += group.split

    def _may_split(self, n: int) -> bool:
        chance = (self._split_at.get(n, 0) + 1 / (n + 2)) / (self._continued.get(n, 0) + 1)
        return chance > (self._split + 1) / (self._probed + 2) / 2
