"""`whileai.json` of a repository: which dataset each split is, its numbers, and what was before."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from whileai_core import jsonio
from whileai_core.errors import Refused
from whileai_core.hub.columns import COLUMNS

NAME = "whileai.json"
FORMAT = 1
# Another set of columns is another content, though the rows may be the same.
_COLUMNS = list(COLUMNS)


@dataclass
class Manifest:
    """What the file says.

    Attributes:
        splits: Split name to its entry: dataset, files, hash, numbers.
        history: Entries of former versions, oldest first, without their files.
    """

    splits: dict[str, dict[str, Any]] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def read(cls, data: bytes | None) -> Manifest:
        """Read the file of a repository; None is a repository without one.

        Raises:
            Refused: It was written by a newer release, or by hand.
        """
        if data is None:
            return cls()
        try:
            content = jsonio.loads(data)
            if content["format"] > FORMAT:
                raise Refused(
                    f"{NAME} was written by a newer release of whileai-pipelines; install that"
                )
            splits, history = content["splits"], content["history"]
            if not all(isinstance(entry["files"], list) for entry in splits.values()):
                raise TypeError
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Refused(
                f"{NAME} of the repository cannot be read; mend or delete it on the Hub"
            ) from None
        return cls(dict(splits), list(history))

    def holds(self, split: str, sha256: str, files: Collection[str]) -> bool:
        """Tell whether a split has exactly these rows, in today's columns.

        Args:
            split: The split.
            sha256: Hash of the rows.
            files: The files the repository has; somebody may have deleted some.
        """
        entry = self.splits.get(split)
        if entry is None or (entry.get("sha256"), entry.get("columns")) != (sha256, _COLUMNS):
            return False
        return set(entry["files"]) <= set(files)

    def with_split(self, split: str, entry: dict[str, Any]) -> Manifest:
        """Return the manifest after a push: the split's former entry becomes history."""
        former = self.splits.get(split)
        history = list(self.history)
        if former is not None:
            kept = {key: value for key, value in former.items() if key not in {"files", "columns"}}
            history.append({"split": split} | kept)
        splits = self.splits | {split: entry | {"columns": _COLUMNS}}
        return Manifest(dict(sorted(splits.items())), history)

    def former(self, split: str) -> dict[str, Any] | None:
        """Return the entry of a split's version before the present one."""
        return next((e for e in reversed(self.history) if e.get("split") == split), None)

    def to_bytes(self) -> bytes:
        """Write the file, the same for the same content."""
        content = {"format": FORMAT, "splits": self.splits, "history": self.history}
        return jsonio.pretty(content).encode() + b"\n"
