"""What `simulate` can be told, checked before any work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from whileai_core.errors import InputError
from whileai_core.simulation.repeats import Policy
from whileai_core.traces.dimensions import Axes, build_dimensions

Strategy = Literal["auto", "trace", "targeted", "broad"]

DEFAULT_HARD_SHARE = 0.4
_STRATEGIES = ("auto", "trace", "targeted", "broad")
_POLICIES = ("none", "adaptive", "successive", "fixed")
# Axes whose values the world or the offline writer has to know.
_CLOSED_AXES = ("stance", "world_state", "tool_condition", "history")


@dataclass(frozen=True, slots=True)
class Mode:
    """What a mode sets where the caller does not."""

    phrasings: int
    repeats: int
    policy: str
    fault_rate: float
    flip: bool


MODES: Mapping[str, Mode] = {
    "explore": Mode(1, 1, "none", 0.5, flip=True),
    "sft": Mode(3, 4, "adaptive", 0.5, flip=True),
    "rl": Mode(1, 8, "successive", 0.8, flip=False),
    "adaptive": Mode(1, 1, "adaptive", 0.5, flip=True),
}


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of a run, complete."""

    mode: str
    budget: int
    phrasings: int
    repeats: int
    policy: Policy
    fault_rate: float
    flip: bool
    hard_share: float
    strategy: Strategy
    exploration: float | None
    situations: int | None
    seed: int
    concurrency: int
    time_budget: float | None

    def knobs(self) -> dict[str, Any]:
        """Return the settings for a report."""
        return {name: getattr(self, name) for name in self.__slots__}


def checked_options(
    *,
    mode: str,
    budget: int,
    phrasings: int | None,
    repeats: int | None,
    repeat_policy: str | None,
    fault_rate: float | None,
    hard_share: float | None,
    strategy: str,
    steering_weight: float | None,
    has_traces: bool,
    situations: int | None,
    seed: int,
    concurrency: int,
    time_budget: float | None,
) -> Options:
    """Return the settings of a run.

    Raises:
        InputError: One of them is unknown, out of range, or at odds with another.
    """
    if mode not in MODES:
        raise InputError(f"mode={mode!r} is unknown; known: {', '.join(MODES)}")
    chosen = MODES[mode]
    policy = chosen.policy if repeat_policy is None else repeat_policy
    if policy not in _POLICIES:
        raise InputError(f"repeat_policy={policy!r} is unknown; known: {', '.join(_POLICIES)}")
    if strategy not in _STRATEGIES:
        raise InputError(f"strategy={strategy!r} is unknown; known: {', '.join(_STRATEGIES)}")
    if not has_traces and (strategy in ("trace", "targeted") or steering_weight is not None):
        given = "steering_weight=" if steering_weight is not None else f"strategy={strategy!r}"
        raise InputError(f"{given} aims at failures in traces; pass traces= as well")
    k = _whole("repeats", chosen.repeats if repeats is None else repeats)
    if policy == "none" and repeats is None:
        k = 1
    if steering_weight is not None:
        _share("steering_weight", steering_weight)
    if time_budget is not None and not time_budget > 0:
        raise InputError(f"time_budget={time_budget!r} must be a number of seconds above 0")
    return Options(
        mode=mode,
        budget=_whole("budget", budget),
        phrasings=_whole("phrasings", chosen.phrasings if phrasings is None else phrasings),
        repeats=k,
        policy="successive" if policy in ("adaptive", "successive") else "fixed",
        fault_rate=_share("fault_rate", chosen.fault_rate if fault_rate is None else fault_rate),
        flip=chosen.flip,
        hard_share=_share("hard_share", DEFAULT_HARD_SHARE if hard_share is None else hard_share),
        strategy=strategy,  # type: ignore[arg-type]  # checked above
        exploration=None if steering_weight is None else 1 - steering_weight,
        situations=None if situations is None else _whole("situations", situations),
        seed=seed,
        concurrency=_whole("concurrency", concurrency),
        time_budget=time_budget,
    )


def grid_of(
    tools: Sequence[Mapping[str, Any]], policy: str, dimensions: Mapping[str, Any] | None
) -> Axes:
    """Return the grid of a run: the agent's own, with the axes the caller sets in place of it.

    Raises:
        InputError: An axis or one of its values is unknown, or there is nothing on an axis.
    """
    axes = build_dimensions(tools, policy)
    if dimensions is None:
        return axes
    if not isinstance(dimensions, Mapping) or not dimensions:
        raise InputError(f"dimensions= must map axes to values; the axes are {', '.join(axes)}")
    known = build_dimensions(
        [{"name": "any", "parameters": {"properties": {"id": {"type": "string"}}}}], ""
    )
    for axis, values in dimensions.items():
        if axis not in axes:
            raise InputError(f"dimensions={axis!r} is no axis; the axes are {', '.join(axes)}")
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise InputError(f"dimensions[{axis!r}] must be a list of at least one value")
        allowed = known[axis] if axis in _CLOSED_AXES else axes[axis] if axis == "tool" else values
        unknown = [value for value in values if value not in allowed]
        if unknown:
            raise InputError(
                f"dimensions[{axis!r}] has unknown values {', '.join(map(repr, unknown))}; "
                f"known: {', '.join(allowed)}"
            )
        axes[axis] = list(dict.fromkeys(values))
    return axes


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f"{name}={value!r} must be a whole number, 1 or more")
    return value


def _share(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(f"{name}={value!r} must be a share between 0 and 1")
    return float(value)
