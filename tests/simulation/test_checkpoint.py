"""Checkpoints: what is kept, what is refused, what a torn file still gives."""

from __future__ import annotations

import pytest

from whileai_core.errors import InputError, StoreError
from whileai_core.simulation.checkpoint import Checkpoint

RUN = {"seed": 0, "tools": "ab12"}


def row(index, **more):
    return {"scenario_id": "sc-1", "prompt": "ask", "rollout_index": index, **more}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new" / "run.jsonl"


def test_rows_and_messages_come_back(path):
    with Checkpoint(path, RUN) as kept:
        kept.add_row(row(0))
        kept.add_row(row(1))
        kept.add_row(row(1, reward=1))
        kept.add_message("3:0", "Where is it?")
        kept.sync()
    with Checkpoint(path, RUN) as again:
        assert again.row(("sc-1", "ask", 0)) == row(0)
        assert again.row(("sc-1", "ask", 1)) == row(1, reward=1)
        assert again.row(("sc-1", "ask", 2)) is None
        assert again.message("3:0") == "Where is it?"


def test_a_torn_last_line_is_cut_off_and_the_rest_goes_on(path):
    with Checkpoint(path, RUN) as kept:
        kept.add_row(row(0))
    with path.open("ab") as file:
        file.write(b'{"row":{"scenario_id":"sc-1","pro')
    with Checkpoint(path, RUN) as again:
        assert again.row(("sc-1", "ask", 0)) == row(0)
        again.add_row(row(1))
    with Checkpoint(path, RUN) as third:
        assert third.row(("sc-1", "ask", 1)) == row(1)


def test_a_file_torn_within_its_first_line_starts_over(path):
    path.parent.mkdir()
    path.write_bytes(b'{"checkpoint":1,"ru')
    with Checkpoint(path, RUN) as kept:
        kept.add_row(row(0))
    with Checkpoint(path, RUN) as again:
        assert again.row(("sc-1", "ask", 0)) == row(0)


def test_the_checkpoint_of_another_run_is_refused_and_left_as_it_is(path):
    with Checkpoint(path, RUN) as kept:
        kept.add_row(row(0))
    before = path.read_bytes()
    with (
        pytest.raises(InputError, match=r"another seed, tools; delete that file") as refused,
        Checkpoint(path, {"seed": 1, "tools": "cd34"}),
    ):
        pass
    assert str(path) in str(refused.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b'{"rows": 3}\n', b"no json\n", b"[1]\n"])
def test_a_file_that_is_no_checkpoint_is_refused(path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(InputError), Checkpoint(path, RUN):
        pass
    assert path.read_bytes() == content


def test_a_folder_in_its_place_is_an_error_of_the_store(tmp_path):
    with pytest.raises(StoreError), Checkpoint(tmp_path, RUN):
        pass
