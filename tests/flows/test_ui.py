"""What a person sees, in a real browser: a run, its pages, a form, publishing on hold.

With WHILEAI_SCREENSHOTS set to a folder the pictures of the documentation are made anew there
(`make screenshots`).
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")

pytestmark = [
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER),
        reason="needs a browser: apt-get install chromium chromium-driver",
    ),
    # What the browser's driver leaves to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


class Browser:
    """A headless Chromium that looks at one server's pages."""

    def __init__(self, driver):
        self.driver = driver

    def see(self, url, *texts):
        """Open a page and wait until all of it is there."""
        self.driver.get(url)
        for text in texts:
            self.wait(lambda text=text: text in self.text(), text)

    def text(self):
        return self.driver.find_element(By.TAG_NAME, "body").text

    def wait(self, ask, what):
        return WebDriverWait(self.driver, 30).until(lambda _: ask(), f"never saw {what}")

    def click(self, text):
        found = f"//*[(self::button or self::a) and normalize-space()='{text}']"
        self.wait(lambda: self.driver.find_elements(By.XPATH, found), text)[0].click()

    def picture(self, name):
        """Keep what is seen, where pictures are wanted; a page for the docs is a small one."""
        folder = os.environ.get("WHILEAI_SCREENSHOTS")
        taken = self.driver.get_screenshot_as_png()
        assert len(taken) < 200_000
        if folder:
            (Path(folder) / f"{name}.png").write_bytes(taken)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    profile = tmp_path_factory.mktemp("browser")
    for argument in (
        "--headless=new",
        "--no-sandbox",  # the tests may run as root
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--window-size=1280,900",
        f"--user-data-dir={profile}",
    ):
        options.add_argument(argument)
    driver = webdriver.Chrome(options, Service(DRIVER))
    try:
        yield Browser(driver)
    finally:
        driver.quit()


@pytest.fixture(scope="module")
def run(served):
    """A night over traces that lie where a machine's paths are not to be seen."""
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
    # Local paths of a deployment are read from its own folder, so this one looks like an URL.
    ended = served.run("nightly/nightly", {"paths": [f"file://{folder}"], "agent": "parcels"})
    assert ended["state"]["type"] == "COMPLETED", ended["state"]["message"]
    return ended


def pages_of(served, run):
    query = {"artifacts": {"flow_run_id": {"any_": [run["id"]]}}}
    return {page["key"]: page["id"] for page in served.post("artifacts/filter", query)}


def test_a_run_tells_its_name_tags_and_story(served, run, browser):
    browser.see(
        f"{served.ui}/v2/runs/flow-run/{run['id']}?tab=Logs",
        run["name"],
        "agent:parcels",
        "Completed",
        "48 records = 48 rows + 0 duplicates + 0 quarantined + 0 ignored",
    )
    assert "Traceback" not in browser.text()
    browser.picture("run")


def test_the_summary_is_readable_and_leads_to_the_other_pages_and_the_data(served, run, browser):
    pages = pages_of(served, run)
    browser.see(
        f"{served.ui}/v2/artifacts/artifact/{pages['night-summary']}",
        f"parcels, night {run['name'][-10:]}",
        "Publish gate" if "Publish gate" in browser.text() else "publish gate",
    )
    browser.picture("summary")
    links = [
        link.get_attribute("href") or ""
        for link in browser.driver.find_elements(By.CSS_SELECTOR, "a[href^='http']")
    ]
    assert any(link.startswith(f"{served.gate}/data/ds_") for link in links)
    browser.click("what the traces hold")
    browser.wait(
        lambda: "pass 33 / fail 15" in browser.text() or "graded" in browser.text(), "report"
    )


def test_the_plot_of_the_gate_is_drawn(served, run, browser):
    pages = pages_of(served, run)
    browser.see(f"{served.ui}/v2/artifacts/artifact/{pages['publish-gate']}", "pass rate")
    (plot,) = browser.driver.find_elements(By.CSS_SELECTOR, "img[src^='data:image/svg+xml']")
    drawn = "return arguments[0].complete && arguments[0].naturalWidth"
    assert browser.wait(lambda: browser.driver.execute_script(drawn, plot), "the plot") > 100
    browser.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    browser.picture("gate")


def test_the_form_explains_itself_and_refuses_what_is_out_of_bounds(served, run, browser):
    identity = served.get("deployments/name/nightly/nightly")["id"]
    browser.see(
        f"{served.ui}/v2/deployments/deployment/{identity}/run",
        "Files, folders, globs or fsspec URLs with traces.",
        "Share of rows to hold out, by whole tasks.",
        "Fail when a larger share of the records is unreadable.",
    )
    browser.picture("form")
    wrong = {"parameters": {"paths": ["x"], "agent": "a", "holdout": 2}}
    with pytest.raises(Exception, match="409|422"):
        served.post(f"deployments/{identity}/create_flow_run", wrong)
