import json

import pytest
from rollouts import graded

from whileai_core.errors import InputError
from whileai_core.quality import pass_at

FIVE = graded({"a": "1101", "b": "0010", "c": "1111", "d": "0101", "e": "0000"})


def test_rates_of_five_tasks() -> None:
    report = pass_at(FIVE)
    assert report.k == 4
    assert report.pass_at_1 == pytest.approx(0.5)
    assert report.pass_pow_k == pytest.approx(0.2)
    assert report.pass_at_k == pytest.approx(0.8)
    assert report.headroom == pytest.approx(0.3)
    assert (report.n_groups, report.n_rows) == (5, 20)


def test_smaller_k_counts_subsets() -> None:
    report = pass_at(FIVE, k=2, min_k=2)
    assert report["pass_pow_k"] == pytest.approx(1 / 3)
    assert report["pass_at_k"] == pytest.approx(2 / 3)


def test_names_the_interval_to_read() -> None:
    report = pass_at(FIVE)
    low, high = report[report["recommended"]]
    assert low < report["pass_at_1"] < high
    assert pass_at([])["recommended"] is None


def test_every_rate_has_an_interval_that_holds_it() -> None:
    report = pass_at(FIVE)
    for rate, interval in [
        ("pass_at_1", "interval95"),
        ("pass_pow_k", "pass_pow_k_interval95"),
        ("pass_at_k", "pass_at_k_interval95"),
    ]:
        assert report[interval][0] <= report[rate] <= report[interval][1]


def test_prints_one_line_with_intervals_and_n() -> None:
    line = str(pass_at(FIVE))
    assert line.startswith("pass@1 0.50 [")
    assert "pass^4 0.20 [" in line
    assert "(5 tasks, 20 rows, k=4)" in line
    assert "\n" not in line


def test_is_json_and_says_what_it_was_measured_with() -> None:
    rows = [{**row, "policy_version": "bot@1", "sampling": {"temperature": 0.5}} for row in FIVE]
    rows[0]["sampling"] = {"temperature": 1.0}
    config = json.loads(json.dumps(pass_at(rows)))["config"]
    assert config["policy_version"] == "bot@1"
    assert config["temperature"] is None
    assert config["mixed"] == ["temperature"]
    assert config["graded_share"] == 1.0


def test_unanimous_tasks_do_not_collapse_the_interval() -> None:
    report = pass_at(graded({"a": "1111", "b": "1111", "c": "1111"}))
    assert report["ci95"] == pytest.approx([0.4385, 1.0], abs=1e-4)
    assert report["ci95_method"] == "wilson over tasks"
    assert report["pass_pow_k_ci95"] == report["ci95"]
    assert report["note"].startswith("all 12 graded rows pass")


def test_two_tasks_have_no_interval_over_tasks_but_one_over_rows() -> None:
    report = pass_at(graded({"a": "1100", "b": "1110"}))
    assert report["ci95"] is None
    assert report["rows_ci95"] == pytest.approx([0.3057, 0.8632], abs=1e-3)
    assert "2 tasks say nothing about others" in report["note"]


def test_uneven_tasks_keep_pass_k_at_the_k_half_of_them_reach() -> None:
    report = pass_at(graded({"a": "10", "b": "1101", "c": "0111", "d": "1111"}))
    assert report["k"] == 2
    assert report["pass_pow_k"] is None
    common = report["common_k"]
    assert (common["k"], common["n_groups_at_k"]) == (4, 3)
    assert common["pass_pow_k"] == pytest.approx(1 / 3)
    assert common["pass_pow_k_interval95"][0] < 1 / 3 < common["pass_pow_k_interval95"][1]
    assert "3 tasks reach k=4" in report["note"]


def test_short_unanimous_tasks_may_stand_for_their_value() -> None:
    report = pass_at(graded({"a": "11", "b": "1101"}), k=4, unanimous_short=True)
    assert report["n_groups_imputed"] == 1
    assert report["pass_pow_k"] == pytest.approx(0.5)


def test_booleans_are_labels() -> None:
    rows = [{"task_id": row["task_id"], "reward": bool(row["reward"])} for row in FIVE]
    assert pass_at(rows)["pass_at_1"] == pytest.approx(0.5)


def test_rows_without_a_task_key_are_tasks_of_their_own() -> None:
    report = pass_at([{"reward": 1}, {"reward": 0}, {"reward": 1}, {"reward": 1}])
    assert report["n_groups"] == 4
    assert report["k"] == 1


def test_partial_grades_are_counted_and_left_out() -> None:
    report = pass_at([*FIVE, {"task_id": "a", "reward": 0.5}])
    assert report["n_partial"] == 1
    assert report["n_rows"] == 20
    assert "1 rows have a grade between 0 and 1" in report["note"]


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_k_has_to_be_a_count(k: object) -> None:
    with pytest.raises(InputError, match="k="):
        pass_at(FIVE, k=k)  # type: ignore[arg-type]
