"""What a judge returned, read as a reward with a status: a failed judgement is never a 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from whileai_core.errors import InputError
from whileai_core.quality.reports import Report

_REWARD_KEYS = ("reward", "score")
_RATING_KEYS = ("rating", *_REWARD_KEYS)


def normalize_judge_result(result: Any, scale: Sequence[float] | None = None) -> Report:
    """Return `reward`, `reason`, `judge_status` and `judge_meta` for whatever a judge returned.

    Args:
        result: A boolean, a number between 0 and 1 (or on `scale`), or an object with `reward`
            or `score`, and maybe `reason`.
        scale: Lowest and highest rating, if the judge rates on such a scale.

    Returns:
        `judge_status` is `ok`, `missing_reward` or `invalid_result`; the reward is None unless
        it is `ok`. Further keys of an object are in `judge_meta`.

    Raises:
        InputError: The scale is no pair of numbers in ascending order.
    """
    limits = _checked_scale(scale)
    if not isinstance(result, dict):
        reward, status, meta = _read(result, limits, "returned_type")
        return Report(reward=reward, reason="", judge_status=status, judge_meta=meta)
    keys = _REWARD_KEYS if limits is None else _RATING_KEYS
    key = next((key for key in keys if key in result), None)
    reason = result.get("reason")
    meta = {name: value for name, value in result.items() if name not in (key, "reason")}
    nested = meta.pop("judge_meta", None)
    if isinstance(nested, dict):
        meta |= nested
    if key is None:
        reward, status = None, "missing_reward"
        meta = {"returned_keys": sorted(map(str, result))}
    else:
        reward, status, more = _read(result[key], limits, "reward_type")
        meta |= more
    return Report(
        reward=reward,
        reason="" if reason is None else str(reason),
        judge_status=status,
        judge_meta=meta,
    )


def _checked_scale(scale: Sequence[float] | None) -> tuple[float, float] | None:
    if scale is None:
        return None
    try:
        low, high = (float(limit) for limit in scale)
    except (TypeError, ValueError):
        raise InputError(f"scale={scale!r} must be two numbers, the lower one first") from None
    if not low < high:
        raise InputError(f"scale={scale!r} must be two numbers, the lower one first")
    return low, high


def _read(
    value: Any, limits: tuple[float, float] | None, type_key: str
) -> tuple[float | None, str, dict[str, Any]]:
    if isinstance(value, bool) and limits is None:
        return int(value), "ok", {}
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        kind = "nan" if isinstance(value, float) else type(value).__name__
        return None, "invalid_result", {type_key: kind}
    number = float(value)
    if limits is None:
        if not 0 <= number <= 1:
            return None, "invalid_result", {"reward_out_of_range": number}
        return _tidy(number), "ok", {}
    low, high = limits
    scaled = {"scale": [low, high]}
    if not low <= number <= high:
        return None, "invalid_result", {"rating_out_of_scale": number, **scaled}
    return _tidy((number - low) / (high - low)), "ok", {"rating": number, **scaled}


def _tidy(number: float) -> float:
    return int(number) if number in (0, 1) else number
