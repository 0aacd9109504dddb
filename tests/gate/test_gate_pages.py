"""The pages for people: what they show, to whom, and that nothing in the data becomes markup."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import httpx
import pytest
from gate_kit import Served, User, run_sql
from otlp_kit import chat, request

from whileai_core.gate.accounts import BROWSER_SECONDS
from whileai_core.gate.admin import create_session
from whileai_core.gate.routes import pages

EVIL = "</p></pre><script>document.title='owned'</script><img src=x onerror=alert(1)>\"'&"


def jsonl(rows: list[Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


ROWS = [
    {
        "prompt": f"Rain in town {n}?",
        "task_id": f"town-{n % 4}",
        "steps": [
            {"tool": "radar", "arguments": {"town": n}, "result": {"rain": n % 2 == 0}},
            {"text": "Let me look once more."},
            {"user": "Please do."},
        ],
        "final_text": f"Answer {n}.",
        "reward": int(n % 4 > 1 or n > 6),
        "origin": {"file": "night.jsonl"},
    }
    for n in range(20)
]


class Visitor:
    """Somebody with a browser's habits: keeps cookies, says where a form comes from."""

    def __init__(self, origin: str) -> None:
        self.http = httpx.Client(base_url=origin, timeout=30)

    def sign_in(self, key: str, **headers: str) -> httpx.Response:
        sent = {"Sec-Fetch-Site": "same-origin"} | headers
        return self.http.post("/sign-in", data={"key": key}, headers=sent)

    def read(self, path: str, status: int = 200) -> str:
        reply = self.http.get(path)
        assert reply.status_code == status, reply.text
        assert reply.headers["content-type"] == "text/html; charset=utf-8"
        return reply.text


@pytest.fixture
def visitor(served: Served) -> Any:
    visitor = Visitor(served.origin)
    yield visitor
    visitor.http.close()


@pytest.fixture
def reader(visitor: Visitor, user: User) -> Visitor:
    """A visitor who has signed in as the user."""
    assert visitor.sign_in(user.key).status_code == 303
    return visitor


def test_the_overview_shows_what_the_account_has(reader: Visitor, user: User) -> None:
    parent = user.push(jsonl(ROWS), name="night-1", purpose="train", agent="Weather")
    user.push(jsonl(ROWS[:5]), name="night-1-holdout", purpose="holdout", parentDatasetId=parent)
    user.push(jsonl(ROWS[:2]), name="by-hand")
    user.call("POST", "/v1/traces", 202, json=request(chat("a", "Rain?", "No.")))
    user.call("POST", f"/datasets/{parent}/publish", 200, json={"agent": "Weather"})
    page = reader.read("/")
    for section in ("train", "holdout", "eval", "raw", "other", "lineage", "agents", "catalog"):
        assert f'<section id="{section}">' in page
    trains, holdouts = (
        re.search(rf'<section id="{name}">.*?</section>', page, re.DOTALL)
        for name in ("train", "holdout")
    )
    assert trains
    assert holdouts
    assert f'<a href="/data/{parent}">night-1</a>' in trains[0]
    assert "ready, public" in trains[0]
    assert f'<a href="/data/{parent}">night-1</a>' in holdouts[0]  # what it follows
    assert re.search(
        r'class="chain">\s*<li><a [^>]*>night-1</a>.*?night-1-holdout', page, re.DOTALL
    )
    assert "by-hand" in page
    assert "Weather" in page


def test_a_dataset_in_numbers_lineage_and_conversations(reader: Visitor, user: User) -> None:
    first = user.push(jsonl(ROWS), name="night-1", purpose="train", description="the first one")
    second = user.push(jsonl(ROWS), name="night-2", parentDatasetId=first)
    third = user.push(jsonl(ROWS), name="night-3", parentDatasetId=second)
    page = reader.read(f"/data/{second}")
    assert "the first one" in reader.read(f"/data/{first}")
    assert f'<a href="/data/{first}">night-1</a>' in page
    assert '<li aria-current="page">night-2' in page
    assert f'<a href="/data/{third}">night-3</a>' in page
    profile = user.call("GET", f"/datasets/{second}/profile", 200)["profile"]
    low, high = profile["pass_rate_interval95"]
    rate = f"{100 * profile['pass_rate']:.1f} % [{100 * low:.1f} – {100 * high:.1f}], n = 20 in 4"
    assert rate in page
    for task in profile["per_task"]:
        low, high = (100 * limit for limit in task["interval95"])
        assert f"{100 * task['pass_rate']:.1f} % [{low:.1f} – {high:.1f}]" in page
    assert page.count("<svg") == 1
    assert re.findall(r"<h3>Row (\d+)", page) == ["1", "11", "20"]
    said = re.findall(r'class="turn (\w+)"', page)
    assert said == ["user", "tool", "assistant", "user", "assistant"] * 3
    for text in ("Rain in town 10?", "tool · radar", "Let me look once more.", "Answer 19."):
        assert text in page


