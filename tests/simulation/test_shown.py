"""What rows and messages keep of another's exception: readable, short, and no secret."""

from __future__ import annotations

import subprocess
import sys

import anyio
import pytest

from whileai_core import evaluate
from whileai_core.simulation.shown import shown_error

SECRETS = (
    "sk-secret-1234567890abcdef",
    "sk-live-a1b2c3",
    "sk-abc",
    "zp_live_abcdef0123456789",
    "ghp_" + "a1B2" * 9,
    "AKIA" + "IOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLW9mLWl0",
    "0123456789abcdef0123456789abcdef",
)


@pytest.mark.parametrize("secret", SECRETS)
def test_keys_and_tokens_are_masked_and_the_rest_stays(secret):
    assert shown_error(RuntimeError(f"boom {secret} for you")) == "RuntimeError: boom *** for you"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("boom", "boom"),
        ("", ""),
        ("no record 4711 in table orders", "no record 4711 in table orders"),
        ("division by zero\n  in line 7", "division by zero in line 7"),
        ("password=hunter2 refused", "password=*** refused"),
        ("'api_key': 'abc-def' refused", "'api_key': '***' refused"),
        (
            "GET https://jane:pw@h.example/a?key=abc&x=1 gave 500",
            "GET https://h.example/a gave 500",
        ),
        ("Authorization: Bearer abcdefgh", "Authorization: ***"),
    ],
)
def test_what_is_no_secret_stays_readable(text, shown):
    assert shown_error(ValueError(text)) == f"ValueError: {shown}"


def test_it_is_cut_and_a_secret_is_not_cut_in_half_before_it_is_seen():
    line = shown_error(ValueError("word " * 36 + "sk-secret-1234567890abcdef" + " more" * 999))
    assert len(line) == 200
    assert "sk-" not in line


def test_a_failing_judge_leaves_no_secret_on_rows_or_in_warnings():
    def judge(row):
        raise RuntimeError(f"boom {SECRETS[0]}")

    scored = anyio.run(evaluate, [{"prompt": "a", "steps": [], "final_text": "b"}], judge)
    assert scored.rows[0]["judge_meta"] == {"error": "RuntimeError: boom ***"}
    assert "RuntimeError: boom ***" in scored.warnings[0]


def test_it_needs_no_extra():
    code = (
        "import sys; sys.modules['detect_secrets'] = sys.modules['phonenumbers'] = None\n"
        "from whileai_core.simulation.shown import shown_error\n"
        f"print(shown_error(ValueError({SECRETS[0]!r})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "ValueError: ***\n"
