"""The marked secrets of the canary test, where they are sent to, and what is kept of it all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeAlias

from local_hub import TOKEN

ROOT = Path(__file__).parents[2]
Command: TypeAlias = tuple[str, list[str], dict[str, str]]  # name, arguments, environment

# Secrets of a kind the redactor knows, as they turn up in traces.
IN_TRACES = {
    "e-mail": "canary.person@corp-mail.example.com",
    "github token": "ghp_c4n4ryC4N4RYc4n4ryC4N4RYc4n4ryC4N4RY",
    "aws key": "AKIA4C4N4RYMARK7QZ3X",
    "bearer": "Bearer c4n4ryBearerTokenThatIsLongEnough0123456789",
    "card": "4539 1488 0343 6467",
    "password": "hunter2-canary-pass",
}
# Secrets that no server has to make first.
GIVEN = {
    "wrong key": "zp_wrongkeyc4n4ry0123456789",
    "stored key": "zp_storedkeyc4n4ry0123456789",
    "signature": "s1gn4turec4n4ry",
    "password": "p4sswordc4n4ry",
    "database password": 'd4ta"base/&c4n4ry+p4ss',
    "chat endpoint": "sk-c4n4ryChat7Qz0123Endpt8456Wq",
    "other endpoint": "vk-c4n4ryOtherXk2047Endpt9913Lm",
    "block endpoint": "bk-c4n4ryBlockPv5521Endpt3370Tr",
    "hugging face": TOKEN,
    "wrong hugging face": "hf_wrongc4n4ryToken0123456789",
    "prefect": "admin:pr3f3ctc4n4ryAuthString0123",
    "prefect cloud": "pnu_c4n4ryPr3f3ctCloudKey0123456789",
}


class Parrot(BaseHTTPRequestHandler):
    """A platform, a chat endpoint and a Prefect that repeat in errors every word they are told.

    It creates datasets, so that uploads fail afterwards, and serves traces at a signed address.
    """

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        words = f"{self.path} {dict(self.headers)} {body[:200]!r}"
        status, answer = 400, {"error": words}
        if self.command == "POST" and self.path == "/datasets":
            host = f"http://{self.headers['Host']}"
            status, answer = (
                201,
                {
                    "datasetId": "ds_1",
                    "uploadUrl": f"{host}/up/1?X-Amz-Signature={GIVEN['signature']}",
                },
            )
        if self.path == "/api/health":
            status, answer = 200, {}
        raw = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _serve  # noqa: N815


@contextmanager
def parrot() -> Iterator[str]:
    """Run the server that repeats everything; give its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Parrot)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@dataclass
class Evidence:
    """What was run, what it said and should have said, what it left, and the marks to look for."""

    folder: Path
    marks: dict[str, str] = field(default_factory=lambda: dict(GIVEN))
    said: dict[str, str] = field(default_factory=dict)
    keys_used: set[str | None] = field(default_factory=set)
    expected: dict[str, str] = field(default_factory=dict)

    def run(self, name: str, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a Python program in everybody's environment and keep what it says."""
        done = subprocess.run(
            [sys.executable, *command],
            env={**self.environment(), **environment},
            cwd=ROOT,
            check=False,
            capture_output=True,
            text=True,
            timeout=600,
        )
        self.said[name] = done.stdout + done.stderr
        return done

    def prompt(self, *commands: Command) -> None:
        """Run our commands, one after another in one process, and keep what each says."""
        told = [(name, args, {**self.environment(), **more}) for name, args, more in commands]
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                [sys.executable, str(Path(__file__).with_name("canary_prompt.py")), folder],
                input=json.dumps(told),
                env=self.environment(),
                cwd=ROOT,
                check=True,
                text=True,
                stdout=subprocess.DEVNULL,
            )
            for number, (name, *_) in enumerate(commands):
                self.said[name] = Path(folder, str(number)).read_text("utf-8")

    def typed(
        self, name: str, prompt: str, secret: str, *arguments: str, **environment: str
    ) -> None:
        """Run one of our commands in a terminal and type a secret where it asks for one."""
        terminal = "import pty, sys; sys.exit(bool(pty.spawn(sys.argv[1:])))"
        command = [sys.executable, "-m", "whileai_core.cli", *arguments]
        with subprocess.Popen(
            [sys.executable, "-c", terminal, *command],
            env={**self.environment(), **environment},
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            assert process.stdin and process.stdout
            said = b""
            while prompt.encode() not in said:  # what is typed earlier, the terminal would show
                said += (more := os.read(process.stdout.fileno(), 4096))
                assert more, said
            process.stdin.write(f"{secret}\n".encode())
            process.stdin.flush()
            said += process.stdout.read()
        self.said[name] = said.decode("utf-8", "replace")

    def environment(self) -> dict[str, str]:
        """What every program sees, credentials among it."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("WHILEAI", "HF_"))
        }
        return {
            **kept,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(__file__).parent)]),
            "PREFECT_LOGGING_LEVEL": "DEBUG",
            "PREFECT_LOGGING_TO_API_BATCH_INTERVAL": "0.1",
            "PREFECT_HOME": str(self.folder / "prefect"),
            "WHILEAI_HOME": str(self.folder / "home"),
            "OPENAI_API_KEY": self.marks["chat endpoint"],
            "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
            "WHILEAI_ENDPOINT_KEY": self.marks["other endpoint"],
            "WHILEAI_ALLOWED_IMPORTS": "whileai_core.simulation.demo,canary_agents",
            "HF_TOKEN": TOKEN,
        }


@contextmanager
def processes_watched(said: dict[str, str]) -> Iterator[None]:
    """Note the command line of every process there is while the block runs, as `ps` shows them."""
    seen: set[str] = set()
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.1):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    seen.add(path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
                except OSError:  # it has ended
                    continue

    watch = threading.Thread(target=look)
    watch.start()
    try:
        yield
    finally:
        over.set()
        watch.join()
        said["ps"] = "\n".join(sorted(seen)) or "there is no /proc"


def write_traces(folder: Path) -> None:
    """Write traces of several forms with every secret in every place of them."""
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
    rows: list[dict[str, Any]] = [{**row, "prompt": f"{row['prompt']} {n}"} for n in range(6)]
    ungraded = {"prompt": f"Judge {every}", "steps": [], "final_text": f"Done: {every}"}
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
        *map(json.dumps, [*rows, ungraded, chat]),
        f'{{"prompt": "cut off with {every}',
        f"no JSON at all, {every}",
    ]
    (folder / "rows.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    batch = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    (folder / "spans.jsonl").write_text(json.dumps(batch) + "\n", encoding="utf-8")