def test_nothing_in_the_data_becomes_markup(reader: Visitor, user: User) -> None:
    row = dict.fromkeys(("prompt", "final_text", EVIL), EVIL)
    row |= {"reward": 1, "steps": [{"tool": EVIL, "arguments": {EVIL: EVIL}, "result": EVIL}]}
    dataset = user.push(jsonl([row]), name=EVIL, description=EVIL)
    user.call("POST", "/agents", 200, json={"name": f"a {EVIL}", "description": EVIL})
    user.call("POST", f"/datasets/{dataset}/publish", 200, json={"agent": "a"})
    for path in ("/", f"/data/{dataset}", "/data/<script>"):
        reply = reader.http.get(path)
        assert "<script" not in reply.text
        assert "<img" not in reply.text
        assert "&lt;script&gt;" in reply.text or path == "/data/<script>"
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe-inline" not in policy
        assert reply.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "row",
    [
        7,
        None,
        [],
        {"steps": "none"},
        {"steps": [None, 1, {"other": 2}, {"tool": 5}, {"user": {"a": 1}}], "prompt": ["x"]},
        {"prompt": "\ud800 \0", "reward": float("nan"), "final_text": {"a": "\udfff"}},
        {"prompt": "x" * 100_000, "steps": [{"text": "y"}] * 500},
    ],
)
def test_rows_of_any_shape_are_shown(reader: Visitor, user: User, row: Any) -> None:
    page = reader.read(f"/data/{user.push(jsonl([row]))}")
    assert "<h3>Row 1" in page
    assert len(page) < 60_000


def test_sets_without_data_have_a_page(reader: Visitor, user: User) -> None:
    assert "There are no rows" in reader.read(f"/data/{user.push(b'')}")
    pending, _ = user.create()
    assert "yet: it is pending" in reader.read(f"/data/{pending}")
    orphan = user.push(b"{}\n", parentDatasetId=pending)
    user.call("DELETE", f"/datasets/{pending}", 200)
    assert f"{pending} <small>deleted" in reader.read(f"/data/{orphan}")


