"""Quarantine: kept, listed, replayed."""

from __future__ import annotations

import json

import pytest
from night_kit import intake, remember, row, write_jsonl

from whileai_core.cli import main
from whileai_core.errors import SourceNotFound
from whileai_core.ingest.quarantine import Quarantine
from whileai_core.ingest.workspace import Workspace
from whileai_core.settings import get_settings
from whileai_core.sources.items import Origin, Reject


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
    readable, files = quarantine.readable_now(batch)
    assert files == []
    assert [item["id"] for item in readable] == ["1"]
    source = quarantine.replay_source(batch, readable)
    with Workspace("a") as workspace:
        assert intake(workspace, source).account["rows"] == 1
    quarantine.discharge(batch, readable)
    assert [item["id"] for item in quarantine.entries(batch)] == ["2"]
    quarantine.discharge(batch, quarantine.entries(batch))
    assert quarantine.batches() == []


def test_entries_are_replayed_for_the_agent_they_came_from_whatever_its_name(home):
    quarantine = Quarantine(str(home))
    entry = {"id": "1", "source": "s", "position": "", "reason": "r", "detail": "d", "raw": "{}"}
    quarantine.keep("my agent/日本", "2026-11-28", [entry])
    (batch,) = quarantine.batches()
    assert batch.agent == "my agent/日本"
    quarantine.discharge(batch, [{"id": "2"}])
    assert quarantine.batches() == [batch]


def test_machines_that_share_a_store_share_their_quarantine(tmp_path, monkeypatch):
    monkeypatch.setenv("WHILEAI_STORE_URL", f"file://{tmp_path}/shared")
    with Workspace("a") as workspace:
        intake(workspace, write_jsonl(tmp_path / "a.jsonl", [row(1), "broken"]))
    monkeypatch.setenv("WHILEAI_HOME", str(tmp_path / "other"))
    (batch,) = Quarantine.from_settings(get_settings()).batches()
    assert (batch.agent, batch.reasons) == ("a", {"not_json": 1})


def test_a_file_that_was_rejected_as_a_whole_is_read_again(tmp_path, monkeypatch, capsys):
    source = write_jsonl(tmp_path / "a.odd", [row(1), row(2)])
    reject = Reject("unknown_format", "not known yet", Origin(str(source)), json.dumps(row(1)))
    with Workspace("a", redact=True) as workspace, monkeypatch.context() as before:
        before.setattr("whileai_core.ingest.shards.file_items", lambda name: [reject])
        before.setattr("whileai_core.ingest.discover.__version__", "0.0.1")
        remember(workspace, intake(workspace, source))
        assert intake(workspace, source).account["records"] == 0
    quarantine = Quarantine.from_settings(get_settings())
    (kept,) = quarantine.batches()

    class Nightly:
        @staticmethod
        def run(*, paths, agent, redact):
            assert redact  # as the night that rejected it
            with Workspace(agent, redact=redact) as workspace:
                return intake(workspace, *paths).account

        @staticmethod
        def as_text(account):
            return f"{account['rows']} rows"

    monkeypatch.setattr("whileai_core.cli.quarantine.load_flow", lambda name: Nightly)
    assert main(["quarantine", "replay", kept.name]) == 0
    assert capsys.readouterr().out.startswith("2 rows\nreplayed 1 entries, 0 stay")
    assert quarantine.batches() == []


def test_a_name_that_fits_nothing_lists_what_there_is(home):
    with pytest.raises(SourceNotFound, match="there are: none"):
        Quarantine(str(home)).find("2026")


UNREADABLE = ['{"messages": [], "n": 1.50}', '{"steps":[ ],"prompt":"","id" : 7}', "7", "NaN"]


@pytest.mark.parametrize("text", UNREADABLE)
def test_what_a_line_said_is_kept_letter_by_letter(text, tmp_path):
    source = write_jsonl(tmp_path / "a.jsonl", [row(1), text, row(2)])
    (entry,) = entries_of(source)
    assert (entry["source"], entry["position"], entry["raw"]) == (str(source), "line 2", text)


@pytest.mark.parametrize("layout", ["[{}, {}]", "{}", "{}\n{}\n", "[\n{},\n{},\n{{cut"])
def test_what_a_record_of_a_document_said_is_kept(layout, tmp_path):
    bad = {"messages": [], "n": [1.5, {"b": None}]}
    (tmp_path / "a.json").write_text(layout.format(*[json.dumps(bad, indent=1)] * 2))
    entries = [e for e in entries_of(tmp_path / "a.json") if e["reason"] == "no_signal"]
    assert entries
    assert all(json.loads(entry["raw"]) == bad for entry in entries)


def test_a_long_record_is_kept_whole_for_the_day_a_reader_is_mended(tmp_path):
    value = {"mapping": {"node": "x" * 200_000}}
    (entry,) = entries_of(write_jsonl(tmp_path / "a.jsonl", [value]))
    assert json.loads(entry["raw"]) == value


def entries_of(source):
    quarantine = Quarantine.from_settings(get_settings())
    with Workspace("a") as workspace:
        intake(workspace, source)
    return list(quarantine.entries(quarantine.find("2026")))
