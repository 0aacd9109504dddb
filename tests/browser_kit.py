"""A real Chromium without a window, driven over the WebDriver protocol of its own driver."""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # how the protocol names an element


class Browser:
    """One browser window."""

    def __init__(self, http: httpx.Client, session: str) -> None:
        self._http = http
        self._session = session

    def open(self, url: str) -> None:
        """Load a page."""
        self._ask("POST", "url", url=url)

    @property
    def url(self) -> str:
        """Where the window is."""
        return str(self._ask("GET", "url"))

    @property
    def text(self) -> str:
        """What the page shows, as a person reads it."""
        return str(self.run("return document.body ? document.body.innerText : ''"))

    def shows(self, text: str) -> bool:
        """Tell whether the page shows a text, now or before long: pages take time to load."""
        for _ in range(200):
            if text in self.text:
                return True
            time.sleep(0.05)
        return False

    def run(self, script: str) -> Any:
        """Run a script in the page; the driver may do that where pages may not."""
        return self._ask("POST", "execute/sync", script=script, args=[])

    def type(self, selector: str, text: str) -> None:
        """Type into the one element a CSS selector finds."""
        self._ask("POST", f"element/{self._find(selector)}/value", text=text)

    def click(self, selector: str) -> None:
        """Click the one element a CSS selector finds."""
        for patience in range(50, -1, -1):
            try:
                self._ask("POST", f"element/{self._find(selector)}/click")
            except AssertionError as error:  # a page that draws itself anew replaces its elements
                if not patience or "stale element" not in str(error):
                    raise
                time.sleep(0.1)
            else:
                return

    def picture(self) -> bytes:
        """Return what the window shows as PNG."""
        return base64.b64decode(self._ask("GET", "screenshot"))

    def errors(self) -> list[str]:
        """Return what the browser has complained of since it was asked last."""
        entries = self._ask("POST", "se/log", type="browser")
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]

    def cookies(self) -> dict[str, Any]:
        """Return the cookies of the page's origin by name, with their attributes."""
        return {cookie["name"]: cookie for cookie in self._ask("GET", "cookie")}

    def _find(self, selector: str) -> str:
        found = self._ask("POST", "element", using="css selector", value=selector)
        return str(found[_ELEMENT])

    def _ask(self, method: str, what: str, **body: Any) -> Any:
        path = f"/session/{self._session}/{what}"
        reply = self._http.request(method, path, json=body if method == "POST" else None)
        assert reply.status_code == 200, reply.text
        return reply.json()["value"]


def find_programs() -> tuple[str, str] | None:
    """Return the browser and its driver, if both are on the machine."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


@contextlib.contextmanager
def running_driver(browser: str, driver: str, folder: Path) -> Iterator[Driver]:
    """Start the driver with a folder of its own; stop it and its browsers at the end."""
    port = _free_port()
    process = subprocess.Popen(
        [driver, f"--port={port}", "--log-level=OFF"],
        env={"PATH": os.environ.get("PATH", ""), "HOME": str(folder), "TMPDIR": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as http:
            _wait_for(http, process)
            yield Driver(http, browser)
    finally:
        process.terminate()
        process.wait()


class Driver:
    """The driver, which opens windows."""

    def __init__(self, http: httpx.Client, browser: str) -> None:
        self._http = http
        self._browser = browser

    @contextlib.contextmanager
    def window(self, *flags: str, scripts: bool = True) -> Iterator[Browser]:
        """Open a window with a fresh profile, with or without JavaScript in pages."""
        options: dict[str, Any] = {
            "binary": self._browser,
            # Tests may run as root and in a container, where the sandbox cannot be set up.
            "args": [
                "--headless=new",
                "--no-sandbox",
                "--disable-dev-shm-usage",
                "--disable-gpu",
                "--window-size=1280,900",
                *flags,
            ],
        }
        if not scripts:
            options["prefs"] = {"profile.managed_default_content_settings.javascript": 2}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        reply = self._http.post("/session", json={"capabilities": {"alwaysMatch": wanted}})
        assert reply.status_code == 200, reply.text
        session = reply.json()["value"]["sessionId"]
        try:
            yield Browser(self._http, session)
        finally:
            self._http.delete(f"/session/{session}")


def _wait_for(http: httpx.Client, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        with contextlib.suppress(httpx.HTTPError):
            if http.get("/status").json()["value"]["ready"]:
                return
        assert process.poll() is None, "chromedriver ended"
        time.sleep(0.05)
    raise AssertionError("chromedriver does not answer")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
