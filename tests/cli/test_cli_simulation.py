"""`simulate` and `evaluate` as a user meets them when something is wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECRET = "sk-SECRETdo0not1show"

AGENT = """
import time

def agent(message, world):
    time.sleep({pause})
    return "{reply}"

def broken(message):
    raise RuntimeError("refused, api_key={secret}")

def judge(row):
    raise RuntimeError("bad key {secret}")

def picky(row):
    return row["rollout_index"] == 0 if row["final_text"] == "yes" else None
"""


@pytest.fixture
def folder(tmp_path):
    write_agent(tmp_path)
    return tmp_path


def write_agent(folder, reply="yes", pause=0):
    # Without this an edit within the same second would go unseen by Python itself.
    (folder / "ed.py").write_text(AGENT.format(reply=reply, pause=pause, secret=SECRET))


def started(folder, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "whileai_core.cli", *arguments],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "WHILEAI_ALLOWED_IMPORTS": "ed",
            "WHILEAI_HOME": str(folder / "home"),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(folder, *arguments):
    process = started(folder, *arguments)
    out, err = process.communicate(timeout=100)
    assert "Traceback" not in err
    return process.returncode, out, err


def test_a_killed_run_goes_on_but_not_with_an_edited_agent(folder):
    command = ["simulate", "--agent", "ed:agent", "--out", "ed.jsonl", "--budget", "24"]
    kept = folder / ".ed.jsonl.checkpoint"
    write_agent(folder, pause=0.2)
    process = started(folder, *command, "--concurrency", "2")
    while not kept.exists() or kept.read_bytes().count(b"\n") < 4:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    landed = kept.read_bytes()

    write_agent(folder, reply="no")
    code, out, err = run(folder, *command)
    assert (code, out) == (1, "")
    assert "another agent source" in err and "delete that file" in err and kept.name in err
    assert kept.read_bytes() == landed and not (folder / "ed.jsonl").exists()

    write_agent(folder, pause=0.2)
    code, out, err = run(folder, *command)
    assert code == 0
    assert "going on from " in err and " rows of an earlier run" in err
    rows = [json.loads(line) for line in (folder / "ed.jsonl").read_text().splitlines()]
    assert len(rows) == 24 and len({row["lineage"]["agent_version"] for row in rows}) == 1
    assert not kept.exists()


@pytest.mark.parametrize("as_json", [False, True])
def test_a_run_without_rows_leaves_the_earlier_file_and_says_why(folder, as_json):
    (folder / "rows.jsonl").write_text("good\n")
    command = ["simulate", "--agent", "ed:broken", "--out", "rows.jsonl", "--budget", "4"]
    code, out, err = run(folder, *command, *(["--json"] if as_json else []))
    assert code == 1
    assert (folder / "rows.jsonl").read_text() == "good\n"
    assert "RuntimeError: refused" in err and "agent_failed" in err
    assert "next:" not in out + err and SECRET not in out + err
    if as_json:
        value = json.loads(out)
        assert "refused" in value["error"] and value["rows"] == 0
    assert not (folder / ".rows.jsonl.checkpoint").exists()


@pytest.fixture
def graded(folder):
    rows = [
        {"prompt": f"ask {n}", "final_text": text, "rollout_index": n, "reward": 1}
        for n, text in enumerate(["yes", "yes", "no"])
    ]
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_judge_that_graded_nothing_fails_with_its_reason_and_takes_no_grade_away(folder, graded):
    before = graded.read_bytes()
    command = ["evaluate", graded.name, "--judge", "ed:judge", "--out", graded.name]
    code, out, err = run(folder, *command)
    assert code == 1 and "RuntimeError: bad key" in err and SECRET not in out + err
    code, out, err = run(folder, *command, "--json")
    value = json.loads(out)
    assert code == 1 and "bad key" in value["warnings"][0] and SECRET not in out + err
    assert graded.read_bytes() == before


def test_what_a_judge_left_out_is_said_beside_the_grades(folder, graded):
    command = ["evaluate", graded.name, "--judge", "ed:picky", "--out", "graded.jsonl"]
    code, out, _ = run(folder, *command)
    assert code == 0 and "2 of 3 rows graded" in out
    assert "warning: 1 of 3 rows got no verdict (1 invalid_result)" in out
    code, out, _ = run(folder, *command, "--json")
    assert code == 0 and "1 of 3 rows" in json.loads(out)["warnings"][0]
