"""A night takes files of any name, and stores the name as text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from night_kit import intake, remember, rows_of

from whileai_core.errors import SourceNotFound
from whileai_core.ingest.workspace import Workspace
from whileai_core.sources.discovery import shown

NAMES = [
    "[prod] traces.jsonl",
    "{a}.jsonl",
    "[2026]/x.jsonl",
    "what?.jsonl",
    "-",
    "caf\udce9.jsonl",
    "\udcff/deep/\udcfe.jsonl",
]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)


def write(name):
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"prompt": shown(name), "final_text": "ok"}) + "\n")


@pytest.mark.parametrize("path", [".", "*", "**/*"])
def test_a_night_takes_every_file_and_stores_its_name(path):
    for name in NAMES:
        write(name)
    with Workspace("a") as workspace:
        plan = intake(workspace, path)
        remember(workspace, plan)
    assert sorted(row["prompt"] for row in rows_of(plan)) == sorted(map(shown, NAMES))
    sources = {name.removeprefix("./") for name in plan.account["sources"]}
    assert sources == set(map(shown, NAMES))


def test_an_unreadable_file_of_any_name_is_named():
    Path("caf\udce9.jsonl").write_text("not json\n")
    write("good.jsonl")
    with Workspace("a") as workspace:
        shards = [workspace.normalise(plan) for plan in workspace.discover(["."]).shards]
        [entry] = [entry for shard in shards for entry in shard.rejects]
    assert entry["source"] == "caf\\xe9.jsonl"


def test_a_file_that_went_away_is_not_read_as_its_name():
    write("[1].jsonl")
    write("1.jsonl")
    with Workspace("a") as workspace:
        found = workspace.discover(["[1].jsonl"])
        Path("[1].jsonl").unlink()
        with pytest.raises(SourceNotFound):
            workspace.normalise(found.shards[0])
