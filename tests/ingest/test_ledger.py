"""The ledger: all of a night or none of it."""

from __future__ import annotations

import pytest

from whileai_core.errors import StoreError
from whileai_core.ingest.ledger import Ledger


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger(tmp_path / "ledger.db", "a")
    yield ledger
    ledger.close()


def changes():
    yield {"table": "sources", "sha256": "f1", "name": "x.jsonl", "night": "n"}
    for n in range(1200):
        yield {"table": "rows", "row_id": f"r{n}", "night": "n"}


def test_a_night_is_known_after_commit_and_not_before(ledger):
    assert ledger.pending() is None
    ledger.begin_push({"night": "n"})
    assert ledger.pending() == {"night": "n"}
    assert ledger.known_rows(["r7"]) == set()
    ledger.commit(changes(), {"night": "n", "datasets": []})
    assert ledger.pending() is None
    assert ledger.known_rows(f"r{n}" for n in range(-5, 1300)) == {f"r{n}" for n in range(1200)}
    assert ledger.known_sources(["f1", "f2"]) == {"f1"}
    assert ledger.nights_on("n") == 1


def test_a_commit_that_fails_half_way_leaves_nothing(ledger):
    ledger.begin_push({"night": "n"})

    def broken():
        yield from changes()
        raise OSError("disk gone")

    with pytest.raises(OSError, match="disk gone"):
        ledger.commit(broken(), {"night": "n", "datasets": []})
    assert ledger.known_rows(["r7"]) == set()
    assert ledger.pending() == {"night": "n"}


def test_agents_share_a_database_and_nothing_else(ledger, tmp_path):
    ledger.begin_push({"night": "n"})
    ledger.commit(
        changes(), {"night": "n", "datasets": [{"purpose": "train", "datasetId": "ds_1"}]}
    )
    other = Ledger(tmp_path / "ledger.db", "b")
    assert other.known_rows(["r7"]) == set()
    assert other.last_train_dataset() is None
    assert ledger.last_train_dataset() == "ds_1"
    other.close()


def test_a_database_that_cannot_be_used_is_a_store_error_without_its_password(tmp_path):
    (tmp_path / "ledger.db").write_bytes(b"this is no database at all, it is a text file" * 99)
    with pytest.raises(StoreError, match="not a database"):
        Ledger(tmp_path / "ledger.db", "a").pending()
    with pytest.raises(StoreError) as caught:
        Ledger("postgresql+nodriver://user:hunter2@db/x", "a").pending()
    assert "hunter2" not in str(caught.value)
