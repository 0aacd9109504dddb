"""Several machines on the same nights: what travels between them, and what is refused."""

from __future__ import annotations

import os
import pickle
import time

import pytest
from night_kit import intake, remember, row, rows_of, write_jsonl

from whileai_core.atomic import temporary_beside
from whileai_core.errors import SettingsError, SourceNotFound, UnreadableSource
from whileai_core.ingest.sharing import check_sharing
from whileai_core.ingest.workspace import Workspace
from whileai_core.settings import get_settings

SECRETS = {
    "WHILEAI_API_KEY": "hunter2-key",
    "WHILEAI_DELEGATED_CREDENTIAL": "hunter2-delegated",
    "WHILEAI_LEDGER_URL": "postgresql://u:hunter2-ledger@db/x",
    "WHILEAI_GATE_DATABASE_URL": "postgresql://u:hunter2-gate@db/x",
    "AWS_SECRET_ACCESS_KEY": "hunter2-bucket",
}


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store that is named by a URL, as by a folder that every machine mounts."""
    url = f"file://{tmp_path}/shared"
    monkeypatch.setenv("WHILEAI_STORE_URL", url)
    return url


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Send a workspace to a machine with a home of its own and no settings of ours."""

    def send(workspace):
        sent = pickle.dumps(workspace)
        monkeypatch.setenv("WHILEAI_HOME", str(tmp_path / "elsewhere"))
        monkeypatch.delenv("WHILEAI_STORE_URL")
        return pickle.loads(sent)

    return send


def test_no_credential_travels(monkeypatch, store):
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    sent = pickle.dumps(Workspace("a", redact=True))
    assert b"hunter2" not in sent
    assert str(get_settings().home).encode() not in sent


def test_a_shard_made_elsewhere_is_read_here(tmp_path, store, elsewhere):
    source = write_jsonl(tmp_path / "a.jsonl", [row(1), row(2), "broken"])
    with Workspace("a") as workspace:
        (plan,) = workspace.discover([f"file://{source}"]).shards
        assert plan.shared
        there = elsewhere(workspace)
        shard = pickle.loads(pickle.dumps(there.normalise(pickle.loads(pickle.dumps(plan)))))
        assert [entry["row"]["prompt"] for entry in shard.rows] == [
            row(1)["prompt"],
            row(2)["prompt"],
        ]
        assert workspace.normalise(plan) == shard
        assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("name", ["{}", "memory://{}"])
def test_what_only_this_machine_reads_is_no_work_for_another(tmp_path, store, name):
    source = write_jsonl(tmp_path / "a.jsonl", [row(1)])
    path = name.format(source)
    if "://" in path:
        import fsspec

        fsspec.filesystem("memory").pipe_file(str(source), source.read_bytes())
    with Workspace("a") as workspace:
        (plan,) = workspace.discover([path]).shards
        assert not plan.shared


def test_a_file_of_the_same_name_on_another_machine_is_not_taken_for_it(tmp_path, store, elsewhere):
    source = write_jsonl(tmp_path / "a.jsonl", [row(1)])
    with Workspace("a") as workspace:
        (plan,) = workspace.discover([f"file://{source}"]).shards
        there = elsewhere(workspace)
        content = source.read_text()
        source.write_text(content.replace("parcel", "letter"))
        with pytest.raises(UnreadableSource, match="is another file on"):
            there.normalise(plan)
        source.unlink()
        with pytest.raises(SourceNotFound):
            there.normalise(plan)
        source.write_text(content + "{}\n")  # grown since it was found
        assert there.normalise(plan).rows.rows == 1


def test_a_machine_with_another_redaction_key_or_version_makes_no_shard(
    tmp_path, store, elsewhere, monkeypatch
):
    pytest.importorskip("detect_secrets")
    source = write_jsonl(tmp_path / "a.jsonl", [row(1)])
    with Workspace("a", redact=True) as workspace:
        (plan,) = workspace.discover([f"file://{source}"]).shards
        there = elsewhere(workspace)
        with pytest.raises(SettingsError, match="would make other rows"):
            there.normalise(plan)
        key = (tmp_path / "home" / "redaction.key").read_text()
        (tmp_path / "elsewhere" / "redaction.key").write_text(key)
        assert there.normalise(plan).rows.rows == 1
        monkeypatch.setattr("whileai_core.ingest.discover.__version__", "0.0.0")
        with pytest.raises(SettingsError, match="would make other rows"):
            there.normalise(plan)


