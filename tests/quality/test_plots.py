from base64 import b64decode
from xml.etree import ElementTree

import pytest
from rollouts import graded

from whileai_core.quality import (
    TaskRate,
    data_uri,
    pass_rate_plot,
    pass_rate_text,
    profile_report,
    task_rates,
)

RATES = [TaskRate("b", 4, 4), TaskRate("a <&> \ud800\x00", 1, 4), TaskRate("c" * 80, 0, 4)]


def test_draws_each_task_with_its_interval_and_n() -> None:
    root = ElementTree.fromstring(pass_rate_plot(RATES))
    titles = [element.text for element in root.iter("{http://www.w3.org/2000/svg}title")]
    assert "b: 4 of 4 pass, 95 % interval 51% to 100%" in titles
    assert sum(element.tag.endswith("circle") for element in root.iter()) == 3
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"4/4", "1/4", "0/4"} <= set(texts)


def test_the_same_rates_give_the_same_bytes() -> None:
    assert pass_rate_plot(RATES) == pass_rate_plot(RATES[::-1])


def test_many_tasks_are_drawn_in_part() -> None:
    svg = pass_rate_plot([TaskRate(f"t{i}", i % 5, 4) for i in range(400) if i % 5 < 5 and i % 5])
    assert "(60 of 320 tasks)" in svg
    assert svg.count("<circle") == 60


def test_nothing_graded_is_still_a_picture() -> None:
    assert "no graded row" in pass_rate_plot([])


def test_an_address_holds_the_picture() -> None:
    svg = pass_rate_plot(RATES)
    head, _, content = data_uri(svg).partition(",")
    assert head == "data:image/svg+xml;base64"
    assert b64decode(content).decode() == svg


def test_rates_come_from_a_profile() -> None:
    profile = profile_report([*graded({"a": "1101"}), {"reward": 1}, {"prompt": "ungraded"}])
    assert task_rates(profile["per_task"]) == [
        TaskRate("a", 3, 4),
        TaskRate("(no task key)", 1, 1),
    ]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((3, 4), "75.0 % [30.1 – 95.4], n = 4"),
        ((0, 0), "no graded row, n = 0"),
        ((1, 2, (0.1, 0.9)), "50.0 % [10.0 – 90.0], n = 2"),
    ],
)
def test_a_rate_is_written_with_interval_and_n(arguments: tuple[int, int], text: str) -> None:
    assert pass_rate_text(*arguments) == text


def test_a_rate_of_repeated_tasks_says_how_many() -> None:
    assert pass_rate_text(3, 4, tasks=1).endswith("n = 4 in 1 task")
    assert pass_rate_text(3, 4, tasks=2).endswith("n = 4 in 2 tasks")
