"""What lies beside traces and is no readable file is named, never waited for."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from whileai_core.dialects.load import RecordsLeftOut, load_all, load_traces
from whileai_core.errors import SourceNotFound, UnreadableSource
from whileai_core.sources.discovery import find

WORD = {
    "dangling": "link to nothing",
    "pipe": "pipe",
    "socket": "socket",
    "linked": "link to a folder",
    "loop": "link to nothing",
    "private.jsonl": "Permission denied",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with one good file and one of every other kind; root may read anything, so ask."""
    folder = tmp_path / "traces"
    folder.mkdir()
    (folder / "a.jsonl").write_text(json.dumps({"prompt": "hi", "final_text": "ok"}) + "\n")
    (folder / "private.jsonl").write_text("{}\n")
    (folder / "dangling").symlink_to("nowhere.jsonl")
    (folder / "loop").symlink_to("loop")
    (folder / "linked").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    monkeypatch.chdir(folder)  # the name of a socket may not be long
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
    allowed = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: Path(path).name != "private.jsonl" and allowed(path, mode)
    )
    return folder


@pytest.mark.parametrize("what", ["{}", "{}/*", "{}/[!z]*"])
def test_what_is_no_readable_file_is_named_with_its_kind(what, folder):
    (folder / "linked").unlink()  # a glob names it, and then it is read
    found = find(what.format(folder))
    assert found.files == [str(folder / "a.jsonl")]
    kinds = {Path(name).name: reason for name, reason in found.skipped}
    assert kinds.keys() == WORD.keys() - {"linked"}
    assert all(WORD[name] in reason for name, reason in kinds.items())


def test_a_linked_folder_is_named_and_read_where_it_is_named(folder, tmp_path):
    (linked,) = [piece for piece in find(folder).skipped if piece.name.endswith("linked")]
    assert WORD["linked"] in linked.reason
    (tmp_path / "b.jsonl").write_text("{}\n")
    assert str(folder / "linked" / "b.jsonl") in find(folder / "linked").files


def test_rows_of_a_folder_come_with_a_warning_of_what_was_skipped(folder):
    for load in (load_traces, lambda path: load_all([str(path)])):
        with pytest.warns(RecordsLeftOut, match="skipped") as told:
            assert [row["prompt"] for row in load(folder)] == ["hi"]
        assert len(told) == len(WORD)


def test_a_link_to_nothing_that_is_named_says_where_it_leads(folder):
    with pytest.raises(SourceNotFound, match="dangling is a link to nowhere.jsonl"):
        find(folder / "dangling")


def test_a_device_is_refused_since_it_may_never_end():
    with pytest.raises(UnreadableSource, match="/dev/zero is a device"):
        load_traces("/dev/zero")


def test_a_folder_that_may_not_be_read_is_skipped_below_another_and_refused_itself(
    tmp_path, monkeypatch
):
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "a.jsonl").write_text("{}\n")
    (tmp_path / "closed").mkdir()
    listing = os.scandir

    def scandir(path):
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return listing(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = find(tmp_path)
    assert found.files == [str(tmp_path / "open" / "a.jsonl")]
    assert [Path(name).name for name, _ in found.skipped] == ["closed"]
    with pytest.raises(UnreadableSource, match="closed"):
        find(tmp_path / "closed")
