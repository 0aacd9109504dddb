"""Quarantine: kept, listed, replayed."""

from __future__ import annotations

import json

import pytest
from night_kit import intake, row, write_jsonl

from whileai_core.errors import SourceNotFound
from whileai_core.ingest.quarantine import Quarantine
from whileai_core.ingest.workspace import Workspace
from whileai_core.settings import get_settings


def test_a_repeated_night_writes_the_same_file(tmp_path, home):
    source = write_jsonl(tmp_path / "a.jsonl", [row(1), "broken", "{cut"])
    with Workspace("my agent") as workspace:
        first = intake(workspace, source)
        assert intake(workspace, source).quarantine == first.quarantine
    (batch,) = Quarantine(str(home)).batches()
    assert batch.reasons == {"not_json": 2}
    assert Quarantine(str(home)).find("2026-11-28") == batch


@pytest.mark.parametrize("place", ["{}", "memory://{}"])
def test_entries_that_became_readable_are_taken_out_and_the_others_stay(place, home):
    quarantine = Quarantine(place.format(home))
    entry = {"source": "s", "position": "line 1", "reason": "no_signal", "detail": "d"}
    entries = [
        {**entry, "id": "1", "raw": json.dumps(row(1), indent=1)},
        {**entry, "id": "2", "raw": "{still broken"},
    ]
    quarantine.keep("a", "2026-11-28", entries)
    batch = quarantine.find("2026-11-28")
    readable = quarantine.readable_now(batch)
    assert [item["id"] for item in readable] == ["1"]
    source = quarantine.replay_source(batch, readable)
    with Workspace("a") as workspace:
        assert intake(workspace, source).account["rows"] == 1
    quarantine.discharge(batch, readable)
    assert [item["id"] for item in quarantine.entries(batch)] == ["2"]
    quarantine.discharge(batch, quarantine.entries(batch))
    assert quarantine.batches() == []


def test_machines_that_share_a_store_share_their_quarantine(tmp_path, monkeypatch):
    monkeypatch.setenv("WHILEAI_STORE_URL", f"file://{tmp_path}/shared")
    with Workspace("a") as workspace:
        intake(workspace, write_jsonl(tmp_path / "a.jsonl", [row(1), "broken"]))
    monkeypatch.setenv("WHILEAI_HOME", str(tmp_path / "other"))
    (batch,) = Quarantine.from_settings(get_settings()).batches()
    assert (batch.agent, batch.reasons) == ("a", {"not_json": 1})


def test_a_name_that_fits_nothing_lists_what_there_is(home):
    with pytest.raises(SourceNotFound, match="there are: none"):
        Quarantine(str(home)).find("2026")
