"""What a climb is to do: all of it JSON, so that a Prefect run can carry it and resume it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from whileai_core.errors import InputError

_LIMITS = {"rounds", "max_calls", "max_tokens", "concurrency"}


@dataclass(frozen=True, slots=True)
class ClimbPlan:
    """The parameters of a climb. The same plan is the same climb: it resumes, never doubles.

    Attributes:
        name: Names the climb, its datasets and the agent on the platform.
        agent: First agent: `module:attribute` within the allowed packages, or a chat endpoint.
        system_prompt: First system prompt, for a chat endpoint.
        tools: Tool schemas; None reads them off the traces, `module:attribute` loads them.
        paths: Traces to start from: files, folders, globs or URLs.
        dataset: Dataset id to start from, beside or instead of `paths`.
        judge: `outcome`, `module:attribute`, or a chat endpoint for a rubric judge.
        improver: What makes the next agent out of the failures; None keeps the agent.
        rounds: Most rounds.
        budget: Rows a round may roll out.
        repeats: Rollouts per ask.
        holdout_tasks: Tasks held out to compare the rounds on.
        seed: Another seed draws other situations.
        max_calls: Model calls of the whole climb; None is any number.
        max_tokens: Model tokens of the whole climb; None is any number.
        concurrency: Rollouts at once.
    """

    name: str
    agent: str
    system_prompt: str = ""
    tools: list[dict[str, Any]] | str | None = None
    paths: tuple[str, ...] = ()
    dataset: str | None = None
    judge: str = "outcome"
    improver: str | None = None
    rounds: int = 3
    budget: int = 96
    repeats: int = 4
    holdout_tasks: int = 24
    seed: int = 0
    max_calls: int | None = None
    max_tokens: int | None = None
    concurrency: int = 32

    def __post_init__(self) -> None:
        for name in ("rounds", "budget", "repeats", "holdout_tasks", "concurrency"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise InputError(f"{name}={value!r} must be a whole number, 1 or more")
        if self.budget < self.repeats:
            raise InputError(
                f"a budget of {self.budget} rows holds no ask with {self.repeats} repeats; "
                "raise budget or lower repeats"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as a JSON object."""
        return {**asdict(self), "paths": list(self.paths)}

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> ClimbPlan:
        """Read back what `to_dict` gave."""
        return cls(**{**value, "paths": tuple(value["paths"])})

    def shape(self) -> dict[str, Any]:
        """Return what shapes the rows of the climb.

        The limits are left out, so that a climb that ran into one goes on under a higher one.
        """
        return {key: value for key, value in self.to_dict().items() if key not in _LIMITS}
