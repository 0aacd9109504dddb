"""One chat completion after the other from an endpoint, counted, and tried again where that helps.

Sending, waiting and trying again are the platform transport's; this module knows what a chat
completion looks like on the wire.
"""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.errors import BadReply, EndpointDead, EndpointError, PlatformError
from whileai_core.settings import get_settings
from whileai_core.simulation.shown import shown_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from whileai_core.platform.transport import Transport
    from whileai_core.simulation.endpoint import ChatEndpoint
    from whileai_core.simulation.spend import Charge, Spend

MAX_TOKENS = 768
_TRIES = 7  # rate limits last longer than other faults
_SHORTEST_TIMEOUT = 300.0
_FAILURES_TO_DEATH = 3
_HOPELESS_STATUSES = frozenset({401, 402, 403, 404, 410})
_HOPELESS_CODES = frozenset({"insufficient_quota", "model_not_found", "invalid_api_key"})
_CHARACTERS_PER_TOKEN = 3

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_THOUGHT_END = re.compile(r"</think(?:ing)?>")


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A tool call as the model wrote it.

    Attributes:
        id: Its id; made up where the endpoint gave none.
        name: The tool.
        arguments: The arguments as an object, or None when their text is no JSON object.
        text: The arguments as text.
    """

    id: str
    name: str
    arguments: dict[str, Any] | None
    text: str


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered.

    Attributes:
        text: What it said, without its thoughts.
        tool_calls: The tools it wants called.
        truncated: It was cut at the token limit.
        input_tokens: Tokens read.
        output_tokens: Tokens written.
    """

    text: str
    tool_calls: tuple[ToolRequest, ...]
    truncated: bool
    input_tokens: int
    output_tokens: int


class ChatClient:
    """Completions from one endpoint; made by `chat_client`."""

    def __init__(self, endpoint: ChatEndpoint, transport: Transport, spend: Spend) -> None:
        self.endpoint = endpoint
        self._transport = transport
        self._spend = spend
        self._dead: str | None = None
        self._answered = False
        self._failures = 0
        self._limit_name = "max_tokens"
        self._takes_temperature = True

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        role: str,
        tools: Sequence[Mapping[str, Any]] = (),
        temperature: float = 0.8,
        max_tokens: int = MAX_TOKENS,
        timeout: float | None = None,
    ) -> Completion:
        """Ask for one completion.

        Args:
            messages: The conversation so far, in the endpoint's own form.
            role: Whose call it is, for the spend.
            tools: Function schemas the model may call.
            temperature: Left out for models that allow none.
            max_tokens: Longest answer.
            timeout: Seconds for all attempts; default 300, or more for long answers.

        Raises:
            EndpointError: No usable answer to this call; the next may have one.
            EndpointDead: No call has a chance.
            SpendExhausted: The budget does not cover the call.
        """
        if self._dead is not None:
            raise EndpointDead(self._dead)
        body = {"messages": list(messages)} | ({"tools": list(tools)} if tools else {})
        size = len(jsonio.dumps(body)) // _CHARACTERS_PER_TOKEN
        seconds = timeout or max(_SHORTEST_TIMEOUT, max_tokens / 4)
        async with self._spend.call(role, at_most=size + max_tokens) as charge:
            reply = await self._send(body, temperature, max_tokens, seconds)
            return self._read(reply, charge, size)

    async def _send(
        self, body: dict[str, Any], temperature: float, max_tokens: int, seconds: float
    ) -> dict[str, Any]:
        while True:
            sent = {"model": self.endpoint.model, **body, self._limit_name: max_tokens}
            if self._takes_temperature:
                sent["temperature"] = temperature
            key = self.endpoint.api_key
            try:
                reply = await self._transport.post(
                    "chat",
                    "completions",
                    body=sent,
                    replayable=True,
                    bearer=key.get_secret_value() if key else None,
                    seconds=seconds,
                    tries=_TRIES,
                )
            except PlatformError as error:
                if self._adapts_to(error):
                    continue
                raise self._failed(error) from None
            self._answered, self._failures = True, 0
            return reply

    def _adapts_to(self, error: PlatformError) -> bool:
        """Take note when the endpoint refuses a parameter that some models do not know."""
        detail = error.detail or ""
        if error.status != 400:
            return False
        if self._limit_name == "max_tokens" and "max_completion_tokens" in detail:
            self._limit_name = "max_completion_tokens"
            return True
        if self._takes_temperature and "temperature" in detail:
            self._takes_temperature = False
            return True
        return False

    def _failed(self, error: PlatformError) -> EndpointError:
        status = error.status
        what = f"status {status}" if status else "no answer"
        message = f"{self.endpoint}: {what}: {_detail(error)}"
        hopeless = status in _HOPELESS_STATUSES or error.code in _HOPELESS_CODES
        if not hopeless and not error.retryable and status is not None:
            return EndpointError(message, status=status)
        self._failures += 1
        never_there = status is None and not self._answered
        if hopeless or never_there or self._failures >= _FAILURES_TO_DEATH:
            self._dead = f"{message}; no further call is made"
            return EndpointDead(self._dead, status=status)
        return EndpointError(message, status=status)

    def _read(self, reply: dict[str, Any], charge: Charge, size: int) -> Completion:
        message, finish = self._message(reply)
        text = _said(message)
        calls = tuple(_tool_requests(message.get("tool_calls")))
        usage = reply.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        read, written = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
        charge.estimated = read is None or written is None
        answer = len(jsonio.dumps(message)) // _CHARACTERS_PER_TOKEN
        charge.input_tokens = size if read is None else read
        charge.output_tokens = answer if written is None else written
        return Completion(
            without_thoughts(text),
            calls,
            finish == "length",
            charge.input_tokens,
            charge.output_tokens,
        )

    def _message(self, reply: dict[str, Any]) -> tuple[dict[str, Any], object]:
        choices = reply.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        message = first.get("message") if isinstance(first, dict) else None
        if isinstance(first, dict) and isinstance(message, dict):
            return message, first.get("finish_reason")
        # Some proxies report a failed model with status 200.
        error = reply.get("error")
        words = error.get("message") if isinstance(error, dict) else error
        said = f"it says: {shown_text(str(words))}" if words else "it has no message"
        raise EndpointError(f"{self.endpoint}: the answer is no chat completion; {said}")


