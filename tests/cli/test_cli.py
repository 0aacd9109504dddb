"""The command line as a user meets it: a process, its output, its exit code.

What is no different in another process is asked for in this one, which takes far less time.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import httpx
import pytest

from whileai_core.cli import main

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "whileai_core.cli"]


def run(*arguments, env=None, **options):
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        check=False,
        capture_output=True,
        text=True,
        timeout=100,
        **options,
    )


def here(*arguments):
    """Run a command in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(action="default"),  # said and not raised
    ):
        code = main([*map(str, arguments)])
    texts = (stream.buffer.getvalue().decode() for stream in (out, err))
    return subprocess.CompletedProcess(arguments, code, *texts)


def result(*arguments, run=here, **options):
    done = run(*arguments, "--json", **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def traces(tmp_path):
    rows = [
        {"prompt": f"Ask {n * 7919} about {n}", "final_text": f"Answer {n}", "reward": n % 2}
        for n in range(30)
    ]
    path = tmp_path / "traces.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "cut off\n")
    return path


def test_nightly_then_datasets_then_pull_gives_back_the_pushed_rows(
    traces, tmp_path, prefect_server
):
    env = {"PREFECT_API_URL": prefect_server}
    night = result(
        "nightly", traces, "--agent", "Support", "--night", "2026-11-28", run=run, env=env
    )
    account = night["account"]
    assert account["records"] == 31 == account["rows"] + account["quarantined"]
    train, holdout = night["datasets"]
    listing = result("datasets", run=run)["datasets"]
    assert {entry["datasetId"] for entry in listing} == {train["datasetId"], holdout["datasetId"]}
    pulled = []
    for entry in night["datasets"]:
        out = tmp_path / f"{entry['purpose']}.jsonl"
        assert result("pull", entry["datasetId"], "--out", out)["rows"] == entry["rows"]
        pulled += [json.loads(line) for line in out.read_text().splitlines()]
    assert sorted(row["prompt"] for row in pulled) == sorted(
        json.loads(line)["prompt"] for line in traces.read_text().splitlines()[:-1]
    )
    again = here("nightly", traces, "--agent", "support")
    assert again.returncode == 0
    assert "nothing new" in again.stdout
    assert "cut off" in here("quarantine", "show", "2026-11-28").stdout
    replayed = result("quarantine", "replay", "2026-11-28")
    assert (replayed["replayed"], replayed["left"]) == (0, 1)


def test_a_night_that_lost_too_much_exits_1_with_one_line(traces, prefect_server):
    done = run(
        "nightly", traces, "--agent", "a", "--strict", env={"PREFECT_API_URL": prefect_server}
    )
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("whileai-pipelines:")]
    assert "1 of 31 records" in line
    assert "Traceback" not in done.stderr + done.stdout


def test_report_split_push_and_explain(traces, tmp_path):
    assert result("report", traces, run=run)["traces"] == 30
    sides = result("split", traces, "--held", tmp_path / "h.jsonl", "--rest", tmp_path / "r.jsonl")
    assert sides["held"]["rows"] + sides["rest"]["rows"] == 30
    assert len((tmp_path / "r.jsonl").read_text().splitlines()) == sides["rest"]["rows"]
    entry = result("push", tmp_path / "r.jsonl", "--name", "rest", "--purpose", "eval")
    again = result("push", tmp_path / "r.jsonl", "--name", "rest", "--purpose", "eval")
    assert again["datasetId"] == entry["datasetId"]
    (listed,) = result("datasets")["datasets"]
    assert (listed["purpose"], listed["rows"]) == ("eval", sides["rest"]["rows"])
    explained = result("ingest", "--explain", traces)
    assert explained["account"]["quarantined"] == 1
    assert explained["row"]["prompt"]
    assert here("ingest", "--explain", "--strict", traces).returncode == 1
    assert "one row as read" in here("ingest", "--explain", traces).stdout


