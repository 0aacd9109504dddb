"""A Hub on a real socket: the endpoints `huggingface_hub` needs, real commits, and faults on order.

Commits form a chain whose ids are hashes of their content and parent; files have git blob ids
(SHA-256 for large ones), so the real client skips what has not changed, as it does on the Hub.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "hf_canaryToken51a7c0ffee"
READ_TOKEN = "hf_readOnlyToken00000000"
_LARGE = re.compile(r"\.(parquet|arrow|safetensors|bin)$")
_ZERO = "0" * 40


@dataclass
class File:
    data: bytes
    large: bool

    @property
    def blob_id(self) -> str:
        return hashlib.sha1(b"blob %d\0" % len(self.data) + self.data).hexdigest()

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def etag(self) -> str:
        return self.sha256 if self.large else self.blob_id


@dataclass
class Commit:
    id: str
    parent: str
    title: str
    message: str
    files: dict[str, File]


@dataclass
class Repo:
    private: bool = False
    gated: bool = False
    commits: list[Commit] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)

    @property
    def head(self) -> Commit:
        return self.at("main")

    def at(self, revision: str) -> Commit:
        """Return the commit of a branch, tag or (short) id."""
        wanted = self.branches.get(revision) or self.tags.get(revision) or revision
        for commit in self.commits:
            if len(wanted) >= 7 and commit.id.startswith(wanted):
                return commit
        raise KeyError(revision)

    def add(
        self, title: str, files: dict[str, File], message: str = "", to: str = "main"
    ) -> Commit:
        parent = self.branches.get(to, _ZERO)
        listed = sorted((path, file.blob_id) for path, file in files.items())
        said = json.dumps([parent, title, message, listed, len(self.commits)])
        commit = Commit(hashlib.sha1(said.encode()).hexdigest(), parent, title, message, files)
        self.commits.append(commit)
        self.branches[to] = commit.id
        return commit

    @property
    def titles(self) -> list[str]:
        """Titles of the commits after the first, oldest first."""
        return [commit.title for commit in self.commits[1:]]


@dataclass
class Fault:
    """What goes wrong with requests that match: a `status`, a `drop`, a `wait`, or your `call`.

    Attributes:
        after: Do the work first, then lose or replace the answer.
        skip: Matching requests to let through first.
    """

    method: str
    path: str
    do: str = "status"
    times: int = 1
    skip: int = 0
    status: int = 503
    headers: dict[str, str] = field(default_factory=dict)
    after: bool = False
    seconds: float = 0.0
    call: Callable[[], None] | None = None


class _Refused(Exception):
    def __init__(self, status: int, code: str | None = None, said: str = "") -> None:
        super().__init__(said)
        self.status, self.code, self.said = status, code, said or code or "refused"


class LocalHub:
    """The server; `repos` is keyed by `(type, "namespace/name")`, types in the plural."""

    def __init__(self) -> None:
        self.repos: dict[tuple[str, str], Repo] = {}
        self.faults: list[Fault] = []
        self.seen: list[tuple[str, str]] = []
        self.tokens = {
            TOKEN: {"user": "kim", "role": "write"},
            READ_TOKEN: {"user": "kim", "role": "read"},
        }
        self.scoped: list[dict[str, Any]] = []
        self.orgs = {"acme": "write", "lurkers": "read"}
        self.lock = threading.RLock()
        outer = self

        class Handler(_Handler):
            hub = outer

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def dataset(self, name: str) -> Repo:
        return self.repos["datasets", name]

    def put(
        self, name: str, files: dict[str, bytes], *, kind: str = "datasets", **about: Any
    ) -> Repo:
        """Make a repository with these files, or add them to it in one commit."""
        with self.lock:
            repo = self.repos.get((kind, name))
            if repo is None:
                repo = self.repos[kind, name] = Repo(**about)
                repo.add("initial commit", {})
            made = {path: File(data, bool(_LARGE.search(path))) for path, data in files.items()}
            repo.add("by hand", repo.head.files | made)
            return repo

    def fail(self, method: str, path: str, **how: Any) -> Fault:
        fault = Fault(method, path, **how)
        self.faults.append(fault)
        return fault

    def requests(self, method: str, path: str) -> int:
        return sum(m == method and bool(re.search(path, p)) for m, p in self.seen)

    def due(self, method: str, path: str) -> Fault | None:
        with self.lock:
            for fault in self.faults:
                if fault.method == method and re.search(fault.path, path) and fault.times > 0:
                    if fault.skip:
                        fault.skip -= 1
                        continue
                    fault.times -= 1
                    return fault
        return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    hub: ClassVar[LocalHub]

    def log_message(self, *_: object) -> None:
        pass

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (ConnectionError, ValueError):
            self.close_connection = True

    def do_GET(self) -> None:
        self._serve()

    do_HEAD = do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815  the base class's names

    def _serve(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        if self.headers.get("transfer-encoding") == "chunked":
            self.body = self._chunked()
        else:
            self.body = self.rfile.read(length)
        parts = urlsplit(self.path)
        self.url_path = unquote(parts.path)
        self.raw_path = parts.path
        self.query = parse_qs(parts.query)
        with self.hub.lock:
            self.hub.seen.append((self.command, self.url_path))
        fault = self.hub.due(self.command, self.url_path)
        if fault is not None and self._goes_wrong(fault):
            return
        try:
            with self.hub.lock:
                status, headers, body = self._answer()
        except _Refused as refused:
            status, headers = refused.status, {"X-Error-Message": refused.said}
            if refused.code:
                headers["X-Error-Code"] = refused.code
            body = json.dumps({"error": refused.said}).encode()
        if fault is not None and fault.after:
            self._break(fault)
            return
        self._send(status, headers, body)

    def _goes_wrong(self, fault: Fault) -> bool:
        if fault.call is not None:
            fault.call()
        if fault.do == "wait":
            time.sleep(fault.seconds)
        if fault.after or fault.do in {"wait", "call"}:
            return False
        self._break(fault)
        return True

    def _break(self, fault: Fault) -> None:
        if fault.do == "drop":
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.close_connection = True
            self.connection.close()
        else:
            self._send(fault.status, fault.headers, b'{"error": "on order"}')

    def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _chunked(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline().strip() or b"0", 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    # -- what is asked for

    def _answer(self) -> tuple[int, dict[str, str], bytes]:
        for method, pattern, handler in _ROUTES:
            match = re.fullmatch(pattern, self.url_path)
            if match and self.command in method.split("|"):
                answer = handler(self, **match.groupdict())
                if isinstance(answer, tuple):
                    return answer
                return 200, {"Content-Type": "application/json"}, json.dumps(answer).encode()
        raise _Refused(404, None, f"no such route {self.url_path}")

    def _who(self) -> dict[str, str] | None:
        token = self.headers.get("authorization", "").removeprefix("Bearer ")
        if token and token not in self.hub.tokens:
            raise _Refused(401, None, "Invalid credentials in Authorization header")
        return self.hub.tokens.get(token)

    def _can_write(self, namespace: str) -> bool:
        who = self._who()
        role = self.hub.orgs.get(namespace)
        own = who is not None and who["user"] == namespace
        return who is not None and who["role"] == "write" and (own or role in {"write", "admin"})

    def _repo(self, kind: str, repo: str, *, write: bool = False) -> Repo:
        found = self.hub.repos.get((kind, repo))
        who = self._who()
        namespace = repo.split("/")[0]
        member = who is not None and (who["user"] == namespace or namespace in self.hub.orgs)
        if found is None or (found.private and not member):
            raise _Refused(404 if who else 401, "RepoNotFound", "Repository not found")
        if found.gated and not member:
            raise _Refused(403, "GatedRepo", "Access to this dataset is restricted")
        if write and not self._can_write(namespace):
            raise _Refused(403, None, "you have no write access to this namespace")
        return found

    def _at(self, repo: Repo, revision: str) -> Commit:
        try:
            return repo.at(revision)
        except KeyError:
            raise _Refused(404, "RevisionNotFound", f"Invalid rev id: {revision}") from None

    def whoami(self) -> Any:
        who = self._who()
        if who is None:
            raise _Refused(401, None, "Invalid credentials in Authorization header")
        orgs = [{"name": n, "roleInOrg": r, "type": "org"} for n, r in self.hub.orgs.items()]
        token = {"displayName": "t", "role": who["role"]}
        if who["role"] == "fineGrained":
            token["fineGrained"] = {"global": ["discussion.write"], "scoped": self.hub.scoped}
        return {
            "type": "user",
            "name": who["user"],
            "orgs": orgs,
            "auth": {"type": "access_token", "accessToken": token},
        }

    def create(self) -> Any:
        wanted = json.loads(self.body)
        kind = f"{wanted.get('type', 'model')}s"
        who = self._who()
        namespace = wanted.get("organization") or (who or {}).get("user", "")
        if not self._can_write(namespace):
            raise _Refused(403, None, f"no rights to create a repo under {namespace}")
        name = f"{namespace}/{wanted['name']}"
        url = f"{self.hub.url}/{'' if kind == 'models' else kind + '/'}{name}"
        if (kind, name) in self.hub.repos:
            said = json.dumps({"error": "You already created this repo", "url": url})
            return 409, {"Content-Type": "application/json"}, said.encode()
        private = bool(wanted.get("private")) or wanted.get("visibility") == "private"
        repo = self.hub.repos[kind, name] = Repo(private=private)
        repo.add("initial commit", {".gitattributes": File(b"*.parquet filter=lfs\n", False)})
        return {"url": url}

    def validate(self) -> Any:
        return {"errors": [], "warnings": []}

    def preupload(self, kind: str, repo: str, revision: str) -> Any:
        found = self._repo(kind, repo, write=True)
        files = found.head.files if "main" in found.branches else {}
        answers = []
        for wanted in json.loads(self.body)["files"]:
            path = wanted["path"]
            known = files.get(path)
            large = bool(_LARGE.search(path)) or wanted["size"] > 10_000_000
            answers.append(
                {
                    "path": path,
                    "uploadMode": "lfs" if large else "regular",
                    "shouldIgnore": False,
                    "oid": known.etag if known else None,
                }
            )
        return {"files": answers}

    def batch(self, kind: str | None, repo: str) -> Any:
        found = self._repo(kind or "models", repo, write=True)
        objects = []
        for wanted in json.loads(self.body)["objects"]:
            entry = {"oid": wanted["oid"], "size": wanted["size"]}
            if wanted["oid"] not in found.objects:
                where = f"{self.hub.url}/lfs/{kind or 'models'}/{repo}/{wanted['oid']}"
                verify = {"href": f"{where}/verify"}
                entry["actions"] = {"upload": {"href": where}, "verify": verify}
            objects.append(entry)
        return {"objects": objects, "transfer": "basic"}

    def store(self, kind: str, repo: str, oid: str) -> Any:
        if hashlib.sha256(self.body).hexdigest() != oid:
            raise _Refused(400, None, "bad content")
        found = self.hub.repos.get((kind, repo))
        if found is None:
            raise _Refused(404, "RepoNotFound")
        found.objects[oid] = self.body
        return 200, {}, b""

    def verify(self, kind: str, repo: str, oid: str) -> Any:
        if oid not in self._repo(kind, repo).objects:
            raise _Refused(404, None, "no such object")
        return {}

    def commit(self, kind: str, repo: str, revision: str) -> Any:
        found = self._repo(kind, repo, write=True)
        header, *operations = [json.loads(line) for line in self.body.splitlines() if line]
        parent = header["value"].get("parentCommit")
        if parent is not None and not found.head.id.startswith(parent):
            raise _Refused(412, None, "A commit has happened since. Please refresh and try again.")
        files = dict(found.head.files)
        for operation in operations:
            key, value = operation["key"], operation["value"]
            if key == "file":
                files[value["path"]] = File(base64.b64decode(value["content"]), large=False)
            elif key == "lfsFile":
                if value["oid"] not in found.objects:
                    raise _Refused(400, None, "lfs object was not uploaded")
                files[value["path"]] = File(found.objects[value["oid"]], large=True)
            elif key == "deletedFile" and files.pop(value["path"], None) is None:
                raise _Refused(404, "EntryNotFound", "A file with this name doesn't exist")
        said = header["value"]
        made = found.add(said["summary"], files, said.get("description") or "")
        return {"commitUrl": f"{self.hub.url}/{repo}/commit/{made.id}", "commitOid": made.id}

    def tag(self, kind: str, repo: str, revision: str) -> Any:
        found = self._repo(kind, repo, write=True)
        name = json.loads(self.body)["tag"]
        if name in found.tags:
            raise _Refused(409, None, f"Tag {name} exists already")
        found.tags[name] = self._at(found, revision).id
        return {}

    def untag(self, kind: str, repo: str, tag: str) -> Any:
        if self._repo(kind, repo, write=True).tags.pop(tag, None) is None:
            raise _Refused(404, "RevisionNotFound")
        return {}

    def refs(self, kind: str, repo: str) -> Any:
        found = self._repo(kind, repo)
        branches = [
            {"name": n, "ref": f"refs/heads/{n}", "targetCommit": c}
            for n, c in found.branches.items()
        ]
        tags = [
            {"name": n, "ref": f"refs/tags/{n}", "targetCommit": c} for n, c in found.tags.items()
        ]
        return {"branches": branches, "converts": [], "tags": tags, "pullRequests": []}

    def commits(self, kind: str, repo: str, revision: str) -> Any:
        found = self._repo(kind, repo)
        chain, at = [], self._at(found, revision).id
        by_id = {commit.id: commit for commit in found.commits}
        while at in by_id:
            commit = by_id[at]
            chain.append(
                {
                    "id": commit.id,
                    "title": commit.title,
                    "message": commit.message,
                    "authors": [{"user": "kim"}],
                    "date": "2026-01-02T03:04:05.000Z",
                }
            )
            at = commit.parent
        return chain

    def info(self, kind: str, repo: str, revision: str = "main") -> Any:
        found = self._repo(kind, repo)
        commit = self._at(found, revision)
        return {
            "id": repo,
            "sha": commit.id,
            "private": found.private,
            "gated": "manual" if found.gated else False,
            "disabled": False,
            "tags": [],
            "downloads": 0,
            "likes": 0,
            "siblings": [{"rfilename": path} for path in sorted(commit.files)],
        }

    def tree(self, kind: str, repo: str, revision: str, path: str | None = None) -> Any:
        files = self._at(self._repo(kind, repo), revision).files
        prefix = f"{path}/" if path else ""
        recursive = self.query.get("recursive", ["false"])[0].lower() == "true"
        entries: dict[str, Any] = {}
        for name, file in sorted(files.items()):
            if not name.startswith(prefix):
                continue
            inner = name.removeprefix(prefix)
            folder = prefix + inner.split("/")[0]
            if "/" in inner and not recursive:
                entries[folder] = {"type": "directory", "path": folder, "oid": _ZERO}
            else:
                entries[name] = self._entry(name, file)
        if path and not entries:
            raise _Refused(404, "EntryNotFound")
        return list(entries.values())

    def paths_info(self, kind: str, repo: str, revision: str) -> Any:
        files = self._at(self._repo(kind, repo), revision).files
        sent = parse_qs(self.body.decode())
        wanted = sent.get("paths", [])
        found = [self._entry(path, files[path]) for path in wanted if path in files]
        found += [
            {"type": "directory", "path": path, "oid": _ZERO}
            for path in wanted
            if path not in files and any(name.startswith(f"{path}/") for name in files)
        ]
        return found

    def _entry(self, name: str, file: File) -> Any:
        entry: dict[str, Any] = {"type": "file", "path": name, "size": len(file.data)}
        entry["oid"] = file.blob_id
        if file.large:
            size = len(file.data)
            entry["lfs"] = {"oid": file.sha256, "size": size, "pointerSize": 130}
        return entry

    def resolve(self, repo: str, revision: str, path: str, kind: str | None = None) -> Any:
        found = self._repo(kind or "models", repo)
        commit = self._at(found, revision)
        file = commit.files.get(path)
        headers = {"X-Repo-Commit": commit.id, "Accept-Ranges": "bytes"}
        if file is None:
            raise _Refused(404, "EntryNotFound", f"{path} does not exist")
        headers["ETag"] = f'"{file.etag}"'
        data, status = file.data, 200
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("range", ""))
        if asked:
            start, end = int(asked[1]), int(asked[2] or len(data) - 1)
            if start >= len(data):
                raise _Refused(416)
            headers["Content-Range"] = f"bytes {start}-{min(end, len(data) - 1)}/{len(data)}"
            data, status = data[start : end + 1], 206
        headers["Content-Length"] = str(len(data))
        return status, headers, data


_KIND = r"(?P<kind>datasets|models|spaces)"
_REPO = r"(?P<repo>[^/]+/[^/]+)"
_REV = r"(?P<revision>refs/[^/]+/[^/]+|[^/]+)"
_ROUTES: list[tuple[str, str, Callable[..., Any]]] = [
    ("GET", "/api/whoami-v2", _Handler.whoami),
    ("POST", "/api/repos/create", _Handler.create),
    ("POST", "/api/validate-yaml", _Handler.validate),
    ("POST", f"/api/{_KIND}/{_REPO}/preupload/{_REV}", _Handler.preupload),
    ("POST", rf"/(?:{_KIND}/)?{_REPO}\.git/info/lfs/objects/batch", _Handler.batch),
    ("PUT", f"/lfs/{_KIND}/{_REPO}/(?P<oid>[0-9a-f]{{64}})", _Handler.store),
    ("POST", f"/lfs/{_KIND}/{_REPO}/(?P<oid>[0-9a-f]{{64}})/verify", _Handler.verify),
    ("POST", f"/api/{_KIND}/{_REPO}/commit/{_REV}", _Handler.commit),
    ("POST", f"/api/{_KIND}/{_REPO}/tag/{_REV}", _Handler.tag),
    ("DELETE", f"/api/{_KIND}/{_REPO}/tag/(?P<tag>[^/]+)", _Handler.untag),
    ("GET", f"/api/{_KIND}/{_REPO}/refs", _Handler.refs),
    ("GET", f"/api/{_KIND}/{_REPO}/commits/{_REV}", _Handler.commits),
    ("GET", f"/api/{_KIND}/{_REPO}/revision/{_REV}", _Handler.info),
    ("GET", f"/api/{_KIND}/{_REPO}/tree/{_REV}(?:/(?P<path>.+))?", _Handler.tree),
    ("POST", f"/api/{_KIND}/{_REPO}/paths-info/{_REV}", _Handler.paths_info),
    ("GET", f"/api/{_KIND}/{_REPO}", _Handler.info),
    ("GET|HEAD", rf"/(?:{_KIND}/)?{_REPO}/resolve/{_REV}/(?P<path>.+)", _Handler.resolve),
]
