"""A night with a judge: ungraded rows are graded before the split, pushed and reported so."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from whileai_core import sync
from whileai_core.errors import ModelError, SettingsError
from whileai_core.ingest.summary import night_text as as_text

pytestmark = [
    pytest.mark.usefixtures("prefect_server"),
    pytest.mark.filterwarnings("ignore:holdout .* tasks:UserWarning"),
]

ROOT = Path(__file__).parents[2]
SOURCE = """
def lenient(row):
    return {"reward": int("lost" not in row["final_text"]), "reason": "read the reply"}

def raises(row):
    raise RuntimeError("boom sk-secret-1234567890abcdef")

def silent(row):
    return None

def sometimes(row):
    return raises(row) if "lost" in row["final_text"] else 1
"""


@pytest.fixture
def judge(tmp_path, monkeypatch):
    (tmp_path / "canary_lenient.py").write_text(SOURCE)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.setenv("WHILEAI_ALLOWED_IMPORTS", "canary_lenient")
    yield "canary_lenient:lenient"
    sys.modules.pop("canary_lenient", None)


def night(source, **parameters):
    from flows.nightly import nightly

    return asyncio.run(nightly(paths=[str(source)], agent="support", **parameters))


def test_rows_are_pushed_with_the_judges_reward_and_the_report_says_what_it_is_worth(
    tmp_path, judge, prefect_server
):
    rows = [
        {
            "prompt": f"Where is parcel {n * 7919}?",
            "steps": [],
            "final_text": f"Parcel {n} is {'lost' if n % 3 == 0 else 'on its way'}.",
            **({"reward": int(n % 3 != 0)} if n >= 20 else {}),
        }
        for n in range(30)
    ]
    source = tmp_path / "a.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = night(source, judge=judge)
    assert (result["judging"]["passed"], result["judging"]["failed"]) == (13, 7)
    assert result["judging"]["agreement"]["n"] == 10
    assert result["report"]["graded"] == 30
    pulled = [row for entry in result["datasets"] for row in sync.pull(entry["datasetId"])]
    judged = [row for row in pulled if row.get("judge_name") == "lenient"]
    assert len(judged) == 20
    assert all(row["reward"] == ("lost" not in row["final_text"]) for row in pulled)
    assert {row["reason"] for row in judged} == {"read the reply"}
    reply = httpx.post(f"{prefect_server}/artifacts/filter", json={"sort": "CREATED_DESC"}).json()
    pages = [page["data"] for page in reply if page["key"] == "night-summary"]
    assert any("judge lenient: graded 20 of 20" in page for page in pages)
    assert any("agrees on 100.0 % [72.2 – 100.0], n = 10" in page for page in pages)


def test_the_key_of_an_endpoint_comes_from_a_secret_block(tmp_path, home):
    from prefect.blocks.system import Secret

    Secret(value="sk-canary").save("judge-key", overwrite=True)
    source = tmp_path / "a.jsonl"
    source.write_text(json.dumps({"prompt": "Hi", "final_text": "Hello"}) + "\n")
    reference = "vllm:m@http://203.0.113.1"  # where a key must not go in plain http
    with pytest.raises(SettingsError, match="plain http"):
        night(source, judge=reference, judge_key="judge-key")
    assert not (home / "ledger.db").exists()


def test_a_judge_that_may_not_be_imported_is_refused_before_anything_is_read(tmp_path, home):
    with pytest.raises(SettingsError, match="WHILEAI_ALLOWED_IMPORTS"):
        night(tmp_path / "nothing-here", judge="os:getcwd")
    assert not (home / "ledger.db").exists()


def plain_rows(path, numbers, **extra):
    rows = [
        {
            "prompt": f"Where is parcel {n * 7919}?",
            "steps": [],
            "final_text": f"Parcel {n} is {'lost' if n % 3 == 0 else 'on its way'}.",
            **extra,
        }
        for n in numbers
    ]
    with path.open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def pulled(result):
    return [row for entry in result["datasets"] for row in sync.pull(entry["datasetId"])]


@pytest.mark.parametrize("broken", ["raises", "silent"])
def test_a_judge_that_fails_on_every_row_fails_the_night_and_the_next_sees_all(
    tmp_path, judge, broken
):
    source = plain_rows(tmp_path / "a.jsonl", range(12))
    with pytest.raises(ModelError, match=r"no verdict on any of 12 rows .*nothing was pushed"):
        night(source, judge=f"canary_lenient:{broken}")
    assert sync.datasets()["datasets"] == []
    result = night(source, judge=judge)
    assert result["account"]["rows"] == 12
    assert all(row["judge_status"] == "ok" for row in pulled(result))


def test_a_judge_that_fails_on_some_rows_is_warned_about_and_pushes_no_secret(
    tmp_path, judge, prefect_server, caplog
):
    source = plain_rows(tmp_path / "a.jsonl", range(12))
    result = night(source, judge="canary_lenient:sometimes")
    warning = (
        "warning: 4 of 12 ungraded rows got no verdict from judge sometimes "
        "(4 error; the first: RuntimeError)"
    )
    assert warning in as_text(result)
    assert warning in caplog.messages
    reply = httpx.post(f"{prefect_server}/artifacts/filter", json={"sort": "CREATED_DESC"}).json()
    assert any(f"> {warning}" in str(page["data"]) for page in reply)
    failed = [row for row in pulled(result) if row["judge_status"] == "error"]
    assert [row["judge_meta"] for row in failed] == [{"error": "RuntimeError: boom ***"}] * 4
    assert "sk-secret" not in json.dumps([result, pulled(result)])


def test_rows_beyond_the_budget_are_graded_as_the_summary_says(tmp_path, judge):
    source = plain_rows(tmp_path / "a.jsonl", range(12))
    plain_rows(source, range(20, 24), reward=0)  # labels, which the judge must not replace
    result = night(source, judge=judge, judge_max_calls=3, judge_check=0)
    text = as_text(result)
    assert "9 of 12 ungraded rows not judged: --judge-max-calls 3 is used up" in text
    (told,) = [line for line in text.splitlines() if line.startswith("these rows were pushed")]
    commands = re.findall(r"whileai-pipelines ([^;]+)", told)
    assert [command.split()[0] for command in commands] == ["pull", "evaluate", "push"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])}
    first = result["datasets"][0]["datasetId"]
    for entry in result["datasets"]:  # each dataset in its turn
        for command in commands:
            command = command.replace(first, entry["datasetId"]).replace("REF", judge)
            done = subprocess.run(
                [sys.executable, "-m", "whileai_core.cli", *command.split()],
                env=environment,
                cwd=tmp_path,
                check=False,
                capture_output=True,
                text=True,
                timeout=100,
            )
            assert done.returncode == 0, done.stderr
    given = {entry["datasetId"] for entry in result["datasets"]}
    graded = [d["datasetId"] for d in sync.datasets()["datasets"] if d["datasetId"] not in given]
    assert len(graded) == len(given)
    rows = [row for made in graded for row in sync.pull(made)]
    assert len(rows) == 16
    labelled = [row for row in rows if "judge_name" not in row]
    assert [row["reward"] for row in labelled] == [0] * 4
    judged = [row for row in rows if "judge_name" in row]
    assert all(row["reward"] == ("lost" not in row["final_text"]) for row in judged)
