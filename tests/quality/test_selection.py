import pytest
from hypothesis import given
from hypothesis import strategies as st
from rollouts import graded, rollouts

from whileai_core.errors import InputError
from whileai_core.quality import calibrate, group_signal, select_for_rl, split_holdout
from whileai_core.quality.sides import bucket, split_key

TASKS = {"easy": "1110", "even": "1010", "hard": "0001", "always": "1111", "never": "0000"}


def test_signal_sorts_tasks_and_carries_intervals() -> None:
    signal = group_signal(graded({**TASKS, "lone": "1"}), lo=0.3, hi=0.7)
    assert (signal.n_groups, signal.n_mixed, signal.n_in_band) == (6, 3, 1)
    assert signal["mixed_rate"] == pytest.approx(3 / 5)
    assert signal["interval95"][0] < signal["pass_at_1"] < signal["interval95"][1]


@given(st.dictionaries(st.text("abc", min_size=1), st.text("01", min_size=1, max_size=5)))
def test_every_graded_task_is_in_one_class(tasks: dict[str, str]) -> None:
    signal = group_signal(graded(tasks))
    classes = ("n_single", "n_mixed", "n_all_zero", "n_all_one")
    assert sum(signal[name] for name in classes) == signal["n_groups"] == len(tasks)


def test_selection_keeps_mixed_tasks_whole_and_in_order() -> None:
    rows = rollouts(TASKS)
    selected, report = select_for_rl(rows)
    assert selected == rows[:12]
    assert report["groups_selected"] == 3
    hardest, _ = select_for_rl(rows, order="hardest")
    assert [row["scenario_id"] for row in hardest[::4]] == ["hard", "even", "easy"]
    easiest, _ = select_for_rl(rows, order="easiest")
    assert [row["scenario_id"] for row in easiest[::4]] == ["easy", "even", "hard"]


def test_selection_respects_the_band_and_drops_collapsed_tasks() -> None:
    rows = rollouts(TASKS)
    for row in rows[4:8]:
        row["final_text"] = "always the same"
    selected, report = select_for_rl(rows, lo=0.3, hi=0.9)
    assert {row["scenario_id"] for row in selected} == {"easy"}
    assert report["collapsed_groups_dropped"] == 1
    assert report["band_dropped"] == {"too_easy": 0, "too_hard": 1}


def test_unknown_orders_are_refused() -> None:
    with pytest.raises(InputError, match="known: given, hardest, easiest"):
        select_for_rl([], order="zig")


def test_calibration_counts_and_stamps() -> None:
    rows = [*rollouts(TASKS), {"scenario_id": "even", "reward": 0.5}]
    report = calibrate(rows, model="m-1")
    assert (report.n_tasks, report.n_stamped, report.n_unstamped) == (5, 20, 1)
    assert report.student["model"] == "m-1"
    assert "calibration" not in report.rows[-1]
    assert all("calibration" not in row for row in rows)


@given(st.lists(st.text(max_size=8), max_size=30), st.floats(0.05, 0.95))
def test_split_keeps_tasks_whole_and_loses_nothing(ids: list[str], fraction: float) -> None:
    rows = [{"scenario_id": name, "n": place} for place, name in enumerate(ids)]
    try:
        train, held = split_holdout(rows, fraction)
    except InputError as error:
        assert "leaves no rows to train on" in str(error)
        return
    assert sorted(row["n"] for row in train + held) == list(range(len(rows)))
    assert not {split_key(row) for row in train} & {split_key(row) for row in held}


@pytest.mark.parametrize(
    ("key", "place"),
    [("s0", 0.922255205), ("p0", 0.088308067), ("", 0.889415996), ("漢字", 0.776650872)],
)
def test_places_of_keys_are_the_documented_ones(key: str, place: float) -> None:
    assert bucket(key) == pytest.approx(place, abs=2e-9)


def test_the_first_id_that_says_something_is_the_key() -> None:
    assert split_key({"scenario_id": 3, "prompt": "a"}) == "3"
    assert split_key({"task_id": "", "prompt": "b"}) == "b"
    assert split_key({}) == ""


@pytest.mark.parametrize("fraction", [0, None, False])
def test_nothing_is_held_out_on_request(fraction: float | None) -> None:
    rows = graded(TASKS)
    assert split_holdout(rows, fraction) == (rows, [])
