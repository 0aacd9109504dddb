"""Message lists that repeat one another become one conversation."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from whileai_core.dialects.events import Ask, Call, Event, Result, Say
from whileai_core.dialects.records.histories import Thread

TURNS = st.lists(
    st.one_of(
        st.builds(Ask, st.sampled_from(["yes", "no", "go on"])),
        st.builds(Say, st.sampled_from(["fine", "done"])),
        st.builds(Call, st.sampled_from(["a", "b"]), st.just({"n": 1})),
    ),
    max_size=12,
)


def joined(*histories: list[Event]) -> list[Event]:
    thread = Thread()
    for history in histories:
        thread.add_history(history)
    return thread.events


@given(TURNS, st.integers(0, 12))
def test_a_growing_history_is_the_longest_of_its_forms(turns: list[Event], cut: int) -> None:
    assert joined(turns[:cut], turns) == turns
    assert joined(turns, turns) == turns


def test_a_short_answer_given_twice_stays_two_turns() -> None:
    first: list[Event] = [Ask("Book it?"), Say("Sure?"), Ask("yes")]
    second: list[Event] = [*first, Say("Really?"), Ask("Yes ")]
    assert joined(first, second) == second


def test_a_list_that_starts_later_is_added_where_it_belongs() -> None:
    whole: list[Event] = [Ask("x"), Call("t", {}, "1"), Result(5, "1"), Say("five")]
    assert joined(whole[:2], whole[2:]) == whole


def test_a_tool_run_answers_the_call_the_model_made() -> None:
    thread = Thread()
    thread.add_history([Ask("x"), Call("t", {"n": 1}, "1"), Call("t", {"n": 2}, "2")])
    thread.add_tool_run(Call("t", {"n": 2}), Result("two"))
    thread.add_tool_run(Call("t", {"n": 1}), Result("one"))
    assert [e.value for e in thread.events if isinstance(e, Result)] == ["one", "two"]
    assert [e.id for e in thread.events if isinstance(e, Result)] == ["1", "2"]


def test_a_tool_run_no_message_told_of_is_a_call_of_its_own() -> None:
    thread = Thread()
    thread.add_history([Ask("x")])
    thread.add_tool_run(Call("t", {}), Result("r"))
    thread.add_history([Ask("x"), Say("done")])
    assert thread.events == [Ask("x"), Call("t", {}), Result("r", None, "t"), Say("done")]


def test_what_the_model_saw_of_a_result_is_the_same_result() -> None:
    thread = Thread()
    thread.add_history([Ask("x"), Call("t", {})])
    thread.add_tool_run(Call("t", {}, "run-1"), Result({"v": 1}))
    thread.add_history([Ask("x"), Call("t", {}), Result({"result": {"v": 1}}, None, "t"), Say("1")])
    assert sum(isinstance(event, Result) for event in thread.events) == 1
