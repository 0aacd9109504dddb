"""Grading what production left ungraded: once per row, within a budget, never a 0 by mistake."""

from __future__ import annotations

import functools
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import anyio
import pytest
from night_kit import intake, remember, row, rows_of, write_jsonl

from whileai_core.errors import InputError, ModelError, SettingsError
from whileai_core.ingest.judging import JudgeOrder
from whileai_core.ingest.ledger import Ledger
from whileai_core.ingest.night import NightPlan, check_judge
from whileai_core.ingest.summary import judging_lines, judging_warnings
from whileai_core.ingest.workspace import Workspace

# Judges of the user's own: each notes which rows it saw, in a file beside it.
SOURCE = """
import os, signal
from pathlib import Path

SEEN = Path(__file__).with_name("seen.txt")

def _note(row):
    with SEEN.open("a") as file:
        file.write(row["row_id"] + "\\n")

def even(row):
    _note(row)
    even_number = row["steps"][0]["arguments"]["id"] % 2 == 0
    return {"reward": int(even_number), "reason": "by number"}

even.version = "1"

def flaky(row):
    _note(row)
    if row["steps"][0]["arguments"]["id"] % 3 == 0:
        raise RuntimeError("backend away")
    return 1

def leaks(row):
    raise RuntimeError("boom sk-secret-1234567890abcdef")

def silent(row):
    return None

def mumbles(row):
    _note(row)
    return "hm"

def deadly(row):
    verdict = even(row)
    if len(SEEN.read_text().split()) >= 20:
        os.kill(os.getpid(), signal.SIGKILL)
    return verdict

deadly.version = even.version
deadly.__name__ = "even"
"""


@pytest.fixture
def judges(tmp_path, monkeypatch):
    """The module of judges, importable and allowed; gives how often each row was seen."""
    (tmp_path / "canary_judges.py").write_text(SOURCE)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.setenv("WHILEAI_ALLOWED_IMPORTS", "canary_judges")

    def seen():
        file = tmp_path / "seen.txt"
        return Counter(file.read_text().split()) if file.exists() else Counter()

    yield seen
    sys.modules.pop("canary_judges", None)


def order(name, **options):
    return JudgeOrder(f"canary_judges:{name}", **options)


def judge(rows, order):
    """Merge rows into a night and have them judged."""
    with Workspace("a") as workspace:
        handle = workspace.store.rowsets.write(
            {**row, "row_id": f"{number:032x}"} for number, row in enumerate(rows)
        )
        judged = anyio.run(functools.partial(workspace.judge, handle, order, night="2026-11-28"))
        return list(judged.rows), judged.report


def test_ungraded_rows_get_a_verdict_and_the_others_stay_as_they_are(judges):
    given = [row(n) for n in range(6)] + [row(9, reward=1), row(10, reward=0.5)]
    rows, report = judge(given, order("even"))
    assert [row.get("reward") for row in rows] == [1, 0, 1, 0, 1, 0, 1, 0.5]
    first = rows[0]
    assert (first["judge_name"], first["judge_status"], first["reason"]) == (
        "even",
        "ok",
        "by number",
    )
    assert first["lineage"]["source"] == "grade"
    assert first["lineage"]["judge_version"] == "1"
    assert not {"judge_name", "judge_status", "lineage"} & {*rows[6], *rows[7]}
    assert (report["ungraded"], report["passed"], report["failed"]) == (6, 3, 3)


def test_a_judge_that_fails_leaves_no_reward_and_is_asked_again(judges):
    rows, report = judge([row(n) for n in range(6)], order("flaky"))
    failed = [row for row in rows if row["judge_status"] == "error"]
    assert len(failed) == 2
    assert all("reward" not in row for row in failed)
    assert failed[0]["judge_meta"] == {"error": "RuntimeError: backend away"}
    assert report["no_verdict"] == {"error": 2}
    assert "RuntimeError: backend away" in report["first_error"]
    judge([row(n) for n in range(6)], order("flaky"))
    assert sorted(judges().values()) == [1, 1, 1, 1, 2, 2]


