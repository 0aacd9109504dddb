"""The operations on rows read what is no row yet, and never count it as an empty one."""

from __future__ import annotations

from typing import Any

import pytest

from whileai_core import (
    drop_leaky_rows,
    flaw_rows,
    infer_harness,
    leakage_report,
    mine_traces,
    tools_from_traces,
)

ASK = "Pay invoice 7"
CHAT = [
    {"role": "user", "content": ASK},
    {
        "role": "assistant",
        "tool_calls": [{"id": "1", "function": {"name": "pay", "arguments": '{"invoice": 7}'}}],
    },
    {"role": "tool", "tool_call_id": "1", "content": '{"status": "timeout"}'},
]
SPANS = [
    {
        "traceId": "a1",
        "spanId": "1",
        "name": "chat",
        "startTimeUnixNano": "5",
        "attributes": {"gen_ai.prompt": ASK, "gen_ai.completion": "It timed out."},
    },
    {
        "traceId": "a1",
        "spanId": "2",
        "name": "pay",
        "startTimeUnixNano": "6",
        "attributes": {
            "tool.name": "pay",
            "tool.input": '{"invoice": 7}',
            "tool.output": '{"status": "timeout"}',
        },
    },
]
BATCH = {"resourceSpans": [{"scopeSpans": [{"spans": SPANS}]}]}
SHAPES: dict[str, Any] = {
    "spans": SPANS,
    "a batch": BATCH,
    "batches": [BATCH, BATCH],
    "the messages of one conversation": CHAT,
    "lists of messages": [CHAT],
    "rows with messages": [{"messages": CHAT}],
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("wrap", [lambda items: items, iter], ids=["given", "iterator"])
def test_what_makes_a_row_together_is_put_together(shape: str, wrap: Any) -> None:
    source = SHAPES[shape]

    def given() -> Any:
        return source if isinstance(source, dict) else wrap(source)

    mined = mine_traces(given())
    assert (mined["n"], mined["asks"], mined["faults"]) == (1, [ASK], {"timeout": 1})
    assert mined["tools"] == {"pay": {"n": 1, "fault_n": 1}}
    assert len(flaw_rows(given())) == 1
    (tool,) = tools_from_traces(given())
    assert list(tool["function"]["parameters"]["properties"]) == ["invoice"]
    assert infer_harness(given())["observed_calls"] == {"pay": 1}


@pytest.mark.parametrize("shape", SHAPES)
def test_copies_are_found_in_what_is_no_row_yet(shape: str) -> None:
    assert leakage_report([ASK, "Rent a boat"], SHAPES[shape])["n_leaky"] == 1
    if shape != "the messages of one conversation":  # to the gate these are single items
        kept, report = drop_leaky_rows(SHAPES[shape], [ASK])
        assert (kept, report["n_leaky"]) == ([], 1)


def test_items_that_are_no_rows_keep_their_places() -> None:
    rows = [None, {"note": "empty"}, {"prompt": "bad", "reward": 0}, "text", ["a", "b"]]
    assert mine_traces(rows)["n"] == 5
    assert mine_traces(rows)["flaw_rows"] == [2]
