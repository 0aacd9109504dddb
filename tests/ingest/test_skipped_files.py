"""A night names what it skipped, in its account and to people."""

from __future__ import annotations

import os
import sys

import pytest
from night_kit import intake, row, write_jsonl

from whileai_core.errors import BadShareExceeded, UnreadableSource
from whileai_core.ingest.account import Account
from whileai_core.ingest.explain import explain, explanation_text
from whileai_core.ingest.night import check_losses
from whileai_core.ingest.summary import account_markdown, night_markdown, night_text
from whileai_core.ingest.workspace import Workspace


@pytest.fixture
def folder(tmp_path):
    write_jsonl(tmp_path / "traces" / "a.jsonl", [row(1)])
    os.mkfifo(tmp_path / "traces" / "queue")
    (tmp_path / "traces" / "gone").symlink_to("nowhere")
    return tmp_path / "traces"


def test_skipped_files_are_in_the_account_and_in_every_summary(folder):
    with Workspace("a") as workspace:
        plan = intake(workspace, folder)
    assert plan.account["rows"] == 1
    assert plan.account["files_skipped"] == [
        {"source": str(folder / "gone"), "reason": "a link to nothing"},
        {"source": str(folder / "queue"), "reason": "a pipe"},
    ]
    line = f"warning: 2 files skipped: {folder / 'gone'} (a link to nothing), "
    assert line in explanation_text(explain([str(folder)]))
    nothing_new = plan.result([]) | {"account": {**plan.account, "files": 0, "files_known": 1}}
    assert line in night_text(nothing_new)
    assert line in night_markdown(nothing_new)
    assert f"| {folder / 'queue'} | a pipe |" in account_markdown(nothing_new)


def test_strict_takes_no_skipped_file(folder):
    skipped = [{"source": "x/queue", "reason": "a pipe"}]
    lax = {"max_bad_share": 0.05, "quarantine": None, "skipped": skipped}
    check_losses(Account(), strict=False, **lax)
    with pytest.raises(BadShareExceeded, match=r"x/queue \(a pipe\)"):
        check_losses(Account(), strict=True, **lax)


def test_an_empty_folder_is_not_called_known(tmp_path):
    (tmp_path / "empty").mkdir()
    with Workspace("a") as workspace:
        text = night_text(intake(workspace, tmp_path / "empty").result([]))
        assert "no traces: there is no file under the paths" in text
        assert "known" not in text
        write_jsonl(tmp_path / "blank" / "a.jsonl", [])
        text = night_text(intake(workspace, tmp_path / "blank").result([]))
    assert "no rows: 1 new file without a readable conversation" in text


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file that breaks off")
def test_a_file_that_breaks_off_while_it_is_read_is_named():
    with (
        Workspace("a") as workspace,
        pytest.raises(UnreadableSource, match="/mem cannot be"),
    ):
        workspace.discover(["/proc/self/mem"])