def test_an_answer_that_is_no_verdict_leaves_no_reward_and_is_asked_for_again(judges):
    for _ in range(2):
        rows, report = judge([row(1)], order("mumbles"))
        assert rows[0]["judge_status"] == "invalid_result"
        assert "reward" not in rows[0]
        assert report["no_verdict"] == {"invalid_result": 1}
        assert report["remembered"] == 0
    assert list(judges().values()) == [2]


def test_rows_without_a_verdict_are_warned_about(judges):
    _, report = judge([row(n) for n in range(6)], order("flaky"))
    assert judging_warnings(report) == [
        "warning: 2 of 6 ungraded rows got no verdict from judge flaky "
        "(2 error; the first: RuntimeError)"
    ]
    _, report = judge([row(n) for n in range(6)], order("even"))
    assert judging_warnings(report) == []
    _, report = judge([row(n) for n in range(6)], order("even", max_calls=2))
    assert judging_warnings(report) == []  # remembered
    _, report = judge([row(n) for n in range(12)], order("even", max_calls=2))
    assert judging_warnings(report) == [
        "warning: 4 of 12 ungraded rows not judged: --judge-max-calls 2 is used up"
    ]


@pytest.mark.parametrize(
    ("name", "trouble"),
    [
        ("leaks", "RuntimeError: boom"),
        ("silent", "invalid_result: the judge returned NoneType"),
    ],
)
def test_a_judge_without_any_verdict_refuses_the_night_from_five_rows_on(judges, name, trouble):
    _, report = judge([row(n) for n in range(4)], order(name))
    check_judge(report)
    _, report = judge([row(n) for n in range(4)] + [row(5, reward=1)], order(name))
    with pytest.raises(ModelError, match=rf"no verdict on any of 5 rows \({trouble}"):
        check_judge(report)


def test_one_verdict_or_a_small_budget_lets_the_night_pass(judges):
    for given in (order("flaky"), order("leaks", max_calls=4)):
        _, report = judge([row(n) for n in range(9)], given)
        check_judge(report)


def test_a_row_is_judged_once_until_the_judge_changes(judges):
    given = [row(n) for n in range(250)]
    first, report = judge(given, order("even"))
    assert report["remembered"] == 0
    again, report = judge(given, order("even"))
    assert again == first
    assert report["remembered"] == 250
    assert set(judges().values()) == {1}
    sys.modules["canary_judges"].even.version = "2"
    judge(given, order("even"))
    assert set(judges().values()) == {2}


def test_a_kill_in_the_middle_costs_what_was_in_the_air_and_no_more(judges, home, tmp_path):
    given = [row(n) for n in range(60)]
    code = (
        "import sys; sys.path[:0] = sys.argv[1:]\n"
        "from night_kit import row\n"
        "from test_judging import judge, order\n"
        "judge([row(n) for n in range(60)], order('deadly'))\n"
    )
    paths = [str(Path(__file__).parent), str(tmp_path)]
    killed = subprocess.run(
        [sys.executable, "-c", code, *paths], check=False, capture_output=True, timeout=60
    )
    assert killed.returncode == -9, killed.stderr.decode()
    before = judges()
    assert 20 <= len(before) < 60
    rows, report = judge(given, order("even"))
    assert all(row["judge_status"] == "ok" for row in rows)
    twice = [key for key, times in judges().items() if times > 1]
    assert len(twice) <= 8
    assert max(judges().values()) <= 2
    assert report["remembered"] == len(before) - len(twice)


def test_a_budget_is_kept_and_what_it_left_out_is_said(judges):
    rows, report = judge([row(n) for n in range(30)], order("even", max_calls=10))
    assert judges().total() == 10
    assert report["not_judged"] == 20
    assert sum("judge_status" in row for row in rows) == 10
    assert "20 not judged: --judge-max-calls 10 is used up" in judging_lines(report)[0]
    check_judge(report)


