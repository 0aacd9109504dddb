"""Which rows are of one task, and which asks are one ask in another spelling."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whileai_core import leakage_report, split_pseudo_production
from whileai_core.quality import pass_at
from whileai_core.rows import task_key
from whileai_core.traces.tasks import canonical_task, fold

NAN = float("nan")


@pytest.mark.parametrize(
    "variant",
    [
        "re-enter \u201cZo\u00eb\u2019s\u201d code",
        're-enter "Zoe\u0308\'s" code',
        "RE\u2011ENTER \u201cZO\u00cb\u2019S\u201d CODE",
        "\ufeffre-\u00adenter\u00a0\u201cZo\u00eb\u2019s\u201d  co\u200bde",
        "\uff52e-enter \u201czo\u00eb\u2032s\u201d code",
    ],
)
def test_spellings_of_one_ask_are_one_task_and_copies(variant: str) -> None:
    ask = 're-enter "Zo\u00eb\'s" code'
    assert canonical_task({"prompt": variant}) == canonical_task({"prompt": ask})
    assert leakage_report([variant], [ask])["max_similarity"] == 1.0


@given(st.text())
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    ("row", "task"),
    [
        ({"scenario_id": 0, "prompt": "a"}, "0"),
        ({"scenario_id": 0.0, "prompt": "a"}, "0"),
        ({"scenario_id": 7.0}, "7"),
        ({"scenario_id": NAN, "task_id": "t"}, "t"),
        ({"scenario_id": NAN, "task_id": None, "prompt": "a"}, "a"),
        ({"scenario_id": False, "task_id": "", "prompt": "a"}, "a"),
        ({"scenario_id": " ", "prompt": "a"}, None),
        ({"scenario_id": [], "prompt": " "}, None),
        ({}, None),
    ],
    ids=str,
)
def test_ids_that_are_given_name_the_task(row: dict[str, Any], task: str | None) -> None:
    assert task_key(row) == task
    assert canonical_task(row) == task


def test_missing_ids_out_of_tables_pool_nothing() -> None:
    rows = [{"prompt": f"ask {n}", "scenario_id": NAN} for n in range(6)]
    production, remainder = split_pseudo_production(rows)
    assert (len(production), len(remainder)) == (1, 5)


def test_pass_rates_and_splits_know_the_same_tasks() -> None:
    rows = [{"prompt": f"ask {n}", "task_id": n % 2, "reward": n > 1} for n in range(8)]
    assert pass_at(rows, k=4).n_groups == 2
