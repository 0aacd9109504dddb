"""The neutral events of a conversation, into which every message shape is read.

A message parser turns one producer's message into a list of these, in source order; builders
turn lists of these into row steps. Neither side knows the other.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias


class Ask(NamedTuple):
    """A user turn."""

    text: str


class Say(NamedTuple):
    """A turn of the agent as text."""

    text: str


class Call(NamedTuple):
    """The agent calls a tool; `arguments` is always an object."""

    name: str
    arguments: dict[str, Any]
    id: str | None = None


class Result(NamedTuple):
    """A tool answers; bound to its call by id, else by name, else by order."""

    value: Any
    id: str | None = None
    name: str | None = None


class Instruct(NamedTuple):
    """System or developer instructions; never a step."""

    text: str


Event: TypeAlias = Ask | Say | Call | Result | Instruct
