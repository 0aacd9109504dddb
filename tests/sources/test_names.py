"""A file is read whatever its name: JSON's brackets, glob characters, bytes that are no UTF-8."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from whileai_core import load_traces, rows_from_otel
from whileai_core.dialects.load import load_all
from whileai_core.errors import SourceNotFound
from whileai_core.sources.discovery import find_sources, shown

NAMES = [
    "[prod] traces.jsonl",
    "{a}.jsonl",
    "[2026]/x.jsonl",
    " [1].jsonl",
    "what?.jsonl",
    "a*b.jsonl",
    "[!x]/*.jsonl",
    "caf\udce9.jsonl",
    "\udcff/deep/\udcfe.jsonl",
    "\\xff.jsonl",
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def write(name: str, prompt: str = "") -> str:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"prompt": prompt or shown(name), "final_text": "ok"}) + "\n")
    return name


@pytest.mark.parametrize("name", NAMES)
def test_a_named_file_is_a_file(name: str) -> None:
    write(name)
    write("2/x.jsonl", "another")
    for rows in (load_traces(name), load_traces(Path(name)), load_all([name])):
        assert [row["prompt"] for row in rows] == [shown(name)]
    # What was printed can be typed in again.
    assert [row["prompt"] for row in load_all([shown(name)])] == [shown(name)]


def test_a_missing_file_of_any_name_is_named() -> None:
    with pytest.raises(SourceNotFound, match=r"gone-\\xff\.jsonl: no such file"):
        load_traces("gone-\udcff.jsonl")


def test_a_folder_of_a_glob_is_that_folder_where_it_exists() -> None:
    write("[2026]/x.jsonl")
    write("2/x.jsonl")
    assert find_sources("[2026]/*.jsonl") == ["[2026]/x.jsonl"]
    assert find_sources("[!3]/*.jsonl") == ["2/x.jsonl"]


def test_a_url_may_hold_glob_characters(folder: Path) -> None:
    write("[prod] traces.jsonl")
    write("p traces.jsonl", "another")
    [row] = load_traces(f"file://{folder}/[prod] traces.jsonl")
    assert row["prompt"] == "[prod] traces.jsonl"
    assert len(load_all([f"file://{folder}"])) == 2
    assert len(find_sources(f"file://{folder}/[a-z]*.jsonl")) == 1


def test_text_that_names_no_file_is_json() -> None:
    text = json.dumps([{"prompt": "[x]", "final_text": "y"}])
    assert [row["prompt"] for row in load_traces(text)] == ["[x]"]
    span = {
        "traceId": "5b8efff798038103d269b633813fc60c",
        "attributes": {"gen_ai.prompt": "Capital?", "gen_ai.completion": "Valletta"},
    }
    assert len(rows_from_otel(json.dumps(span))) == 1
    Path("[span].json").write_text(json.dumps(span))
    assert len(rows_from_otel("[span].json")) == 1
