"""JSON reading: one value, whichever parser reads it."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whileai_core import jsonio

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(10**30), max_value=10**30)
    | st.floats(allow_nan=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(values, st.booleans())
def test_reads_what_the_standard_library_reads(value: object, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    try:
        encoded = text.encode()
    except UnicodeEncodeError:  # lone surrogates written raw
        assert jsonio.loads(text) == json.loads(text)
        return
    assert jsonio.loads(text) == json.loads(text)
    assert repr(jsonio.loads(encoded)) == repr(json.loads(encoded))


@pytest.mark.parametrize(
    "number",
    [2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**19, -(10**18), 10**40],
)
def test_integers_stay_whole(number: int) -> None:
    assert jsonio.loads(f'{{"id": {number}}}') == {"id": number}
    assert jsonio.loads(f'{{"id": {number}}}'.encode()) == {"id": number}


@settings(deadline=None)  # the first large text imports numpy
@given(st.integers(min_value=0, max_value=60), st.integers(min_value=0, max_value=200))
def test_finds_a_long_integer_wherever_it_stands(digits: int, before: int) -> None:
    text = b"x" * before + b":" + b"7" * digits + b"," + b"y" * 30
    assert jsonio.has_long_integers(text) == (digits >= 20)
    large = b"z" * 20_000 + text
    assert jsonio.has_long_integers(large) == (digits >= 20)


@pytest.mark.parametrize("size", [0, 20_000])
def test_digits_inside_an_identifier_are_no_integer(size: int) -> None:
    identifiers = (
        b" " * size + b'{"trace": "c5377899747074320663110b", "span": "12345678901234567890"'
    )
    assert not jsonio.has_long_integers(identifiers)
    assert jsonio.has_long_integers(identifiers + b', "n": -9999999999999999999')


def test_reads_nan_and_infinity() -> None:
    value = jsonio.loads(b'[NaN, Infinity, -Infinity, 1e999, "\\ud800"]')
    assert math.isnan(value[0])
    assert value[1:] == [math.inf, -math.inf, math.inf, "\ud800"]


def test_of_a_repeated_key_the_last_counts() -> None:
    assert jsonio.loads(b'{"a": 1, "a": 2}') == {"a": 2}
    assert jsonio.loads(b'{"a": 1, "a": 2, "n": NaN}')["a"] == 2


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b"[NaN,"])
def test_too_deep_is_a_value_error(opening: bytes) -> None:
    with pytest.raises(ValueError):
        jsonio.loads(opening * 100_000)


def test_strict_replaces_only_what_json_cannot_hold() -> None:
    loose = {"a": [math.nan, math.inf, 1.5, None], "b": "x\ud800y", "c": 10**30}
    assert jsonio.strict(loose) == {"a": [None, None, 1.5, None], "b": "x\ufffdy", "c": 10**30}
    clean = {"a": [1, "é", {"b": None}]}
    assert jsonio.strict(clean) is clean


def test_scan_stops_before_what_is_no_value() -> None:
    found = [value for value, _, _ in jsonio.scan('{"a": 1} [2], "x"\n oops {"b": 2}')]
    assert found == [{"a": 1}, [2], "x"]
