"""What a push has reached, written before each next step, so that a re-run goes on from there.

One small file per push under `<home>/pushes`, named after content, metadata and platform. It is
readable by its owner only: the upload address in it is a permission. A push that is complete
has no journal; one that nobody has gone on with for a month is given up.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import time
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from whileai_core import jsonio
from whileai_core.atomic import sweep_temporaries, write_atomic

if TYPE_CHECKING:
    from pathlib import Path

_GIVEN_UP_SECONDS = 30 * 24 * 3600

log = logging.getLogger(__name__)

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
        _sweep(self._path.parent)
        self.push_key = push_key
        self.progress = self._load()
        self.resumed = self.progress.dataset_id is not None

    def _load(self) -> Progress:
        return _read(self._path) or Progress()

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


def _read(path: Path) -> Progress | None:
    known = {field.name for field in fields(Progress)}
    try:
        record = jsonio.loads(path.read_bytes())
        return Progress(**{key: record[key] for key in record if key in known})
    except (OSError, ValueError, TypeError):
        return None


def _sweep(folder: Path) -> None:
    """Remove journals that were given up, and half-written ones of processes that are gone."""
    with contextlib.suppress(OSError):
        sweep_temporaries(folder)
        for path in folder.glob("*.json"):
            if time.time() - path.stat().st_mtime <= _GIVEN_UP_SECONDS:
                continue
            progress = _read(path)
            path.unlink(missing_ok=True)
            if progress is not None and progress.dataset_id is not None:
                log.warning(
                    "a push of a month ago was never finished; dataset %s was left at the stage %s",
                    progress.dataset_id,
                    progress.stage,
                )
