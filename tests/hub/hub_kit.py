"""Rows of every kind, and what a repository holds, read as anybody would."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from local_hub import LocalHub

from whileai_core.hub.publish import Publication
from whileai_core.hub.readback import texts_in

ROWS: list[dict[str, Any]] = [
    {
        "prompt": "Where is order 7?",
        "steps": [
            {"tool": "find", "arguments": {"id": 7}, "result": {"status": None}},
            {
                "tool": "find",
                "arguments": {"id": "7", "deep": {"a": [1, 2.0, True]}},
                "result": "x",
            },
            {"tool": "list", "arguments": {}},
        ],
        "final_text": "On its way.",
        "reward": 1,
        "scenario_id": "orders",
    },
    {
        "prompt": "Where is order 7?",
        "steps": [{"tool": "find", "arguments": {"id": 2**70, "id2": 0.30000000000000004}}],
        "final_text": "I do not know.",
        "reward": 0,
        "scenario_id": "orders",
        "extra": {"missing": None, "float": 1e-12, "one": True},
    },
    {"prompt": "Cancel it", "steps": [], "final_text": "Done – für Sie\u2028.", "agent": "shop"},
]


def texts(rows: list[Any]) -> list[str]:
    return [json.dumps(row) for row in rows]


def publication(dataset_id: str = "ds_1", split: str = "train", rows: Any = ROWS) -> Publication:
    def lines() -> Iterator[str]:
        return iter(texts(rows))

    return Publication(dataset_id, "orders", split, lines, agent="shop", mode="rl")


def shards(server: LocalHub, repo: str, split: str) -> list[str]:
    """Return the exact text of every row of a split, as the repository has it now."""
    found: list[str] = []
    for path, file in sorted(server.dataset(repo).head.files.items()):
        if path.startswith(f"data/{split}-"):
            found += texts_in(io.BytesIO(file.data))
    return found


def checkout(server: LocalHub, repo: str, folder: Path, kind: str = "datasets") -> Path:
    """Write the files of a repository's newest commit to a folder."""
    for path, file in server.repos[kind, repo].head.files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.data)
    return folder
