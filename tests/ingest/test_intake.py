"""What a night takes in: every record in one place, each conversation once, whatever the order."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import threading
from pathlib import Path

import pytest
from night_kit import batch, chat_span, intake, remember, row, rows_of, write_jsonl

from whileai_core.errors import BadShareExceeded, SourceNotFound, WhileError
from whileai_core.ingest import spill
from whileai_core.ingest.account import Account
from whileai_core.ingest.night import check_losses
from whileai_core.ingest.workspace import Workspace
from whileai_core.redaction import scan


def balanced(account: dict) -> bool:
    outs = sum(account[name] for name in ("rows", "duplicates", "quarantined", "ignored"))
    return account["records"] == outs and account["rows"] == (
        account["train"] + account["holdout"] + account["leaky"]
    )


def test_every_record_ends_in_one_place(tmp_path):
    source = write_jsonl(
        tmp_path / "in" / "a.jsonl",
        [*(row(n) for n in range(30)), row(3), "not json", '"no object"', {"unrelated": 1}],
    )
    (tmp_path / "in" / "empty.jsonl").write_bytes(b"")
    with Workspace("a") as workspace:
        plan = intake(workspace, tmp_path / "in")
    account = plan.account
    assert balanced(account)
    assert (account["rows"], account["duplicates"], account["quarantined"]) == (30, 1, 3)
    assert account["sources"][str(source)]["records"] == 34
    lines = Path(plan.quarantine).read_text("utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    assert [entry["position"] for entry in entries] == ["line 32", "line 33", "line 34"]
    assert entries[0]["raw"] == "not json"
    assert all(entry["reason"] and entry["detail"] for entry in entries)


def test_order_of_files_and_lines_and_compression_change_nothing(tmp_path):
    rows = [row(n) for n in range(40)]
    write_jsonl(tmp_path / "one" / "a.jsonl", rows)
    shuffled = random.Random(1).sample(rows, len(rows))
    write_jsonl(tmp_path / "two" / "z.jsonl", shuffled[:11])
    packed = write_jsonl(tmp_path / "two" / "b.jsonl", shuffled[11:])
    (tmp_path / "two" / "b.gz").write_bytes(gzip.compress(packed.read_bytes()))
    packed.unlink()
    with Workspace("a") as first, Workspace("b") as second:
        one, two = intake(first, tmp_path / "one"), intake(second, tmp_path / "two")
    assert one.train == two.train
    assert one.holdout == two.holdout


def test_spilling_to_disk_changes_nothing_and_leaves_nothing(tmp_path, monkeypatch, home):
    source = write_jsonl(tmp_path / "a.jsonl", [row(n) for n in range(200)])
    with Workspace("a") as workspace:
        held = intake(workspace, source)
        monkeypatch.setattr(spill, "HELD_BYTES", 500)
        spilled = intake(workspace, source)
    assert spilled == held
    assert list((home / "work").glob("*")) == []


def test_a_file_seen_before_is_left_out_and_a_copy_counts_once(tmp_path):
    source = write_jsonl(tmp_path / "in" / "a.jsonl", [row(n) for n in range(10)])
    shutil.copy(source, tmp_path / "in" / "copy.jsonl")
    with Workspace("a") as workspace:
        plan = intake(workspace, tmp_path / "in")
        assert plan.account["rows"] == 10
        remember(workspace, plan)
        again = intake(workspace, tmp_path / "in")
        assert (again.account["files"], again.account["files_known"]) == (0, 1)
        write_jsonl(tmp_path / "in" / "late.jsonl", [row(3), row(11)])
        late = intake(workspace, tmp_path / "in")
    assert (late.account["rows"], late.account["duplicates"]) == (1, 1)
    with Workspace("another") as other:
        assert intake(other, tmp_path / "in").account["rows"] == 11


def test_a_late_span_revises_its_conversation_and_a_redelivered_one_does_not(tmp_path):
    first = chat_span("a", "1", 100, "Is it open?", "Yes.", **{"gen_ai.conversation.id": "c-1"})
    plumbing = chat_span("e", "9", 100, "x", "y") | {"attributes": []}
    late = chat_span("b", "2", 200, "Until when?", "Six.", **{"gen_ai.conversation.id": "c-1"})
    write_jsonl(tmp_path / "n1.jsonl", [batch(first, plumbing)])
    write_jsonl(tmp_path / "n2.jsonl", [batch(late, first)])
    write_jsonl(tmp_path / "n3.jsonl", [batch(first)])
    write_jsonl(tmp_path / "all.jsonl", [batch(late), batch(first)])
    with Workspace("a") as workspace, Workspace("b") as at_once:
        night = intake(workspace, tmp_path / "n1.jsonl")
        assert night.account["ignored"] == 1
        assert (night.account["spans"], night.account["spans_without_content"]) == (2, 1)
        (before,) = rows_of(night)
        remember(workspace, night)
        second = intake(workspace, tmp_path / "n2.jsonl")
        (after,) = rows_of(second)
        remember(workspace, second)
        third = intake(workspace, tmp_path / "n3.jsonl")
        (whole,) = rows_of(intake(at_once, tmp_path / "all.jsonl"))
    assert "revision" not in before
    assert after["revision"] == 2
    assert after["steps"] == [{"user": "Until when?"}]
    assert {key: value for key, value in after.items() if key != "revision"} == whole
    assert second.account["revisions"] == 1
    assert second.account["spans_repeated"] == 1
    assert balanced(second.account)
    assert (third.account["rows"], third.account["duplicates"]) == (0, 1)


def test_a_grown_session_file_is_a_revision_and_an_old_copy_is_none(tmp_path):
    lines = [
        {
            "type": "user",
            "sessionId": "s1",
            "uuid": "1",
            "message": {"role": "user", "content": "Fix it"},
        },
        {
            "type": "assistant",
            "sessionId": "s1",
            "uuid": "2",
            "message": {"role": "assistant", "content": [{"type": "text", "text": "Fixed."}]},
        },
        {
            "type": "user",
            "sessionId": "s1",
            "uuid": "3",
            "message": {"role": "user", "content": "Now test"},
        },
        {
            "type": "assistant",
            "sessionId": "s1",
            "uuid": "4",
            "message": {"role": "assistant", "content": [{"type": "text", "text": "Green."}]},
        },
    ]
    write_jsonl(tmp_path / "n1.jsonl", lines[:2])
    write_jsonl(tmp_path / "n2.jsonl", lines)
    with Workspace("a") as workspace:
        remember(workspace, intake(workspace, tmp_path / "n1.jsonl"))
        grown = intake(workspace, tmp_path / "n2.jsonl")
        (after,) = rows_of(grown)
        remember(workspace, grown)
        # The short state again, with another byte so that it counts as a new file.
        write_jsonl(tmp_path / "n3.jsonl", [*lines[:2], ""])
        old = intake(workspace, tmp_path / "n3.jsonl")
    assert (after["revision"], after["final_text"]) == (2, "Green.")
    assert (old.account["rows"], old.account["duplicates"]) == (0, 1)


def test_a_sub_agent_in_a_file_of_its_own_is_no_older_state_of_its_session(tmp_path):
    def session(name, ask, reply, **extra):
        lines = [
            {"type": "user", "uuid": "1", "message": {"role": "user", "content": ask}},
            {
                "type": "assistant",
                "uuid": "2",
                "message": {"role": "assistant", "content": [{"type": "text", "text": reply}]},
            },
        ]
        write_jsonl(
            tmp_path / "in" / name, [{"sessionId": "s1", **extra, **line} for line in lines]
        )

    session("s1.jsonl", "Fix the build", "Fixed.")
    for agent in ("ccc", "ddd"):
        session(
            f"agent-{agent}.jsonl", f"Look for {agent}", "x " * 50, isSidechain=True, agentId=agent
        )
    session("agent-eee.jsonl", "Fix the build", "Fixed too.", isSidechain=True, agentId="eee")
    with Workspace("a") as workspace:
        plan = intake(workspace, tmp_path / "in")
    rows = rows_of(plan)
    assert sorted(item["prompt"] for item in rows) == [
        "Fix the build",
        "Fix the build",
        "Look for ccc",
        "Look for ddd",
    ]
    assert len({item["conversation_id"] for item in rows}) == 4
    assert plan.account["duplicates"] == 0


def test_a_pipe_is_read_once_and_whole(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = "".join(json.dumps(row(n)) + "\n" for n in range(5))
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    with Workspace("a") as workspace:
        assert intake(workspace, pipe).account["rows"] == 5
    writer.join()


def test_what_json_cannot_carry_in_other_keys_costs_no_row(tmp_path):
    source = tmp_path / "a.jsonl"
    source.write_text('{"prompt": "a", "final_text": "b", "score": NaN, "bad": "\\ud800"}\n')
    with Workspace("a") as workspace:
        (stored,) = rows_of(intake(workspace, source))
    assert stored["score"] is None
    assert stored["prompt"] == "a"


def test_a_missing_path_is_named():
    with Workspace("a") as workspace, pytest.raises(SourceNotFound, match="nowhere.jsonl"):
        workspace.discover(["nowhere.jsonl"])


@pytest.mark.parametrize(("bad", "share", "strict", "fails"), [
    (5, 0.05, False, False),
    (6, 0.05, False, True),
    (1, 0.05, True, True),
    (0, 0.0, True, False),
])  # fmt: skip
def test_the_allowed_share_decides(bad, share, strict, fails):
    account = Account()
    tally = account.of("a")
    tally.records, tally.quarantined, tally.rows = 100, bad, 100 - bad
    if fails:
        with pytest.raises(BadShareExceeded, match=f"{bad} of 100 records .* q.jsonl"):
            check_losses(account, max_bad_share=share, strict=strict, quarantine="q.jsonl")
    else:
        check_losses(account, max_bad_share=share, strict=strict, quarantine="q.jsonl")


def test_an_account_that_does_not_add_up_stops_the_night():
    account = Account()
    account.of("a").records = 3
    account.of("a").rows = 2
    with pytest.raises(WhileError, match="3 records against 2 rows"):
        check_losses(account, max_bad_share=1.0, strict=False, quarantine=None)


def test_with_redaction_nothing_personal_reaches_the_disk_and_values_still_agree(tmp_path, home):
    secrets = [
        "jane.doe@corp-mail.com",
        "4539 1488 0343 6467",
        "sk-proj-Zk3v9QmXw7TbLr2NsYp8Hd4Ga6Ue1Jf5",
    ]
    asked = {
        "prompt": f"I am {secrets[0]}, charge {secrets[1]}",
        "steps": [
            {"tool": "charge", "arguments": {"mail": secrets[0]}, "result": {"key": secrets[2]}}
        ],
        "final_text": f"Charged {secrets[0]}.",
    }
    first = write_jsonl(tmp_path / "1.jsonl", [asked, f"cut off: {secrets[0]}"])
    spans = write_jsonl(
        tmp_path / "2.jsonl", [batch(chat_span("a", "1", 100, f"I am {secrets[0]}", "Hello."))]
    )
    with Workspace("a", redact=True) as workspace:
        plan = intake(workspace, first, spans)
    (by_span, stored) = sorted(rows_of(plan), key=lambda item: len(item["steps"]))
    stand_in = stored["steps"][0]["arguments"]["mail"]
    assert stand_in in stored["prompt"]
    assert stand_in in stored["final_text"]
    assert stand_in in by_span["prompt"]
    assert plan.account["redacted"]["email"] >= 5
    assert all(scan(item) == [] for item in (stored, by_span))
    import zstandard

    for path in (path for path in home.rglob("*") if path.is_file()):
        data = path.read_bytes()
        if path.suffix == ".zst":
            data = zstandard.ZstdDecompressor().decompress(data)
        for secret in secrets:
            assert secret.encode() not in data, path
