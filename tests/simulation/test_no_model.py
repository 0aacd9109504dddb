"""Without a model: a demo agent only when it is asked for, and an error before any work else."""

from __future__ import annotations

import functools

import anyio
import pytest

from whileai_core import simulate, simulate_from_traces
from whileai_core.errors import InputError

TRACES = [
    {
        "prompt": f"Where is order ORD-{n + 1000}?",
        "steps": [
            {
                "tool": "lookup_order",
                "arguments": {"order_id": f"ORD-{n + 1000}"},
                "result": {"status": "timeout"},
            }
        ],
        "final_text": "It is on its way.",
        "reward": 0,
    }
    for n in range(4)
]


def test_traces_alone_run_a_demo_agent_when_it_is_asked_for():
    data = anyio.run(
        functools.partial(simulate_from_traces, TRACES, "seeded", budget=24, mode="explore")
    )
    assert (len(data.rows), data.stopped_because) == (24, "budget")
    assert {row["model_version"] for row in data.rows} == {"seeded_agent"}
    assert any(row["tools_used"] == ["lookup_order"] for row in data.rows)


def test_no_agent_is_an_error_before_any_work():
    said = []
    with pytest.raises(InputError, match="agent"):
        anyio.run(functools.partial(simulate_from_traces, TRACES, on_progress=said.append))
    with pytest.raises(InputError, match="agent"):
        anyio.run(functools.partial(simulate, on_progress=said.append))
    assert said == []
