"""The pages in a real Chromium, with and without JavaScript."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_kit import Browser, Driver, find_programs, running_driver
from gate_kit import Served, User
from test_gate_pages import EVIL, ROWS, jsonl

from whileai_core.gate.settings import GateSettings


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    programs = find_programs()
    if programs is None:
        reason = "Chromium is not installed (Debian: apt-get install chromium chromium-driver)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with running_driver(*programs, tmp_path_factory.mktemp("chromium")) as running:
        yield running


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One gate is enough here: what it shows does not depend on the database."""
    with Served(GateSettings(folder=tmp_path_factory.mktemp("gate"))) as gate:
        yield gate


@pytest.fixture(params=[True, False], ids=["scripts", "no scripts"])
def browser(driver: Driver, request: Any) -> Iterator[Browser]:
    with driver.window(scripts=request.param) as window:
        yield window


def sign_in(browser: Browser, served: Served, user: User) -> None:
    browser.open(f"{served.origin}/")
    browser.type("input[name=key]", user.key)
    browser.click(".sign-in button")
    assert browser.shows("Sign out")


def test_from_signing_in_to_a_conversation_and_out(
    browser: Browser, served: Served, user: User
) -> None:
    first = user.push(jsonl(ROWS), name="night-1", purpose="train", agent="weather")
    user.push(jsonl(ROWS), name="night-2", purpose="train", parentDatasetId=first)
    sign_in(browser, served, user)
    cookie = browser.cookies()["whileai_gate"]
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Lax")
    browser.click("#lineage .chain li:first-child a")
    assert browser.shows("Sample conversations")
    assert browser.url == f"{served.origin}/data/{first}"
    shown = browser.text
    for text in ("n = 20 in 4 tasks", "Rain in town 0?", "Let me look once more.", "Answer 19."):
        assert text in shown
    # Drawn, not only there: the styles and the plot got past the page's own policy.
    assert browser.run("return document.querySelector('figure svg').getBBox().width") > 300
    assert browser.run("return getComputedStyle(document.querySelector('.chain')).display") == (
        "flex"
    )
    assert browser.run("return document.querySelectorAll('figure svg circle').length") == 4
    browser.click("details summary")
    assert browser.shows("hardest first\nTask")
    assert browser.errors() == []
    browser.click("header form button")
    assert browser.shows("Account key or session token")
    browser.open(f"{served.origin}/data/{first}")
    assert browser.shows("no such dataset")


def test_data_is_shown_and_never_run(browser: Browser, served: Served, user: User) -> None:
    row = {"prompt": EVIL, "final_text": EVIL, "steps": [{"tool": EVIL, "result": EVIL}]}
    dataset = user.push(jsonl([row]), name=EVIL, description=EVIL)
    sign_in(browser, served, user)
    browser.open(f"{served.origin}/data/{dataset}")
    assert browser.run("return document.title").startswith("</p>")
    assert browser.run("return document.scripts.length + document.images.length") == 0
    assert "<img src=x onerror=alert(1)>" in browser.text
    assert browser.errors() == []


def test_a_form_on_another_site_signs_nobody_in(
    driver: Driver, served: Served, user: User, tmp_path: Path
) -> None:
    trap = tmp_path / "trap.html"
    trap.write_text(
        f'<form method="post" action="{served.origin}/sign-in">'
        f'<input name="key" value="{user.key}"><button>Win</button></form>'
    )
    with driver.window() as browser:
        browser.open(trap.as_uri())
        browser.click("button")
        assert browser.shows("sent from another site")
        assert browser.cookies() == {}


def test_over_plain_http_from_another_machine(driver: Driver, served: Served, user: User) -> None:
    # To a name that is not this machine's browsers tell less of where a form comes from.
    origin = served.origin.replace("127.0.0.1", "gate.test")
    with driver.window("--host-resolver-rules=MAP gate.test 127.0.0.1") as browser:
        browser.open(f"{origin}/")
        browser.type("input[name=key]", user.key)
        browser.click(".sign-in button")
        assert browser.shows("Sign out")
        browser.click("header form button")
        assert browser.shows("Account key or session token")
