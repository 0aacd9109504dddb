"""The registry: who claims what, and that broken data never raises."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from record_cases import DATA

from whileai_core import jsonio
from whileai_core.dialects.reading import RowItem, SpanItem, read_items
from whileai_core.dialects.records.reader import Reader, Unread
from whileai_core.dialects.registry import (
    RECORD_DIALECTS,
    SESSION_DIALECTS,
    record_dialect,
    session_dialect,
)
from whileai_core.sources.items import Ignored, Reject

FILES = sorted(path for path in DATA.rglob("*.json*") if path.is_file())


def values_in(path: Path) -> list[Any]:
    if path.suffix == ".jsonl":
        return [jsonio.loads(line) for line in path.read_bytes().splitlines()]
    value = jsonio.loads(path.read_bytes())
    return value if isinstance(value, list) else [value]


def dialects_of(values: list[Any]) -> list[tuple[Reader, Any]]:
    session = session_dialect(values[:8])
    if session is not None:
        return [(session, values)]
    return [(dialect, value) for value in values if (dialect := record_dialect(value)) is not None]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_fixture_is_claimed_by_its_producer(path: Path) -> None:
    found = dialects_of(values_in(path))
    assert {dialect.name for dialect, _ in found} == {path.parent.name}


def test_every_dialect_has_a_fixture() -> None:
    folders = {path.parent.name for path in FILES}
    assert {dialect.name for dialect in (*RECORD_DIALECTS, *SESSION_DIALECTS)} == folders


@pytest.mark.parametrize(
    "value",
    [
        {"prompt": "Hi", "steps": [{"text": "Hello"}], "final_text": "Hello", "reward": 1},
        {"messages": [{"role": "user", "content": "Hi"}], "tools": []},
        {"prompt": "Hi", "response": "Hello"},
        {"question": "Hi", "answer": "Hello", "trace": [{"tool": "t", "input": {}}]},
        {"input": "Hi", "output": "Hello", "id": 1, "timestamp": "2026-03-01"},
        {"conversations": [{"from": "human", "value": "Hi"}]},
        {"history": [{"role": "user", "content": "Hi"}], "data": None, "events": []},
        {"resourceSpans": []},
        [],
        "text",
        None,
    ],
)
def test_plain_rows_are_nobodys_dialect(value: object) -> None:
    assert record_dialect(value) is None
    assert session_dialect([value]) is None


def test_an_empty_file_is_nobodys_session() -> None:
    assert session_dialect([]) is None


JUNK = st.sampled_from(
    [None, 0, -1.5, True, "", "x", "{", '["a"]', [], {}, [None], [[1]], {"a": 1}]
)


@st.composite
def broken(draw: st.DrawFn) -> list[Any]:
    """A fixture with a few of its places dropped, replaced or doubled."""
    values = copy.deepcopy(values_in(draw(st.sampled_from(FILES))))
    for _ in range(draw(st.integers(1, 4))):
        holder: Any = values
        while True:
            keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            inner = holder[key]
            if isinstance(inner, dict | list) and inner and draw(st.integers(0, 3)):
                holder = inner
                continue
            if draw(st.booleans()):
                holder[key] = copy.deepcopy(draw(JUNK))
            else:
                del holder[key]
            break
    return values


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(broken())
def test_broken_records_give_fewer_rows_but_never_raise(values: list[Any]) -> None:
    for dialect, value in dialects_of(values):
        for row in dialect.rows(value):
            assert isinstance(row["prompt"], str)
            assert isinstance(row["final_text"], str)
            assert all(isinstance(step, dict) for step in row["steps"])
            jsonio.dumps(row["steps"])


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(broken(), st.sampled_from(["", "data", "conversations", "message"]))
def test_broken_files_are_read_to_their_end(values: list[Any], holder: str) -> None:
    given_values: Any = {holder: values} if holder else values
    for item in read_items(jsonio.text(given_values)):
        assert isinstance(item, RowItem | SpanItem | Reject | Ignored)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(broken(), st.sampled_from((*RECORD_DIALECTS, *SESSION_DIALECTS)))
def test_a_dialect_given_anothers_records_does_not_raise(
    values: list[Any], dialect: Reader
) -> None:
    list(dialect.rows(values))
    for value in values[:3]:
        list(dialect.rows(value))


def test_a_broken_conversation_is_told_and_does_not_cost_its_neighbours() -> None:
    def row(part: Any) -> dict[str, Any]:
        return {"prompt": part["ask"], "steps": [], "final_text": ""}

    reader = Reader("x", bool, lambda value: value, row)
    assert list(reader.read([{"ask": "a"}, {}, {"ask": "b"}])) == [
        {"prompt": "a", "steps": [], "final_text": "", "dialect": "x"},
        Unread("KeyError: 'ask'"),
        {"prompt": "b", "steps": [], "final_text": "", "dialect": "x"},
    ]
    assert [r["prompt"] for r in reader.rows([{"ask": "a"}, {}])] == ["a"]
    assert list(reader.rows(7)) == []


def test_rows_are_strict_json() -> None:
    value = {
        "task_id": 1,
        "traj": [
            {"role": "user", "content": "lone \ud800 half"},
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]},
            {"role": "tool", "content": {"share": float("nan")}},
        ],
    }
    dialect = record_dialect(value)
    assert dialect is not None
    (row,) = dialect.rows(value)
    assert row["prompt"] == "lone \ufffd half"
    assert row["steps"][1]["result"] == {"share": None}


@pytest.mark.parametrize("name", ["claude-code/session.jsonl", "codex/rollout.jsonl"])
def test_a_line_of_an_unknown_kind_does_not_hide_a_session(name: str) -> None:
    values = values_in(DATA / name)
    known = session_dialect(values[:8])
    assert known is not None
    assert session_dialect([{"type": "a-later-invention", "x": 1}, *values[:7]]) is known
    assert list(known.rows([{"type": "a-later-invention"}, *values])) == list(known.rows(values))
