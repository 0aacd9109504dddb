"""The form of every result here: a plain JSON object whose keys also read as attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whileai_core.rows import Row


class Report(dict[str, Any]):
    """A report; `report["k"]` and `report.k` are the same value.

    Whatever is too large for a report (rows, say) is set as an attribute and is no key, so that
    a report can always be written as JSON.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"this report has no {name!r}") from None

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a plain dict."""
        return dict(self)


class StampedReport(Report):
    """A report on rows that were stamped.

    Attributes:
        rows: The stamped copies, in the order of the rows; no key of the report.
    """

    rows: list[Row]
