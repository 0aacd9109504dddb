"""Code of a user that fails with the secrets of its environment in its words."""

from __future__ import annotations

import os
from typing import Any


def _secrets() -> str:
    return f"cannot call with {os.environ['OPENAI_API_KEY']}, {os.environ['HF_TOKEN']}"


def agent(message: str, world: Any) -> str:
    raise RuntimeError(_secrets())


def judge(row: dict[str, Any]) -> int:
    raise RuntimeError(_secrets())


def improver(agent: Any, failures: list[Any]) -> Any:
    raise RuntimeError(_secrets())
