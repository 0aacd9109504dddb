"""Judging rows: every kind of judge, and a judge that fails is never a 0."""

from __future__ import annotations

import functools
import time

import anyio
import anyio.lowlevel
import pytest
from chat_server import REPEAT

import whileai_core
from whileai_core import ChatEndpoint, ScoredData, Spend, evaluate, sync
from whileai_core.errors import InputError, SettingsError
from whileai_core.simulation.agents import code_version
from whileai_core.simulation.judges import open_judge


def rows(count=4, **extra):
    return [
        {
            "prompt": f"Where is parcel {n}?",
            "steps": [{"tool": "track", "arguments": {"id": n}, "result": {"status": "ok"}}],
            "final_text": f"Parcel {n} is on its way.",
            "scenario_id": f"sc-{n // 2}",
            **extra,
        }
        for n in range(count)
    ]


def judged(given, judge=None, **options):
    return anyio.run(functools.partial(evaluate, given, judge, **options))


class Judge:
    name = "my-judge"
    version = 3

    def __call__(self, row):
        return True


async def of_async(row):
    await anyio.lowlevel.checkpoint()
    return {"reward": 1, "reason": "fine"}


class AsyncJudge:
    async def __call__(self, row):
        return 0.5


@pytest.mark.parametrize(
    ("judge", "name", "reward"),
    [
        (lambda row: True, "lambda_judge", 1),
        (of_async, "of_async", 1),
        (Judge(), "my-judge", 1),
        (AsyncJudge(), "judge", 0.5),
        (functools.partial(of_async), "of_async", 1),
        (lambda row: of_async(row), "lambda_judge", 1),
    ],
)
def test_judges_of_every_kind(judge, name, reward):
    scored = judged(rows(), judge)
    assert isinstance(scored, ScoredData)
    assert [row["reward"] for row in scored] == [reward] * 4
    assert {row["judge_name"] for row in scored} == {name}
    assert {row["judge_status"] for row in scored} == {"ok"}
    assert scored.warnings == []


def raises(row):
    raise ValueError("no idea")


def slow(row):
    time.sleep(1)


@pytest.mark.parametrize(
    ("judge", "status", "meta"),
    [
        (raises, "error", {"error": "ValueError: no idea"}),
        (slow, "timeout", {"seconds": 0.05}),
        (lambda row: "good", "invalid_result", {"returned_type": "str"}),
        (lambda row: None, "invalid_result", {"returned_type": "NoneType"}),
        (lambda row: 7, "invalid_result", {"reward_out_of_range": 7.0}),
        (lambda row: {"verdict": 1}, "missing_reward", {"returned_keys": ["verdict"]}),
    ],
    ids=["raises", "slow", "text", "none", "range", "keys"],
)
def test_a_judge_that_fails_leaves_no_reward_not_even_an_earlier_one(judge, status, meta):
    scored = judged(rows(2, reward=0), judge, timeout=0.05 if judge is slow else None)
    for row in scored:
        assert "reward" not in row
        assert row["judge_status"] == status
        assert row["judge_meta"] == meta
    assert (scored.passes(), scored.failures(), len(scored.unjudged())) == ([], [], 2)
    assert scored.pass_at()["pass_at_1"] is None
    assert "2 of 2 rows got no verdict" in scored.warnings[0]


def test_a_scored_row_is_a_copy_with_a_lineage():
    def judge(row):
        row["steps"].clear()
        verdict = {"reward": 0, "reason": "lost", "failure_class": "late", "markers": {"b": 1}}
        return verdict | {"confidence": 0.9, "judge_meta": {"votes": 3}}

    given = rows(1, markers={"a": 0}, lineage={"system_prompt_sha": "f", "scoring_run_id": "old"})
    before = repr(given)
    (row,) = judged(given, judge, run_id="score_x", model="m-1", judge_name="mine")
    assert repr(given) == before
    assert row["steps"] == given[0]["steps"]
    assert (row["reward"], row["reason"], row["failure_class"]) == (0, "lost", "late")
    assert row["markers"] == {"a": 0, "b": 1}
    assert row["judge_meta"] == {"confidence": 0.9, "votes": 3}
    assert row["lineage"] == {
        "system_prompt_sha": "f",
        "scoring_run_id": "score_x",
        "prior_scoring_run_id": "old",
        "source": "eval",
        "judge": "mine",
        "judge_version": code_version(judge),
        "model": "m-1",
        "parent": "sc-0",
    }


