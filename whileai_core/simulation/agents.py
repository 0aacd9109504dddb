"""Agents of every kind behind one door: `open_agent`, then `roll_out` for each prompt."""

from __future__ import annotations

import hashlib
import inspect
import sys
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import anyio
import anyio.to_thread

from whileai_core.errors import AgentError, EndpointDead, EndpointError, InputError, SpendExhausted
from whileai_core.simulation.context import AsyncWorld, CurrentRollout, SyncWorld, current_rollout
from whileai_core.simulation.endpoint import ChatEndpoint
from whileai_core.simulation.rollout import Rollout, read_rollout
from whileai_core.simulation.shown import shown_error
from whileai_core.simulation.spend import Spend
from whileai_core.traces.toolset import tool_schemas

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from whileai_core.simulation.chat_agent import ChatAgent
    from whileai_core.simulation.context import World

Agent: TypeAlias = "Callable[..., Any] | ChatEndpoint | str"

DEFAULT_TURNS = 6
_CALLABLE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """An agent as JSON: what it is, and what it is told.

    Attributes:
        agent: A reference.
        system_prompt: Its instructions.
    """

    agent: str
    system_prompt: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return the spec as a JSON object."""
        return asdict(self)

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> AgentSpec:
        """Read back what `to_dict` gave."""
        return cls(str(value["agent"]), str(value.get("system_prompt", "")))


class Runner(Protocol):
    """An opened agent.

    Attributes:
        name: Its model or its callable's name, `model_version` of rows.
        version: See `source_version`.
        user_model: The model that plays the user, if one does.
        sampling: How its model is sampled, if it is one.
    """

    name: str
    version: str | None
    user_model: str | None
    sampling: dict[str, Any] | None

    async def roll_out(
        self, prompt: str, world: World, *, rollout_index: int = 0, seed: int = 0
    ) -> Rollout:
        """Let the agent deal with one prompt.

        Raises:
            AgentError: The rollout is no row.
            EndpointDead: The agent's endpoint is gone; no rollout has a chance.
            SpendExhausted: The budget is used up.
        """
        ...


def agent_name(agent: Agent) -> str:
    """Return what rows call an agent: its model, or the name of the callable."""
    if isinstance(agent, ChatEndpoint):
        return agent.model
    if isinstance(agent, str):
        return ChatEndpoint.parse(agent).model
    return callable_name(agent, "agent")


def callable_name(function: object, kind: str) -> str:
    """Return `__name__` (a lambda is `lambda_<kind>`), else `.name`, else the type's name."""
    if isinstance(function, partial):
        return callable_name(function.func, kind)
    name = getattr(function, "__name__", None) or getattr(function, "name", None)
    if name == "<lambda>":
        return f"lambda_{kind}"
    return name if isinstance(name, str) and name else kind


def source_version(agent: Agent) -> str | None:
    """Return the version of an agent's source (see `code_version`); None of a chat endpoint."""
    return None if isinstance(agent, ChatEndpoint | str) else code_version(agent)


def code_version(function: object) -> str:
    """Return the version of a callable: its own `version`, else a hash of its module's source.

    Helpers in the same module count as part of it; what it imports does not.
    """
    version = getattr(function, "version", None)
    if isinstance(version, str | int | float) and str(version):
        return str(version)
    function = getattr(function, "func", function)  # a partial
    target: Any = function if inspect.isroutine(function) else type(function)
    name = str(getattr(target, "__qualname__", type(target).__name__))
    return hashlib.sha256(name.encode() + b"\0" + _source_of(target)).hexdigest()[:16]


def _source_of(target: Any) -> bytes:
    module = sys.modules.get(getattr(target, "__module__", None) or "")
    try:
        path = inspect.getsourcefile(module) if module else None
        if path:
            return Path(path).read_bytes()
    except (OSError, TypeError):  # no file, as in a notebook
        pass
    routine = target if inspect.isroutine(target) else target.__call__
    try:
        return inspect.getsource(routine).encode()
    except (OSError, TypeError):  # typed at a prompt
        code = getattr(routine, "__code__", None)
    if code is None:
        return b""
    plain = [constant for constant in code.co_consts if isinstance(constant, str | int | float)]
    return bytes(code.co_code) + repr((code.co_names, plain)).encode()


def is_async(function: Callable[..., Any]) -> bool:
    """Tell whether calling it gives something to await: a coroutine function, or such a call."""
    if isinstance(function, partial):
        return is_async(function.func)
    if inspect.isroutine(function):
        return inspect.iscoroutinefunction(function)
    return inspect.iscoroutinefunction(type(function).__call__)


