"""A night with a judge: ungraded rows are graded before the split, pushed and reported so."""

from __future__ import annotations

import asyncio
import json
import sys

import httpx
import pytest

from whileai_core import sync
from whileai_core.errors import SettingsError

pytestmark = [
    pytest.mark.usefixtures("prefect_server"),
    pytest.mark.filterwarnings("ignore:holdout .* tasks:UserWarning"),
]

SOURCE = """
def lenient(row):
    return {"reward": int("lost" not in row["final_text"]), "reason": "read the reply"}
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
    reply = httpx.post(f"{prefect_server}/artifacts/filter", json={}).json()
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