def test_labels_say_what_the_judge_is_worth(judges):
    # Labels by number, too, but for two of them.
    given = [row(n, reward=int(n % 2 == 0) if n > 1 else n) for n in range(20)]
    rows, report = judge([*given, row(30)], order("even"))
    agreement = report["agreement"]
    assert (agreement["n"], agreement["agreed"], agreement["rate"]) == (20, 18, 0.9)
    low, high = agreement["interval95"]
    assert (round(low, 4), round(high, 4)) == (0.699, 0.9721)
    assert (agreement["passed_by_judge_only"], agreement["passed_by_label_only"]) == (1, 1)
    assert [row["reward"] for row in rows[:20]] == [row["reward"] for row in given]
    assert "agrees on 90.0 % [69.9 – 97.2], n = 20" in judging_lines(report)[1]


def test_the_comparison_takes_a_fifth_of_the_calls_at_most(judges):
    given = [row(n, reward=1) for n in range(20)] + [row(n) for n in range(50, 70)]
    _, report = judge(given, order("even", max_calls=10))
    assert report["agreement"]["n"] == 2
    assert report["passed"] + report["failed"] == 8
    _, report = judge(given, order("even", check=0))
    assert report["agreement"]["rate"] is None
    assert report["agreement"]["interval95"] is None


def test_a_judge_is_not_compared_with_itself(judges):
    _, report = judge([row(1, reward=0, judge_name="even")], order("even"))
    assert report["agreement"]["n"] == 0


@pytest.mark.slow
def test_an_endpoint_that_is_gone_leaves_rows_ungraded_and_refuses_the_night():
    rows, report = judge([row(n) for n in range(5)], JudgeOrder("vllm:m@http://127.0.0.1:9"))
    assert not any("reward" in row for row in rows)
    assert report["not_judged"] == 5
    assert "127.0.0.1:9" in report["stopped"]
    with pytest.raises(ModelError, match=r"no verdict on any of 5 rows .*127\.0\.0\.1:9"):
        check_judge(report)


def test_a_judge_that_is_not_there_is_refused_before_the_work(judges):
    for wrong, error in (
        (order("nobody"), InputError),
        (JudgeOrder("os:getcwd"), SettingsError),
        (JudgeOrder("openai:gpt-x"), SettingsError),
        (order("even", max_calls=0), InputError),
    ):
        with pytest.raises(error):
            wrong.examine()
    order("even").examine()


def test_a_night_with_a_judge_splits_and_remembers_as_one_without(judges, tmp_path):
    source = write_jsonl(tmp_path / "a.jsonl", [row(n) for n in range(20)])
    with Workspace("a") as workspace:
        plain = intake(workspace, source)
        found = workspace.discover([str(source)])
        merged = workspace.merge(
            [workspace.normalise(plan) for plan in found.shards], night="2026-11-28"
        )
        judged = anyio.run(
            functools.partial(workspace.judge, merged.rows, order("even"), night="2026-11-28")
        )
        assert {row["row_id"] for row in judged.rows} == {row["row_id"] for row in rows_of(plain)}
        remember(workspace, plain)
        assert intake(workspace, source).changes.rows == 0


def test_a_ledger_of_an_earlier_version_learns_to_remember_judgements(tmp_path):
    path = tmp_path / "ledger.db"
    ledger = Ledger(path, "a")
    ledger.begin_push({"night": "n"})
    ledger.close()
    with sqlite3.connect(path) as database:
        database.execute("DROP TABLE judgements")
    database.close()
    ledger = Ledger(path, "a")
    verdict = {"reward": 1, "status": "ok", "reason": "", "meta": {}}
    ledger.keep_judgements("j", "1", "n", {"r1": verdict})
    ledger.keep_judgements("j", "1", "n", {"r1": {**verdict, "reward": 0}})
    assert ledger.judgements("j", "1", ["r1", "r2"]) == {"r1": verdict}
    assert ledger.judgements("j", "2", ["r1"]) == {}
    assert ledger.pending() == {"night": "n"}
    ledger.close()


def test_the_plan_of_an_earlier_version_is_read(tmp_path, home):
    source = write_jsonl(tmp_path / "a.jsonl", [row(1)])
    with Workspace("a") as workspace:
        plan = intake(workspace, source).to_dict()
    del plan["judging"]
    assert NightPlan.from_dict(plan).result([])["judging"] is None
