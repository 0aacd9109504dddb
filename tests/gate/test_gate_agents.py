"""Agents: one spelling, registered by being named, counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from whileai_core.gate.fields import agent_slug


def test_two_spellings_are_one_agent(user: Any) -> None:
    user.create(agent="Support-Bot", purpose="train")
    user.create(agent=" support-bot ", purpose="holdout")
    dataset = user.push(b"{}\n")
    user.call("POST", f"/datasets/{dataset}/publish", 200, json={"agent": "SUPPORT-BOT"})
    (agent,) = user.call("GET", "/agents", 200)["agents"]
    assert (agent["agent"], agent["name"]) == ("support-bot", "Support-Bot")
    assert agent["datasets"] == {"train": 1, "holdout": 1, "eval": 0, "raw": 1}
    assert (agent["public"], agent["traces"]) == (1, 0)


def test_registering_changes_what_was_sent_only(user: Any) -> None:
    tools = [{"name": "search"}]
    full = {"name": "A", "description": "d", "tools": tools, "system_prompt": "s"}
    first = user.call("POST", "/agents", 200, json=full)
    assert (first["agent"], first["tools"]) == ("a", tools)
    assert user.call("POST", "/agents", 200, json={"name": "a"}) == first
    cleared = user.call("POST", "/agents", 200, json={"name": "a", "description": "", "tools": []})
    assert (cleared["description"], cleared["tools"]) == (None, [])
    assert cleared["system_prompt"] == "s"


@pytest.mark.parametrize("body", [{}, {"name": " "}, {"name": "a", "tools": {}}, {"name": "…"}])
def test_malformed_registration_is_400(user: Any, body: dict[str, Any]) -> None:
    user.call("POST", "/agents", 400, json=body)
    assert user.call("GET", "/agents", 200) == {"agents": []}


def test_deleting_a_record_is_idempotent_and_leaves_datasets(user: Any) -> None:
    dataset, _ = user.create(agent="a")
    for _ in range(2):
        user.call("DELETE", "/agents/a", 200)
    assert user.call("GET", "/agents", 200) == {"agents": []}
    assert user.call("GET", f"/datasets/{dataset}", 200)["agent"] == "a"


def test_agents_of_accounts_are_apart(user: Any, new_user: Callable[[], Any]) -> None:
    user.create(agent="same")
    stranger = new_user()
    stranger.call("POST", "/agents", 200, json={"name": "same"})
    stranger.call("DELETE", "/agents/same", 200)
    assert len(user.call("GET", "/agents", 200)["agents"]) == 1


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        (" Weather Agent ", "weather-agent"),
        ("billing/v2?x=1&y", "billing-v2-x-1-y"),
        ("Café_Bot.v1", "cafe_bot.v1"),
        ("..", None),
        ("客服", None),
    ],
)
def test_names_become_safe_in_addresses(name: str, slug: str | None) -> None:
    if slug is None:
        with pytest.raises(HTTPException):
            agent_slug(name)
    else:
        assert agent_slug(name) == slug


@given(st.text())
def test_a_slug_is_its_own_slug(name: str) -> None:
    try:
        slug = agent_slug(name)
    except HTTPException:
        return
    assert agent_slug(slug) == slug
    assert agent_slug(f"  {slug.upper()} ") == slug
    assert slug.isascii()
