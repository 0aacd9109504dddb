"""The ledger: all of a night or none of it."""

from __future__ import annotations

import pytest

from whileai_core.errors import StoreError
from whileai_core.ingest.ledger import Ledger


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """A ledger's address, on either database."""
    if request.param == "sqlite":
        return tmp_path / "ledger.db"
    return request.getfixturevalue("postgres").new_database()


@pytest.fixture
def ledger(url):
    ledger = Ledger(url, "a")
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


def test_agents_share_a_database_and_nothing_else(ledger, url):
    ledger.begin_push({"night": "n"})
    ledger.commit(
        changes(), {"night": "n", "datasets": [{"purpose": "train", "datasetId": "ds_1"}]}
    )
    other = Ledger(url, "b")
    assert other.known_rows(["r7"]) == set()
    assert other.last_train_dataset() is None
    assert ledger.last_train_dataset() == "ds_1"
    other.close()


@pytest.mark.parametrize("text", ["a\0b", "\ue000", "\ue0000\0\ue0001", "ünï \U0001f600"])
def test_any_text_comes_back(ledger, text):
    values = {"task": text, "side": "holdout", "night": "n"}
    ledger.begin_push({"text": text})
    assert ledger.pending() == {"text": text}
    ledger.commit(
        [
            {"table": "sides", **values},
            {"table": "asks", **values, "ask": text},
            {"table": "flaws", "flaw": text, "night": "n"},
        ],
        {"datasets": []},
    )
    assert ledger.sides([text, "other"]) == {text: "holdout"}
    assert list(ledger.asks()) == [(text, "holdout", text)]
    assert ledger.flaws() == {text}


def test_only_the_run_that_signed_in_last_writes(ledger, url):
    ledger.sign_in("first")
    ledger.begin_push({"night": "n"})
    other = Ledger(url, "a")
    other.sign_in("second")
    with pytest.raises(StoreError, match="another run has taken over"):
        ledger.commit(changes(), {"night": "n", "datasets": []})
    with pytest.raises(StoreError, match="another run has taken over"):
        ledger.begin_push({"night": "n"})
    assert other.pending() == {"night": "n"}
    other.commit(changes(), {"night": "n", "datasets": []})
    assert other.known_rows(["r7"]) == {"r7"}
    other.close()


def test_a_database_that_cannot_be_used_is_a_store_error_without_its_password(tmp_path):
    (tmp_path / "ledger.db").write_bytes(b"this is no database at all, it is a text file" * 99)
    with pytest.raises(StoreError, match="not a database"):
        Ledger(tmp_path / "ledger.db", "a").pending()
    with pytest.raises(StoreError) as caught:
        Ledger("postgresql+nodriver://user:hunter2@db/x", "a").pending()
    assert "hunter2" not in str(caught.value)
