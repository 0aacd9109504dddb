"""A scripted OpenAI-compatible endpoint as a process of its own, streaming off.

`python chat_server.py` serves on a free port of 127.0.0.1 and prints it. Replies are scripted
per model name: PUT /script/<model> takes a list, GET /seen gives the requests so far.
A scripted reply is one of::

    {"text": "…", "tools": [["name", {…} or "raw text", "id"?], …], "finish": "length",
     "usage": [1, 2] or null, "thought": "…"}
    {"status": 429, "headers": {…}, "error": {…}}
    {"body": "raw text"}          any bytes with status 200
    {"hang": true}                the connection is closed without an answer
    {"brain": "agent"}            a tool call for the record the user names, then what came of it
    {"brain": "writer"}           a message for each card

The last reply of a script is given again and again when the script ends with "…".
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

REPEAT = "…"


class Scripts:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.scripts: dict[str, list[Any]] = {}
        self.seen: list[dict[str, Any]] = []

    def next_reply(self, model: str, request: dict[str, Any]) -> dict[str, Any]:
        with self.lock:
            self.seen.append(request)
            script = self.scripts.get(model)
            if not script:
                return {"status": 404, "error": {"message": f"no model {model}"}}
            if script[1:] == [REPEAT]:
                return script[0]
            return script.pop(0)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    scripts: Scripts

    def log_message(self, *_: object) -> None:
        pass

    def do_PUT(self) -> None:
        _, _, model = self.path.rpartition("/script/")
        with self.scripts.lock:
            self.scripts.scripts[model] = json.loads(self._body())
        self._send(200, {})

    def do_DELETE(self) -> None:
        with self.scripts.lock:
            self.scripts.scripts.clear()
            self.scripts.seen.clear()
        self._send(200, {})

    def do_GET(self) -> None:
        self._send(200, self.scripts.seen)

    def do_POST(self) -> None:
        request = json.loads(self._body())
        if not self.path.endswith("/chat/completions") or request.get("stream"):
            self._send(404, {"error": {"message": f"nothing at {self.path}"}})
            return
        noted = {"key": self.headers.get("Authorization"), **request}
        reply = self.scripts.next_reply(request["model"], noted)
        if "brain" in reply:
            reply = BRAINS[reply["brain"]](request["messages"])
        if reply.get("hang"):
            self.close_connection = True
            return
        if "body" in reply:
            self._send(200, reply["body"].encode())
        elif "status" in reply:
            self._send(reply["status"], {"error": reply.get("error")}, reply.get("headers"))
        else:
            self._send(200, completion(request["model"], reply))

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"]))

    def _send(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def agent_brain(messages: list[dict[str, Any]]) -> dict[str, Any]:
    last = messages[-1]
    if last["role"] == "tool":
        return {"text": f"This is what I found: {last['content']}"}
    number = re.search(r"[A-Z]+-\d+", last["content"])
    if number is None:
        return {"text": "Which order do you mean?"}
    return {"tools": [["lookup_order", {"order_id": number[0]}]]}


def writer_brain(messages: list[dict[str, Any]]) -> dict[str, Any]:
    entries = []
    for card in messages[-1]["content"].split("\n\n"):
        number = re.search(r"references: (\S+)", card)
        about = f"about {number[1].rstrip(',')}" if number else "about something"
        digest = hashlib.sha256(card.encode()).hexdigest()[:12]
        told = digest.translate(str.maketrans("0123456789", "ghijklmnop"))
        entries.append({"id": card.split()[1], "message": f"Help me {about}: {told}."})
    return {"text": json.dumps(entries)}


BRAINS = {"agent": agent_brain, "writer": writer_brain}


def completion(model: str, reply: dict[str, Any]) -> dict[str, Any]:
    """A chat completion object for a scripted reply."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.get("text")}
    calls = [tool_call(place, *call) for place, call in enumerate(reply.get("tools", ()))]
    if calls:
        message["tool_calls"] = calls
    finish = reply.get("finish") or ("tool_calls" if calls else "stop")
    made = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    usage = reply.get("usage", [10, 5])
    if usage is not None:
        made["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
    return made


def tool_call(place: int, name: str, arguments: Any, call_id: str | None = None) -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    function = {"name": name, "arguments": text}
    made: dict[str, Any] = {"type": "function", "function": function}
    if call_id != "":
        made["id"] = call_id or f"call-{place}"
    return made


class ChatServer:
    """The process, and what a test says to it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__))], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}/v1"

    def script(self, model: str, *replies: Any) -> None:
        """Set what a model answers, in order; `REPEAT` after one reply gives it for ever."""
        self._ask("PUT", f"/script/{model}", [as_reply(reply) for reply in replies])

    def forget(self) -> None:
        self._ask("DELETE", "")

    @property
    def seen(self) -> list[dict[str, Any]]:
        """The requests so far, each with the Authorization header as `key`."""
        return self._ask("GET", "")

    def kill(self) -> None:
        """Take the endpoint away."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        self.kill()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _ask(self, method: str, path: str, value: Any = None) -> Any:
        body = None if value is None else json.dumps(value).encode()
        request = urllib.request.Request(self.url + path, data=body, method=method)
        with urllib.request.urlopen(request, timeout=10) as reply:
            return json.loads(reply.read())


def as_reply(reply: Any) -> Any:
    return {"text": reply} if isinstance(reply, str) and reply != REPEAT else reply


if __name__ == "__main__":
    Handler.scripts = Scripts()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()
