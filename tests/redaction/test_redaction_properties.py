"""What holds for every row: consistency, idempotence, structure, nothing left to find."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whileai_core.redaction import Redactor, scan
from whileai_core.redaction.surrogates import luhn

KEY = b"a key for the tests of redaction"
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _with_check_digit(body: str) -> str:
    return body + str(-luhn(body + "0") % 10)


def _iban(country: str, body: str) -> str:
    digits = "".join(str(int(c, 36)) for c in f"{body}{country}00")
    return f"{country}{98 - int(digits) % 97:02d}{body}"


def _digits(n: int) -> st.SearchStrategy[str]:
    return st.text("0123456789", min_size=n, max_size=n)


def _alnum(n: int, alphabet: str = LETTERS + LETTERS.upper() + "0123456789") -> Any:
    return st.text(alphabet, min_size=n, max_size=n)


emails = st.builds(
    "{}.{}@{}.com".format, _alnum(4, LETTERS), _digits(2), st.text(LETTERS, min_size=2, max_size=9)
)
cards = st.builds(
    lambda start, body: _with_check_digit(start + body), st.sampled_from(["41", "53"]), _digits(13)
)
ibans = st.builds(_iban, st.just("DE"), _digits(18))
addresses = st.one_of(
    st.builds("10.{}.{}.7".format, st.integers(0, 255), st.integers(0, 255)),
    st.builds("2a00:{:x}::{:x}".format, st.integers(1, 0xFFFF), st.integers(1, 0xFFFF)),
)
phones = st.one_of(
    st.builds("+1 415 {} {}".format, st.integers(200, 999), _digits(4)),
    st.builds("212-{}-{}".format, st.integers(200, 999), _digits(4)),
    st.builds("+49 30 {}".format, st.integers(200000, 999999)),
)
secrets = st.one_of(
    st.builds("sk-proj-{}7".format, _alnum(30)),
    st.builds("ghp_{}".format, _alnum(36)),
    st.builds("AKIA{}".format, _alnum(16, LETTERS.upper())),
    st.builds("xoxb-{}-{}".format, _digits(11), _alnum(24)),
)
ssns = st.builds(
    "{}-{}-{}".format, st.integers(101, 299), st.integers(10, 99), st.integers(1000, 9999)
)
VALUES = {
    "email": emails,
    "card": cards,
    "iban": ibans,
    "ip": addresses,
    "phone": phones,
    "secret": secrets,
    "national-id": ssns,
}
data = st.sampled_from(sorted(VALUES)).flatmap(lambda k: st.tuples(st.just(k), VALUES[k]))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4)
    ),
    max_leaves=15,
)


def _row(value: str) -> dict[str, Any]:
    arguments = {"query": value, "äöü": [f"»{value}«", {"\n": f"line\n{value}\t1"}]}
    return {
        "prompt": f"Please look at {value}, it is urgent. Grüße 🙂",
        "steps": [
            {"tool": "a", "arguments": {"value": value}, "result": json.dumps(arguments)},
            {"tool": "b", "arguments": json.dumps(arguments, ensure_ascii=False), "result": value},
            {"tool": "c", "arguments": {}, "result": json.dumps({"raw": json.dumps(arguments)})},
        ],
        "final_text": f"({value})",
        "order_id": "A-1042",
    }


@given(datum=data)
@settings(deadline=None)
def test_one_value_gets_one_surrogate_wherever_it_stands(datum: tuple[str, str]) -> None:
    kind, value = datum
    redactor = Redactor(KEY)
    redacted = redactor.row(_row(value))
    surrogate = redacted["steps"][0]["arguments"]["value"]

    assert surrogate != value
    assert redacted == _row(surrogate)  # the same row, made from the stand-in
    assert value not in json.dumps(redacted)
    assert redactor.counts[kind] == 13 and set(redactor.counts) == {kind}
    assert Redactor(KEY).text(value) == surrogate
    assert Redactor(KEY[::-1]).text(value) != surrogate


@given(datum=data)
@settings(deadline=None)
def test_redacted_rows_are_clean_and_stay_as_they_are(datum: tuple[str, str]) -> None:
    kind, value = datum
    redactor = Redactor(KEY)
    redacted = redactor.row(_row(value))

    assert {finding.kind for finding in scan(_row(value))} == {kind}
    assert scan(redacted) == []
    assert redactor.row(redacted) == redacted


SECRET_FIELDS = ["password", "token", "api_key", "authorization", "cookie"]
NUMBER_FIELDS = ["phone", "contact_number", "ssn", "card_number", "iban", "account_number", "cvv"]
OTHER_FIELDS = ["order_id", "version", "timestamp", "note"]
field_names = st.sampled_from([*SECRET_FIELDS, *NUMBER_FIELDS, *OTHER_FIELDS])
field_values = st.one_of(
    data.map(lambda datum: datum[1]),
    st.integers(0, 10**16),
    st.text(max_size=12),
    st.text("0123456789+-() A", max_size=16),
)


@given(
    fields=st.dictionaries(field_names, field_values | st.lists(field_values, max_size=2)),
    words=st.lists(field_values.map(str), max_size=3),
)
@settings(max_examples=200, deadline=None)
def test_fields_are_clean_after_one_pass(fields: dict[str, Any], words: list[str]) -> None:
    prose = " ".join([*words, *map(str, fields.values())])
    row = {"prompt": prose, "arguments": fields, "result": json.dumps([fields, prose])}
    redactor = Redactor(KEY)
    redacted = redactor.row(row)

    assert scan(redacted) == []
    assert redactor.row(redacted) == redacted
    assert json.loads(redacted["result"])[0] == redacted["arguments"]


@given(value=json_values, extra=st.lists(data, max_size=3))
@settings(max_examples=200, deadline=None)
def test_any_json_keeps_its_structure(value: Any, extra: list[tuple[str, str]]) -> None:
    row = {"prompt": value, "steps": [text for _, text in extra], "text": json.dumps(value)}
    before = copy.deepcopy(row)
    redactor = Redactor(KEY)
    redacted = redactor.row(row)

    assert row == before
    assert _skeleton(redacted) == _skeleton(row)
    assert _skeleton(json.loads(redacted["text"])) == _skeleton(value)
    assert scan(redacted) == []
    assert redactor.row(redacted) == redacted


FRAGMENTS = st.one_of(
    data.map(lambda datum: datum[1]),
    st.sampled_from(
        [
            "password=",
            "token:",
            '"',
            "'",
            'api_key="',
            "Bearer",
            "",
            "call",
            "",
            "phone:",
            "tel",
            "+1",
            "+49",
            "00",
            "(",
            ")",
            "-",
            ".",
            "/",
            "@",
            ":",
            "::",
            "\\n",
            "\\",
            "https://u:",
            "@h.com",
            "=",
            "000",
            "0000",
            "4111",
            "-----BEGIN",
            "<secret:",
            ">",
            "eyJ",
            "sk-",
            "version",
            "AC",
            "12",
            "99",
            "x",
        ]
    ),
    st.text(max_size=4),
)


@given(parts=st.lists(FRAGMENTS, max_size=12), glue=st.sampled_from(["", " ", "-", "\n"]))
@settings(max_examples=300, deadline=None)
def test_any_mixture_is_clean_after_one_pass(parts: list[str], glue: str) -> None:
    redactor = Redactor(KEY)
    once = redactor.text(glue.join(parts))

    assert scan(once) == []
    assert redactor.text(once) == once


def _skeleton(value: Any) -> Any:
    if isinstance(value, dict):
        return [_skeleton(item) for item in value.values()]
    if isinstance(value, list):
        return [_skeleton(item) for item in value]
    return type(value).__name__


@pytest.mark.parametrize("depth", [500, 50_000])
def test_deep_nesting_is_no_limit(depth: int) -> None:
    value: Any = "jane@corp.io"
    for _ in range(depth):
        value = {"child": [value]}
    inner: Any = Redactor(KEY).row({"prompt": value})["prompt"]
    for _ in range(depth):
        inner = inner["child"][0]

    assert inner == Redactor(KEY).text("jane@corp.io")
    while isinstance(value, dict):  # taken apart by hand: freeing it recurses
        value = value["child"][0]
