"""A small platform on a real socket that can fail in every way a network and a server can."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

KEY = "zp_canary_key_51a7c0ffee"
SIGNATURE = "51gn4tur3canary"


@dataclass
class Seen:
    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Fault:
    """What goes wrong: `status`, `reset`, `kill`, `hang` (before or `after` the work), `truncate`,
    `trickle`.
    """

    method: str
    path: str
    do: str = "status"
    times: int = 1
    skip: int = 0
    status: int = 503
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    after: bool = False
    pid: int = 0


class FaultPlatform:
    def __init__(self, *, idempotent: bool = True) -> None:
        self.idempotent = idempotent
        self.keys = frozenset({KEY})
        self.seen: list[Seen] = []
        self.faults: list[Fault] = []
        self.sets: dict[str, dict[str, Any]] = {}
        self.parts: dict[str, list[bytes]] = {}
        self.public: set[str] = set()
        self.traces: list[str] = []
        self.agents: list[dict[str, Any]] = []
        self.hf_states: list[Any] = [{"status": "done", "repo": "kim/set"}]
        self.import_states: list[dict[str, Any]] = [{"status": "ready"}]
        self.trickling = threading.Event()
        self.connections = 0
        self.together: threading.Barrier | None = None  # parts wait until so many are asked for
        self.hanging = threading.Event()
        self.released = threading.Event()
        self.stored_as: bytes | None = None  # what the store makes of every upload, if not itself
        self._keys: dict[str, str] = {}
        self._lock = threading.RLock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_: object) -> None:
                pass

            def _serve(self) -> None:
                outer._serve(self)

            def setup(self) -> None:
                outer.connections += 1
                super().setup()

            do_GET = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 64

            def handle_error(self, *_: object) -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def fault(self, method: str, path: str, do: str = "status", **more: Any) -> None:
        self.faults.append(Fault(method, path, do, **more))

    def calls(self, method: str, path: str) -> list[Seen]:
        return [s for s in self.seen if s.method == method and re.fullmatch(path, s.path)]

    @property
    def ready(self) -> list[dict[str, Any]]:
        return [row for row in self.sets.values() if row["status"] == "ready"]

    def add_set(self, parts: list[bytes], **fields: Any) -> str:
        dataset_id = f"ds_{len(self.sets) + 1}"
        size = sum(map(len, parts))
        row = {"datasetId": dataset_id, "name": "set", "status": "ready", "sizeBytes": size}
        self.sets[dataset_id] = row | fields
        self.parts[dataset_id] = parts
        return dataset_id

    # -- one request

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length") or 0)
        body = handler.rfile.read(length)
        url = urlsplit(handler.path)
        headers = {name.lower(): value for name, value in handler.headers.items()}
        seen = Seen(handler.command, url.path, url.query, headers, body)
        with self._lock:
            self.seen.append(seen)
            fault = self._fault_for(seen)
        if fault and not fault.after and self._fail(handler, fault):
            return
        if len(body) < length:
            return
        if self.together is not None and url.path.startswith("/part/"):
            self.together.wait(60)
        with self._lock:
            status, reply = self._route(seen, parse_qs(url.query))
        raw = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        if fault and fault.after and self._fail(handler, fault):
            return
        if fault and fault.do == "truncate":
            self._send(handler, status, raw[: len(raw) // 2], {}, length=len(raw))
            handler.close_connection = True
            return
        if fault and fault.do == "trickle":
            self._trickle(handler, raw)
            return
        echo = headers.get("idempotency-key")
        self._send(
            handler, status, raw, {"Idempotency-Key": echo} if echo and self.idempotent else {}
        )

    def _fault_for(self, seen: Seen) -> Fault | None:
        for fault in self.faults:
            if fault.method == seen.method and re.fullmatch(fault.path, seen.path):
                if fault.skip:
                    fault.skip -= 1
                elif fault.times:
                    fault.times -= 1
                    return fault
        return None

    def _fail(self, handler: BaseHTTPRequestHandler, fault: Fault) -> bool:
        if fault.do == "status":
            raw = fault.body if isinstance(fault.body, bytes) else json.dumps(fault.body).encode()
            self._send(handler, fault.status, raw, fault.headers)
            return True
        if fault.do == "hang":
            self.hanging.set()
            self.released.wait(30)
            handler.close_connection = True
            return True
        if fault.do == "kill":
            os.kill(fault.pid, signal.SIGKILL)
            handler.close_connection = True
            return True
        if fault.do == "reset":
            handler.close_connection = True
            linger = struct.pack("ii", 1, 0)
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            handler.connection.close()
            return True
        return False

    def _trickle(self, handler: BaseHTTPRequestHandler, raw: bytes) -> None:
        self.trickling.set()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(raw)))
        handler.end_headers()
        for byte in raw:
            handler.wfile.write(bytes([byte]))
            handler.wfile.flush()
            time.sleep(0.02)

    def _send(
        self,
        handler: BaseHTTPRequestHandler,
        status: int,
        raw: bytes,
        headers: dict[str, str],
        length: int | None = None,
    ) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(raw) if length is None else length))
        handler.end_headers()
        handler.wfile.write(raw)

    # -- the platform itself

    def _route(self, seen: Seen, query: dict[str, list[str]]) -> tuple[int, Any]:
        path = [part for part in seen.path.split("/") if part]
        if path[0] == "upload":
            if path[1] not in self.sets:
                return 404, {"error": "gone"}
            stored = seen.body if self.stored_as is None else self.stored_as
            self.parts[path[1]] = [stored]
            return 200, b""
        if path[0] == "part":
            return 200, self.parts[path[1]][int(path[2])]
        if path[0] == "catalog":
            if len(path) == 1:
                return 200, {"datasets": [self.sets[i] for i in self.public], "agents": []}
            return (
                self._grant(path[1]) if path[1] in self.public else (404, {"error": "not public"})
            )
        if path[0] == "auth":
            return 200, {"credential": "zp_dc_new"}
        if seen.headers.get("x-api-key") not in self.keys:
            return 401, {"error": "unknown key"}
        return getattr(self, f"_{path[0]}")(seen, path[1:], query)

    def _datasets(self, seen: Seen, rest: list[str], _: object) -> tuple[int, Any]:
        if not rest:
            return self._create(seen) if seen.method == "POST" else self._list()
        if rest == ["import-hf"]:
            dataset_id = self.add_set([], status="importing")
            return 202, self.sets[dataset_id]
        row = self.sets.get(rest[0])
        if row is None:
            return 404, {"error": "no such dataset"}
        if seen.method == "DELETE":
            del self.sets[rest[0]]
            return 200, {"deleted": True}
        return self._act(row, rest[1] if len(rest) > 1 else "", seen)

    def _act(self, row: dict[str, Any], action: str, seen: Seen) -> tuple[int, Any]:
        if action == "finalize":
            return self._finalize(row)
        if action == "download":
            return self._grant(row["datasetId"])
        if action == "hf-publish":
            row["hf"] = {"status": "pushing"}
        elif action == "publish":
            self.public.add(row["datasetId"])
        elif action == "meta":
            row.update(json.loads(seen.body))
        elif action == "profile":
            return 200, {"profile": {"rows": 1}}
        elif not action:
            self._advance(row)
        return 200, row

    def _create(self, seen: Seen) -> tuple[int, Any]:
        key = seen.headers.get("idempotency-key")
        known = self._keys.get(key or "") if self.idempotent else None
        if known not in self.sets:
            known = self.add_set([], status="pending", **json.loads(seen.body))
            if key:
                self._keys[key] = known
        url = f"{self.url}/upload/{known}?X-Amz-Signature={SIGNATURE}"
        return 201, {"datasetId": known, "uploadUrl": url}

    def _list(self) -> tuple[int, Any]:
        return 200, {"datasets": list(reversed(self.sets.values())), "usedBytes": 0}

    def _finalize(self, row: dict[str, Any]) -> tuple[int, Any]:
        parts = self.parts[row["datasetId"]]
        if row["status"] == "ready":
            return 409, {"error": "already finalized"}
        if not parts:
            return 409, {"error": "nothing uploaded"}
        data = parts[0]
        row |= {"status": "ready", "sizeBytes": len(data), "rows": data.count(b"\n")}
        row["sha256"] = hashlib.sha256(data).hexdigest()
        return 200, row

    def _grant(self, dataset_id: str) -> tuple[int, Any]:
        if dataset_id not in self.sets:
            return 404, {"error": "no such dataset"}
        urls = [
            f"{self.url}/part/{dataset_id}/{number}?X-Amz-Signature={SIGNATURE}"
            for number in range(len(self.parts[dataset_id]))
        ]
        return 200, {"parts": urls}

    def _advance(self, row: dict[str, Any]) -> None:
        if row["status"] == "importing":
            row |= self.import_states.pop(0)
        if "hf" in row and self.hf_states:
            row["hf"] = self.hf_states.pop(0)

    def _agents(self, seen: Seen, rest: list[str], _: object) -> tuple[int, Any]:
        if seen.method == "POST":
            self.agents.append(json.loads(seen.body))
            return 200, self.agents[-1]
        if seen.method == "DELETE":
            self.agents = [agent for agent in self.agents if agent["name"] != rest[0]]
            return 200, {}
        return 200, {"agents": self.agents}

    def _traces(self, seen: Seen, rest: list[str], query: dict[str, list[str]]) -> tuple[int, Any]:
        if seen.method == "DELETE":
            if rest[0] not in self.traces:
                return 404, {"error": "gone"}
            self.traces.remove(rest[0])
            return 204, b""
        page = int(query["page"][0])
        ids = self.traces[(page - 1) * 2 : page * 2]
        return 200, {"traces": [{"traceId": i} for i in ids], "pages": -(-len(self.traces) // 2)}

    def _hf(self, *_: object) -> tuple[int, Any]:
        return 200, {"connected": True, "username": "kim", "namespaces": ["kim"], "scopes": []}

    def _runs(self, seen: Seen, rest: list[str], _: object) -> tuple[int, Any]:
        state = {"status": "pushing"} if seen.method == "POST" else self.hf_states.pop(0)
        return 200, {"runId": rest[0], "hf": state}