@pytest.mark.usefixtures("prefect_server")
def test_files_of_any_name_are_read_and_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [b"[prod] traces.jsonl", b"caf\xe9.jsonl"]
    for number, name in enumerate(names):
        values = [{"prompt": f"Ask {number * 100 + n}", "final_text": "ok"} for n in range(20)]
        text = "".join(json.dumps(value) + "\n" for value in values) + "cut off\n" * number
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text(text)
    paths = [os.fsdecode(name) for name in names]
    explained = run("ingest", "--explain", *paths)
    assert explained.returncode == 0, explained.stderr
    assert "quarantined caf\\xe9.jsonl line 21: " in explained.stdout
    night = result("nightly", *paths, "--agent", "any")
    assert (night["account"]["rows"], night["account"]["files_known"]) == (40, 0)
    assert set(night["account"]["sources"]) == {"[prod] traces.jsonl", "caf\\xe9.jsonl"}
    for path, name in zip(paths, ("[prod] traces", "caf\\xe9"), strict=True):
        assert result("push", path)["name"] == name
    out = result("split", paths[1], "--held", paths[1] + "-h", "--rest", "rest")
    assert out["held"]["path"] == "caf\\xe9.jsonl-h"
    gone = run("report", os.fsdecode(b"gone\xff"), "--json")
    assert (gone.returncode, "gone\\\\xff: no such file" in gone.stdout) == (1, True)


def test_an_agent_without_an_unfinished_night_has_none_to_forget():
    assert result("forget-unfinished", "--agent", "Any") == {"forgotten": None}
    assert here("forget-unfinished").returncode == 2


def test_check_does_not_wave_an_empty_file_through(tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    done = here("check", tmp_path / "empty.jsonl")
    assert done.returncode == 1 and "no rows" in done.stderr


def test_check_says_why_rows_are_refused(tmp_path):
    path = tmp_path / "rows.jsonl"
    for labels, code in (("11", 1), ("10", 0)):
        rows = [
            {"task_id": "t", "prompt": "ask", "final_text": f"{n}", "reward": int(label)}
            for n, label in enumerate(labels)
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        done = here("check", path, "--mode", "rl")
        assert done.returncode == code
        assert ("no_mixed_groups" in done.stdout) == (code == 1)
        assert "n = 2" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["report", "nowhere.jsonl"], 1, "nowhere.jsonl"),
        (["pull", "ds_nothing", "--out", "x"], 1, "ds_nothing"),
        (["quarantine", "show", "2020"], 1, "2020"),
        (["nightly", "x"], 2, "--agent"),
        (["nightly", "x", "--agent", "a", "--holdout", "1.5"], 2, "1.5"),
        (["nightly", "x", "--agent", "a", "--night", "soon"], 2, "soon"),
        (["nightly", "x", "--agent", " "], 2, "name"),
        (["gate", "serve", "--port", "99999"], 2, "99999"),
        (["nonsense"], 2, "nonsense"),
        ([], 2, "COMMAND"),
    ],
)
def test_mistakes_get_one_line_and_the_right_exit_code(arguments, code, words):
    done = (here if arguments else run)(*arguments)
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_an_error_with_json_is_one_object():
    done = run("report", "nowhere.jsonl", "--json")
    assert done.returncode == 1
    assert "nowhere.jsonl" in json.loads(done.stdout)["error"]


def test_a_served_gate_and_a_key_serve_another_process(traces, tmp_path, monkeypatch):
    key = run("gate", "key", "create", "alice").stdout.splitlines()[-1]
    server = subprocess.Popen(
        [*COMMAND, "gate", "serve", "--port", "0"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        url = next(word for line in server.stdout for word in line.split() if "http://" in word)
        url = url.rstrip(".,;")
        for _ in range(100):
            try:
                if httpx.get(f"{url}/healthz").status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.05)
        env = {"WHILEAI_API_URL": url, "WHILEAI_API_KEY": key, "WHILEAI_HOME": str(tmp_path / "b")}
        entry = result("push", traces, run=run, env=env)
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        assert result("pull", entry["datasetId"], "--out", tmp_path / "x")["rows"] == 30
        monkeypatch.setenv("WHILEAI_API_KEY", "zp_wrong_key_0000")
        refused = here("datasets")
        assert refused.returncode == 1
        assert "zp_wrong_key_0000" not in refused.stderr
    finally:
        server.terminate()
        assert server.wait(timeout=20) == 0
        server.stdout.close()


def test_help_loads_nothing_heavy():
    probe = (
        "import sys; from whileai_core.cli.main import build_parser; build_parser().format_help();"
        "print([name for name in ('prefect', 'sqlalchemy', 'numpy', 'httpx', 'pydantic', "
        "'starlette', 'pyarrow') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "[]"
