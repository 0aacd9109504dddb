"""The temporary Prefect server of a run at a prompt."""

from __future__ import annotations

from flows import _server


def test_ctrl_c_in_a_terminal_does_not_reach_the_server_that_hears_how_the_run_ends(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(_server, "_CHILD", "import os; print(os.getpgrp() == os.getpid())")
    process, _ = _server._start(tmp_path / "log")
    process.wait(60)
    assert (tmp_path / "log").read_text().strip() == "True"
