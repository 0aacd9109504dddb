"""The sandbox world: what each state and fault does, and that it can be told from the answers."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest
from shop import TOOLS, tool

from whileai_core.errors import InputError
from whileai_core.simulation.faults import plan_for
from whileai_core.simulation.records import shapes_of
from whileai_core.simulation.worlds import World

ORDER = {"order_id": "ORD-1001"}


def world(state=None, *, tools=TOOLS, **options):
    return World(tools, world_state=state, seed="7:sc-1", **options)


def test_a_tool_the_world_does_not_have_is_an_error():
    assert world().call_sync("fly", {}) == {
        "status": "error",
        "reason": "unknown_tool",
        "tool": "fly",
    }


def test_a_record_is_the_same_at_every_look_and_through_every_tool():
    tools = [*TOOLS, tool("get_order", "order_id")]
    first = world("entity exists", tools=tools)
    second = World(tools, world_state="entity exists", seed="another")
    looks = [
        first.call_sync("lookup_order", ORDER),
        first.call_sync("get_order", ORDER),
        second.call_sync("lookup_order", ORDER),
    ]
    assert looks[0]["status"] == "ok"
    assert looks[0]["data"]["id"] == "ORD-1001"
    assert looks[0] == looks[1] == looks[2]


def test_what_is_missing_is_not_found_but_what_is_created_is_there():
    there = world("entity missing", prompt="Cancel ORD-1001.")
    assert there.call_sync("lookup_order", ORDER) == {
        "status": "not_found",
        "missing": ["ORD-1001"],
    }
    assert there.call_sync("cancel_order", ORDER)["status"] == "not_found"
    made = there.call_sync("create_ticket", {**ORDER, "subject": "lost"})
    assert made["status"] == "created"
    assert made["subject"] == "lost"
    assert there.call_sync("lookup_order", {"order_id": made["id"]})["status"] == "ok"


def test_what_was_acted_on_reads_so_and_cannot_be_acted_on_again():
    there = world("entity already acted on")
    read = there.call_sync("lookup_order", ORDER)
    assert (read["status"], read["data"]["status"]) == ("ok", "cancelled")
    assert there.call_sync("cancel_order", ORDER)["status"] == "already_done"


def test_a_duplicate_is_told_apart_by_a_further_argument():
    there = world("duplicate entity", tools=[*TOOLS, tool("close_order", "order_id")])
    matches = there.call_sync("lookup_order", ORDER)["data"]["matches"]
    assert len(matches) == 2
    assert matches[0]["record_id"] != matches[1]["record_id"]
    assert there.call_sync("cancel_order", ORDER) == {
        "status": "rejected",
        "reason": "ambiguous_reference",
        "matches": 2,
    }
    chosen = {**ORDER, "record_id": matches[1]["record_id"]}
    assert there.call_sync("cancel_order", chosen)["data"]["status"] == "cancelled"


def test_what_is_half_done_is_completed_once():
    there = world("partially completed", tools=[*TOOLS, tool("update_order", "order_id")])
    assert there.call_sync("lookup_order", ORDER)["data"]["status"] == "in_progress"
    assert there.call_sync("update_order", ORDER)["data"]["status"] == "completed"
    assert there.call_sync("update_order", ORDER)["status"] == "already_done"
    assert there.call_sync("lookup_order", ORDER)["data"]["status"] == "completed"


def test_a_write_changes_what_is_read():
    there = world("entity exists", tools=[*TOOLS, tool("delete_order", "order_id")])
    assert there.call_sync("cancel_order", ORDER)["data"]["status"] == "cancelled"
    assert there.call_sync("lookup_order", ORDER)["data"]["status"] == "cancelled"
    assert there.call_sync("cancel_order", ORDER)["status"] == "already_done"
    assert there.call_sync("delete_order", ORDER) == {"status": "deleted", "removed": ["ORD-1001"]}
    assert there.call_sync("lookup_order", ORDER)["status"] == "not_found"


def test_in_a_world_of_unknown_state_about_seven_in_ten_references_exist():
    there = world("unknown")
    found = [
        there.call_sync("lookup_order", {"order_id": f"ORD-{number}"})["status"] == "ok"
        for number in range(1000, 1400)
    ]
    assert 240 < sum(found) < 320


def test_what_the_ask_names_exists():
    for number in range(1000, 1050):
        there = world("unknown", prompt=f"Where is ORD-{number}?", known_ids={"ORD-77"})
        assert there.call_sync("lookup_order", {"order_id": f"ORD-{number}"})["status"] == "ok"
        assert there.call_sync("lookup_order", {"order_id": "ORD-77"})["status"] == "ok"


@pytest.mark.parametrize(
    "arguments", [{"order_id": "order id"}, {"order_id": "<id>"}, {"order_id": "your order number"}]
)
def test_a_placeholder_is_rejected(arguments):
    answer = world("entity exists").call_sync("lookup_order", arguments)
    assert (answer["status"], answer["reason"]) == ("rejected", "placeholder_argument")
    assert answer["fields"] == ["order_id"]


def test_missing_arguments_are_named_also_inside_objects():
    inner = {"type": "object", "properties": {"b": {}}, "required": ["b"]}
    nested = {
        "name": "update_order",
        "parameters": {"properties": {"a": inner}, "required": ["a", "order_id"]},
    }
    answer = world("entity exists", tools=[nested]).call_sync("update_order", {"a": {}})
    assert answer == {
        "status": "rejected",
        "reason": "missing_required",
        "fields": ["order_id", "a.b"],
    }


@pytest.mark.parametrize(
    ("expression", "result"),
    [("2 * (3 + 4)", 14), ("-7 / 2", -3.5), ("10 % 4", 2)],
)
def test_arithmetic_is_computed(expression, result):
    there = world(tools=[tool("calculate", "expression")])
    assert there.call_sync("calculate", {"expression": expression})["result"] == result


@pytest.mark.parametrize("expression", ["__import__('os')", "1/0", "2 **", "9" * 500, "a + 1"])
def test_what_is_no_arithmetic_is_an_error(expression):
    there = world(tools=[tool("calculate", "expression")])
    assert there.call_sync("calculate", {"expression": expression})["status"] == "error"


def test_a_search_gives_a_few_records():
    there = world("entity exists", tools=[tool("search_orders", "query")])
    found = there.call_sync("search_orders", {"query": "boots"})["data"]
    assert found["query"] == "boots"
    assert 1 <= found["count"] == len(found["items"]) <= 6


@pytest.mark.parametrize("condition", ["timeout", "stale_result"])
def test_some_faults_are_over_after_one_call(condition):
    there = world("entity exists", faults=plan_for(condition, "lookup_order"))
    first, second = (there.call_sync("lookup_order", ORDER) for _ in range(2))
    assert first != second
    assert (second["status"], "stale" in second) == ("ok", False)
    assert len(there.served) == 1


@pytest.mark.parametrize(
    ("condition", "shown"),
    [
        ("malformed_result", {"status": "ok", "data": "<<garbled resp0nse"}),
        ("permission_denied", {"status": "permission_denied"}),
    ],
)
def test_other_faults_stay_and_hit_only_their_tool(condition, shown):
    there = world("entity exists", faults=plan_for(condition, "lookup_order"))
    assert [there.call_sync("lookup_order", ORDER) for _ in range(3)] == [shown] * 3
    assert there.call_sync("cancel_order", ORDER)["status"] == "ok"


def test_a_fault_leaves_the_record_as_it_is():
    there = world("entity exists", faults=plan_for("timeout", "cancel_order"))
    there.call_sync("cancel_order", ORDER)
    assert there.call_sync("lookup_order", ORDER)["data"]["status"] != "cancelled"


def test_a_plan_can_say_how_often_and_how_likely():
    plan = {"*": {"mode": "timeout", "times": 2}}
    there = world("entity exists", faults=plan)
    statuses = [there.call_sync("lookup_order", ORDER)["status"] for _ in range(3)]
    assert statuses == ["timeout", "timeout", "ok"]
    half = world("entity exists", faults={"*": {"mode": "malformed", "rate": 0.5}})
    asked = [{"order_id": f"ORD-{number}"} for number in range(1000, 1200)]
    hit = sum(half.call_sync("lookup_order", one)["data"] == "<<garbled resp0nse" for one in asked)
    assert 70 < hit < 130
    with pytest.raises(InputError, match="times=-1"):
        world(faults={"*": {"mode": "timeout", "times": -1}})


def test_unknown_fault_modes_do_nothing():
    there = world("entity exists", faults={"*": {"mode": "earthquake"}})
    assert there.call_sync("lookup_order", ORDER)["status"] == "ok"
    assert there.served == []


def test_the_callers_own_world_answers_after_the_faults():
    def execute(name, arguments):
        if name == "cancel_order":
            raise KeyError("nothing here")
        return 42

    there = world(execute=execute, faults=plan_for("timeout", "lookup_order"))
    assert there.call_sync("lookup_order", ORDER)["status"] == "timeout"
    assert there.call_sync("lookup_order", ORDER) == {"status": "ok", "result": 42}
    assert there.call_sync("cancel_order", ORDER) == {
        "status": "error",
        "reason": "KeyError: 'nothing here'",
    }


def test_secrets_in_what_the_callers_own_world_raises_reach_neither_agent_nor_row():
    key = "sk-proj-abcdefgh12345678"

    def execute(name, arguments):
        raise RuntimeError(f"401 for {key} at https://me:hunter22@shop.example/x?token=abc")

    async def execute_later(name, arguments):
        return execute(name, arguments)

    there = world(execute=execute)
    answers = [there.call_sync("lookup_order", ORDER)]
    answers.append(anyio.run(world(execute=execute_later).call, "lookup_order", ORDER))
    for answer in [*answers, there.steps[0]["result"]]:
        assert answer["reason"].startswith("RuntimeError: 401 for *** at https://")
        assert not any(secret in str(answer) for secret in (key, "hunter22", "token=abc"))


def test_the_callers_own_world_may_be_async():
    async def execute(name, arguments):
        await anyio.lowlevel.checkpoint()
        return {"status": "ok", "seen": arguments}

    async def run():
        there = world(execute=execute)
        assert there.asynchronous
        return await there.call("lookup_order", ORDER)

    assert anyio.run(run) == {"status": "ok", "seen": ORDER}


def test_results_take_the_shape_they_have_in_traces():
    seen = {"order": "A-77", "total": 120, "placed": "2025-01-02", "customer": "Ada Byron"}
    traces = [
        {
            "prompt": "Where?",
            "steps": [{"tool": "lookup_order", "arguments": {"order_id": "A-77"}, "result": seen}],
            "final_text": "There.",
        }
    ]
    there = world("entity exists", shapes=shapes_of(traces))
    data = there.call_sync("lookup_order", ORDER)["data"]
    assert set(seen) <= set(data)
    assert data["customer"] != "Ada Byron"
    assert data["placed"] != "2025-01-02"
    assert 80 <= data["total"] <= 160
