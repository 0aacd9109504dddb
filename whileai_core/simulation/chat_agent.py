"""An agent that is a model behind a chat endpoint: it talks, calls tools, and is answered."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.errors import AgentError
from whileai_core.simulation.chat_client import MAX_TOKENS
from whileai_core.simulation.rollout import Rollout

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whileai_core.rows import Step
    from whileai_core.simulation.chat_client import ChatClient, Completion, ToolRequest
    from whileai_core.simulation.context import World
    from whileai_core.simulation.user import SimulatedUser

TEMPERATURE = 0.8
# How models write tool calls when the server does not take them out of the text.
_TOOL_MARKUP = re.compile(
    r"</?tool_call>|<\|?tool[▁_]calls?|<｜tool|\[TOOL_CALLS\]|<function=\w|<\|python_tag\|>"
    r"|<function_calls>|<invoke name="
)


class ChatAgent:
    """Rolls a chat endpoint out.

    Args:
        client: The model.
        user: Who answers its questions.
        tools: Function schemas (`name`, `description`, `parameters`).
        system_prompt: The agent's instructions.
        max_turns: Completions per rollout at most.
        temperature: Of the model.
        timeout: Seconds per completion.
    """

    def __init__(
        self,
        client: ChatClient,
        user: SimulatedUser,
        *,
        tools: Sequence[Mapping[str, Any]],
        system_prompt: str | None,
        max_turns: int,
        temperature: float | None,
        timeout: float | None,
    ) -> None:
        self._client = client
        self._user = user
        self._tools = [{"type": "function", "function": dict(tool)} for tool in tools]
        self._system = system_prompt
        self._max_turns = max_turns
        self._temperature = TEMPERATURE if temperature is None else temperature
        self._timeout = timeout

    @property
    def sampling(self) -> dict[str, Any]:
        """How it is sampled, as rows carry it."""
        return {
            "model": self._client.endpoint.model,
            "temperature": self._temperature,
            "max_tokens": MAX_TOKENS,
        }

    async def roll_out(self, prompt: str, world: World) -> Rollout:
        """Let the agent deal with one prompt.

        Raises:
            AgentError: It said nothing, or wrote a tool call as text.
            EndpointError: The endpoint gave no answer.
            SpendExhausted: The budget does not cover the next completion.
        """
        talk = _Talk(prompt, self._system)
        for turns_left in reversed(range(self._max_turns)):
            completion = await self._client.complete(
                talk.messages,
                role="agent",
                tools=self._tools,
                temperature=self._temperature,
                timeout=self._timeout,
            )
            talk.count(completion)
            if _TOOL_MARKUP.search(completion.text):
                raise AgentError(
                    f"{self._client.endpoint} wrote a tool call as text; serve the model with "
                    "its tool call parser switched on",
                    kind="tool_markup",
                )
            if completion.tool_calls:
                await self._call_tools(talk, completion, world)
            elif completion.text:
                talk.say(completion)
                over = completion.truncated or not turns_left
                if over or not await self._user_goes_on(talk):
                    break
            elif completion.truncated:
                talk.finish_reason = "length"
        return talk.rollout(self._client.endpoint.model)

    async def _call_tools(self, talk: _Talk, completion: Completion, world: World) -> None:
        talk.request(completion)
        for place, call in enumerate(completion.tool_calls):
            if call.arguments is None:
                result = {
                    "status": "error",
                    "reason": "malformed_arguments",
                    "hint": "the arguments must be one JSON object",
                }
            else:
                result = await world.call(call.name, call.arguments)
            talk.result(call, result, completion if place == 0 and not completion.text else None)

    async def _user_goes_on(self, talk: _Talk) -> bool:
        turn = await self._user.answer(talk.prompt, talk.heard, timeout=self._timeout)
        if turn.left:
            talk.ended_by = "user_left"
        if turn.text is None:
            return False
        talk.hear(turn.text)
        return True


@dataclass
class _Talk:
    """One conversation: what the model is sent, and the steps of the row it becomes."""

    prompt: str
    system: str | None
    steps: list[Step] = field(default_factory=list)
    heard: list[tuple[str, str]] = field(default_factory=list)
    final_text: str = ""
    finish_reason: str = "stop"
    ended_by: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0

    def __post_init__(self) -> None:
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": self.prompt}]
        if self.system:
            self.messages.insert(0, {"role": "system", "content": self.system})

    def count(self, completion: Completion) -> None:
        self.input_tokens += completion.input_tokens
        self.output_tokens += completion.output_tokens

    def say(self, completion: Completion) -> None:
        self._speak(completion)
        self.messages.append({"role": "assistant", "content": completion.text})
        self.finish_reason = "length" if completion.truncated else "stop"

    def request(self, completion: Completion) -> None:
        if completion.text:
            self._speak(completion)
        self.messages.append(
            {
                "role": "assistant",
                "content": completion.text or None,
                "tool_calls": [_as_sent(call) for call in completion.tool_calls],
            }
        )
        self.finish_reason = "tool"

    def result(
        self, call: ToolRequest, result: dict[str, Any], completion: Completion | None
    ) -> None:
        step: Step = {"tool": call.name}
        step["arguments"] = {"_text": call.text} if call.arguments is None else call.arguments
        step["result"] = result
        self.steps.append(step | (_numbers(completion) if completion else {}))
        self.messages.append(
            {"role": "tool", "tool_call_id": call.id, "content": jsonio.text(result)}
        )

    def hear(self, text: str) -> None:
        self.steps.append({"user": text})
        self.heard.append(("user", text))
        self.messages.append({"role": "user", "content": text})

    def rollout(self, model: str) -> Rollout:
        if not self.final_text and self.finish_reason != "tool":
            raise AgentError(f"{model} replied nothing at all", kind="empty_reply")
        return Rollout(
            steps=self.steps,
            final_text=self.final_text,
            finish_reason=self.finish_reason,
            ended_by=self.ended_by,
            usage={"input_tokens": self.input_tokens, "output_tokens": self.output_tokens},
        )

    def _speak(self, completion: Completion) -> None:
        self.steps.append({"text": completion.text, **_numbers(completion)})
        self.heard.append(("agent", completion.text))
        self.final_text = completion.text


def _numbers(completion: Completion) -> Step:
    numbers: Step = {
        "input_tokens": completion.input_tokens,
        "output_tokens": completion.output_tokens,
    }
    return numbers | ({"truncated": True} if completion.truncated else {})


def _as_sent(call: ToolRequest) -> dict[str, Any]:
    """Return a call as the history carries it; servers refuse arguments that are no object."""
    arguments = "{}" if call.arguments is None else jsonio.text(call.arguments)
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }
