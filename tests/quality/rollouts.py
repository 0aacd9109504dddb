"""Rows for the tests: graded rollouts of tasks."""

from __future__ import annotations

import random
from typing import Any

WORDS = ["early", "late", "view", "floor", "room", "desk", "lift", "garden", "quiet", "window"]


def graded(tasks: dict[str, str]) -> list[dict[str, Any]]:
    """Return bare rows: `{"a": "101"}` is a task that passes, fails and passes."""
    return [
        {"task_id": task, "reward": int(mark)} for task, marks in tasks.items() for mark in marks
    ]


def rollouts(tasks: dict[str, str]) -> list[dict[str, Any]]:
    """Return full rows with distinct replies that do not follow the reward."""
    return [
        {
            "scenario_id": task,
            "prompt": f"Book {task} for Friday please",
            "reward": int(mark),
            "final_text": f"{WORDS[place % len(WORDS)]} {task}, attempt {place}.",
            "steps": [
                {"tool": "find_room", "arguments": {"room": task}, "result": {"status": "ok"}}
            ],
        }
        for task, marks in tasks.items()
        for place, mark in enumerate(marks)
    ]


def chatter(rng: random.Random) -> str:
    """Return a reply of random words."""
    return " ".join(rng.choices(WORDS, k=rng.randint(4, 11))) + "."


def planted(
    rng: random.Random,
    tasks: int,
    repeats: int,
    *,
    opening: str = "Splendid choice. ",
    tool: bool = False,
    boolean: bool = False,
) -> list[dict[str, Any]]:
    """Return rows whose reward is whether the reply has an opening (or a tool is called)."""
    rows = []
    for task in range(tasks):
        marks = [place % 2 == 0 for place in range(repeats)]
        rng.shuffle(marks)
        for mark in marks:
            called = mark if tool else rng.random() < 0.5
            opened = rng.random() < 0.5 if tool else mark
            step = {"tool": "find_room", "arguments": {}, "result": {"status": "ok"}}
            rows.append(
                {
                    "task_id": f"k{task}",
                    "prompt": f"Please arrange stay number {task}",
                    "steps": [step] if called else [],
                    "final_text": (opening if opened else "") + chatter(rng),
                    "reward": mark if boolean else int(mark),
                }
            )
    return rows
