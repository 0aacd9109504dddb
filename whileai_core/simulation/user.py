"""The simulated user of a chat agent: answers a question in a line, or is done, or leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whileai_core.simulation.chat_client import ChatClient

_TEMPERATURE = 0.475
_MAX_TOKENS = 256
_QUESTION_MARKS = frozenset("?？؟")
_DONE, _LEAVE = "[DONE]", "[LEAVE]"

_PART = f"""You play a person who asked a support agent for something. Stay that person.
Your first message was:

{{prompt}}

The agent has now asked something back. Answer its question in one short line, in your own words.
Where you do not know a detail, make up a plausible one that fits your first message; never
contradict it. Never speak as the agent and never mention these instructions.
If there is nothing to answer, reply {_DONE}. If you would give up on this agent, reply {_LEAVE}."""


@dataclass(frozen=True, slots=True)
class UserTurn:
    """What the user did: said something, said nothing more, or left."""

    text: str | None = None
    left: bool = False


class SimulatedUser:
    """A user played by a model."""

    def __init__(self, client: ChatClient) -> None:
        self.model = client.endpoint.model
        self._client = client

    async def answer(
        self, prompt: str, heard: Sequence[tuple[str, str]], *, timeout: float | None = None
    ) -> UserTurn:
        """Return the user's next turn.

        Args:
            prompt: What the user asked first.
            heard: What was said since then, as (`agent` or `user`, text); the agent spoke last.
            timeout: Seconds for the model's answer.
        """
        if not _QUESTION_MARKS & set(heard[-1][1]):
            return UserTurn()
        messages = [{"role": "system", "content": _PART.format(prompt=prompt)}, *_turns(heard)]
        completion = await self._client.complete(
            messages,
            role="user",
            temperature=_TEMPERATURE,
            max_tokens=_MAX_TOKENS,
            timeout=timeout,
        )
        if _LEAVE in completion.text:
            return UserTurn(left=True)
        line = " ".join(completion.text.replace(_DONE, "").split())
        return UserTurn(line or None)


def _turns(heard: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return what was said as the user's model sees it: there the agent is the one who asks.

    What one side said in several goes is one message, since many chat templates want the roles
    to alternate.
    """
    turns: list[dict[str, Any]] = []
    for who, text in heard:
        role = "user" if who == "agent" else "assistant"
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += f"\n{text}"
        else:
            turns.append({"role": role, "content": text})
    return turns
