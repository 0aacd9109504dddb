"""Arguments as the platform takes them."""

from __future__ import annotations

from typing import Any

from whileai_core.errors import InputError

PURPOSES = ("train", "holdout", "eval")
MODES = ("explore", "sft", "rl", "adaptive")


def checked_choice(name: str, value: str | None, choices: tuple[str, ...]) -> None:
    """Refuse a value the platform does not know; None and the empty string (clear) pass."""
    if value and value not in choices:
        raise InputError(f"{name}={value!r} must be one of {', '.join(choices)}")


def given(**values: object) -> dict[str, Any]:
    """Return the arguments that were given; None means "leave as it is"."""
    return {key: value for key, value in values.items() if value is not None}
