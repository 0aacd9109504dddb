"""What a push has reached, written before each next step, so that a re-run goes on from there.

One small file per push under `<home>/pushes`, named after content, metadata and platform. It is
readable by its owner only: the upload address in it is a permission. A push that is complete
has no journal.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from whileai_core import jsonio
from whileai_core.atomic import write_atomic

if TYPE_CHECKING:
    from pathlib import Path

Stage: TypeAlias = Literal["create", "upload", "finalize", "ready"]


@dataclass(slots=True)
class Progress:
    """How far one dataset has come.

    Attributes:
        stage: The step to do next; `ready` when only what follows the set is left.
        generation: Counts new starts after the dataset was deleted behind our back.
        entry: What finalize answered.
        holdout: The entry of the linked holdout set, once that is complete.
    """

    stage: Stage = "create"
    generation: int = 0
    dataset_id: str | None = None
    upload_url: str | None = None
    entry: dict[str, Any] | None = None
    holdout: dict[str, Any] | None = None


class PushJournal:
    """The journal of one push."""

    def __init__(self, home: Path, base_url: str, push_key: str) -> None:
        name = hashlib.sha256(f"{base_url}\n{push_key}".encode()).hexdigest()[:40]
        self._path = home / "pushes" / f"{name}.json"
        self.push_key = push_key
        self.progress = self._load()
        self.resumed = self.progress.dataset_id is not None

    def _load(self) -> Progress:
        known = {field.name for field in fields(Progress)}
        try:
            record = jsonio.loads(self._path.read_bytes())
            return Progress(**{key: record[key] for key in record if key in known})
        except (OSError, ValueError, TypeError):
            return Progress()

    def save(self) -> None:
        """Write the progress down, whole or not at all.

        Raises:
            StoreError: The home folder cannot be written.
        """
        write_atomic(self._path, jsonio.dumps(asdict(self.progress)), mode=0o600)

    def start_anew(self) -> None:
        """Forget the dataset: the next create is a new one, also for a server that remembers."""
        self.progress = Progress(generation=self.progress.generation + 1)
        self.resumed = False
        self.save()

    def clear(self) -> None:
        """Remove the journal of a push that is complete."""
        self._path.unlink(missing_ok=True)

    @property
    def idempotency_key(self) -> str:
        """The key sent with a create: the same for every attempt of the same push."""
        generation = self.progress.generation
        return f"{self.push_key}-{generation}" if generation else self.push_key
