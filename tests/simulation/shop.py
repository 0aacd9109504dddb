"""A small shop for tests: its tools, an agent by rule, and flaws that can be planted in it."""

from __future__ import annotations

import re

from whileai_core.simulation.situations import SUCCESS


def tool(name, *required, description=""):
    properties = {parameter: {"type": "string"} for parameter in required}
    return {
        "name": name,
        "description": description,
        "parameters": {"type": "object", "properties": properties, "required": list(required)},
    }


TOOLS = [
    tool("lookup_order", "order_id"),
    tool("cancel_order", "order_id"),
    tool("create_ticket", "order_id", "subject"),
]


def clerk(message, world, *, tries=1):
    """Call the first tool the message names and say what came back."""
    words = set(re.findall(r"[a-z]+", message.lower()))
    named = [entry for entry in TOOLS if set(entry["name"].split("_")) <= words]
    if not named:
        return "That is nothing I can do."
    reference = re.search(r"\b[A-Z]{2,}-\d+\b", message)
    given = {"order_id": reference[0] if reference else "ORD-1", "subject": "help"}
    chosen = named[0]
    arguments = {key: given[key] for key in chosen["parameters"]["properties"]}
    for _ in range(tries):
        answer = world.call(chosen["name"], arguments)
        if answer.get("status") != "timeout":
            break
    return f"{chosen['name']} answered {answer.get('status')}."


def patient_clerk(message, world):
    """The same, but a call that timed out is made once more."""
    return clerk(message, world, tries=2)


def results(row):
    return [step["result"] for step in row["steps"] if "tool" in step]


def stance(row):
    return row["scenario_dimensions"].get("stance")


def state(row):
    return row["scenario_dimensions"].get("world_state")


def last_status(row):
    found = results(row)
    return found[-1].get("status") if found else None


# Name of a flaw -> whether it shows in a row.
FLAWS = {
    "timeout": lambda row: last_status(row) == "timeout",
    "permission_denied": lambda row: last_status(row) == "permission_denied",
    "malformed": lambda row: any(isinstance(found.get("data"), str) for found in results(row)),
    "stale": lambda row: any(found.get("stale") for found in results(row)),
    **{
        value: lambda row, value=value: state(row) == value
        for value in (
            "entity exists",
            "entity missing",
            "entity already acted on",
            "duplicate entity",
            "partially completed",
            "unknown",
        )
    },
    "a tool": lambda row: "cancel_order" in row["tools_used"],
    "a stance": lambda row: stance(row) == "adversarial",
    "the ordinary stance": lambda row: stance(row) == "ordinary",
    "two at once": lambda row: last_status(row) == "timeout" or stance(row) == "adversarial",
    "one tool under one fault": lambda row: (
        "cancel_order" in row["tools_used"] and last_status(row) == "timeout"
    ),
}


def graded(rows, flaw):
    """Return copies with a reward: 0 where the flaw shows."""
    shows = FLAWS[flaw]
    return [{**row, "reward": 0 if shows(row) else 1} for row in rows]


def failing_share(rows):
    return sum(row["reward"] == 0 for row in rows) / len(rows)


def is_clean(row):
    found = row["scenario_dimensions"]
    return found["tool_condition"] == SUCCESS and row.get("world_state") in (None, "entity exists")


def without_times(rows):
    return [{key: value for key, value in row.items() if key != "ts"} for row in rows]
