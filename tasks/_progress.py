"""How far a long step is, as a line on the run's page."""

from __future__ import annotations

from uuid import UUID

import prefect.artifacts


class Progress:
    """A progress artifact that counts up to a total; a step that is short has none.

    Args:
        key: Stable name of the artifact.
        description: What is counted.
        total: How much there is to do.
        least: Smaller totals are done before anybody looks.
    """

    def __init__(self, key: str, description: str, total: int, *, least: int = 2) -> None:
        self._key = key
        self._description = description
        self._total = total
        self._shown = total >= least
        self._done = 0
        self._artifact: UUID | None = None

    async def begin(self) -> None:
        """Show that nothing is done yet."""
        if self._shown:
            self._artifact = await prefect.artifacts.acreate_progress_artifact(
                0.0, key=self._key, description=f"{self._description}: 0 of {self._total}"
            )

    async def advance(self, amount: int = 1) -> None:
        """Show that so much more is done."""
        self._done += amount
        if self._artifact is not None:
            await prefect.artifacts.aupdate_progress_artifact(
                self._artifact,
                100.0 * self._done / self._total,
                f"{self._description}: {self._done} of {self._total}",
            )
