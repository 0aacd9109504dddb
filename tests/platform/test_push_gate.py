"""The publish gate in front of a push: refused rows are not sent, stamped copies are."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest

from whileai_core import sync
from whileai_core.errors import InputError, PublishGateError

if TYPE_CHECKING:
    from pathlib import Path


def rollouts(*labels: str) -> list[dict[str, Any]]:
    return [
        {
            "task_id": f"t{task}",
            "prompt": f"ask {task}",
            "final_text": f"{task} {n}",
            "reward": int(label),
        }
        for task, marks in enumerate(labels)
        for n, label in enumerate(marks)
    ]


def test_stamped_copies_are_pushed_and_the_callers_rows_stay() -> None:
    rows = rollouts("1101", "0010", "1111")
    before = copy.deepcopy(rows)
    entry = sync.push_rows(rows, "set", gate=True, mode="rl")
    assert rows == before
    assert entry["gate"]["ok"] is True
    pulled = sync.pull(entry["datasetId"])
    assert [{**row, "calibration": None} for row in pulled] == [
        {**row, "calibration": None} for row in before
    ]
    assert pulled[0]["calibration"]["n"] == 4


def test_refused_rows_are_not_sent() -> None:
    with pytest.raises(PublishGateError, match="no_mixed_groups"):
        sync.push_rows(rollouts("1111", "0000"), "set", gate=True, mode="rl")
    assert sync.datasets()["datasets"] == []


def test_a_file_passes_the_gate_by_default(tmp_path: Path) -> None:
    path = tmp_path / "rolls.jsonl"
    lines = [json.dumps(row) for row in rollouts("10", "01")]
    path.write_text("\ufeff" + "\n\n".join(lines) + "\n", encoding="utf-8")
    entry = sync.push_file(path)
    assert (entry["name"], entry["rows"], entry["gate"]["ok"]) == ("rolls", 4, True)
    path.write_text(lines[0] + "\n[1]\n")
    with pytest.raises(InputError, match="line 2"):
        sync.push_file(path)
    path.write_text(lines[0] + "\nbroken\n")
    with pytest.raises(InputError, match="line 2"):
        sync.push_file(path)
