"""Tables by column, as data frames write themselves, are as many rows as they have."""

from __future__ import annotations

import json

import pytest

from whileai_core import load_traces

RECORDS = [
    {
        "messages": [
            {"role": "user", "content": f"Where is PX-{n}?"},
            {"role": "assistant", "content": f"In Leeds, {n}."},
        ],
        "reward": n % 2,
    }
    for n in range(3)
]
COLUMNS = list(RECORDS[0])
LAYOUTS = {
    "columns": {key: {str(n): row[key] for n, row in enumerate(RECORDS)} for key in COLUMNS},
    "some rows": {key: {str(7 * n): row[key] for n, row in enumerate(RECORDS)} for key in COLUMNS},
    "split": {"columns": COLUMNS, "index": [0, 1, 2], "data": [[*r.values()] for r in RECORDS]},
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_table_by_column_is_its_rows(layout: str) -> None:
    assert load_traces(json.dumps(LAYOUTS[layout])) == load_traces(RECORDS)


def test_a_row_whose_fields_are_objects_is_a_row() -> None:
    row = {"metadata": {"0": "a"}, "prompt": "Where?", "final_text": "Here."}
    assert [found["prompt"] for found in load_traces(json.dumps(row))] == ["Where?"]


def test_a_table_of_asks_and_answers_in_the_schema_is_read() -> None:
    table = {"prompt": {"0": "Where?", "1": "When?"}, "final_text": {"0": "Here.", "1": "Now."}}
    assert [row["final_text"] for row in load_traces(json.dumps(table))] == ["Here.", "Now."]