@pytest.mark.parametrize(
    ("settings", "refused"),
    [
        ({}, None),
        ({"WHILEAI_DASK_SCHEDULER": "tcp://d:1"}, "is this machine's alone"),
        (
            {"WHILEAI_DASK_SCHEDULER": "tcp://d:1", "WHILEAI_STORE_URL": "memory://x"},
            "is this machine's alone",
        ),
        ({"WHILEAI_DASK_SCHEDULER": "tcp://d:1", "WHILEAI_STORE_URL": "s3://b/x"}, None),
        ({"WHILEAI_LEDGER_URL": "sqlite:////x.db"}, None),
        ({"WHILEAI_LEDGER_URL": "postgresql://d/x"}, "is this machine's alone"),
        (
            {"WHILEAI_LEDGER_URL": "postgresql://d/x", "WHILEAI_STORE_URL": "s3://b/x"},
            "the embedded gate of this one",
        ),
        (
            {
                "WHILEAI_LEDGER_URL": "postgresql://d/x",
                "WHILEAI_STORE_URL": "s3://b/x",
                "WHILEAI_API_URL": "https://gate.example",
            },
            None,
        ),
        (
            {
                "WHILEAI_LEDGER_URL": "postgresql://d/x",
                "WHILEAI_STORE_URL": "s3://b/x",
                "WHILEAI_GATE_DATABASE_URL": "postgresql://d/gate",
                "WHILEAI_GATE_BLOB_URL": "s3://b/gate",
            },
            None,
        ),
        (
            {
                "WHILEAI_LEDGER_URL": "postgresql://d/x",
                "WHILEAI_STORE_URL": "s3://b/x",
                "WHILEAI_GATE_DATABASE_URL": "postgresql+asyncpg://kim:x@d:5432/x",
                "WHILEAI_GATE_BLOB_URL": "s3://b/gate",
            },
            "name the same database",
        ),
    ],
)
def test_settings_that_share_one_half_are_refused(settings, refused, monkeypatch):
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    with Workspace("a") as workspace:
        if refused is None:
            check_sharing(workspace.settings, workspace.ledger)
        else:
            with pytest.raises(SettingsError, match=refused):
                check_sharing(workspace.settings, workspace.ledger)


def test_a_store_never_carries_a_password(monkeypatch):
    monkeypatch.setenv("WHILEAI_STORE_URL", "sftp://me:hunter2@host/folder")
    with pytest.raises(SettingsError, match="holds a password") as caught:
        Workspace("a")
    assert "hunter2" not in str(caught.value)


def test_nights_on_several_machines_follow_one_another(tmp_path, store, postgres, monkeypatch):
    monkeypatch.setenv("WHILEAI_LEDGER_URL", postgres.new_database())
    with Workspace("a") as first:
        plan = intake(first, write_jsonl(tmp_path / "a.jsonl", [row(n) for n in range(9)]))
        remember(first, plan)
    monkeypatch.setenv("WHILEAI_HOME", str(tmp_path / "second"))
    with Workspace("a") as second:
        more = write_jsonl(tmp_path / "b.jsonl", [row(n) for n in range(6, 12)])
        again = intake(second, more, night="2026-11-29")
    assert again.account["duplicates"] == 3
    assert {entry["prompt"] for entry in rows_of(again)} == {row(n)["prompt"] for n in range(9, 12)}


def test_what_killed_writers_left_in_a_shared_folder_is_cleared_away(tmp_path, store):
    parts = tmp_path / "shared" / "parts"
    parts.mkdir(parents=True)
    mine = temporary_beside(parts / "mine")
    fresh, old = (parts / f".{name}.elsewhere.7.0123abcd.tmp" for name in ("fresh", "old"))
    for path in (mine, fresh, old):
        path.touch()
    yesterday = time.time() - 25 * 3600
    os.utime(mine, (yesterday, yesterday))
    os.utime(old, (yesterday, yesterday))
    with Workspace("a") as workspace:
        assert workspace.sweep() == 1
    assert sorted(parts.iterdir()) == sorted([mine, fresh])