@asynccontextmanager
async def chat_client(
    endpoint: ChatEndpoint, spend: Spend, *, connections: int = 32
) -> AsyncIterator[ChatClient]:
    """Open a client for one endpoint; its connections are closed with it."""
    from whileai_core.platform._connect import connect_to

    secret = endpoint.api_key.get_secret_value() if endpoint.api_key else ""
    async with connect_to(
        endpoint.base_url,
        settings=get_settings(),
        secrets=(secret,),
        connections=connections,
        seconds=3600,  # each call has a deadline of its own
    ) as transport:
        yield ChatClient(endpoint, transport, spend)


def without_thoughts(text: str) -> str:
    """Return what was said, without `<think>` parts, also those whose start or end is missing."""
    return _THOUGHT_END.split(_THOUGHT.sub("", text))[-1].strip()


def _detail(error: PlatformError) -> str:
    """Return what went wrong, without the advice that is meant for the platform's own routes."""
    if isinstance(error, BadReply):
        return "the answer is not JSON; another service may stand there"
    if error.status is not None and 300 <= error.status < 400:
        return "it redirects, and redirects are not followed; give the target's address"
    return shown_text(error.detail or ("no reason given" if error.status else str(error)))


def _said(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        content = "".join(part for part in parts if isinstance(part, str))
    if isinstance(content, str) and content:
        return content
    refusal = message.get("refusal")
    return refusal if isinstance(refusal, str) else ""


def _tool_requests(calls: object) -> list[ToolRequest]:
    requests = []
    for place, call in enumerate(calls if isinstance(calls, list) else ()):
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            continue
        raw = function.get("arguments")
        arguments = raw if isinstance(raw, dict) else _object(raw)
        text = raw if isinstance(raw, str) else jsonio.text(raw)
        call_id = call.get("id") if isinstance(call.get("id"), str) else ""
        name = str(function.get("name") or "").strip()
        requests.append(ToolRequest(call_id or f"call_{place}", name, arguments, text))
    return requests


def _object(raw: object) -> dict[str, Any] | None:
    """Read arguments; some servers leave out the text of a call without any."""
    if raw is None or raw == "":
        return {}
    try:
        value = jsonio.loads(raw) if isinstance(raw, str) else None
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None
