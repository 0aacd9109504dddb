"""Publish a split of a dataset: one commit with its shards, the card and the manifest together.

A commit names its parent, so a push that meets another one fails instead of undoing it, and an
attempt whose answer was lost is found in the history instead of being made twice.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

from whileai_core.errors import InputError
from whileai_core.hub import card
from whileai_core.hub.commits import land
from whileai_core.hub.manifest import NAME as MANIFEST
from whileai_core.hub.manifest import Manifest
from whileai_core.hub.measure import leakage, measure, prompts_in
from whileai_core.hub.parquet import Shards, pyarrow, write_shards
from whileai_core.hub.readback import texts_in
from whileai_core.hub.readme import NAME as README
from whileai_core.hub.remote import Watched
from whileai_core.quality import pass_rate_plot, task_rates

if TYPE_CHECKING:
    from whileai_core.hub.client import Hub, Repo

T = TypeVar("T")

_MOST_DIFFED = 200_000  # rows; their hashes are held


@dataclass(frozen=True)
class Publication:
    """A dataset to be published as a split.

    Attributes:
        dataset_id: Its id; the tag is `zp-<id>`.
        name: Its name.
        split: Name of the split: the dataset's purpose.
        texts: Gives the rows' JSON texts; called several times.
    """

    dataset_id: str
    name: str
    split: str
    texts: Callable[[], Iterator[str]]
    agent: str | None = None
    mode: str | None = None
    description: str | None = None
    parent: str | None = None

    @property
    def tag(self) -> str:
        """The tag its commit gets."""
        return f"zp-{self.dataset_id}"


@dataclass(frozen=True)
class Published:
    """Where it is now.

    Attributes:
        new: Whether a commit was made; False when the repository had these rows already.
    """

    repo: str
    url: str
    commit: str
    tag: str
    split: str
    private: bool
    new: bool


def publish(hub: Hub, publication: Publication, repo_id: str, *, private: bool) -> Published:
    """Put a dataset's rows into a repository as one of its splits; others stay as they are.

    Rows the split has already make no commit.

    Args:
        hub: The Hub.
        publication: What to publish.
        repo_id: `namespace/name`; made when it is not there.
        private: Whether it must be private. A repository that is private stays so.

    Raises:
        InputError: The dataset is empty.
        Conflict: The repository changed twice while this was under way.
        PlatformError: The Hub refused or cannot be reached.
    """
    pyarrow()  # before anything is made on the Hub
    sha256 = content_hash(publication.texts())
    if sha256 == hashlib.sha256().hexdigest():
        raise InputError(f"dataset {publication.dataset_id} has no rows to publish")
    repo = hub.ensure_repo(repo_id, "dataset", private=private)
    with tempfile.TemporaryDirectory(prefix="whileai-hub-") as folder:
        work = _Work(hub, publication, sha256, Path(folder))
        landing = land(hub, repo, work.landed, work.commit, f"publishing to {repo_id}")
    hub.tag(repo, publication.tag, landing.commit)
    return Published(
        repo=repo_id,
        url=hub.url(repo),
        commit=landing.commit,
        tag=publication.tag,
        split=publication.split,
        private=repo.private,
        new=landing.new,
    )


def content_hash(texts: Iterable[str]) -> str:
    """Return the hash of rows that tells whether a split has them already."""
    whole = hashlib.sha256()
    for text in texts:
        whole.update(text.encode() + b"\n")
    return whole.hexdigest()


class _Work:
    """What is put on top of a repository, made once and fitted to each parent."""

    def __init__(self, hub: Hub, publication: Publication, sha256: str, folder: Path) -> None:
        self._hub = hub
        self._it = publication
        self._sha256 = sha256
        self._folder = folder
        self._made: tuple[Shards, dict[str, Any], list[Any]] | None = None

    @property
    def _mark(self) -> str:
        return f"{self._it.split} {self._sha256}"

    def landed(self, repo: Repo) -> str | None:
        """Return the commit that brought these rows, if the repository has them."""
        manifest = Manifest.read(self._hub.read(repo, MANIFEST))
        if not manifest.holds(self._it.split, self._sha256, repo.files):
            return None
        return self._hub.find_commit(repo, lambda said: self._mark in said) or repo.head

    def commit(self, repo: Repo) -> str:
        """Commit the split on top of what the repository has."""
        shards, numbers, per_task = self._make()
        manifest = Manifest.read(self._hub.read(repo, MANIFEST))
        split = self._it.split
        leaks, others = self._leakages(repo, manifest)
        entry = {
            "datasetId": self._it.dataset_id,
            "name": self._it.name,
            "agent": self._it.agent,
            "mode": self._it.mode,
            "description": self._it.description,
            "parentDatasetId": self._it.parent,
            "files": list(shards.files),
            "sha256": self._sha256,
            "numbers": numbers,
            "leakage": leaks,
            "diff": self._diff(repo, manifest.splits.get(split)),
        }
        after = Manifest(manifest.splits | others, manifest.history).with_split(split, entry)
        readme = card.card(repo.id, after, self._hub.read(repo, README))
        add: dict[str, Any] = {path: str(file) for path, file in shards.files.items()}
        add |= {MANIFEST: after.to_bytes(), README: readme}
        if numbers["graded"]:
            title = f"Pass rate by task, {split}"
            plot = pass_rate_plot(task_rates(per_task), title=title)
            add[card.plot_name(split)] = plot.encode()
        # Whatever lies where the split's pattern looks is taken for its rows.
        stale = [p for p in repo.files if p.startswith(f"data/{split}-") and p not in add]
        return self._hub.commit(
            repo,
            add=add,
            delete=stale,
            title=f"{split}: {self._it.dataset_id}, {shards.rows} rows",
            message=self._mark,
        )

    def _make(self) -> tuple[Shards, dict[str, Any], list[Any]]:
        if self._made is None:
            shards = write_shards(self._it.texts(), self._folder, self._it.split)
            if shards.sha256 != self._sha256:
                raise InputError(
                    f"dataset {self._it.dataset_id} changed while it was published; publish again"
                )
            self._made = (shards, *measure(self._it.texts(), mode=self._it.mode))
        return self._made

    def _leakages(
        self, repo: Repo, manifest: Manifest
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Compare the split with the others, and each of them with what the split is now."""
        mine: dict[str, Any] = {}
        theirs: dict[str, dict[str, Any]] = {}
        prompts = prompts_in(self._it.texts())
        for other, entry in manifest.splits.items():
            if other != self._it.split:
                others = self._read_back(repo, entry, prompts_in)
                mine[other] = _compared(prompts, others)
                known = entry["leakage"] | {self._it.split: _compared(others, prompts)}
                theirs[other] = entry | {"leakage": known}
        return mine, theirs

    def _diff(self, repo: Repo, entry: dict[str, Any] | None) -> dict[str, int] | None:
        """Count rows that came and went since the split's last version."""
        if entry is None or entry["numbers"]["rows"] > _MOST_DIFFED:
            return None
        old = self._read_back(repo, entry, _digests)
        if old is None:
            return None
        new = _digests(self._it.texts())
        return {"added": len(new - old), "removed": len(old - new), "kept": len(new & old)}

    def _read_back(
        self, repo: Repo, entry: dict[str, Any], read: Callable[[Iterator[str]], T]
    ) -> T | None:
        """Read a published split; None when somebody has changed its files by hand."""

        def texts() -> Iterator[str]:
            for path in entry["files"]:
                with Watched(self._hub.open(repo, path), f"reading {path} of {repo.id}") as file:
                    yield from file.through(texts_in(cast("BinaryIO", file)))

        try:
            return read(texts()) if set(entry["files"]) <= set(repo.files) else None
        except InputError:
            return None


def _compared(prompts: list[str] | None, others: list[str] | None) -> dict[str, Any]:
    if prompts is None or others is None:
        return {"checked": False, "why": "the files were changed by hand"}
    return leakage(prompts, others)


def _digests(texts: Iterator[str]) -> set[bytes]:
    return {hashlib.sha256(text.encode()).digest() for text in texts}