@asynccontextmanager
async def open_agent(
    agent: Agent,
    *,
    tools: object = None,
    system_prompt: str | None = None,
    user_model: ChatEndpoint | str | None = None,
    spend: Spend | None = None,
    max_turns: int | None = None,
    temperature: float | None = None,
    timeout: float | None = None,
    concurrency: int = 32,
) -> AsyncIterator[Runner]:
    """Open an agent for a run.

    Args:
        agent: A plain or async callable of the message, or of the message and the world; a
            `ChatEndpoint`, or its reference as text.
        tools: The agent's tools, for chat endpoints and `current_rollout`.
        system_prompt: Instructions of a chat endpoint; a callable finds them in
            `current_rollout`.
        user_model: Who plays the user of a chat endpoint; default the same endpoint.
        spend: The run's budget.
        max_turns: Completions of a chat endpoint per rollout at most.
        temperature: Of a chat endpoint.
        timeout: Seconds per call of a callable, or per completion.
        concurrency: Rollouts at once.

    Raises:
        InputError: It is no agent.
        SettingsError: An endpoint reference is malformed, or its key is not set.
    """
    spend = spend or Spend()
    schemas = tool_schemas(tools)
    endpoint = ChatEndpoint.parse(agent) if isinstance(agent, str) else agent
    if not isinstance(endpoint, ChatEndpoint):
        if not callable(endpoint):
            raise InputError(
                f"an agent must be callable or name a chat endpoint, not {type(agent).__name__}"
            )
        yield _CallableRunner(endpoint, schemas, system_prompt, spend, timeout, concurrency)
        return
    from whileai_core.simulation.chat_agent import ChatAgent
    from whileai_core.simulation.chat_client import chat_client
    from whileai_core.simulation.user import SimulatedUser

    user = ChatEndpoint.parse(user_model) if isinstance(user_model, str) else user_model
    async with (
        chat_client(endpoint, spend, connections=concurrency) as client,
        chat_client(user or endpoint, spend, connections=concurrency) as user_client,
    ):
        chat = ChatAgent(
            client,
            SimulatedUser(user_client),
            tools=schemas,
            system_prompt=system_prompt,
            max_turns=DEFAULT_TURNS if max_turns is None else max_turns,
            temperature=temperature,
            timeout=timeout,
        )
        yield _ChatRunner(chat, endpoint.model, (user or endpoint).model)


class _ChatRunner:
    version: str | None = None

    def __init__(self, chat: ChatAgent, name: str, user_model: str) -> None:
        self.name = name
        self.user_model: str | None = user_model
        self.sampling: dict[str, Any] | None = chat.sampling
        self._chat = chat

    async def roll_out(
        self, prompt: str, world: World, *, rollout_index: int = 0, seed: int = 0
    ) -> Rollout:
        try:
            return await self._chat.roll_out(prompt, world)
        except EndpointDead:
            raise
        except EndpointError as error:
            raise AgentError(str(error), kind="endpoint_error") from None


class _CallableRunner:
    user_model: str | None = None
    sampling: dict[str, Any] | None = None

    def __init__(
        self,
        function: Callable[..., Any],
        tools: Sequence[Mapping[str, Any]],
        system_prompt: str | None,
        spend: Spend,
        timeout: float | None,
        concurrency: int,
    ) -> None:
        self.name = callable_name(function, "agent")
        self.version: str | None = code_version(function)
        self._function = function
        self._tools = tools
        self._system_prompt = system_prompt
        self._spend = spend
        self._seconds = _CALLABLE_SECONDS if timeout is None else timeout
        self._threads = concurrency
        self._limiter: anyio.CapacityLimiter | None = None
        self._async = is_async(function)
        self._wants_world = _wants_world(function)

    async def roll_out(
        self, prompt: str, world: World, *, rollout_index: int = 0, seed: int = 0
    ) -> Rollout:
        seen: AsyncWorld | SyncWorld
        seen = AsyncWorld(world) if self._async else SyncWorld(world)
        # Worker threads get a copy of the context, so that they see it too.
        token = current_rollout.set(
            CurrentRollout(prompt, rollout_index, seed, self._tools, self._system_prompt, seen)
        )
        try:
            async with self._spend.call("agent"):
                returned = await self._call(prompt, seen)
        finally:
            current_rollout.reset(token)
        return read_rollout(returned, prompt, world.steps, agent=self.name)

    async def _call(self, prompt: str, world: AsyncWorld | SyncWorld) -> object:
        arguments = (prompt, world) if self._wants_world else (prompt,)
        with anyio.move_on_after(self._seconds):
            try:
                if self._async:
                    return await self._function(*arguments)
                if self._limiter is None:
                    self._limiter = anyio.CapacityLimiter(self._threads)
                returned = await anyio.to_thread.run_sync(
                    self._function, *arguments, abandon_on_cancel=True, limiter=self._limiter
                )
                # A plain function may hand out something to await, as a decorated one does.
                return await returned if inspect.isawaitable(returned) else returned
            except (AgentError, EndpointDead, SpendExhausted):
                raise
            except Exception as error:
                raise AgentError(f"<agent error: {shown_error(error)}>") from None
        raise AgentError(f"{self.name} did not answer within {self._seconds:g} s", kind="timeout")


def _wants_world(function: Callable[..., Any]) -> bool:
    """Tell whether a callable takes the world as its second argument."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # builtins that do not say
        return False
    positional = [
        parameter
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    if len(positional) < 2:
        return False
    second = positional[1]
    return second.name == "world" or second.default is second.empty
