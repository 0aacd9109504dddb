"""Judges of every kind behind one door: `open_judge`, then `judge` for each row.

A judge that fails gives no reward. It is never a 0: a row without a verdict says so in its
`judge_status`.
"""

from __future__ import annotations

import copy
import inspect
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
import anyio.to_thread

from whileai_core import jsonio
from whileai_core.errors import EndpointDead, InputError, SpendExhausted
from whileai_core.quality.verdicts import normalize_judge_result
from whileai_core.simulation.agents import callable_name, code_version, is_async
from whileai_core.simulation.endpoint import ChatEndpoint
from whileai_core.simulation.references import resolve_judge
from whileai_core.simulation.shown import shown_error
from whileai_core.simulation.spend import Spend
from whileai_core.traces.toolset import tool_schemas

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from whileai_core.rows import Row

Judge: TypeAlias = "Callable[[dict[str, Any]], Any] | ChatEndpoint | str"

CALLABLE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of judging one row.

    Attributes:
        reward: 0 to 1, or None when there is no verdict.
        status: `ok`; `missing_reward` or `invalid_result` (it answered, but not with a reward);
            `error` or `timeout` (it did not answer).
        reason: Its reason, or the empty text.
        meta: Further keys of its answer, and what went wrong.
    """

    reward: float | None
    status: str
    reason: str = ""
    meta: dict[str, Any] = field(default_factory=dict)


class OpenJudge:
    """A judge that is ready; made by `open_judge`.

    Attributes:
        name: Its name, `judge_name` of rows.
        version: Changes when the judge does, as far as that can be seen.
    """

    def __init__(
        self,
        function: Callable[[Row], Any],
        *,
        name: str,
        version: str,
        spend: Spend | None,
        timeout: float,
        scale: Sequence[float] | None,
        threads: int,
    ) -> None:
        self.name = name
        self.version = version
        self._function = function
        self._spend = spend
        self._seconds = timeout
        self._scale = scale
        self._async = is_async(function)
        self._threads = threads
        self._limiter: anyio.CapacityLimiter | None = None

    async def judge(self, row: Row) -> Verdict:
        """Judge one row; the judge gets a copy of it.

        Raises:
            EndpointDead: The judge's endpoint is gone; no row has a chance.
            SpendExhausted: The budget is used up.
        """
        if self._spend is None:
            return await self._judge(row)
        async with self._spend.call("judge"):
            return await self._judge(row)

    async def _judge(self, row: Row) -> Verdict:
        with anyio.move_on_after(self._seconds):
            try:
                returned = await self._call(copy.deepcopy(row))
            except (EndpointDead, SpendExhausted):
                raise
            except Exception as error:
                return Verdict(None, "error", meta={"error": shown_error(error)})
            result = normalize_judge_result(returned, self._scale)
            # What a judge says beside the reward rides along on rows, which are JSON.
            meta = jsonio.strict(result.judge_meta)
            return Verdict(result.reward, result.judge_status, result.reason, meta)
        return Verdict(None, "timeout", meta={"seconds": self._seconds})

    async def _call(self, row: Row) -> Any:
        if self._async:
            return await self._function(row)
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(self._threads)
        returned = await anyio.to_thread.run_sync(
            self._function, row, abandon_on_cancel=True, limiter=self._limiter
        )
        return await returned if inspect.isawaitable(returned) else returned


@asynccontextmanager
async def open_judge(
    judge: Judge,
    *,
    name: str | None = None,
    rubric: str | None = None,
    policy: str | None = None,
    tools: object = None,
    spend: Spend | None = None,
    timeout: float | None = None,
    scale: Sequence[float] | None = None,
    concurrency: int = 8,
) -> AsyncIterator[OpenJudge]:
    """Open a judge for a run.

    Args:
        judge: A plain or async callable of a row; a `ChatEndpoint` or its reference, which
            judges by a rubric; or another reference (see `references.resolve_judge`).
        name: What rows call it; default its own name.
        rubric: What earns a reward of 1, for a chat endpoint.
        policy: The agent's instructions, for a chat endpoint.
        tools: The agent's tools, for a chat endpoint.
        spend: The run's budget.
        timeout: Seconds per row; default 300 for callables.
        scale: Lowest and highest rating, if the judge rates on such a scale.
        concurrency: Rows at once.

    Raises:
        InputError: It is no judge, or the scale is none.
        SettingsError: A reference is malformed, not allowed, or its key is not set.
    """
    normalize_judge_result(1 if scale is None else None, scale)  # a wrong scale is said at once
    if isinstance(judge, str):
        judge = resolve_judge(judge)
    if not isinstance(judge, ChatEndpoint):
        if not callable(judge):
            raise InputError(
                f"a judge must be callable or name a chat endpoint, not {type(judge).__name__}"
            )
        yield OpenJudge(
            judge,
            name=name or callable_name(judge, "judge"),
            version=code_version(judge),
            spend=spend,
            timeout=CALLABLE_SECONDS if timeout is None else timeout,
            scale=scale,
            threads=concurrency,
        )
        return
    from whileai_core.simulation.chat_client import chat_client
    from whileai_core.simulation.rubric import ModelJudge

    async with chat_client(judge, spend or Spend(), connections=concurrency) as client:
        model = ModelJudge(
            client, rubric=rubric, policy=policy, tools=tool_schemas(tools), timeout=timeout
        )
        yield OpenJudge(
            model,
            name=name or model.name,
            version=model.version,
            spend=None,  # the client counts
            timeout=float("inf"),  # and so it does for time
            scale=scale,
            threads=concurrency,
        )