def test_judging_again_replaces_the_earlier_verdict_whole():
    first = judged(rows(1), lambda row: {"reward": 0, "reason": "bad", "failure_class": "x"})
    (row,) = judged(first.rows, lambda row: True)
    assert row["reward"] == 1
    assert not {"reason", "failure_class", "judge_meta"} & set(row)
    assert row["lineage"]["prior_scoring_run_id"].startswith("score_")


def test_ratings_on_a_scale():
    (row,) = judged(rows(1), lambda row: {"rating": 4}, scale=(1, 5))
    assert (row["reward"], row["judge_meta"]) == (0.75, {"rating": 4.0, "scale": [1.0, 5.0]})
    assert judged(rows(1), lambda row: 4, scale=(1, 5)).partials()
    with pytest.raises(InputError, match="scale"):
        judged(rows(1), lambda row: 4, scale=(5, 1))


def test_rows_keep_their_order_and_are_judged_at_once():
    at_once = most = 0

    async def judge(row):
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await anyio.sleep(0.001 * (9 - int(row["prompt"][-2])))
        at_once -= 1
        return row["prompt"].endswith(("0?", "2?"))

    scored = judged(rows(8), judge, concurrency=3)
    assert [row["reward"] for row in scored] == [1, 0, 1, 0, 0, 0, 0, 0]
    assert most == 3


def test_which_of_an_evaluation_set_was_covered():
    wanted = [{"prompt": " WHERE is parcel 1? "}, {"prompt": "And parcel 9?"}]
    scored = judged(rows(), lambda row: True, eval_set=wanted)
    assert scored.eval_coverage == {"eval_set": 2, "covered": 1, "missing": ["And parcel 9?"]}


@pytest.mark.parametrize("options", [{}, {"judge": raises, "grader": raises}])
def test_one_judge_exactly(options):
    with pytest.raises(InputError, match="one of the two"):
        judged(rows(), **options)


def test_a_grader_is_a_judge_by_its_older_name():
    assert judged(rows(1), grader=lambda row: 1).passes()


def test_what_is_no_judge_is_refused_before_any_row_is_judged():
    for wrong, error in ((7, InputError), ("no judge", InputError), ("os:getcwd", SettingsError)):
        with pytest.raises(error):
            judged(rows(), wrong)
    with pytest.raises(InputError, match="row 1"):
        judged([{}, "x"], raises)


def test_a_budget_keeps_what_was_judged_and_says_what_was_not():
    scored = judged(rows(), lambda row: True, spend=Spend(max_calls=3), concurrency=1)
    assert [row["judge_status"] for row in scored] == ["ok", "ok", "ok", "skipped"]
    assert "reward" not in scored.rows[3]
    assert "max_calls" in scored.warnings[0]
    assert "1 of 4 rows were not judged" in scored.warnings[1]


def test_the_result_object(tmp_path):
    values = iter([1, 0, 0.5, None])
    scored = judged(rows(), lambda row: next(values), concurrency=1)
    counts = map(len, (scored.passes(), scored.failures(), scored.partials(), scored.unjudged()))
    assert list(counts) == [1, 1, 1, 1]
    assert scored.traces == scored.failed_traces() == scored.failures()
    assert len(scored) == 4


def test_pass_rates_go_by_the_k_that_most_tasks_reach():
    given = [{"prompt": p, "scenario_id": p} for p in ("a",) * 2 + ("b",) * 8 + ("c",) * 8]
    scored = judged(given, lambda row: row["prompt"] == "b")
    assert scored.pass_at()["k"] == 8
    assert scored.pass_at(k=2, min_k=2)["k"] == 2
    assert scored.pass_at()["pass_pow_k"] == pytest.approx(0.5)


def test_rows_without_any_key_are_tasks_of_their_own_and_booleans_count():
    given = [{"final_text": str(n)} for n in range(6)]
    rates = judged(given, lambda row: int(row["final_text"]) < 3).pass_at()
    assert (rates["n_groups"], rates["n_rows"], rates["pass_at_1"]) == (6, 6, 0.5)
    assert ScoredData([{"final_text": "x", "reward": True}]).passes()


