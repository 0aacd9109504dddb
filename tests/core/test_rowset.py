"""RowSets: what goes in comes out, equal rows share a name, damage is noticed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whileai_core import RowSet, RowSetStore, rowset
from whileai_core.atomic import atomic_file, sweep_temporaries, write_atomic
from whileai_core.errors import SourceNotFound, StoreError

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(rows=st.lists(st.dictionaries(st.text(max_size=8), JSON, max_size=4), max_size=20))
def test_rows_come_back_equal_and_in_order(rows, tmp_path_factory):
    store = RowSetStore(str(tmp_path_factory.mktemp("store")))
    handle = store.write(iter(rows))
    assert list(handle) == rows
    assert len(handle) == len(rows)
    assert store.open(handle.id) == handle
    assert RowSet.from_dict(handle.to_dict()) == handle


def test_equal_rows_have_one_name_whatever_the_part_size(tmp_path, monkeypatch):
    rows = [{"prompt": f"ask {n}", "final_text": "x" * 50} for n in range(200)]
    whole = RowSetStore(str(tmp_path / "a")).write(rows)
    monkeypatch.setattr(rowset, "PART_BYTES", 1000)
    pieces = RowSetStore(str(tmp_path / "b")).write(rows)
    assert whole.id == pieces.id
    assert len(list((tmp_path / "b" / "parts").iterdir())) > 5
    assert list(pieces) == rows


def test_any_fsspec_url_serves(tmp_path):
    rows = [{"prompt": "hé"}, {"prompt": "b"}]
    store = RowSetStore("memory://whileai-test-store")
    assert list(RowSetStore("memory://whileai-test-store").open(store.write(rows).id)) == rows


def test_a_damaged_part_is_an_error_not_rows(tmp_path):
    handle = RowSetStore(str(tmp_path)).write([{"prompt": "a"}])
    (part,) = (tmp_path / "parts").iterdir()
    part.write_bytes(part.read_bytes()[:-3])
    with pytest.raises(StoreError, match="damaged"):
        list(handle)


def test_an_unknown_rowset_names_the_store(tmp_path):
    with pytest.raises(SourceNotFound, match="no RowSet nope"):
        RowSetStore(str(tmp_path)).open("nope")


def test_a_full_disk_leaves_no_manifest_and_no_temporary_file(tmp_path):
    def rows():
        yield {"prompt": "a"}
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        RowSetStore(str(tmp_path)).write(rows())
    with pytest.raises(StoreError, match="No space"), atomic_file(tmp_path / "x") as file:
        file.write(b"half")
        raise OSError(28, "No space left on device")
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_a_kill_while_writing_leaves_the_old_file_and_the_sweep_clears_up(tmp_path):
    target = tmp_path / "file"
    write_atomic(target, b"old")
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from whileai_core.atomic import atomic_file\n"
        "with atomic_file(Path(sys.argv[1])) as f:\n"
        "    f.write(b'new'); f.flush(); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    root = Path(__file__).parents[2]
    subprocess.run(
        [sys.executable, "-c", script, str(target)],
        check=False,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert target.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 2
    with atomic_file(tmp_path / "living") as file:
        file.write(b"being written")
        assert sweep_temporaries(tmp_path) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "living"]


def test_a_link_is_followed_and_a_device_is_written_not_replaced(tmp_path):
    target = tmp_path / "target"
    link = tmp_path / "link"
    link.symlink_to(target)
    write_atomic(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_atomic(pipe, b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert pipe.is_fifo()
    with pytest.raises(StoreError), atomic_file(tmp_path):
        pass
