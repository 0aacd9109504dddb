"""What model calls may cost in all, and what they have cost."""

from __future__ import annotations

from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from whileai_core.errors import InputError, SpendExhausted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping


@dataclass(slots=True)
class Charge:
    """What one call turned out to cost; filled in by whoever made it.

    Attributes:
        input_tokens: Tokens read.
        output_tokens: Tokens written.
        estimated: The endpoint reported no usage, so the numbers are from text lengths.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    estimated: bool = False


class Spend:
    """One budget for all model calls of a run: agent, user, judge, writer and improver.

    It is never exceeded: a call sets aside the most it can cost and waits, if need be, for what
    other calls give back. A callable agent or judge counts as one call without tokens.

    Args:
        max_calls: Calls at most; a call that is tried again counts once. None is any number.
        max_tokens: Tokens at most, read and written together. None is any number.
        earlier: Report of the same run so far, which counts too.

    Attributes:
        exhausted: A call was refused.

    Raises:
        InputError: A limit is no positive whole number.
    """

    def __init__(
        self,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        *,
        earlier: Mapping[str, Any] | None = None,
    ) -> None:
        for name, limit in (("max_calls", max_calls), ("max_tokens", max_tokens)):
            if limit is not None and (type(limit) is not int or limit < 1):
                raise InputError(f"{name}={limit!r} must be a whole number, 1 or more")
        self.max_calls = max_calls
        self.max_tokens = max_tokens
        used = earlier or {}
        self.input_tokens: int = used.get("input_tokens", 0)
        self.output_tokens: int = used.get("output_tokens", 0)
        self.estimated: bool = used.get("tokens_estimated", False)
        self.calls: Counter[str] = Counter(used.get("calls_by_role", {}))
        self.exhausted = False
        self._set_aside = 0
        self._waiting: list[anyio.Event] = []  # made in the loop that waits for them

    @property
    def tokens(self) -> int:
        """Tokens used so far."""
        return self.input_tokens + self.output_tokens

    @asynccontextmanager
    async def call(self, role: str, *, at_most: int = 0) -> AsyncIterator[Charge]:
        """Count one call, and set aside the tokens it may cost until it is over.

        Args:
            role: Who calls: `agent`, `user`, `judge`, `writer` or `improver`.
            at_most: Tokens it can cost.

        Raises:
            SpendExhausted: The call is not covered any more.
        """
        await self._reserve(at_most)
        self.calls[role] += 1
        charge = Charge()
        try:
            yield charge
        finally:
            self._set_aside -= at_most
            self.input_tokens += charge.input_tokens
            self.output_tokens += charge.output_tokens
            self.estimated |= charge.estimated
            for event in self._waiting:
                event.set()
            self._waiting.clear()

    def report(self) -> dict[str, Any]:
        """Return calls by role, tokens, and the limits."""
        return {
            "calls": self.calls.total(),
            "calls_by_role": dict(sorted(self.calls.items())),
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "tokens_estimated": self.estimated,
            "max_calls": self.max_calls,
            "max_tokens": self.max_tokens,
        }

    async def _reserve(self, tokens: int) -> None:
        self._check_calls()
        while (
            self.max_tokens is not None and self.tokens + self._set_aside + tokens > self.max_tokens
        ):
            if not self._set_aside:
                self.exhausted = True
                raise SpendExhausted(
                    f"{self.tokens} of {self.max_tokens} tokens are used, and the next call may "
                    f"take {tokens}; allow more with max_tokens"
                )
            freed = anyio.Event()
            self._waiting.append(freed)
            await freed.wait()
            self._check_calls()
        self._set_aside += tokens

    def _check_calls(self) -> None:
        if self.max_calls is not None and self.calls.total() >= self.max_calls:
            self.exhausted = True
            raise SpendExhausted(
                f"all {self.max_calls} model calls are used; allow more with max_calls"
            )
