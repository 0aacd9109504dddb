"""`POST /check`: the publish gate's verdict, over rows that are sent and over stored datasets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from whileai_core import jsonio

GOOD = [
    {"prompt": f"q{task}", "task_id": f"t{task}", "final_text": f"a{n}", "reward": n % 2}
    for task in range(6)
    for n in range(4)
]
UNANIMOUS = [{**row, "reward": 1} for row in GOOD]


def stored(user: Any, rows: list[Any]) -> str:
    dataset: str = user.push(b"".join(map(jsonio.dumps_line, rows)))
    return dataset


@pytest.mark.parametrize("how", ["rows", "dataset"])
def test_a_verdict_says_whether_and_why(user: Any, how: str) -> None:
    def check(rows: list[Any], **options: Any) -> Any:
        what = {"rows": rows} if how == "rows" else {"datasetId": stored(user, rows)}
        return user.call("POST", "/check", 200, json=what | options)

    good = check(GOOD)
    assert (good["ok"], good["code"], good["refusal"], good["rows"]) == (True, None, None, 24)
    assert good["report"]["rl_shaped"] is True
    assert good["report"]["calibration"]["n_stamped"] == 24
    refused = check(UNANIMOUS)
    assert (refused["ok"], refused["code"]) == (False, "no_mixed_groups")
    assert refused["refusal"].startswith("no_mixed_groups: ")
    ungraded = check([{"prompt": "q"}], mode="rl")
    assert (ungraded["ok"], ungraded["code"]) == (False, "ungraded_rl_rows")
    assert check([{"prompt": "q"}], mode="sft")["ok"] is True


def test_no_rows_are_nothing_to_train_on(user: Any) -> None:
    empty = user.call("POST", "/check", 200, json={"rows": []})
    assert (empty["ok"], empty["code"]) == (False, "no_rows")


def test_checking_changes_nothing(user: Any) -> None:
    dataset = stored(user, GOOD)
    before = user.fetch(dataset)
    assert user.call("POST", "/check", 200, json={"datasetId": dataset})["datasetId"] == dataset
    user.call("POST", "/check", 200, json={"rows": GOOD})
    assert user.fetch(dataset) == before
    assert user.listed() == [dataset]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"rows": [], "datasetId": "ds"},
        {"rows": "text"},
        {"rows": [1]},
        {"rows": [], "holdout": "0.2"},
        {"rows": [], "holdout": 2},
        {"rows": [], "band": [1]},
        {"rows": [], "endorsed": "x"},
        {"rows": [], "strict_hacks": "yes"},
        {"rows": [], "mode": 7},
        {"rows": GOOD, "mode": "bogus"},
        {"rows": GOOD, "bnad": [0.1, 0.9]},
    ],
)
def test_a_check_that_cannot_be_made_is_refused(user: Any, body: Any) -> None:
    assert set(user.call("POST", "/check", 400, json=body)) == {"error"}


def test_rows_that_no_report_can_repeat(user: Any) -> None:
    deep: Any = {}
    for _ in range(900):
        deep = {"d": deep}
    rows = [{"prompt": "\ud800", "reward": float("inf")}, {"prompt": "p", "x": deep}]
    body = b'{"rows": [{"prompt": "\\ud800", "reward": Infinity}, %b]}' % jsonio.dumps(rows[1])
    verdict = user.call("POST", "/check", 200, content=body)
    assert verdict["rows"] == 2


def test_only_own_finished_datasets_of_a_bearable_size(
    user: Any, new_user: Callable[[], Any], serve_with: Callable[..., Any]
) -> None:
    dataset = stored(user, GOOD)
    new_user().call("POST", "/check", 404, json={"datasetId": dataset})
    unfinished, _ = user.create()
    user.call("POST", "/check", 409, json={"datasetId": unfinished})
    small = serve_with(max_check_bytes=500).user()
    error = small.call("POST", "/check", 413, json={"datasetId": stored(small, GOOD)})
    assert "whileai-pipelines check" in error["error"]
    small.call("POST", "/check", 413, json={"rows": GOOD})
