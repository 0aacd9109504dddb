"""Counting the lines of a stream."""

from __future__ import annotations

import itertools
import json

from hypothesis import given
from hypothesis import strategies as st

from whileai_core.gate.jsonl import LineCounter

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def _count(data: bytes, cuts: list[int]) -> LineCounter:
    counter = LineCounter(max_line_bytes=10_000)
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    for start, end in itertools.pairwise(edges):
        counter.feed(data[start:end])
    counter.finish()
    return counter


@given(
    st.lists(VALUES),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
    st.booleans(),
    st.lists(st.integers(min_value=0)),
)
def test_the_count_does_not_depend_on_how_the_stream_is_cut(
    values: list[object], end: str, last: bool, cuts: list[int]
) -> None:
    text = end.join(json.dumps(value, ensure_ascii=False) for value in values)
    counter = _count((text + end * last).encode("utf-8", "surrogatepass"), cuts)
    assert (counter.rows, counter.problem) == (len(values), None)


@given(st.lists(VALUES, max_size=5), st.lists(VALUES, max_size=5), st.lists(st.integers(0)))
def test_the_first_bad_line_is_named(
    before: list[object], after: list[object], cuts: list[int]
) -> None:
    lines = [*(json.dumps(v) for v in before), "{bad", *(json.dumps(v) for v in after), "]"]
    counter = _count("\n".join(lines).encode(), cuts)
    assert counter.problem is not None
    assert counter.problem.startswith(f"line {len(before) + 1} is not")
