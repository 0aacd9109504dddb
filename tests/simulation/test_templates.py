"""Prompts without a model: new words each time, about what the situation is about."""

from __future__ import annotations

import re

from shop import TOOLS, tool

from whileai_core import build_dimensions
from whileai_core.simulation import words
from whileai_core.simulation.cards import Card
from whileai_core.simulation.covering import covering_array, scenario_id
from whileai_core.simulation.mint import Mint
from whileai_core.simulation.templates import TemplateWriter, asked_tools


def message(assignment, *, tools=TOOLS, variant=0, slot=0, references=("ORD-1001",)):
    card = Card(scenario_id(assignment), assignment, slot, references)
    return TemplateWriter(tools, 0).message(card, variant)


def spoken(text):
    return set(re.findall(r"[a-z]+", text.lower()))


def test_a_message_names_its_tool_and_no_other():
    for assignment in covering_array(build_dimensions(TOOLS)):
        names = {entry["name"] for entry in asked_tools(assignment, TOOLS)}
        text = spoken(message(assignment))
        for entry in TOOLS:
            assert (set(entry["name"].split("_")) <= text) == (entry["name"] in names)


def test_a_message_off_the_topic_says_nothing_of_records_or_tools():
    about_records = [
        sentence
        for pools in (words.WORLD_STATES, words.CONDITIONS)
        for pool in pools.values()
        for sentence in pool
    ]
    for assignment in covering_array(build_dimensions(TOOLS)):
        if assignment["tool"] == "unrelated":
            text = message(assignment)
            assert "ORD-1001" not in text
            assert not any(sentence in text for sentence in about_records)


def test_manner_and_state_can_be_read_in_the_message():
    assignment = {
        "tool": "cancel_order",
        "rule": "Never refund twice.",
        "stance": "hurried",
        "world_state": "duplicate entity",
        "tool_condition": "timeout",
        "history": "repeat visit",
    }
    text = message(assignment)
    for pool in (
        words.STANCES["hurried"],
        words.WORLD_STATES["duplicate entity"],
        words.CONDITIONS["timeout"],
        words.HISTORIES["repeat visit"],
    ):
        assert any(sentence in text for sentence in pool)
    assert "Never refund twice" in text
    assert "ORD-1001" in text


def test_another_variant_or_slot_gives_other_words_and_the_same_one_the_same():
    assignment = covering_array(build_dimensions(TOOLS))[0]
    texts = {
        message(assignment, variant=variant, slot=slot)
        for variant in range(10)
        for slot in range(10)
    }
    assert len(texts) > 90
    assert message(assignment, variant=3) == message(assignment, variant=3)


def test_every_pool_offers_a_choice():
    assert len(words.OPENERS) >= 8
    for pools in (words.STANCES, words.WORLD_STATES, words.CONDITIONS, words.HISTORIES):
        for pool in pools.values():
            assert len(set(pool)) >= 3


def test_ids_of_the_descriptions_are_named_in_turn():
    described = tool("get_booking", "booking_id", description="For example BK-2041 or BK-2042.")
    mint = Mint([described])
    assert [mint.reference(described, turn) for turn in range(3)] == [
        "BK-2041",
        "BK-2042",
        "BK-2041",
    ]


def test_ids_are_made_up_in_the_manner_of_their_parameter():
    mint = Mint(TOOLS)
    assert re.fullmatch(r"ORD-\d{4}", mint.reference(TOOLS[0], 1, "salt"))
    numbered = tool("get_case", "number")
    numbered["parameters"]["properties"]["number"]["type"] = "integer"
    assert mint.reference(numbered, 1).isdigit()
    assert mint.reference(tool("read_file", "path"), 1).endswith(".txt")
    assert mint.reference(tool("get_weather", "city"), 1) is None


def test_other_required_arguments_are_told():
    assignment = {"tool": "book_table", "stance": "ordinary", "history": "fresh"}
    text = message(assignment, tools=[tool("book_table", "city", "date")], references=())
    assert any(city in text for city in words.VALUES["city"])
    assert any(day in text for day in words.VALUES["date"])
