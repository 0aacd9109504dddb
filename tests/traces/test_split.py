from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import items

from whileai_core import split_pseudo_production
from whileai_core.traces.mining import is_flawed
from whileai_core.traces.split import flaw_kind
from whileai_core.traces.tasks import canonical_task


@given(
    st.lists(items, max_size=14),
    st.sampled_from([-1, 0, 0.1, 0.5, 1, 3]),
    st.sampled_from([0, 7, "x"]),
)
def test_split_loses_nothing_and_keeps_tasks_whole(rows, fraction, seed):
    held, rest = split_pseudo_production(rows, fraction=fraction, seed=seed)
    objects = [row for row in rows if isinstance(row, dict)]
    assert sorted(map(id, held + rest)) == sorted(map(id, objects))
    assert [id(row) for row in objects if any(row is other for other in held)] == list(
        map(id, held)
    )
    tasks = [{canonical_task(row) for row in side} - {None} for side in (held, rest)]
    assert not tasks[0] & tasks[1]
    kinds = {flaw_kind(row) for row in objects if is_flawed(row)}
    assert kinds <= {flaw_kind(row) for row in held}
    if fraction > 0 and objects:
        assert len(held) >= max(1, min(len(objects), round(fraction * len(objects))))
    assert split_pseudo_production(rows, fraction=fraction, seed=seed) == (held, rest)


def test_case_spacing_unicode_form_and_messages_make_no_new_task():
    asks = ["Reset caf\u00e9 wifi", "reset  cafe\u0301 WIFI "]
    rows = [{"prompt": ask, "steps": []} for ask in asks]
    rows.append({"messages": [{"role": "user", "content": asks[0]}]})
    rows += [{"prompt": f"other {n}", "steps": []} for n in range(3)]
    for seed in range(8):
        held, rest = split_pseudo_production(rows, fraction=0.5, seed=seed)
        assert sum(row in held for row in rows[:3]) in (0, 3)
        assert len(held) + len(rest) == 6


def test_an_id_of_zero_is_an_id():
    rows = [{"prompt": f"{n}", "scenario_id": n % 2} for n in range(8)]
    held, _ = split_pseudo_production(rows, fraction=0.3)
    assert len({row["scenario_id"] for row in held}) == 1
    assert len(held) == 4


def test_surrogates_do_not_stop_a_split():
    rows = [
        {"prompt": "bad \udcb2", "scenario_id": "s\udcb2"},
        {"prompt": "\udcb2"},
        {"prompt": "c"},
    ]
    held, rest = split_pseudo_production(rows)
    assert len(held) + len(rest) == 3


def test_says_when_nothing_is_left_to_train_on(caplog):
    statuses = ["timeout", "denied", "missing", "failed"]
    rows = [
        {"prompt": s, "steps": [{"tool": "t", "arguments": {}, "result": {"status": s}}]}
        for s in statuses
    ]
    assert split_pseudo_production(rows) == (rows, [])
    assert "nothing is left to train on" in caplog.text


@pytest.mark.parametrize("fraction", [float("nan"), float("inf")])
def test_a_share_must_be_a_number(fraction):
    with pytest.raises(ValueError, match="fraction"):
        split_pseudo_production([{"prompt": "a"}], fraction=fraction)
    with pytest.raises(TypeError):
        split_pseudo_production(None)
