"""What is found, what is left alone, and what the stand-ins look like."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from whileai_core.redaction import Finding, Redactor, scan

KEY = b"a key for the tests of redaction"
SECRET = r"<secret:{}:[0-9a-f]{{8}}>"
EMAIL = r"user-[0-9a-f]{10}@redacted\.example"
CREDENTIAL = SECRET.format("credential")
API_KEY = SECRET.format("api-key")


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("mail jane@corp.com.", rf"mail {EMAIL}\."),
        ("Jörg <jörg.müller@firma.de>", rf"Jörg <{EMAIL}>"),
        ("4111 1111 1111 1111", r"9999 \d{4} \d{4} \d{4}"),
        ("3782-822463-10005", r"9999-\d{6}-\d{5}"),
        ("card:5555555555554444,", r"card:9999\d{12},"),
        ("DE89 3704 0044 0532 0130 00 is mine", r"DE00 \d{4} \d{4} \d{4} \d{4} \d\d is mine"),
        ("GB82WEST12345698765432", r"GB00[A-Z]{4}\d{14}"),
        ("+49 30 901820", r"\+49 00 0\d{5}"),
        ("+1 (415) 555-2671", r"\+1 \(000\) 0\d\d-\d{4}"),
        ("(415) 555-2671", r"\(000\) 0\d\d-\d{4}"),
        ("call me at 020 7946 0958 today", r"call me at 000 \d{4} \d{4} today"),
        ("123-45-6789", r"000-\d\d-\d{4}"),
        ("529.982.247-25", r"000\.\d{3}\.\d{3}-\d\d"),
        ("756.9217.0769.85", r"000\.\d{4}\.\d{4}\.\d\d"),
        ("from 84.17.33.2:8080", r"from (192\.0\.2|198\.51\.100|203\.0\.113)\.\d+:8080"),
        ("[2a00:1450:4001:81b::200e]:443", r"\[2001:db8:[0-9a-f:]+\]:443"),
        ("password=hunter2&x=1", f"password={CREDENTIAL}&x=1"),
        ("my password is hunter2!", f"my password is {CREDENTIAL}"),
        ("DB_PASSWORD: 'a b c'", f"DB_PASSWORD: '{CREDENTIAL}'"),
        ("postgres://app:s3cr:t@db:5432/x", f"postgres://app:{CREDENTIAL}@db:5432/x"),
        ("Authorization: Bearer abc123def456", f"Authorization: Bearer {CREDENTIAL}"),
        ("curl -u admin:s3cret https://h/", f"curl -u admin:{CREDENTIAL} https://h/"),
        ("x --password hunter-2 db", f"x --password {CREDENTIAL} db"),
        ("<password>hunter2</password>", f"<password>{CREDENTIAL}</password>"),
        (
            "https://hooks.slack.com/services/T00000000/B00000000/abcdefABCDEF0123456789ab",
            API_KEY,
        ),
        (
            "https://h/?email=jane%40corp.com&x=1",
            rf"https://h/\?email={EMAIL}&x=1".replace("@", "%40"),
        ),
        ("Authorization: Basic dXNlcjpwYXNz", f"Authorization: Basic {CREDENTIAL}"),
        ("key sk-proj-aB3dE6gH9jK2mN5pQ8sT1", f"key {API_KEY}"),
        ("AKIAIOSFODNN7EXAMPLE", API_KEY),
        (
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r",
            SECRET.format("jwt"),
        ),
        (
            "-----BEGIN PRIVATE KEY-----\nMIIBVAIBADAN\n-----END PRIVATE KEY-----\nok",
            SECRET.format("private-key") + "\nok",
        ),
    ],
)
def test_stand_ins_keep_the_shape_of_what_they_replace(text: str, pattern: str) -> None:
    redacted = Redactor(KEY).text(text)

    assert re.fullmatch(pattern, redacted), redacted
    assert scan(redacted) == []


@pytest.mark.parametrize(
    "text",
    [
        "order 4829301 of 2024-01-05T12:34:56.789Z for 1,299.00 EUR",
        "123e4567-e89b-12d3-a456-426614174000",
        "00f067aa0ba902b7 4bf92f3577b34da6a3ce929d0e0e4736",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "at 1700000000, 1700000000000 and 1700000000000000000",
        "version 1.2.3.4, Chrome/120.0.0.0, pip==1.2.3.4, v10.0.0.1",
        "localhost 127.0.0.1, ::1, 0.0.0.0, mask 255.255.255.0",
        "max_tokens=4096 next_page_token: abc123def456",
        "password: must have 8 characters; password=<your password>; token=${TOKEN}",
        "the token: a unit of text. The secret is patience.",
        "std::vector<int> ab::cd 12:34:56 aa:bb:cc:dd:ee:ff",
        "git@github.com:org/repo.git @handle a@b",
        "4111 1111 1111 1112",  # the check digit is wrong
        "DE88 3704 0044 0532 0130 00",
        "978-3-16-148410-0, 1Z999AA10123456784, 52.520008, 13.404954",
        "2024-10-11 12 items, 100-200-3000, 555-1234",
    ],
)
def test_identifiers_and_look_alikes_stay(text: str) -> None:
    assert Redactor(KEY).text(text) == text


def test_the_name_of_a_field_tells_what_it_holds() -> None:
    row = {
        "apiKey": "plain-words-here",
        "db.password": "correct horse battery",
        "account_number": "12345678",
        "accountNumber": "882825317",  # as an IBAN its remainder would be right
        "ssn": 123456789,
        "mobile": 4155552671,
        "pin_password": 4321,
        "order_id": 4111111111111111,
        "usage": {"input_tokens": 1234567, "token": "a word of text"},
    }
    redacted = Redactor(KEY).row(row)

    assert re.fullmatch(CREDENTIAL, redacted["apiKey"])
    assert re.fullmatch(CREDENTIAL, redacted["db.password"])
    assert re.fullmatch(r"000\d{5}", redacted["account_number"])
    assert re.fullmatch(r"000\d{6}", redacted["accountNumber"])
    assert re.fullmatch(r"1000\d{5}", str(redacted["ssn"]))
    assert re.fullmatch(r"4000\d{6}", str(redacted["mobile"]))
    assert redacted["pin_password"] == 4000
    assert redacted["order_id"] == row["order_id"]
    assert redacted["usage"] == row["usage"]
    assert scan(redacted) == []


def test_what_a_field_gives_away_is_replaced_in_the_prose_too() -> None:
    row = {
        "prompt": "Log me in with hunter-2 please.",
        "steps": [{"tool": "login", "arguments": {"password": "hunter-2"}, "result": "ok"}],
        "final_text": "I used hunter-2 (not hunter-22).",
    }
    redacted = Redactor(KEY).row(row)
    surrogate = redacted["steps"][0]["arguments"]["password"]

    assert redacted["prompt"] == f"Log me in with {surrogate} please."
    assert redacted["final_text"] == f"I used {surrogate} (not hunter-22)."


def test_all_notations_of_a_phone_number_agree_in_their_last_digits() -> None:
    texts = ["+1 415 555 2671", "(415) 555-2671", "1-415-555-2671", "+14155552671"]
    endings = {re.sub(r"\D", "", Redactor(KEY).text(text))[-7:] for text in texts}

    assert len(endings) == 1


def test_letter_case_and_grouping_do_not_make_another_person() -> None:
    redactor = Redactor(KEY)

    assert redactor.text("Jane@Corp.com") == redactor.text("jane@corp.com")
    grouped = redactor.text("4111-1111-1111-1111")
    assert redactor.text("4111111111111111") == grouped.replace("-", "")


def test_json_text_keeps_its_spelling_around_the_changes() -> None:
    text = (
        '{ "price": 1.10, "big": 123456789012345678901234567890, "a":"\\u00e9 \\/ jane@corp.com",'
        '\n "card": 4111111111111111, "n": NaN, "keep": "\\u00e9\\/" }'
    )
    redacted = Redactor(KEY).text(text)

    assert '"price": 1.10, "big": 123456789012345678901234567890,' in redacted
    assert '"keep": "\\u00e9\\/" }' in redacted
    assert re.search(r'\n "card": 9999\d{12}, "n": NaN', redacted)
    assert re.fullmatch(rf"é / {EMAIL}", json.loads(redacted)["a"])


def test_cut_json_is_read_as_text_without_breaking_its_escapes() -> None:
    text = (
        '{"note": "Hello\\njane@corp.com\\n4111111111111111\\n+4930901820", '
        '"password": "a\\"b1", "x'
    )
    redacted = Redactor(KEY).text(text)

    assert re.fullmatch(
        rf'{{"note": "Hello\\n{EMAIL}\\n9999\d{{12}}\\n\+49000\d{{5}}", '
        rf'"password": "{CREDENTIAL}", "x',
        redacted,
    ), redacted


def test_a_password_that_is_a_common_word_does_not_spoil_the_rest() -> None:
    login = {"user": "admin-1", "password": "password", "note": "password"}
    redacted = Redactor(KEY).row({"arguments": login, "result": json.dumps([login])})

    assert redacted["arguments"] == {**login, "password": redacted["arguments"]["password"]}
    assert re.fullmatch(CREDENTIAL, redacted["arguments"]["password"])
    assert json.loads(redacted["result"]) == [redacted["arguments"]]


def test_a_number_known_as_an_id_stays_one_in_the_prose() -> None:
    row = {"prompt": "Where is 4111111111111111?", "steps": [{"order_id": "4111111111111111"}]}

    assert Redactor(KEY).row(row) == row


def test_keys_are_redacted_and_stay_apart() -> None:
    row = {"by_mail": {"jane@corp.com": 1, "joe@corp.com": 2, "plain": 3}}
    redacted = Redactor(KEY).row(row)

    assert [*redacted["by_mail"].values()] == [1, 2, 3]
    assert len(redacted["by_mail"]) == 3
    assert "corp.com" not in json.dumps(redacted)


def test_scan_names_kind_and_place_but_no_value() -> None:
    row: dict[str, Any] = {
        "prompt": "jane@corp.com",
        "steps": [
            {"arguments": json.dumps({"password": "hunter2"})},
            {"joe@corp.com": {"a": "84.1.2.3"}},
        ],
    }

    assert scan(row) == [
        Finding("email", "prompt"),
        Finding("email", "steps[1].<key>"),
        Finding("ip", "steps[1].*.a"),
        Finding("secret", "steps[0].arguments.password"),
    ]


def test_only_the_chosen_kinds_are_replaced() -> None:
    redactor = Redactor(KEY, kinds=["email"])

    assert re.fullmatch(f"{EMAIL} 84.1.2.3", redactor.text("jane@corp.com 84.1.2.3"))
    assert redactor.counts == {"email": 1}


def test_odd_strings_pass() -> None:
    for text in (
        "",
        "\ud800 jane@corp.com",
        "\x00jane@corp.com\n\x00\n",
        "٤١١١ 🙂",
        "{",
        "[]",
        "{}",
    ):
        redacted = Redactor(KEY).text(text)
        assert "corp.com" not in redacted
        assert len(redacted) >= len(text)


@pytest.mark.parametrize(
    "piece",
    [
        "sk-",
        "eyJ",
        "curl ",
        "-----BEGIN PRIVATE KEY-----",
        "password=",
        "@a.",
        "+1 ",
        "1 ",
        "a:",
        "://u:",
    ],
)
def test_long_repetitions_end(piece: str) -> None:
    text = piece * (60_000 // len(piece))  # a quadratic search would run into the time limit

    assert scan(Redactor(KEY).text(text)) == []
