"""The seam between the engine and the prompt writers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Card:
    """One prompt to write.

    Attributes:
        id: The scenario id of the situation.
        assignment: Axis to value, all six axes.
        slot: Which message of the run it is; the same situation in another slot gets other words.
        references: Ids the world of the situation knows; the message may name no others.
        brief: What else the writer should know, for instance that an ask is to be varied.
    """

    id: str
    assignment: Mapping[str, str]
    slot: int = 0
    references: tuple[str, ...] = ()
    brief: str | None = None


class Writer(Protocol):
    """Writes what a user says, for situations.

    Attributes:
        name: The tag that rows carry as `writer_model`.
    """

    name: str

    async def write(self, cards: Sequence[Card], variant: int) -> list[str | None]:
        """Return one message per card, None where none could be written.

        The same cards with another `variant` get other words.
        """
        ...
