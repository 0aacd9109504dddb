"""The coverage grid of an agent, and the same grid aimed at observed failures."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from whileai_core.settings import get_settings
from whileai_core.traces.mining import mine_traces
from whileai_core.traces.policy import policy_clauses
from whileai_core.traces.toolset import tool_schemas

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_log = logging.getLogger(__name__)

Axes = dict[str, list[str]]

DEFAULT_RULE_CAP = 16
SPECIAL_TOOLS = ("unrelated", "multi_tool")
UNSPECIFIED = "unspecified"
_STANCES = (
    "ordinary", "ambiguous", "boundary", "adversarial", "hurried",
    "unsure", "retry", "mistaken", "exploratory", "conflicting",
)  # fmt: skip
_WORLD_STATES = (
    "entity exists",
    "entity missing",
    "entity already acted on",
    "duplicate entity",
    "partially completed",
    "unknown",
)
_CONDITIONS = ("success", "timeout", "malformed_result", "stale_result", "permission_denied")
_HISTORIES = (
    "fresh",
    "prior_failure",
    "prior_partial_action",
    "contradicts_earlier",
    "repeat visit",
)

# Observed fault -> axis and value that provoke it. HTTP codes aim like the words they stand for.
FAULT_TO_AXIS: Mapping[str, tuple[str, str]] = {
    "timeout": ("tool_condition", "timeout"),
    "error": ("tool_condition", "timeout"),
    "malformed": ("tool_condition", "malformed_result"),
    "stale": ("tool_condition", "stale_result"),
    "deny": ("tool_condition", "permission_denied"),
    "not_found": ("world_state", "entity missing"),
    "already_done": ("world_state", "entity already acted on"),
    "401": ("tool_condition", "permission_denied"),
    "403": ("tool_condition", "permission_denied"),
    "404": ("world_state", "entity missing"),
    "408": ("tool_condition", "timeout"),
    "504": ("tool_condition", "timeout"),
}

_REFERENCE = re.compile(
    r"id|path|file|name|key|ref|reference|number|repo|asin|sku|.*_(?:id|path|ref)", re.IGNORECASE
)
_CAMEL_REFERENCE = re.compile(r".*[a-z0-9](?:Id|ID|Path|Ref)")
_DEEPEST = 16


def build_dimensions(
    tools: object, policy: str = "", *, rule_cap: int | None = DEFAULT_RULE_CAP
) -> Axes:
    """Return the coverage axes of an agent, in a fixed order.

    Args:
        tools: The agent's tools: schemas, plain functions or tool objects.
        policy: Its policy; the clauses become the `rule` axis.
        rule_cap: How many clauses to keep, None for all. The setting `ZP_RULE_CAP` takes the
            place of the default.
    """
    cap = get_settings().rule_cap if rule_cap == DEFAULT_RULE_CAP else rule_cap
    schemas = tool_schemas(tools, strict=False)
    names = [schema["name"] for schema in schemas if schema["name"]]
    has_records = any(_names_a_record(schema["parameters"]) for schema in schemas)
    return {
        "tool": list(dict.fromkeys([*names, *SPECIAL_TOOLS])),
        "rule": _rules(policy, cap),
        "stance": list(_STANCES),
        "world_state": list(_WORLD_STATES) if has_records else [UNSPECIFIED],
        "tool_condition": list(_CONDITIONS),
        "history": list(_HISTORIES),
    }


def dimensions_from_traces(
    rows: object,
    tools: object,
    policy: str = "",
    *,
    broaden: bool = True,
    fault_to_axis: Mapping[str, Sequence[str]] | None = None,
) -> Axes:
    """Return the coverage axes aimed at the failures that rows show.

    Args:
        rows: Rows as for `mine_traces`.
        tools: The agent's tools, as for `build_dimensions`.
        policy: The agent's policy.
        broaden: Keep tools that were never called, behind the observed ones.
        fault_to_axis: Fault name to (axis, value); replaces `FAULT_TO_AXIS`.
    """
    return aim(
        build_dimensions(tools, policy),
        mine_traces(rows),
        broaden=broaden,
        fault_to_axis=fault_to_axis,
    )


def aim(
    base: Axes,
    mined: Mapping[str, Any],
    *,
    broaden: bool = True,
    fault_to_axis: Mapping[str, Sequence[str]] | None = None,
) -> Axes:
    """Aim base axes at what `mine_traces` counted; axes without a finding stay as they are."""
    table = FAULT_TO_AXIS if fault_to_axis is None else fault_to_axis
    conditions, states = _targets(base, mined, table)
    axes = {axis: list(values) for axis, values in base.items()}
    axes["tool"] = _aimed_tools(base["tool"], mined["tools"], broaden=broaden)
    if conditions:
        axes["tool_condition"] = list(dict.fromkeys(["success", *conditions]))
    if states:
        first = [value for value in ("entity exists",) if value in base["world_state"]]
        axes["world_state"] = list(dict.fromkeys([*first, *states]))
    return axes


def names_a_reference(parameter: str) -> bool:
    """Tell whether a parameter, by its name, takes a reference to something that may be missing."""
    return bool(_REFERENCE.fullmatch(parameter) or _CAMEL_REFERENCE.fullmatch(parameter))


def _targets(
    base: Axes, mined: Mapping[str, Any], fault_to_axis: Mapping[str, Sequence[str]]
) -> tuple[list[str], list[str]]:
    taken: dict[str, dict[str, None]] = {"tool_condition": {}, "world_state": {}}
    for fault in _by_count(mined["faults"]):
        axis, value = fault_to_axis.get(fault, ("tool_condition", fault))
        if axis in taken and value in base[axis]:
            taken[axis][value] = None
    for state in _by_count(mined["world_states"]):
        if state in base["world_state"]:
            taken["world_state"][state] = None
    return list(taken["tool_condition"]), list(taken["world_state"])


def _by_count(counts: Mapping[str, int]) -> list[str]:
    return sorted(counts, key=lambda name: -counts[name])  # stable: ties stay as first seen


def _aimed_tools(
    base: list[str], observed: Mapping[str, Mapping[str, int]], *, broaden: bool
) -> list[str]:
    names = [name for name in base if name not in SPECIAL_TOOLS]
    seen = [name for name in names if name in observed]
    if not seen:
        return list(base)
    seen.sort(key=lambda name: (-observed[name]["fault_n"], -observed[name]["n"], name))
    unseen = [name for name in names if name not in observed] if broaden else []
    return [*seen, *unseen, *(name for name in base if name in SPECIAL_TOOLS)]


def _rules(policy: str, cap: int | None) -> list[str]:
    clauses = policy_clauses(policy)
    kept = clauses if cap is None else clauses[: max(cap, 0)]
    if len(kept) < len(clauses):
        _log.warning(
            "policy has %d clauses, the grid keeps the first %d; raise rule_cap to vary them all",
            len(clauses),
            len(kept),
        )
    return kept or [UNSPECIFIED]


def _names_a_record(parameters: dict[str, Any]) -> bool:
    """Tell whether a tool's parameters hold a reference to something that may be missing."""
    return any(names_a_reference(name) for name in _parameter_names(parameters))


def _parameter_names(parameters: dict[str, Any]) -> Iterator[str]:
    """Yield the names of parameters and of what lies inside them."""
    pending: list[tuple[object, int]] = [(parameters, _DEEPEST)]
    followed: set[str] = set()
    while pending:
        schema, depth = pending.pop()
        if depth == 0 or not isinstance(schema, dict):
            continue
        inner = [schema.get("items")]
        for key in ("anyOf", "oneOf", "allOf"):
            options = schema.get(key)
            inner += options if isinstance(options, list) else []
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in followed:
            followed.add(reference)
            inner.append(_referred(reference, parameters))
        properties = schema.get("properties")
        if isinstance(properties, dict) and (schema is parameters or "object" in _types(schema)):
            yield from map(str, properties)
            inner += properties.values()
        pending += [(value, depth - 1) for value in inner]


def _types(schema: dict[str, Any]) -> list[Any]:
    kind = schema.get("type")
    return kind if isinstance(kind, list) else [kind]


def _referred(reference: str, root: dict[str, Any]) -> object:
    found: object = root
    for part in reference.removeprefix("#/").split("/"):
        found = found.get(part) if isinstance(found, dict) else None
    return found