def test_scored_rows_can_be_pushed(home):
    scored = judged(rows(), lambda row: True)
    entry = anyio.run(functools.partial(scored.push, "graded", purpose="eval"))
    pulled = sync.pull(entry["datasetId"])
    assert [row["reward"] for row in pulled] == [1] * 4


def test_blocking_and_lazy_forms_are_the_same_operation():
    assert sync.evaluate(rows(1), lambda row: True).passes()
    assert whileai_core.evaluate is evaluate


# -- a model by rubric


def test_a_model_judges_by_a_rubric(chat):
    chat.script(
        "judge",
        'Sure. {"reward": 1, "reason": "done"}',
        '```json\n{"reward": "0", "reason": "lied"}\n```',
        '<think>{"reward": 1}</think> It was fine.',
        '{"reward": 7}',
    )
    endpoint = ChatEndpoint(chat.url, "judge")
    spend = Spend()
    scored = judged(
        rows(system="Never lie."), endpoint, rubric="Be exact.", spend=spend, concurrency=1
    )
    assert [row.get("reward") for row in scored] == [1, 0, None, None]
    assert [row["judge_status"] for row in scored] == [
        "ok",
        "ok",
        "invalid_result",
        "invalid_result",
    ]
    assert scored.rows[1]["reason"] == "lied"
    assert scored.rows[0]["judge_name"] == "rubric:judge"
    assert spend.report()["calls_by_role"] == {"judge": 4}
    request = chat.seen[0]
    assert (request["temperature"], request["max_tokens"]) == (0.0, 120)
    system, talk = (message["content"] for message in request["messages"])
    assert "Be exact." in system
    assert "Never lie." in system
    assert 'TOOL CALL: track {"id": 0}' in talk
    assert 'TOOL RESULT: {"status": "ok"}' in talk
    assert talk.count("Parcel 0 is on its way.") == 1


def test_a_judge_that_thinks_long_is_given_room(chat):
    chat.script("judge", {"text": "<think>hm", "finish": "length"}, '{"reward": 1}')
    scored = judged(rows(1), ChatEndpoint(chat.url, "judge"))
    assert scored.passes()
    assert chat.seen[1]["max_tokens"] > chat.seen[0]["max_tokens"]


def test_long_talks_keep_their_start_and_their_end(chat):
    chat.script("judge", '{"reward": 1}', REPEAT)
    steps = [{"text": f"turn {n} " + "x" * 300} for n in range(100)]
    judged([{"prompt": "the ask", "steps": steps, "final_text": "the end"}], judge_of(chat))
    talk = chat.seen[0]["messages"][1]["content"]
    assert "the ask" in talk
    assert "the end" in talk
    assert len(talk) < 8200


def test_an_endpoint_that_dies_keeps_what_was_judged_and_says_so(chat):
    chat.script("judge", '{"reward": 1}', '{"reward": 0}', {"status": 401}, REPEAT)
    scored = judged(rows(), judge_of(chat), concurrency=1)
    statuses = [row["judge_status"] for row in scored]
    assert statuses == ["ok", "ok", "skipped", "skipped"]
    assert scored.pass_at()["n_rows"] == 2
    assert "judging ended early" in scored.warnings[0]
    assert "401" in scored.warnings[0]


def test_a_fault_of_one_call_is_an_error_of_one_row(chat):
    chat.script("judge", {"status": 400, "error": {"message": "odd"}}, '{"reward": 1}')
    scored = judged(rows(2), judge_of(chat), concurrency=1)
    assert [row["judge_status"] for row in scored] == ["error", "ok"]


def judge_of(chat):
    return f"vllm:judge@{chat.url}"


def test_versions_change_with_what_decides(chat):
    async def version(**options):
        async with open_judge(judge_of(chat), **options) as judge:
            return judge.version

    versions = [
        anyio.run(functools.partial(version, **options))
        for options in ({}, {}, {"rubric": "x"}, {"policy": "y"}, {"tools": [raises]})
    ]
    assert versions[0] == versions[1]
    assert len(set(versions)) == 4
    assert code_version(Judge()) == "3"
    assert code_version(raises) == code_version(raises)
    assert code_version(raises) != code_version(slow)
