from __future__ import annotations

import itertools
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import items

from whileai_core import flaw_rows, mine_traces
from whileai_core.traces.mining import Counts, count_traces
from whileai_core.traces.report import report_from_counts


def _call(result, **arguments):
    return {"tool": "find", "arguments": arguments, "result": result}


@given(st.lists(items, max_size=12), st.data())
def test_any_grouping_of_shards_counts_the_same(rows, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=3)))
    bounds = [0, *cuts, len(rows)]
    parts = [count_traces(rows[a:b]) for a, b in itertools.pairwise(bounds)]
    left = Counts()
    for part in parts:
        left.merge(part)
    right = Counts()
    for part in reversed(parts):
        head = pickle.loads(pickle.dumps(part))
        head.merge(right)
        right = head
    whole = count_traces(rows)
    assert left.result() == right.result() == whole.result() == mine_traces(rows)
    assert report_from_counts(left) == report_from_counts(right) == report_from_counts(whole)


@given(st.lists(items, max_size=8))
def test_flaw_rows_are_the_objects_at_the_mined_positions(rows):
    flawed = flaw_rows(rows)
    assert [id(row) for row in flawed] == [id(rows[i]) for i in mine_traces(rows)["flaw_rows"]]


def test_names_keep_the_order_of_first_sight():
    mined = mine_traces(
        [
            {"prompt": " b ", "steps": [_call({"status": "timeout"})], "world_state": " odd "},
            {"prompt": "a", "steps": [{"tool": "aa", "arguments": {}, "result": {"stale": 1}}]},
            {"prompt": "b", "steps": [], "reward": 0},
        ]
    )
    assert list(mined["tools"].items()) == [
        ("find", {"n": 1, "fault_n": 1}),
        ("aa", {"n": 1, "fault_n": 1}),
    ]
    assert list(mined["faults"]) == ["timeout", "stale"]
    assert mined["asks"] == ["b", "a"]
    assert mined["world_states"] == {"odd": 1}
    assert mined["flaw_rows"] == [0, 1, 2]


def test_iterators_single_rows_and_messages_are_read():
    row = {"prompt": "a", "steps": [], "reward": 0}
    assert mine_traces(iter([row]))["flaw_rows"] == [0]
    assert mine_traces(row)["n"] == 1
    chat = {"messages": [{"role": "user", "content": "go"}], "reward": 0}
    assert flaw_rows([None, chat]) == [chat]
    assert mine_traces([chat])["asks"] == ["go"]


def test_steps_spelled_another_way_are_counted():
    own = {"tool": "t", "arguments": {}, "result": "fine"}
    other = {"tool": "t", "input": {"a": 1}, "output": {"status": "denied"}}
    assert mine_traces([{"prompt": "p", "steps": [own, other]}])["faults"] == {"deny": 1}


def test_one_span_batch_is_read_as_its_conversations():
    span = {
        "traceId": "ab01",
        "spanId": "01",
        "name": "execute_tool find",
        "attributes": {"gen_ai.tool.name": "find", "gen_ai.tool.call.arguments": '{"id": 1}'},
    }
    mined = mine_traces({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
    assert list(mined["tools"]) == ["find"]


@pytest.mark.parametrize("nothing", [None, 7])
def test_what_holds_no_rows_is_refused(nothing):
    with pytest.raises(TypeError, match="rows"):
        mine_traces(nothing)
    with pytest.raises(TypeError, match="rows"):
        flaw_rows(nothing)


def test_deep_and_odd_values_are_counted():
    deep: object = []
    for _ in range(20_000):
        deep = [deep]
    row = {"prompt": "p", "steps": [_call(deep), _call({"status": deep}, x=deep)]}
    mined = mine_traces(
        [row, {"prompt": "q", "steps": [_call(float("nan"))], "reward": float("nan")}]
    )
    assert mined["tools"]["find"]["n"] == 3
    assert mined["unique_behaviors"] == 2


def test_behaviours_differ_by_where_arguments_came_from():
    def row(first, second):
        return {
            "prompt": "Find order 17",
            "steps": [_call({"status": "ok", "owner": "Mira K"}, id=first), _call(None, id=second)],
        }

    rows = [row("17", "mira k"), row("17", "Mira"), row("17", "Jo"), row("17", ""), row("9", "17")]
    # user+derived (twice), user+invented, user+absent, invented+user
    assert mine_traces(rows)["unique_behaviors"] == 4
