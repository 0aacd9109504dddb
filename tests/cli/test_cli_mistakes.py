"""Whatever goes wrong: one line for people, one object for machines, and a code that says what."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import sqlite3
import sys
import time
from contextlib import suppress
from types import SimpleNamespace

import pytest

from whileai_core.cli import main
from whileai_core.cli import traces as trace_commands
from whileai_core.gate import migrate

HOME_READERS = [
    ["quarantine", "list"],
    ["quarantine", "show", "x"],
    ["datasets"],
    ["runs", "list"],
    ["hf", "status"],
    ["hf", "connect", "--forget"],
    ["forget-unfinished", "--agent", "a"],
    ["gate", "key", "create", "x"],
]


def failed(capsys, *arguments, code=1):
    """Run a command that fails, and return what it says; with --json that is one object."""
    assert main([*map(str, arguments), "--json"]) == code
    out, err = capsys.readouterr()
    error = json.loads(out)["error"]
    assert err.splitlines()[-1] == f"whileai-pipelines: {error}"
    assert "Traceback" not in err
    return error


@pytest.mark.parametrize("arguments", HOME_READERS, ids=" ".join)
def test_a_home_that_is_a_file_is_named(arguments, home, capsys):
    home.write_text("not a folder")
    assert f"{home} is no folder" in failed(capsys, *arguments)


def test_a_home_below_a_file_or_a_broken_link_is_named(home, monkeypatch, capsys):
    home.symlink_to("nowhere")
    assert f"{home} is no folder" in failed(capsys, "datasets")
    monkeypatch.setenv("WHILEAI_HOME", f"{__file__}/deep/home")
    assert f"{__file__} is no folder" in failed(capsys, "datasets")


def test_a_quarantine_that_is_a_file_is_not_called_empty(home, capsys):
    home.mkdir()
    (home / "quarantine").write_text("x")
    assert f"{home / 'quarantine'} is no folder" in failed(capsys, "quarantine", "list")


def test_a_setting_that_cannot_be_used_is_named_without_its_value(monkeypatch, capsys):
    monkeypatch.setenv("WHILEAI_GATE_KEY_RATE", "sk-secret")
    monkeypatch.setenv("ZP_RULE_CAP", "-1")
    said = failed(capsys, "datasets")
    assert "WHILEAI_GATE_KEY_RATE: " in said and "ZP_RULE_CAP: " in said
    assert "sk-secret" not in said


def test_without_a_home_folder_the_variable_to_set_is_named(monkeypatch, capsys):
    monkeypatch.delenv("WHILEAI_HOME")
    monkeypatch.setattr("pathlib.Path.home", lambda: (_ for _ in ()).throw(RuntimeError("none")))
    assert "set WHILEAI_HOME" in failed(capsys, "quarantine", "list")


def test_a_home_is_meant_from_anywhere(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("WHILEAI_HOME", "~/spaced höme")
    assert main(["quarantine", "list"]) == 0
    capsys.readouterr()
    from whileai_core.settings import get_settings

    assert get_settings().home == tmp_path / "spaced höme"
    monkeypatch.setenv("WHILEAI_HOME", "here")
    monkeypatch.chdir(tmp_path)
    assert get_settings().home == tmp_path / "here"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "COMMAND"),
        (["nonsense"], "nonsense"),
        (["report"], "PATH"),
        (["nightly", "x"], "--agent"),
        (["check", "x", "--holdout", "2"], "2 is not between"),
        (["runs"], "COMMAND"),
        (["pull", "ds_1"], "--out"),
        (["deploy", "x"], "both PATHS and --agent"),
    ],
)
def test_wrong_usage_is_an_object_too(arguments, said, capsys):
    assert said in failed(capsys, *arguments, code=2)
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("usage: whileai-pipelines")


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", "nowhere.jsonl", "--out"],
        ["simulate", "--agent", "none:none", "--out"],
        ["split", "nowhere.jsonl", "--rest", "r.jsonl", "--held"],
        ["pull", "ds_1", "--out"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_where_nothing_can_be_written_nothing_is_begun(arguments, tmp_path, monkeypatch, capsys):
    assert "is no file to write to" in failed(capsys, *arguments, tmp_path)
    assert "is no file to write to" in failed(capsys, *arguments, "")
    (tmp_path / "file").write_text("x")
    assert f"in {tmp_path / 'file'}" in failed(capsys, *arguments, tmp_path / "file" / "x")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert f"in {tmp_path}" in failed(capsys, *arguments, tmp_path / "new" / "x")
    assert os.listdir(tmp_path) == ["file"]  # noqa: PTH208


def test_what_json_cannot_carry_is_pushed_as_a_night_would(tmp_path, capsys):
    path = tmp_path / "t.jsonl"
    path.write_text('{"prompt": "a", "final_text": "b", "cost": Infinity}\n')
    assert main(["push", str(path), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)["datasetId"]
    assert main(["pull", made, "--out", str(tmp_path / "out"), "--json"]) == 0
    assert json.loads((tmp_path / "out").read_text())["cost"] is None


@pytest.mark.parametrize("option", ["--agent", "--name"])
def test_a_name_that_no_file_can_have_is_wrong_usage(option, capsys):
    command = ["nightly", "x"] if option == "--agent" else ["climb", "--agent", "a:b"]
    assert "100 characters at most" in failed(capsys, *command, option, "x" * 101, code=2)


class Case(Exception):
    """A fault of ours."""


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "interrupted; nothing was kept; run the same command again"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), 1, "No space left on device; free"),
        (OSError(errno.EROFS, os.strerror(errno.EROFS), "/x/y"), 1, "/x/y: Read-only file system"),
    ],
)
def test_what_the_machine_or_the_user_ends_is_one_line(raised, code, said, monkeypatch, capsys):
    monkeypatch.setattr(trace_commands, "_report", raiser(raised))
    assert said in failed(capsys, "report", "x", code=code)


@pytest.mark.parametrize(
    ("module", "command", "kept"),
    [
        ("simulation", ["simulate", "--agent", "a:b", "--out", "o"], "rows that landed are kept"),
        ("simulation", ["climb", "--name", "n", "--agent", "a:b"], "finished steps and rows"),
        ("nightly", ["nightly", "x", "--agent", "a"], "nothing is taken twice"),
        ("datasets", ["push", "x"], "makes no second dataset"),
        ("hub", ["hf", "publish", "ds_1"], "may go on as a job"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_an_interrupted_command_says_what_it_keeps(module, command, kept, monkeypatch, capsys):
    part = command[1] if command[0] == "hf" else command[0]
    monkeypatch.setattr(f"whileai_core.cli.{module}._{part}", raiser(KeyboardInterrupt()))
    assert kept in failed(capsys, *command, code=130)


def test_being_told_to_end_is_said_with_the_code_of_the_signal(monkeypatch, capsys):
    def told(_):
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()

    monkeypatch.setattr(trace_commands, "_report", told)
    before = signal.getsignal(signal.SIGTERM)
    try:
        assert "stopped; nothing was kept; run the same" in failed(capsys, "report", "x", code=143)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_fault_of_ours_is_an_object_for_machines_and_a_traceback_for_us(monkeypatch, capsys):
    monkeypatch.setattr(trace_commands, "_report", raiser(Case("sk-secret")))
    assert main(["report", "x", "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out) == {"error": "Case: a fault of the product, please report it"}
    assert "Traceback" in err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_locale_with_few_letters_gets_escapes_and_json_stays_utf8(
    encoding, tmp_path, monkeypatch
):
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"prompt": "日本 é", "final_text": "ok"}))
    for as_json in (False, True):
        raw = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
        assert main(["ingest", "--explain", str(path), *["--json"] * as_json]) == 0
        if as_json:
            assert json.loads(raw.getvalue())["row"]["prompt"] == "日本 é"
        else:
            assert b"\\u65e5\\u672c" in raw.getvalue()


class _Full(io.RawIOBase):
    def writable(self):
        return True

    def write(self, _):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self):
        """Drop what is left, as a process does that ends."""


def test_output_that_cannot_be_written_is_a_failure(monkeypatch, capsys):
    full = io.TextIOWrapper(io.BufferedWriter(_Full()), encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", full)
        assert main(["quarantine", "list"]) == 1
    assert "No space left on device" in capsys.readouterr().err
    with suppress(OSError):
        full.detach().detach()


@pytest.mark.parametrize("content", [b"{", b"\x80\xff", b"5", b'["x"]'])
def test_a_file_that_holds_no_tools_is_named(content, tmp_path, capsys):
    (tmp_path / "tools.json").write_bytes(content)
    agent = "whileai_core.simulation.demo:flawed_agent"
    arguments = ["--agent", agent, "--tools", tmp_path / "tools.json", "--out", tmp_path / "o"]
    assert "tools.json holds no list of tool schemas" in failed(capsys, "simulate", *arguments)


def test_a_store_for_the_gate_that_nobody_knows_is_named(monkeypatch, capsys):
    monkeypatch.setenv("WHILEAI_GATE_BLOB_URL", "foo://bucket")
    assert "WHILEAI_GATE_BLOB_URL cannot be used: " in failed(capsys, "datasets")


class _FullDisk(sqlite3.Connection):
    def execute(self, *_):
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error


def test_a_disk_without_space_for_the_gate_is_said_at_once(home, monkeypatch, capsys):
    full = SimpleNamespace(
        connect=lambda path: sqlite3.connect(path, factory=_FullDisk),
        OperationalError=sqlite3.OperationalError,
    )
    monkeypatch.setattr(migrate, "sqlite3", full)
    patient = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: pytest.fail("waited"))
    monkeypatch.setattr(migrate, "time", patient)
    said = failed(capsys, "datasets")
    assert f"{home / 'gate'}: database or disk is full; free space, " in said


def raiser(error):
    def run(_):
        raise error

    return run
