"""What a person sees, in a real browser: a run, its pages, a form, publishing on hold.

With WHILEAI_SCREENSHOTS set to a folder the pictures of the documentation are made anew there
(`make screenshots`).
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import httpx
import pytest
from browser_kit import find_programs, running_driver

pytestmark = pytest.mark.slow
PLOT = "document.querySelector('img[src^=\"data:image/svg+xml\"]')"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    programs = find_programs()
    if programs is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium chromium-driver)")
    folder = tmp_path_factory.mktemp("chromium")
    with running_driver(*programs, folder) as driver, driver.window() as window:
        yield window


def keep_picture(browser, name):
    """Keep what is seen, where pictures are wanted; the documentation wants small ones."""
    taken, before = browser.picture(), b""
    for _ in range(20):  # parts of a page come later and push others about
        if taken == before:
            break
        time.sleep(0.3)
        taken, before = browser.picture(), taken
    assert len(taken) < 200_000
    folder = os.environ.get("WHILEAI_SCREENSHOTS")
    if folder:
        (Path(folder) / f"{name}.png").write_bytes(taken)


@pytest.fixture(scope="module")
def run(served):
    """A night with passes and failures of every task."""
    folder = served.home / "traces"
    folder.mkdir(exist_ok=True)
    rows = [
        {
            "prompt": f"Where is parcel {n * 7919} that I sent to number {n}?",
            "scenario_id": f"parcel-{n}",
            "trial": trial,
            "steps": [{"tool": "track", "arguments": {"id": n}, "result": {"status": "ok"}}],
            "final_text": f"Parcel {n} is on its way, attempt {trial}.",
            "reward": (n + trial) % 3 and 1,
        }
        for n in range(16)
        for trial in range(3)
    ]
    (folder / "monday.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ended = served.run("nightly/nightly", {"paths": [str(folder)], "agent": "parcels"})
    assert ended["state"]["type"] == "COMPLETED", ended["state"]["message"]
    return ended


def pages_of(served, run):
    query = {"artifacts": {"flow_run_id": {"any_": [run["id"]]}}}
    return {page["key"]: page["id"] for page in served.post("artifacts/filter", query)}


def see(browser, url, *texts):
    """Open a page and wait until all of it is there."""
    browser.open(url)
    for text in texts:
        assert any(browser.shows(text) for _ in range(3)), browser.text  # a busy machine is slow


def test_a_run_tells_its_name_tags_and_story(served, run, browser):
    see(
        browser,
        f"{served.ui}/v2/runs/flow-run/{run['id']}?tab=Logs",
        run["name"],
        "agent:parcels",
        "Completed",
        "48 records = 48 rows + 0 duplicates + 0 quarantined + 0 ignored",
    )
    keep_picture(browser, "run")


def test_the_summary_is_readable_and_leads_to_the_other_pages_and_the_data(served, run, browser):
    pages = pages_of(served, run)
    night = run["name"].removeprefix("nightly-parcels-")
    summary = f"{served.ui}/v2/artifacts/artifact/{pages['night-summary']}"
    see(browser, summary, f"parcels, night {night}", "what the traces hold")
    keep_picture(browser, "summary")
    browser.click(f"a[href$='{pages['trace-report']}']")
    assert browser.shows("graded"), browser.text


def test_a_run_leads_to_its_datasets_and_they_lead_back(served, run, browser):
    key = served.command("gate", "key", "create", "local").split()[-1]
    see(browser, served.gate, "Sign in")
    browser.type("input[name=key]", key)
    browser.click(".sign-in button")
    summary = pages_of(served, run)["night-summary"]
    see(browser, f"{served.ui}/v2/artifacts/artifact/{summary}", "parcels-")
    browser.click(f"a[href^='{served.gate}/data/ds_']")
    assert browser.shows("Lineage"), browser.text
    keep_picture(browser, "dataset")
    browser.click(f"a[href^='{served.ui}/v2/runs']")
    assert browser.shows(run["name"]), browser.text
    assert browser.shows("1 Flow run"), browser.text


def test_the_plot_of_the_gate_is_drawn(served, run, browser):
    pages = pages_of(served, run)
    gate = f"{served.ui}/v2/artifacts/artifact/{pages['publish-gate']}"
    see(browser, gate, run["name"], "pass rate")
    assert browser.run(f"return {PLOT}.decode().then(() => {PLOT}.naturalWidth)") > 100
    browser.run(f"{PLOT}.scrollIntoView({{block: 'center'}})")
    keep_picture(browser, "gate")


def test_the_form_explains_itself_and_what_is_out_of_bounds_is_refused(served, run, browser):
    identity = served.get("deployments/name/nightly/nightly")["id"]
    see(
        browser,
        f"{served.ui}/v2/deployments/deployment/{identity}/run",
        "Files, folders, globs or fsspec URLs with traces.",
        "Share of rows to hold out, by whole tasks.",
        "Fail when a larger share of the records is unreadable.",
    )
    keep_picture(browser, "form")
    wrong = {"parameters": {"paths": ["x"], "agent": "a", "holdout": 2}}
    reply = httpx.post(f"{served.api}/deployments/{identity}/create_flow_run", json=wrong)
    assert reply.status_code in (409, 422)
