"""Which settings all rows of a set share: what a pass rate was measured with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.quality.grades import label_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whileai_core.rows import Row

# Setting -> where rows carry it, the first that is there counts.
_PLACES: dict[str, tuple[tuple[str, ...], ...]] = {
    "temperature": (("sampling", "temperature"), ("temperature",)),
    "max_tokens": (("sampling", "max_tokens"), ("max_tokens",)),
    "policy_version": (("policy_version",),),
    "judge_version": (("judge_version",), ("lineage", "judge_version")),
    "prompt_hash": (("prompt_hash",), ("lineage", "system_prompt_sha")),
    "user_model": (("user_model",),),
    "writer_model": (("writer_model",),),
}


def run_config(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the one value of each setting, None and a place in `mixed` where rows differ."""
    config: dict[str, Any] = {}
    mixed = []
    for name, places in _PLACES.items():
        values = {repr(value): value for row in rows if (value := _found(row, places)) is not None}
        config[name] = next(iter(values.values())) if len(values) == 1 else None
        if len(values) > 1:
            mixed.append(name)
    config["mixed"] = mixed
    config["truncated_share"] = _share(rows, lambda row: row.get("finish_reason") == "length")
    config["answered_share"] = _share(rows, lambda row: bool(row.get("final_text")))
    config["graded_share"] = _share(rows, lambda row: label_of(row) is not None)
    return config


def _found(row: Row, places: tuple[tuple[str, ...], ...]) -> Any:
    for place in places:
        value: Any = row
        for key in place:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            return value
    return None


def _share(rows: Sequence[Row], holds: Any) -> float | None:
    return sum(map(holds, rows)) / len(rows) if rows else None
