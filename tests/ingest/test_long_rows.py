"""Rows longer than a dataset takes go to quarantine; a night that cannot end can be given up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from night_kit import batch, chat_span, intake, remember, row, rows_of, write_jsonl

from whileai_core.errors import Refused, Unavailable
from whileai_core.gate.settings import GateSettings
from whileai_core.ingest.explain import explain
from whileai_core.ingest.quarantine import Quarantine
from whileai_core.ingest.unfinished import forget_unfinished, naming_plan
from whileai_core.ingest.workspace import Workspace
from whileai_core.rows import LONGEST_ROW_BYTES
from whileai_core.settings import get_settings

LIMIT = 20_000


@pytest.fixture
def _short(monkeypatch):
    monkeypatch.setattr("whileai_core.ingest.shards.LONGEST_ROW_BYTES", LIMIT)
    monkeypatch.setattr("whileai_core.ingest.merge.LONGEST_ROW_BYTES", LIMIT)


def quarantined(plan):
    return [json.loads(line) for line in Path(plan.quarantine).read_text("utf-8").splitlines()]


def test_an_intake_leaves_room_for_what_rows_are_given_later(tmp_path):
    assert GateSettings(folder=tmp_path).max_line_bytes > LONGEST_ROW_BYTES


@pytest.mark.usefixtures("_short")
def test_a_row_that_no_dataset_takes_costs_only_itself(tmp_path):
    long = row(8, final_text="x" * LIMIT)
    source = write_jsonl(tmp_path / "a.jsonl", [*(row(n) for n in range(8)), long, row(9)])
    with Workspace("a") as workspace:
        plan = intake(workspace, source)
        account = plan.account
        assert (account["records"], account["rows"], account["quarantined"]) == (10, 9, 1)
        assert account["sources"][str(source)]["reasons"] == {"quarantined:too_long": 1}
        [entry] = quarantined(plan)
        assert (entry["reason"], entry["source"]) == ("too_long", str(source))
        assert entry["position"] == "line 9"
        assert str(LIMIT) in entry["detail"]
        assert json.dumps(long["prompt"])[1:-1] in entry["raw"]
        remember(workspace, plan)
        assert intake(workspace, source).account["records"] == 0


@pytest.mark.usefixtures("_short")
def test_a_long_row_that_was_cut_is_not_replayed_as_another(tmp_path, monkeypatch):
    monkeypatch.setattr("whileai_core.sources.limits.RAW_CHARACTERS", 100)
    long = row(8, final_text="x" * LIMIT)
    source = write_jsonl(tmp_path / "a.jsonl", [long])
    with Workspace("a") as workspace:
        intake(workspace, source)
    quarantine = Quarantine.from_settings(get_settings())
    [kept] = quarantine.batches()
    assert quarantine.readable_now(kept) == ([], [])


@pytest.mark.usefixtures("_short")
def test_spans_that_make_too_long_a_row_cost_only_their_conversation(tmp_path):
    long = batch(
        chat_span("a", "1", 1, "x" * (LIMIT // 2), "one half"),
        chat_span("a", "2", 2, "and the other half?", "y" * (LIMIT // 2)),
    )
    source = write_jsonl(tmp_path / "a.jsonl", [long, batch(chat_span("b", "3", 3, "ask?", "so"))])
    with Workspace("a") as workspace:
        plan = intake(workspace, source)
    assert [item["final_text"] for item in rows_of(plan)] == ["so"]
    account = plan.account
    assert (account["records"], account["rows"], account["quarantined"]) == (2, 1, 1)
    [entry] = quarantined(plan)
    assert (entry["reason"], entry["source"]) == ("too_long", str(source))
    assert "a" * 32 in entry["position"]
    explained = explain([str(source)])
    assert [{"agent": "a", "redacted": False, **reject} for reject in explained["rejects"]] == [
        entry
    ]


def test_a_night_that_is_refused_for_good_can_be_given_up(tmp_path):
    source = write_jsonl(tmp_path / "a.jsonl", [row(n) for n in range(8)])
    with Workspace("a") as workspace:
        plan = intake(workspace, source)
        workspace.ledger.begin_push(plan.to_dict())
        wanted = "a-2026-11-28.* forget-unfinished --agent a"
        with pytest.raises(Refused, match=wanted), naming_plan(plan):
            raise Refused("no", status=422)
        with pytest.raises(Unavailable, match="^away$"), naming_plan(plan):
            raise Unavailable("away")
        assert forget_unfinished(workspace) == {
            "agent": "a",
            "night": "2026-11-28",
            "name": "a-2026-11-28",
        }
        assert workspace.ledger.pending() is None
        assert intake(workspace, source).account == plan.account
        assert forget_unfinished(workspace) is None


def test_giving_up_leaves_nights_that_are_done_and_other_agents_alone(tmp_path):
    first = write_jsonl(tmp_path / "a.jsonl", [row(n) for n in range(8)])
    second = write_jsonl(tmp_path / "b.jsonl", [row(n) for n in range(20, 28)])
    with Workspace("a") as one, Workspace("b") as other:
        remember(one, intake(one, first))
        one.ledger.begin_push(intake(one, second).to_dict())
        other.ledger.begin_push(intake(other, second).to_dict())
        assert forget_unfinished(one) is not None
        assert one.ledger.nights_on("2026-11-28") == 1
        assert intake(one, first).account["records"] == 0
        assert other.ledger.pending() is not None
