"""Marked secrets in every place a secret can be, and afterwards nowhere else."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import os
import re
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import zstandard

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests" / "hub"))

from local_hub import TOKEN, LocalHub  # noqa: E402 - a helper of another folder

# Secrets of a kind the redactor knows, as they turn up in traces.
IN_TRACES = {
    "e-mail": "canary.person@corp-mail.example.com",
    "github token": "ghp_c4n4ryC4N4RYc4n4ryC4N4RYc4n4ryC4N4RY",
    "aws key": "AKIA4C4N4RYMARK7QZ3X",
    "bearer": "Bearer c4n4ryBearerTokenThatIsLongEnough0123456789",
    "card": "4539 1488 0343 6467",
    "password": "hunter2-canary-pass",
}


class Parrot(BaseHTTPRequestHandler):
    """A platform that creates sets and fails afterwards, repeating every word it was told."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, answer = 400, {"error": f"{self.path} {dict(self.headers)} {body[:200]!r}"}
        if self.command == "POST" and self.path == "/datasets":
            host = f"http://{self.headers['Host']}"
            status, answer = (
                201,
                {"datasetId": "ds_1", "uploadUrl": f"{host}/up/1?X-Amz-Signature=s1gn4turec4n4ry"},
            )
        raw = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    do_GET = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815


@dataclass
class Evidence:
    """What was run, what it said, what it left, and the marks to look for."""

    folder: Path
    marks: dict[str, str] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)

    def run(self, name: str, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, *command],
            env={**self.environment(), **environment},
            cwd=ROOT,
            check=False,
            capture_output=True,
            text=True,
            timeout=240,
        )
        self.said[name] = done.stdout + done.stderr
        return done

    def cli(self, name: str, *arguments: str, **environment: str) -> None:
        self.run(name, "-m", "whileai_core.cli", *arguments, **environment)

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("WHILEAI")}
        return {
            **kept,
            "PYTHONPATH": str(ROOT),
            "PREFECT_LOGGING_LEVEL": "DEBUG",
            "PREFECT_LOGGING_TO_API_BATCH_INTERVAL": "0.1",
            "PREFECT_HOME": str(self.folder / "prefect"),
            "WHILEAI_HOME": str(self.folder / "home"),
            "OPENAI_API_KEY": self.marks["chat endpoint"],
            "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
            "WHILEAI_ENDPOINT_KEY": self.marks["other endpoint"],
            "WHILEAI_ALLOWED_IMPORTS": "whileai_core.simulation.demo",
            "HF_TOKEN": TOKEN,
        }


