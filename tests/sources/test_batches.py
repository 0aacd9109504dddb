"""A large OTLP/JSON document comes as small batches that hold what it holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whileai_core import load_traces, rows_from_otel
from whileai_core.dialects.otel import SpansLeftOut
from whileai_core.sources import batches, texts

if TYPE_CHECKING:
    from pathlib import Path

_CHAT = "gen_ai.prompt"


def span(number: int, text: str, links: int = 0) -> dict[str, Any]:
    linked = [
        {"traceId": f"{link + 1:032x}", "spanId": f"{link + 1:016x}"} for link in range(links)
    ]
    return {
        "traceId": f"{number + 1:032x}",
        "spanId": f"{number + 1:016x}",
        "links": linked,
        "attributes": [{"key": _CHAT, "value": {"stringValue": text}}],
    }


TEXTS = st.sampled_from(["a", '}, {"traceId": 1', ']}]}, {"resource": {', "é" * 9, "[{"])
SPANS = st.lists(st.tuples(TEXTS, st.integers(0, 3)), max_size=5)
SCOPES = st.fixed_dictionaries(
    {"spans": SPANS}, optional={"scope": st.just({"name": "s"}), "schemaUrl": st.just("u")}
)
RESOURCES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"scopeSpans": st.lists(SCOPES, max_size=3)}, optional={"resource": st.just({"attributes": []})}
)
DOCUMENTS = st.fixed_dictionaries(
    {"resourceSpans": st.lists(RESOURCES, min_size=1, max_size=3)},
    optional={"after": st.just([{"traceId": "x"}])},
)


def in_order(value: Any, names: tuple[str, ...]) -> Any:
    """Put keys in the order in which producers write them: names before lists."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: names.index(key) if key in names else -1)
        return {key: in_order(value[key], names) for key in keys}
    return [in_order(item, names) for item in value] if isinstance(value, list) else value


def spans_of(batch: dict[str, Any]) -> list[Any]:
    return [
        (resource.get("resource"), scope.get("scope"), one)
        for resource in batch["resourceSpans"]
        for scope in resource["scopeSpans"]
        for one in scope["spans"]
    ]


@settings(max_examples=100)
@given(
    DOCUMENTS,
    st.sampled_from([None, 1]),
    st.sampled_from([1, 60, 400]),
    st.permutations(["resourceSpans", "resource", "scopeSpans", "scope", "spans"]),
)
def test_the_batches_hold_the_spans_of_the_document_in_order(
    document: dict[str, Any], indent: int | None, length: int, names: list[str]
) -> None:
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            scope["spans"] = [span(n, *one) for n, one in enumerate(scope["spans"])]
    document = {"resourceSpans": in_order(document["resourceSpans"], tuple(names)), **document}
    data = json.dumps(document, indent=indent).encode()
    with mock.patch.object(batches, "_PIECE_BYTES", length):
        found = [
            json.loads(batch) if isinstance(batch, bytes) else batch
            for batch in batches.cut_batches(data)
        ]
    assert [one for batch in found for one in spans_of(batch)] == spans_of(document)


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_PIECE_BYTES", 300)
    monkeypatch.setattr(texts, "LARGE_BYTES", 1000)


def document(spans: list[dict[str, Any]]) -> bytes:
    scope = {"scope": {"name": "s"}, "spans": spans}
    resource = {"resource": {"attributes": []}, "scopeSpans": [scope]}
    return json.dumps({"resourceSpans": [resource]}).encode()


@pytest.mark.usefixtures("small_pieces")
def test_a_large_document_gives_the_rows_of_its_spans(tmp_path: Path) -> None:
    data = document([span(number, f"ask {number}") for number in range(30)])
    assert len(list(batches.cut_batches(data))) > 5
    path = tmp_path / "spans.json"
    path.write_bytes(data)
    asked = [f"ask {number}" for number in range(30)]
    assert [row["prompt"] for row in rows_from_otel(path)] == asked
    assert [row["prompt"] for row in load_traces(path)] == asked


@pytest.mark.usefixtures("small_pieces")
def test_of_a_large_document_that_breaks_off_the_spans_before_are_read() -> None:
    data = document([span(number, f"ask {number}") for number in range(30)])
    with pytest.warns(SpansLeftOut, match="not_json"):
        rows = rows_from_otel(data[: 2 * len(data) // 3])
    assert rows[0]["prompt"] == "ask 0"
    assert 10 <= len(rows) < 20


@pytest.mark.usefixtures("small_pieces")
def test_numbers_that_only_some_parsers_read_cost_nothing_else() -> None:
    data = document([span(number, f"ask {number}") for number in range(30)])
    data = data.replace(b'"links": []', b'"links": [], "droppedLinksCount": NaN', 15)
    assert len(rows_from_otel(data)) == 30
