"""Redaction: recall by kind, false alarms by look-alike, and speed against parsing.

    python -m benchmarks.bench_redaction [--n 400] [--rows 2000] [--pairs 5]

The corpus is generated and seeded: values in prose, in fields, in JSON text and in truncated
JSON; look-alikes in the same places. Speed is the median of interleaved pairs, as a ratio to
`orjson.loads` over the same lines. Standard library, orjson and the extra `redaction` only.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import json
import random
import statistics
import string
import time
import uuid
from collections.abc import Callable
from typing import Any

import orjson

from whileai_core.redaction import Redactor, scan

Make = Callable[[random.Random], str]
KEY = b"benchmark key of thirty-two byte"


def pick(rng: random.Random, alphabet: str, n: int) -> str:
    return "".join(rng.choices(alphabet, k=n))


def digits(rng: random.Random, n: int) -> str:
    return pick(rng, string.digits, n)


def token(rng: random.Random, n: int) -> str:
    return pick(rng, string.ascii_letters + string.digits, n)


def hexadecimal(rng: random.Random, n: int) -> str:
    return pick(rng, "0123456789abcdef", n)


def card(rng: random.Random) -> str:
    start, length = rng.choice([("4", 16), ("52", 16), ("2720", 16), ("37", 15), ("6011", 16)])
    body = start + digits(rng, length - len(start) - 1)
    doubled = [int(d) * (2 - i % 2) for i, d in enumerate(reversed(body))]
    number = body + str(-sum(d - 9 if d > 9 else d for d in doubled) % 10)
    gap = rng.choice(["", " ", "-"])
    cuts = (0, 4, 8, 12, 16) if length == 16 else (0, 4, 10, 15)
    return gap.join(number[a:b] for a, b in itertools.pairwise(cuts))


def iban(rng: random.Random) -> str:
    country, body = rng.choice(
        [
            ("DE", digits(rng, 18)),
            ("GB", pick(rng, string.ascii_uppercase, 4) + digits(rng, 14)),
            ("FR", digits(rng, 10) + pick(rng, string.ascii_uppercase, 11) + digits(rng, 2)),
            ("NL", pick(rng, string.ascii_uppercase, 4) + digits(rng, 10)),
        ]
    )
    number = int("".join(str(int(c, 36)) for c in f"{body}{country}00"))
    text = f"{country}{98 - number % 97:02d}{body}"
    return " ".join(text[i : i + 4] for i in range(0, len(text), 4)) if rng.random() < 0.5 else text


def email(rng: random.Random) -> str:
    name = rng.choice(["jane.doe", "o'neil", "müller", "a+tag", "X_Y"]) + digits(rng, 3)
    domain = pick(rng, string.ascii_lowercase, 6)
    return f"{name}@{domain}.{rng.choice(['com', 'co.uk', 'io', 'museum'])}"


def phone(rng: random.Random) -> str:
    area, line = rng.randint(201, 989), digits(rng, 4)
    return rng.choice(
        [
            f"+1 {area} 555 {line}",
            f"({area}) 555-{line}",
            f"{area}-555-{line}",
            f"+1-{area}-555-{line}",
            f"+49 30 {rng.randint(200000, 999999)}",
            f"+44 20 7946 {line}",
            f"0033 1 42 68 {line[:2]} {line[2:]}",
            f"+91 98765 4{line}",
            f"+3361234{line}",
        ]
    )


def address(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return f"2a00:1450:{rng.randint(1, 0xFFFF):x}::{rng.randint(1, 0xFFFF):x}"
    return (
        f"{rng.randint(11, 120)}.{rng.randint(0, 255)}.{rng.randint(0, 255)}.{rng.randint(1, 254)}"
    )


def national(rng: random.Random) -> str:
    first = digits(rng, 9)
    if len(set(first)) > 1 and not first.startswith("000") and rng.random() < 0.3:
        body = first
        for count in (9, 10):
            total = sum(int(d) * w for d, w in zip(body, range(count + 1, 1, -1), strict=False))
            body += str(total * 10 % 11 % 10)
        return f"{body[:3]}.{body[3:6]}.{body[6:9]}-{body[9:]}"
    return f"{rng.randint(101, 665)}-{rng.randint(10, 99)}-{rng.randint(1000, 9999)}"


def provider_key(rng: random.Random) -> str:
    return rng.choice(
        [
            f"sk-proj-{token(rng, 40)}9",
            f"sk-ant-api03-{token(rng, 60)}4",
            f"ghp_{token(rng, 36)}",
            f"github_pat_{token(rng, 60)}",
            f"glpat-{token(rng, 20)}",
            f"AKIA{pick(rng, string.ascii_uppercase + string.digits, 16)}",
            f"AIza{token(rng, 35)}",
            f"xoxb-{digits(rng, 11)}-{token(rng, 24)}",
            f"sk_live_{token(rng, 24)}",
            f"SG.{token(rng, 22)}.{token(rng, 43)}",
            f"hf_{token(rng, 34)}",
            f"npm_{token(rng, 36)}",
            f"{digits(rng, 9)}:AA{token(rng, 33)}",
        ]
    )


def jwt(rng: random.Random) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(orjson.dumps(value)).decode().rstrip("=")

    return (
        f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part({'sub': digits(rng, 8)})}.{token(rng, 43)}"
    )


def private_key(rng: random.Random) -> str:
    lines = "\n".join(token(rng, 64) for _ in range(4))
    return f"-----BEGIN RSA PRIVATE KEY-----\n{lines}\n-----END RSA PRIVATE KEY-----"


VALUES: dict[str, Make] = {
    "e-mail": email,
    "phone": phone,
    "card": card,
    "IBAN": iban,
    "national number": national,
    "IP address": address,
    "provider key": provider_key,
    "JWT": jwt,
    "private key": private_key,
}
# The value is known by what stands around it; the braces mark it.
CONTEXTS: dict[str, tuple[str, ...]] = {
    "password in a text": ("password={}", "PASSWORD: '{}'", "my password is {}", 'pwd = "{}"'),
    "password in a URL": ("postgres://app:{}@db.internal:5432/x", "https://u:{}@host.example/p"),
    "bearer header": ("Authorization: Bearer {}", "curl -H 'authorization: bearer {}' https://h/"),
    "token in a query": ("https://h.example/x?api_key={}&page=2", "https://h/x?access_token={}"),
}
FIELDS = ("password", "apiKey", "client_secret", "X-Api-Key", "accessToken", "db.password")
NUMBER_FIELDS = ("ssn", "passport_number", "accountNumber", "phone", "mobile_number")

LOOKALIKES: dict[str, Make] = {
    "UUID": lambda r: str(uuid.UUID(int=r.getrandbits(128), version=4)),
    "span or trace id": lambda r: hexadecimal(r, r.choice([16, 32])),
    "commit or SHA-256": lambda r: hexadecimal(r, r.choice([7, 40, 64])),
    "order id": lambda r: r.choice(["ORD-{}", "#{}", "A-{}", "INV-2024-{}", "{}"]).format(
        digits(r, r.randint(5, 10))
    ),
    "16-digit number": lambda r: digits(r, 16),
    "timestamp": lambda r: (
        str(r.randint(1_500_000_000, 1_900_000_000)) + "0" * r.choice([0, 3, 6, 9])
    ),
    "ISO time": lambda r: (
        f"2024-{r.randint(10, 12)}-{r.randint(10, 28)}T12:{r.randint(10, 59)}:07.12Z"
    ),
    "price": lambda r: f"{r.randint(1, 99999)}.{digits(r, 2)}",
    "version": lambda r: r.choice(["v{}.{}.3.4", "version {}.{}.1.2", "Chrome/{}.{}.0.0"]).format(
        r.randint(1, 120), r.randint(0, 9)
    ),
    "EAN, ISBN": lambda r: r.choice(["978-3-16-{}-0", "40{}"]).format(digits(r, 6) + ""),
    "tracking number": lambda r: f"1Z{token(r, 16).upper()}",
    "coordinates": lambda r: f"{r.uniform(-90, 90):.6f}, {r.uniform(-180, 180):.6f}",
    "MAC address": lambda r: ":".join(hexadecimal(r, 2) for _ in range(6)),
    "tokens, keys in prose": lambda r: r.choice(
        [
            "max_tokens=4096",
            "next_page_token: abc123def456",
            "the token: a unit of text",
            "password: must have 8 characters",
            "secret sauce: garlic",
            "std::vector<int> x; a::b",
            "git@github.com:org/repo.git",
        ]
    ),
    "snowflake id": lambda r: str(r.randint(10**17, 10**19)),
}


def places(value: str, rng: random.Random) -> list[dict[str, Any]]:
    """The same value where rows have it."""
    inner = json.dumps({"note": f"line one\n{value}", "ok": True})
    return [
        {"prompt": f"Hello, please check {value} for me, thanks."},
        {"steps": [{"tool": "t", "arguments": {"value": value}, "result": inner}]},
        {"steps": [{"text": f"The tool said: {inner[: len(inner) - 1]} [cut]"}]},
        {"final_text": f"({value})"},
    ]


def recall(n: int) -> None:
    rng = random.Random(7)
    redactor = Redactor(KEY)
    print("| kind | values | gone | recall |\n|---|---|---|---|")
    for kind, make in VALUES.items():
        seen = gone = 0
        for _ in range(n):
            value = make(rng)
            for row in places(value, rng):
                seen += 1
                gone += _is_gone(value, redactor.row(row))
        print(f"| {kind} | {seen} | {gone} | {gone / seen:.4f} |")
    for kind, templates in CONTEXTS.items():
        rows = []
        for _ in range(n):
            value = token(rng, 14) + digits(rng, 2)
            rows.append((value, {"prompt": rng.choice(templates).format(value)}))
        _report(kind, rows, redactor)
    rows = [(v := token(rng, 12) + "1", {"a": {rng.choice(FIELDS): v}}) for _ in range(n)]
    _report("secret in a field", rows, redactor)
    rows = [(v := digits(rng, 9), {"a": {rng.choice(NUMBER_FIELDS): v}}) for _ in range(n)]
    _report("number in a field", [row for row in rows if row[0][0] != "0"], redactor)


def _report(kind: str, rows: list[tuple[str, dict[str, Any]]], redactor: Redactor) -> None:
    gone = sum(_is_gone(value, redactor.row(row)) for value, row in rows)
    print(f"| {kind} | {len(rows)} | {gone} | {gone / len(rows):.4f} |")


def _is_gone(value: str, row: object) -> bool:
    text = orjson.dumps(row).decode()
    plain = json.dumps(value, ensure_ascii=False)[1:-1]
    return plain not in text and json.dumps(value)[1:-1] not in text and not scan(row)


def false_alarms(n: int) -> None:
    rng = random.Random(11)
    redactor = Redactor(KEY)
    print("\n| look-alike | texts | changed | rate |\n|---|---|---|---|")
    for kind, make in LOOKALIKES.items():
        rows = [row for _ in range(n) for row in places(make(rng), rng)]
        changed = sum(redactor.row(row) != row for row in rows)
        print(f"| {kind} | {len(rows)} | {changed} | {changed / len(rows):.4f} |")


def agent_row(rng: random.Random, *, personal: bool) -> dict[str, Any]:
    words = ("order", "parcel", "refund", "late", "urgent", "invoice", "please", "check", "depot")

    def prose(n: int) -> str:
        return " ".join(rng.choices(words, k=n))

    who = email(rng) if personal else "the customer"
    number = phone(rng) if personal else "none"
    steps: list[dict[str, Any]] = [
        {
            "tool": "lookup",
            "arguments": {"order_id": f"A-{digits(rng, 5)}", "amount": 12.5, "who": who},
            "result": {
                "id": str(uuid.UUID(int=rng.getrandbits(128))),
                "at": 1_700_000_000 + i,
                "note": prose(20),
                "contact": number,
                "lines": [prose(2) for _ in range(3)],
            },
        }
        for i in range(5)
    ]
    return {"prompt": prose(15) + " " + who, "steps": steps, "final_text": prose(60)}


def speed(count: int, pairs: int) -> None:
    print("\n| rows | MB | redact ÷ parse (median, range) |\n|---|---|---|")
    for label, personal in (("nothing to find", False), ("15 findings a row", True)):
        rng = random.Random(3)
        lines = [orjson.dumps(agent_row(rng, personal=personal)) for _ in range(count)]
        rows = [orjson.loads(line) for line in lines]
        redactor = Redactor(KEY)
        redactor.row(rows[0])
        ratios = []
        for _ in range(pairs):
            start = time.perf_counter()
            for line in lines:
                orjson.loads(line)
            middle = time.perf_counter()
            for row in rows:
                redactor.row(row)
            ratios.append((time.perf_counter() - middle) / (middle - start))
        size = sum(map(len, lines)) / 1e6
        median = statistics.median(ratios)
        print(f"| {label} | {size:.1f} | {median:.1f} ({min(ratios):.1f}–{max(ratios):.1f}) |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--n", type=int, default=400)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--pairs", type=int, default=5)
    options = parser.parse_args()
    recall(options.n)
    false_alarms(options.n)
    speed(options.rows, options.pairs)


if __name__ == "__main__":
    main()
