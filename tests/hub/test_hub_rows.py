"""What is in the files of a published split: exact rows, and columns others can use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hub_kit import ROWS, checkout, publication, texts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from local_hub import LocalHub

from whileai_core.errors import InputError
from whileai_core.hub.client import Hub
from whileai_core.hub.columns import COLUMNS, columns_of
from whileai_core.hub.measure import leakage, measure, prompts_in
from whileai_core.hub.parquet import write_shards
from whileai_core.hub.publish import publish
from whileai_core.hub.readback import rows_back, texts_in

_NUMBERS = (
    st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans() | st.none()
)
_VALUES = st.recursive(
    _NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_STEPS = st.lists(
    st.fixed_dictionaries(
        {"tool": st.text(), "arguments": st.dictionaries(st.text(), _VALUES, max_size=3)},
        optional={"result": _VALUES},
    )
    | st.fixed_dictionaries({"user": st.text()})
    | st.fixed_dictionaries({"text": _VALUES}),
    max_size=4,
)
_ROWS = st.fixed_dictionaries(
    {},
    optional={
        "prompt": st.text() | _VALUES,
        "steps": _STEPS | _VALUES,
        "final_text": st.text() | _VALUES,
        "reward": _NUMBERS,
        "tools": _VALUES,
        "ts": _VALUES,
        "system": _VALUES,
        "other": _VALUES,
    },
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(_ROWS | _VALUES, min_size=1, max_size=4))
def test_any_json_comes_back_as_it_was(tmp_path: Path, rows: list[Any]) -> None:
    lines = texts(rows)
    (file,) = write_shards(lines, tmp_path, "train").files.values()
    assert list(texts_in(file)) == lines
    back = [json.loads(line) for line in texts_in(file)]
    assert json.dumps(back, sort_keys=True) == json.dumps(rows, sort_keys=True)


@settings(max_examples=60)
@given(st.lists(_ROWS | _VALUES, min_size=1, max_size=4))
def test_any_json_can_be_measured(rows: list[Any]) -> None:
    numbers, _ = measure(texts(rows), mode=None)
    assert numbers["rows"] == len(rows)
    json.dumps(numbers, allow_nan=False)
    report = leakage(prompts_in(texts(rows)), ["a", "b"])
    assert report["n_leaky"] <= len(rows)


@pytest.mark.parametrize(
    "line",
    [
        '{"a": 18446744073709551616, "b": 1e400, "c": 0.1000, "d": 1E5, "e": -0.0}',
        '{"prompt": "\\ud800", "steps": [{"text": "\\udc00"}], "final_text": NaN}',
        '{"prompt": ' + "[" * 400 + "]" * 400 + "}",
        '{"prompt": "a", "prompt": "b"}',
        '"text"',
        "null",
    ],
)
def test_the_text_of_a_line_is_kept_to_the_letter(tmp_path: Path, line: str) -> None:
    (file,) = write_shards([line], tmp_path, "train").files.values()
    assert list(texts_in(file)) == [line]


def test_rows_go_into_shards_of_a_size(tmp_path: Path) -> None:
    lines = texts([{"prompt": f"{n}", "final_text": "x" * 500} for n in range(2500)])
    shards = write_shards(lines, tmp_path, "train", shard_bytes=500_000)
    assert list(shards.files) == [f"data/train-0000{n}-of-00003.parquet" for n in range(3)]
    assert [text for file in shards.files.values() for text in texts_in(file)] == lines
    assert shards.rows == 2500


def test_equal_rows_give_equal_files(tmp_path: Path) -> None:
    made = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        (file,) = write_shards(texts(ROWS), folder, "train").files.values()
        made.append(file.read_bytes())
    assert made[0] == made[1]


def test_rows_of_elsewhere_are_not_taken_for_ours() -> None:
    with pytest.raises(InputError, match="not published here"):
        list(rows_back([{"text": "a"}]))


def test_messages_are_what_trainers_read() -> None:
    row = {
        "system": "Be brief.",
        "prompt": "Weather?",
        "steps": [
            {"text": "I look."},
            {"tool": "weather", "arguments": {"city": "Köln"}, "result": {"temperature": 7}},
            {"user": "And tomorrow?"},
            {"tool": "weather", "arguments": {"city": "Köln", "day": 1}},
        ],
        "final_text": "Rain.",
        "tools": [{"name": "weather", "input_schema": {"type": "object"}}],
        "ts": 1_700_000_000_123_456_789,
        "conversation_id": "c1",
        "scores": {"reward": 0.5},
    }
    made = columns_of(json.dumps(row))
    assert [json.loads(message) for message in made["messages"]] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "weather", "arguments": {"city": "Köln"}},
                }
            ],
        },
        {
            "role": "tool",
            "tool_call_id": "call_1",
            "name": "weather",
            "content": '{"temperature": 7}',
        },
        {"role": "user", "content": "And tomorrow?"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {
                    "id": "call_3",
                    "type": "function",
                    "function": {"name": "weather", "arguments": {"city": "Köln", "day": 1}},
                }
            ],
        },
        {"role": "assistant", "content": "Rain."},
    ]
    assert [json.loads(tool)["function"]["parameters"] for tool in made["tools"]] == [
        {"type": "object"}
    ]
    assert made["session_id"] == "c1"
    assert made["sent_at"] == "2023-11-14T22:13:20.123Z"
    assert (made["num_user_messages"], made["num_tool_calls"]) == (2, 2)
    assert json.loads(made["metadata"])["scores"] == {"reward": 0.5}


def test_the_trace_is_a_session_of_the_hubs_viewer() -> None:
    made = columns_of(json.dumps(ROWS[0]))
    header, *lines = [json.loads(line) for line in json.loads(made["trace"]).split("\n")]
    assert header == {"type": "session", "harness": "whileai", "id": made["session_id"]}
    assert {line["type"] for line in lines} == {"message"}
    calls = [line["message"]["toolCalls"][0] for line in lines if "toolCalls" in line["message"]]
    answers = [line["message"] for line in lines if line["message"]["role"] == "tool"]
    assert json.loads(calls[0]["function"]["arguments"]) == {"id": 7}
    assert [answer["toolCallId"] for answer in answers] == [calls[0]["id"], calls[1]["id"]]


def test_chat_messages_become_columns_too() -> None:
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    made = columns_of(json.dumps({"messages": chat}))
    assert [json.loads(message) for message in made["messages"]] == chat
    assert (made["prompt"], made["final_text"], made["reward"]) == ("Hi", "Hello", None)


def test_the_datasets_library_loads_a_repository(
    server: LocalHub, hub: Hub, tmp_path: Path
) -> None:
    datasets = pytest.importorskip("datasets")
    mixed = [
        {"prompt": "p", "steps": [{"tool": "t", "arguments": {"x": value}}], "final_text": ""}
        for value in (1, "1", 1.5, True, None, [1, "a"], {"y": {"z": 2**80}}, 0.1 + 0.2)
    ]
    publish(hub, publication(rows=[*ROWS, *mixed]), "kim/orders", private=False)
    publish(hub, publication("ds_h", "holdout", mixed[:2]), "kim/orders", private=False)
    folder = checkout(server, "kim/orders", tmp_path / "repo")
    loaded = datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    assert set(loaded) == {"train", "holdout"}
    assert loaded["train"].features == loaded["holdout"].features
    assert list(loaded["train"].features) == list(COLUMNS)
    assert json.dumps(list(rows_back(loaded["train"]))) == json.dumps([*ROWS, *mixed])
    assert json.dumps(list(rows_back(loaded["holdout"]))) == json.dumps(mixed[:2])
    shown = loaded["train"][0]
    assert shown["steps"] == ROWS[0]["steps"]
    assert shown["messages"][0] == {"role": "user", "content": "Where is order 7?"}
    assert [row["steps"][0]["arguments"]["x"] for row in loaded["train"].skip(3)] == [
        1, "1", 1.5, True, None, [1, "a"], {"y": {"z": str(2**80)}}, 0.30000000000000004,
    ]  # fmt: skip


_LOAD = """
import json
import os
import subprocess
import sys
from datasets import load_dataset
loaded = load_dataset("kim/orders")
streamed = load_dataset("kim/orders", split="train", streaming=True)
print(json.dumps({split: list(rows["row_json"]) for split, rows in loaded.items()}))
print(json.dumps([row["row_json"] for row in streamed]))
"""


def test_the_datasets_library_loads_it_from_the_hub(
    server: LocalHub, hub: Hub, tmp_path: Path
) -> None:
    pytest.importorskip("datasets")
    publish(hub, publication(), "kim/orders", private=True)
    publish(hub, publication("ds_h", "holdout", ROWS[2:]), "kim/orders", private=True)
    # The library reads its settings when it is imported.
    own = {"HF_HOME": str(tmp_path), "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _LOAD],
        env=os.environ | own,
        check=False,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    whole, streamed = map(json.loads, done.stdout.splitlines())
    assert whole == {"train": texts(ROWS), "holdout": texts(ROWS[2:])}
    assert streamed == texts(ROWS)
