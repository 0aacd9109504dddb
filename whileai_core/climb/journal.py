"""What a climb has finished: one small JSON file per step, written whole or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.atomic import sweep_temporaries, write_atomic
from whileai_core.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path


class Journal:
    """The folder of one climb.

    Args:
        folder: Made when the first step is written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, step: str) -> dict[str, Any] | None:
        """Return what a finished step left, or None while it is not finished.

        Raises:
            StoreError: The file is there and is no JSON object.
        """
        path = self._path(step)
        if not path.exists():
            return None
        try:
            value = jsonio.loads(path.read_bytes())
        except (ValueError, OSError) as error:
            raise StoreError(
                f"cannot read {path}: {error}; delete it to do the step again"
            ) from error
        if not isinstance(value, dict):
            raise StoreError(f"{path} holds no object; delete it to do the step again")
        return value

    def write(self, step: str, value: dict[str, Any]) -> None:
        """Remember a finished step."""
        write_atomic(self._path(step), jsonio.dumps(value))

    async def once(
        self, step: str, work: Callable[[], Awaitable[dict[str, Any]]]
    ) -> dict[str, Any]:
        """Do a step that is not finished, and return what it left, now or earlier."""
        done = self.read(step)
        if done is None:
            done = await work()
            self.write(step, done)
        return done

    def steps(self) -> list[str]:
        """Return the names of the finished steps."""
        files = self.folder.rglob("*.json") if self.folder.is_dir() else ()
        return sorted(str(file.relative_to(self.folder).with_suffix("")) for file in files)

    def sweep(self) -> None:
        """Clear away what a killed run left half-written."""
        sweep_temporaries(self.folder)

    def _path(self, step: str) -> Path:
        return self.folder / f"{step}.json"