def write_traces(folder: Path) -> None:
    folder.mkdir()
    every = " and ".join(f"{kind}: {mark}" for kind, mark in IN_TRACES.items())
    row = {
        "prompt": f"Ask with {every}",
        "steps": [
            {
                "tool": "send",
                "arguments": {"to": every, "deep": [{"authorization": IN_TRACES["bearer"]}]},
                "result": json.dumps({"password": IN_TRACES["password"], "text": every}),
            }
        ],
        "final_text": f"Sent: {every}",
        "extra": {"mail": IN_TRACES["e-mail"], "password": IN_TRACES["password"]},
        "reward": 1,
    }
    rows = [{**row, "prompt": f"{row['prompt']} {n}"} for n in range(6)]
    chat = {
        "messages": [
            {"role": "system", "content": f"You know {every}"},
            {"role": "user", "content": f"Tell me {every}"},
            {"role": "assistant", "content": every},
        ]
    }
    asked = [{"role": "user", "parts": [{"type": "text", "content": every}]}]
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(asked),
        "gen_ai.output.messages": json.dumps([{**asked[0], "role": "assistant"}]),
        "http.request.header.authorization": IN_TRACES["bearer"],
        "user.email": IN_TRACES["e-mail"],
    }
    span = {
        "traceId": "ab" * 16,
        "spanId": "cd" * 8,
        "name": "chat",
        "startTimeUnixNano": "1",
        "endTimeUnixNano": "2",
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in attributes.items()],
    }
    lines = [
        *map(json.dumps, rows),
        json.dumps(chat),
        f'{{"prompt": "cut off with {every}',
        f"no JSON at all, {every}",
    ]
    (folder / "rows.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    batch = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    (folder / "spans.jsonl").write_text(json.dumps(batch) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Run everything once: good runs, bad runs, the gate as a server, the command line."""
    from flows import _server
    from whileai_core.gate.admin import create_key, create_session
    from whileai_core.gate.settings import GateSettings
    from whileai_core.settings import Settings

    folder = tmp_path_factory.mktemp("canary")
    gate_home = folder / "gate-home"
    settings = GateSettings.from_settings(Settings(home=gate_home))
    password = "p4sswordc4n4ry"
    found = Evidence(folder)
    found.marks = {
        "key": asyncio.run(create_key("team", settings=settings)),
        "session": asyncio.run(create_session("team", settings=settings)),
        "wrong key": "zp_wrongkeyc4n4ry0123456789",
        "stored key": "zp_storedkeyc4n4ry0123456789",
        "signature": "s1gn4turec4n4ry",
        "password": password,
        "chat endpoint": "sk-c4n4ryChatEndpoint0123456789",
        "other endpoint": "vk-c4n4ryOtherEndpoint012345678",
        "hugging face": TOKEN,
    }
    urls = {
        "bad url": f"https://kim:{password}@127.0.0.1:9",
        "database url": f"postgresql://kim:{password}@127.0.0.1:9/traces",
        "odd database url": f"postgresql://kim:x@{password}@127.0.0.1:9/traces",
        "mangled database url": f"postgresql://kim:x@y:{password}@127.0.0.1/traces",
    }
    write_traces(folder / "in")
    (folder / "home").mkdir()
    stored = {"api_key": found.marks["stored key"], "api_url": "http://127.0.0.1:9"}
    (folder / "home" / "credentials.json").write_text(json.dumps(stored))
    with contextlib.ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("PREFECT_HOME", str(folder / "prefect"))
        (folder / "prefect").mkdir()
        patch.delenv("PREFECT_API_URL", raising=False)
        server, api = _server._start(folder / "server.log")
        stack.callback(_server._stop, server)
        _server._wait(server, api, folder / "server.log")
        hub = LocalHub()
        stack.callback(hub.close)
        parrot = ThreadingHTTPServer(("127.0.0.1", 0), Parrot)
        parrot.daemon_threads = True
        threading.Thread(target=parrot.serve_forever, daemon=True).start()
        stack.callback(parrot.server_close)
        stack.callback(parrot.shutdown)
        with (folder / "gate.log").open("w+") as log:
            gate = subprocess.Popen(
                [sys.executable, "-m", "whileai_core.cli", "gate", "serve", "--port", "0"],
                env={
                    **found.environment(),
                    "WHILEAI_HOME": str(gate_home),
                    "HF_ENDPOINT": hub.url,
                },
                stderr=log,
                stdout=log,
            )
            stack.callback(gate.wait)
            stack.callback(gate.terminate)
            while not (at := re.search(r"listens on (\S+)", (folder / "gate.log").read_text())):
                assert gate.poll() is None, (folder / "gate.log").read_text()
        platform = {
            "PREFECT_API_URL": api,
            "WHILEAI_API_URL": at[1],
            "WHILEAI_API_KEY": found.marks["key"],
        }
        done = found.run(
            "runs",
            str(ROOT / "tests" / "project" / "canary_runs.py"),
            str(folder / "in"),
            str(folder / "told.json"),
            CANARY_MARKS=json.dumps(found.marks | urls),
            CANARY_FAULTS=f"http://127.0.0.1:{parrot.server_port}",
            **platform,
        )
        assert done.returncode == 0, done.stdout + done.stderr[-6000:]
        found.marks |= json.loads((folder / "told.json").read_text())
        (folder / "told.json").unlink()
        found.cli("list", "datasets", "--json", **platform)
        wrong = {**platform, "WHILEAI_API_KEY": found.marks["wrong key"]}
        found.cli("wrong key", "datasets", "--json", **wrong)
        found.cli("stored key", "datasets", "--json")
        for name in ("database url", "odd database url", "mangled database url"):
            found.cli(name, "gate", "serve", "--port", "0", WHILEAI_GATE_DATABASE_URL=urls[name])
    return found


def texts(path: Path) -> bytes:
    """What a file holds, unpacked."""
    data = path.read_bytes()
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data


def spellings(mark: str) -> list[bytes]:
    """A secret as it may stand in a file: plain, or a part of it that gives it away."""
    return [mark.encode(), mark.removeprefix("Bearer ").encode(), mark.replace(" ", "").encode()]


@pytest.mark.slow
def test_no_secret_is_in_what_was_said(evidence: Evidence) -> None:
    logs = {path.name: path.read_text("utf-8") for path in evidence.folder.glob("*.log")}
    assert all(evidence.said.values())
    assert "-> 401" in logs["gate.log"]
    assert "a ledger at odd database failed: SettingsError" in evidence.said["runs"]
    assert "a gate at mangled database failed: SettingsError" in evidence.said["runs"]
    for where, text in {**evidence.said, **logs}.items():
        for kind, mark in {**evidence.marks, **IN_TRACES}.items():
            for spelling in spellings(mark):
                at = text.find(spelling.decode())
                assert at < 0, f"{kind} in {where}: …{text[max(0, at - 700) : at + 200]}"


@pytest.mark.slow
def test_no_secret_is_in_what_was_left(evidence: Evidence) -> None:
    kept_for_it = {"credentials.json"}
    looked = 0
    for path in sorted(evidence.folder.rglob("*")):
        if path.is_dir() or path.parent.name == "in" or path.name in kept_for_it:
            continue
        looked += 1
        data = texts(path)
        for kind, mark in {**evidence.marks, **IN_TRACES}.items():
            if kind == "signature" and path.parent.name == "pushes":
                assert path.stat().st_mode & 0o077 == 0  # an unfinished push needs its address
                continue
            for spelling in spellings(mark):
                at = data.find(spelling)
                where = path.relative_to(evidence.folder)
                assert at < 0, f"{kind} in {where}: …{data[max(0, at - 300) : at + 100]!r}"
    assert looked > 20
    assert (evidence.folder / "prefect" / "prefect.db").exists()
    assert list((evidence.folder / "home").rglob("quarantine/*/*.jsonl"))
