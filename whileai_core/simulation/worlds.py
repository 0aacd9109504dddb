"""The sandbox world one rollout acts in: records that change, six states, four faults.

A world answers from its seed alone, so that the repeats of a situation meet the same things, at
any concurrency. What it answered is in `steps`; which faults it really showed, in `served`.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping
from typing import Any

from whileai_core.simulation.faults import FaultPlan
from whileai_core.simulation.records import Record, RecordBook, Shapes
from whileai_core.simulation.sandbox import Sandbox
from whileai_core.simulation.shown import shown_error
from whileai_core.traces.toolset import tool_schemas

Execute = Callable[[str, dict[str, Any]], Any]


class Answer(dict[str, Any]):
    """What a tool answered. It is there at once; awaiting it too gives the answer."""

    def __await__(self) -> Generator[Any, None, Answer]:
        return self._itself().__await__()

    async def _itself(self) -> Answer:
        return self


class World:
    """The world of one rollout.

    Args:
        tools: The agent's tools, in any form `build_dimensions` takes.
        faults: Plan of `{tool or "*": {"mode", "rate", "times"}}`; served before anything else.
        world_state: Value of the `world_state` axis; anything else is the state `unknown`.
        seed: What the world depends on; the same for all repeats of a situation.
        prompt: The ask. References it names exist, unless the state says they are missing.
        known_ids: Further references that do.
        shapes: Results seen in traces, by tool, as templates for records.
        execute: The caller's own world, sync or async, in place of the records. An exception
            it raises becomes an error result, a result that is no object `{"result": ...}`.
    """

    def __init__(
        self,
        tools: object,
        *,
        faults: Mapping[str, Mapping[str, Any]] | None = None,
        world_state: str | None = None,
        seed: object = "",
        prompt: str = "",
        known_ids: Collection[str] = (),
        shapes: Shapes | None = None,
        execute: Execute | None = None,
    ) -> None:
        self.tools: list[dict[str, Any]] = tool_schemas(tools)
        self.world_state = world_state
        self.steps: list[dict[str, Any]] = []
        self.served: list[tuple[str, str]] = []
        self._parameters = {tool["name"]: tool["parameters"] for tool in self.tools}
        self._plan = FaultPlan(faults, seed)
        self._sandbox = Sandbox(
            RecordBook(self.tools, shapes), world_state, seed, prompt, known_ids
        )
        self._execute = execute

    @property
    def asked(self) -> bool:
        """Whether any tool was called."""
        return bool(self.steps)

    @property
    def faults(self) -> dict[str, dict[str, Any]]:
        """The fault plan, whether or not it was served."""
        return self._plan.plan

    @property
    def asynchronous(self) -> bool:
        """Whether answers come from a coroutine, so that only `call` gets them."""
        return _is_async(self._execute)

    async def call(self, tool: str, arguments: Mapping[str, Any] | None = None) -> Answer:
        """Call a tool from a coroutine, whatever `execute` is."""
        asked = dict(arguments or {})
        answer = self._own_answer(tool, asked)
        if answer is None:
            answer = await self._executed(tool, asked)
        return self._logged(tool, asked, answer)

    def call_sync(self, tool: str, arguments: Mapping[str, Any] | None = None) -> Answer:
        """Call a tool and return its answer; not for an `asynchronous` world."""
        asked = dict(arguments or {})
        answer = self._own_answer(tool, asked)
        if answer is None:
            try:
                answer = _as_answer(self._run_execute(tool, asked))
            except Exception as error:
                answer = _failed(error)
        return self._logged(tool, asked, answer)

    def _logged(self, tool: str, arguments: dict[str, Any], answer: dict[str, Any]) -> Answer:
        self.steps.append({"tool": tool, "arguments": arguments, "result": answer})
        # What an agent does to its answer is not what the world said.
        return Answer(copy.deepcopy(answer) if self._execute is None else answer)

    def _own_answer(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Return what the world answers by itself; None leaves the answer to `execute`."""
        if tool not in self._parameters:
            return {"status": "error", "reason": "unknown_tool", "tool": tool}
        mode = self._plan.mode_for(tool, arguments)
        if mode is not None:
            self.served.append((tool, mode))
            return _faulty(mode, lambda: self._sandbox.shown(tool, arguments))
        if self._execute is not None:
            return None
        return self._sandbox.answer(tool, self._parameters[tool], arguments)

    async def _executed(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            result = self._run_execute(tool, arguments)
            return _as_answer(await result if isinstance(result, Awaitable) else result)
        except Exception as error:
            return _failed(error)

    def _run_execute(self, tool: str, arguments: dict[str, Any]) -> Any:
        assert self._execute is not None  # noqa: S101  # `_own_answer` answered otherwise
        return self._execute(tool, dict(arguments))


def _faulty(mode: str, record: Callable[[], Record]) -> dict[str, Any]:
    if mode == "timeout":
        return {"status": "timeout", "error": "request timed out"}
    if mode == "malformed":
        return {"status": "ok", "data": "<<garbled resp0nse"}
    if mode == "stale":
        return {"status": "ok", "data": record(), "stale": True, "as_of": "3 days ago"}
    return {"status": "permission_denied"}


def _is_async(execute: Execute | None) -> bool:
    return inspect.iscoroutinefunction(execute) or inspect.iscoroutinefunction(
        getattr(execute, "__call__", None)  # noqa: B004  # an object with an async __call__
    )


def _as_answer(result: Any) -> dict[str, Any]:
    return result if isinstance(result, dict) else {"status": "ok", "result": result}


def _failed(error: Exception) -> dict[str, Any]:
    """Tell the agent, and so the row, what failed; an `execute` may talk with real systems."""
    return {"status": "error", "reason": shown_error(error)}