def test_the_profile_of_a_large_set_is_computed_when_its_owner_asks(
    reader: Visitor, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_QUICK_BYTES", 1000)
    dataset = user.push(jsonl(ROWS))
    user.call("POST", f"/datasets/{dataset}/publish", 200, json={"agent": "a"})
    path = f"/data/{dataset}"
    assert f'<a href="{path}?profile=1">' in reader.read(path)
    stranger = Visitor(str(user.http.base_url))
    for shown in (stranger.read(path), stranger.read(f"{path}?profile=1")):
        assert "Not computed yet." in shown
        assert "compute it now" not in shown
        assert "Rain in town 0?" in shown
    assert "<svg" in reader.read(f"{path}?profile=1")
    assert "<svg" in stranger.read(path)  # kept with the data
    stranger.http.close()


def test_long_sections_have_pages(reader: Visitor, user: User) -> None:
    for number in range(18):
        user.create(name=f"set-{number:02}", purpose="eval")
    page = reader.read("/")
    assert '<a href="/?section=eval">all 18</a>' in page
    assert "set-17" in page
    assert "set-00" not in page
    assert "set-00" in reader.read("/?section=eval")
    assert "set-00" not in reader.read("/?section=eval&page=2")
    for wrong in ("section=x", "section=eval&page=0", "page=x", "page=١"):
        reader.read(f"/?{wrong}", 404)


def test_without_signing_in_there_is_the_catalog_and_nothing_else(
    visitor: Visitor, user: User
) -> None:
    hidden, public = (user.push(jsonl(ROWS), name=name) for name in ("hidden", "shown"))
    user.call("POST", f"/datasets/{public}/publish", 200, json={"agent": "a"})
    page = visitor.read("/")
    assert '<input type="password" name="key"' in page
    assert f'<a href="/data/{public}">shown</a>' in page
    assert "hidden" not in page
    assert "Answer 0." in visitor.read(f"/data/{public}")
    assert "Lineage" not in visitor.read(f"/data/{public}")
    visitor.read(f"/data/{hidden}", 404)


def test_accounts_do_not_see_each_other(reader: Visitor, served: Served) -> None:
    other = served.user()
    dataset = other.push(jsonl(ROWS), name="secret-name")
    reader.read(f"/data/{dataset}", 404)
    assert "secret-name" not in reader.read("/")


def test_a_session_token_opens_the_pages_too(visitor: Visitor, served: Served) -> None:
    token = asyncio.run(create_session("team <b>", settings=served.settings))
    assert visitor.sign_in(f" {token} ").status_code == 303
    assert "team &lt;b&gt;" in visitor.read("/")


def test_the_cookie_is_kept_from_scripts_and_other_sites(visitor: Visitor, user: User) -> None:
    reply = visitor.sign_in(user.key)
    cookie = reply.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert f"max-age={BROWSER_SECONDS}" in cookie
    assert "secure" not in cookie  # plain http on this machine
    token = visitor.http.cookies["whileai_gate"]
    assert user.key not in cookie
    # It opens pages, and nothing else.
    for headers in ({"X-Api-Key": token}, {"Authorization": f"Bearer {token}"}):
        assert visitor.http.get("/datasets", headers=headers).status_code == 401
        refused = visitor.http.post("/auth/issue-credential", headers=headers)
        assert refused.status_code == 401


def test_behind_https_the_cookie_is_secure(serve_with: Any) -> None:
    gate = serve_with(origin="https://gate.example")
    with httpx.Client(base_url=gate.origin) as http:
        headers = {"Origin": "https://gate.example"}
        reply = http.post("/sign-in", data={"key": gate.user().key}, headers=headers)
        assert "secure" in reply.headers["set-cookie"].lower()


def test_signing_out_ends_the_session_also_for_a_stolen_cookie(reader: Visitor, user: User) -> None:
    stolen = reader.http.cookies["whileai_gate"]
    token = re.search(r'name="form_token" value="(\w+)"', reader.read("/"))
    assert token
    for refused in ({"a": "b"}, {"form_token": "x"}, {"form_token": "ü"}):
        assert reader.http.post("/sign-out", data=refused).status_code == 403
    assert reader.http.post("/sign-out", data={"form_token": token[1]}).status_code == 303
    assert "Sign in" in reader.read("/")
    reader.http.cookies.set("whileai_gate", stolen)
    assert "Sign in" in reader.read("/")


def test_a_session_ends_with_the_credential_it_was_made_with(visitor: Visitor, user: User) -> None:
    bearer = {"Authorization": f"Bearer {user.key}"}
    made = user.call("POST", "/auth/issue-credential", 200, headers=bearer)["credential"]
    assert visitor.sign_in(made).status_code == 303
    assert "Sign out" in visitor.read("/")
    body = {"credential": made}
    user.call("POST", "/auth/revoke-credential", 200, headers=bearer, json=body)
    assert "Sign out" not in visitor.read("/")


def test_sessions_run_out_and_are_cleared_away(serve_with: Any) -> None:
    gate = serve_with()
    user, visitor = gate.user(), Visitor(gate.origin)
    visitor.sign_in(user.key)
    run_sql(gate.settings, "UPDATE credentials SET expires_at = 1 WHERE kind = 'browser'")
    assert "Sign out" not in visitor.read("/")
    visitor.sign_in(user.key)
    left = run_sql(gate.settings, "SELECT count(*) FROM credentials WHERE kind = 'browser'")
    assert left == [(1,)]
    visitor.http.close()


@pytest.mark.parametrize("key", ["", "zp_forged", "x" * 9000, "\ud800".encode("utf-8", "replace")])
def test_a_bad_key_is_refused_unseen(visitor: Visitor, key: Any) -> None:
    reply = visitor.sign_in(key)
    assert reply.status_code == 401
    assert "set-cookie" not in reply.headers
    assert "unknown, revoked or expired" in reply.text
    assert "zp_forged" not in reply.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://["},
    ],
)
def test_forms_of_other_sites_are_refused(
    visitor: Visitor, user: User, headers: dict[str, str]
) -> None:
    reply = visitor.http.post("/sign-in", data={"key": user.key}, headers=headers)
    assert reply.status_code == 403
    assert "set-cookie" not in reply.headers


@pytest.mark.parametrize("media", ["application/json", "text/plain", "multipart/form-data"])
def test_only_a_form_signs_in(visitor: Visitor, user: User, media: str) -> None:
    reply = visitor.http.post(
        "/sign-in", content=f"key={user.key}", headers={"Content-Type": media}
    )
    assert reply.status_code == 400
    assert visitor.http.post("/sign-in", data={"key": "x" * 20_000}).status_code == 413


def test_guessing_keys_is_slowed_down(serve_with: Any) -> None:
    gate = serve_with(failure_rate=0.01, failure_burst=2)
    with httpx.Client(base_url=gate.origin) as http:
        replies = [http.post("/sign-in", data={"key": "zp_guess"}) for _ in range(3)]
    assert [reply.status_code for reply in replies] == [401, 401, 429]
    assert int(replies[2].headers["retry-after"]) > 1
