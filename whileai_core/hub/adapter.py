"""Publish a run: the files of its adapter and a model card, in one commit."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.errors import InputError
from whileai_core.hub.commits import land
from whileai_core.hub.readme import NAME as README
from whileai_core.hub.readme import parts_of, plain, written

if TYPE_CHECKING:
    from whileai_core.hub.client import Hub, Repo

MANIFEST = "whileai.json"
_CONFIG = "adapter_config.json"
_TAGS = ["lora", "whileai"]
_BLOCK = 1024 * 1024


@dataclass(frozen=True)
class Adapter:
    """The adapter of a run.

    Attributes:
        run_id: The run; the tag is `zp-<id>`.
        files: Path in the repository to the local file.
        facts: What is known of the run: `base_model`, `trainer`, `config`, `result` …
        dataset_repo: Where the data it was trained on is published.
    """

    run_id: str
    name: str | None
    files: Mapping[str, Path]
    facts: dict[str, Any] = field(default_factory=dict)
    dataset_repo: str | None = None

    @property
    def tag(self) -> str:
        """The tag its commit gets."""
        return f"zp-{self.run_id}"


@dataclass(frozen=True)
class PublishedRun:
    """Where it is now; `new` tells whether a commit was made."""

    repo: str
    url: str
    commit: str
    tag: str
    private: bool
    new: bool


def checked_path(path: str) -> str:
    """Return the path of a file inside an adapter.

    Raises:
        InputError: It leads out of the folder, or is a name we write ourselves.
    """
    parts = PurePosixPath(path).parts
    fine = parts and not path.startswith("/") and "\\" not in path and path.isprintable()
    if not fine or any(part in {"..", ".git"} for part in parts) or len(path) > 200:
        raise InputError(f"{path[:100]!r} is no path of a file inside an adapter")
    if path == MANIFEST:
        raise InputError(f"{MANIFEST} is written when the adapter is published; leave it out")
    return str(PurePosixPath(path))


def publish_run(hub: Hub, adapter: Adapter, repo_id: str, *, private: bool) -> PublishedRun:
    """Put a run's adapter into a model repository; files it has already make no commit.

    Raises:
        InputError: The run has no adapter.
        Conflict: The repository changed twice while this was under way.
        PlatformError: The Hub refused or cannot be reached.
    """
    if not adapter.files:
        raise InputError(f"run {adapter.run_id} has no adapter to publish")
    files = {checked_path(path): file for path, file in sorted(adapter.files.items())}
    hashes = {path: _sha256(file) for path, file in files.items()}
    content = jsonio.canonical([hashes, adapter.facts, adapter.dataset_repo])
    mark = f"{adapter.run_id} {hashlib.sha256(content).hexdigest()}"

    def landed(repo: Repo) -> str | None:
        known = _read(hub.read(repo, MANIFEST))
        if known.get("mark") != mark:
            return None
        return hub.find_commit(repo, lambda said: mark in said) or repo.head

    def commit(repo: Repo) -> str:
        former = _read(hub.read(repo, MANIFEST)).get("files") or {}
        manifest = {"format": 1, "runId": adapter.run_id, "mark": mark, "files": hashes}
        add: dict[str, Any] = {path: str(file) for path, file in files.items()}
        theirs = files[README].read_bytes() if README in files else hub.read(repo, README)
        add[README] = _card(adapter, repo_id, theirs)
        add[MANIFEST] = jsonio.pretty(manifest).encode() + b"\n"
        return hub.commit(
            repo,
            add=add,
            delete=[path for path in former if path in repo.files and path not in add],
            title=f"{adapter.run_id}: {len(files)} files",
            message=mark,
        )

    repo = hub.ensure_repo(repo_id, "model", private=private)
    landing = land(hub, repo, landed, commit, f"publishing to {repo_id}")
    hub.tag(repo, adapter.tag, landing.commit)
    return PublishedRun(
        repo_id, hub.url(repo), landing.commit, adapter.tag, repo.private, landing.new
    )


def _read(data: bytes | None) -> dict[str, Any]:
    """Return a manifest; what is none of ours counts as none."""
    try:
        content = jsonio.loads(data or b"{}")
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _base_model(adapter: Adapter) -> str | None:
    named = adapter.facts.get("base_model")
    if not isinstance(named, str) and _CONFIG in adapter.files:
        named = _read(adapter.files[_CONFIG].read_bytes()).get("base_model_name_or_path")
    return named if isinstance(named, str) and named else None


def _card(adapter: Adapter, repo_id: str, former: bytes | None) -> bytes:
    metadata, text = parts_of(former)
    base = _base_model(adapter)
    theirs = [tag for tag in metadata.get("tags") or () if tag not in _TAGS]
    metadata |= {"library_name": "peft", "tags": [*theirs, *_TAGS]}
    if base is not None:
        metadata |= {"base_model": base, "base_model_relation": "adapter"}
    if adapter.dataset_repo is not None:
        metadata["datasets"] = [adapter.dataset_repo]
    return written(metadata, text, _body(adapter, repo_id, base))


def _body(adapter: Adapter, repo_id: str, base: str | None) -> str:
    facts = adapter.facts
    about = {
        "Run": f"`{adapter.run_id}`",
        "Name": adapter.name,
        "Base model": base,
        "Trainer": facts.get("trainer"),
        "Steps": facts.get("total_steps"),
        "Trained on": adapter.dataset_repo or facts.get("dataset_id"),
    }
    lines = ["| | |", "|---|---|"]
    lines += [f"| {name} | {plain(value)} |" for name, value in about.items() if value is not None]
    sections = [f"# {repo_id.split('/')[1]}", "\n".join(lines)]
    for title, value in (("Metrics", facts.get("result")), ("Configuration", facts.get("config"))):
        table = _table(value)
        if table:
            sections.append(f"## {title}\n\n{table}")
    if base is not None:
        sections.append(
            "## Load it\n\n```python\nfrom peft import AutoPeftModelForCausalLM\n\n"
            f'model = AutoPeftModelForCausalLM.from_pretrained("{repo_id}")\n```'
        )
    return "\n\n".join(sections)


def _table(value: object) -> str:
    if not isinstance(value, dict):
        return ""
    rows = [
        f"| {plain(name)} | {plain(item if isinstance(item, str) else jsonio.text(item))} |"
        for name, item in value.items()
    ]
    return "\n".join(["| | |", "|---|---|", *rows]) if rows else ""
