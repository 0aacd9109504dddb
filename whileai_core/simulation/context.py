"""The rollout that is under way, for agents that are plain callables."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import anyio.from_thread

from whileai_core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whileai_core.rows import Step


class World(Protocol):
    """What an agent's tools answer from (see `whileai_core.simulation.worlds`).

    Attributes:
        asynchronous: Answers come from a coroutine, so that only `call` gets them.
        faults: The fault plan.
        world_state: The state it is in.
        steps: What it was asked and answered so far, as steps of a row.
    """

    @property
    def asynchronous(self) -> bool: ...
    @property
    def faults(self) -> Mapping[str, Any]: ...
    @property
    def world_state(self) -> str | None: ...
    @property
    def steps(self) -> list[Step]: ...

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Answer one tool call."""
        ...

    def call_sync(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Answer one tool call without an event loop; not where the world is asynchronous."""
        ...


@dataclass(frozen=True, slots=True)
class CurrentRollout:
    """The rollout an agent is called for.

    Attributes:
        prompt: What the user asks.
        rollout_index: Which repeat of the situation it is.
        seed: Seed of the run.
        tools: Schemas of the tools.
        system_prompt: What the run tells the agent to be, if anything.
        world: Where tool calls are answered; what it is asked becomes the steps of the row.
    """

    prompt: str
    rollout_index: int
    seed: int
    tools: Sequence[Mapping[str, Any]]
    system_prompt: str | None
    world: AsyncWorld | SyncWorld

    @property
    def faults(self) -> Mapping[str, Any]:
        """The faults that are planned."""
        return self.world.inner.faults

    @property
    def world_state(self) -> str | None:
        """The state of the world."""
        return self.world.inner.world_state


current_rollout: ContextVar[CurrentRollout] = ContextVar("whileai_current_rollout")


@dataclass(frozen=True, slots=True)
class AsyncWorld:
    """The world as an async agent sees it."""

    inner: World

    def call(self, tool: str, arguments: dict[str, Any] | None = None) -> Any:
        """Answer one tool call, faults first; awaiting the answer is needed only where the
        caller's own world is async, and never wrong.
        """
        if self.inner.asynchronous:
            return self.inner.call(tool, dict(arguments or {}))
        return self.inner.call_sync(tool, dict(arguments or {}))


@dataclass(frozen=True, slots=True)
class SyncWorld:
    """The world as a plain function in a worker thread sees it."""

    inner: World

    def call(self, tool: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """Answer one tool call, faults first."""
        given = dict(arguments or {})
        if self.inner.asynchronous:
            return anyio.from_thread.run(self.inner.call, tool, given)
        return self.inner.call_sync(tool, given)


def world(tools: Sequence[Any] = ()) -> Any:
    """Return the world of the rollout that is under way.

    `world(tools).call(name, arguments)` gives the answer; in an async agent it may be awaited, and
    has to be where the world is the caller's own async one.

    Args:
        tools: The agent's tools; the run knows them already, so they may be left out.

    Raises:
        InputError: No rollout is under way here.
    """
    rollout = current_rollout.get(None)
    if rollout is None:
        raise InputError(
            "no rollout is under way: world() answers inside an agent that simulate() calls"
        )
    return rollout.world
