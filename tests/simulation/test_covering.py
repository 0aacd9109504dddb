"""The grid covers all pairs, and stays what it is when the policy is edited."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from shop import TOOLS

from whileai_core import build_dimensions
from whileai_core.simulation.covering import all_pairs, covering_array, pairs_of, scenario_id

axis = st.lists(st.text("abcdef", min_size=1, max_size=3), min_size=1, max_size=5, unique=True)


@settings(max_examples=60, deadline=None)
@given(
    st.fixed_dictionaries(
        {"tool": axis, "stance": axis}, optional={"history": axis, "state": axis, "rule": axis}
    )
)
def test_every_pair_of_values_occurs(axes):
    covered = {pair for row in covering_array(axes) for pair in pairs_of(row)}
    assert all_pairs(axes) <= covered


def test_the_array_is_not_much_longer_than_its_two_longest_axes_ask_for():
    assert 60 <= len(covering_array(build_dimensions(TOOLS))) <= 66


def test_another_rule_changes_the_rows_of_that_rule_only():
    before = build_dimensions(TOOLS, "- Never refund twice.\n- Ask before you cancel.")
    after = build_dimensions(TOOLS, "- Never refund twice.\n- Escalate threats to a person.")

    def rows(axes):
        return {scenario_id(row) for row in covering_array(axes) if row["rule"] != axes["rule"][1]}

    assert rows(before) == rows(after)


def test_a_situation_has_the_same_id_whatever_the_order_of_its_axes():
    assert scenario_id({"a": "1", "b": "2"}) == scenario_id({"b": "2", "a": "1"})
    assert scenario_id({"a": "1", "b": "2"}) != scenario_id({"a": "2", "b": "1"})
    assert scenario_id({"a": "1"}).startswith("sc-")
