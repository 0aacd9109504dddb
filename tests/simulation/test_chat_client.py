"""Completions over loopback from a process that is scripted: answers, faults, death."""

from __future__ import annotations

import socket

import anyio
import pytest
from chat_server import REPEAT, ChatServer

from whileai_core import ChatEndpoint
from whileai_core.errors import EndpointDead, EndpointError, SpendExhausted
from whileai_core.simulation.chat_client import chat_client, without_thoughts
from whileai_core.simulation.spend import Spend

KEY = "sk-canary-51a7c0ffee"
ASK = [{"role": "user", "content": "hello"}]


def complete(url, times=1, spend=None, **options):
    """Ask a model `times` times; an error stands in the place of its answer."""

    async def run():
        answers = []
        endpoint = ChatEndpoint(url, "m", KEY)
        async with chat_client(endpoint, spend or Spend()) as client:
            for _ in range(times):
                try:
                    answers.append(await client.complete(ASK, role="agent", **options))
                except (EndpointError, SpendExhausted) as error:
                    answers.append(error)
        return answers

    return anyio.run(run)


def test_a_plain_answer_with_its_usage(chat):
    chat.script("m", {"text": "hi", "usage": [7, 3]})
    spend = Spend()
    (answer,) = complete(chat.url, spend=spend, temperature=0.3, max_tokens=50)
    assert (answer.text, answer.tool_calls, answer.truncated) == ("hi", (), False)
    assert spend.report()["input_tokens"] == 7
    assert spend.report()["output_tokens"] == 3
    (request,) = chat.seen
    assert request["key"] == f"Bearer {KEY}"
    assert (request["model"], request["messages"]) == ("m", ASK)
    assert (request["temperature"], request["max_tokens"]) == (0.3, 50)
    assert "tools" not in request
    assert not request.get("stream")


def test_an_endpoint_without_a_key_is_sent_none(chat):
    chat.script("m", "hi")

    async def run():
        async with chat_client(ChatEndpoint(chat.url, "m"), Spend()) as client:
            await client.complete(ASK, role="agent")

    anyio.run(run)
    assert chat.seen[0]["key"] is None


def test_rate_limits_and_server_faults_are_waited_out(chat):
    slow_down = {"status": 429, "headers": {"Retry-After": "0"}, "error": {"message": "slow down"}}
    chat.script("m", slow_down, {"status": 503}, {"status": 500}, {"hang": True}, "at last")
    spend = Spend()
    (answer,) = complete(chat.url, spend=spend)
    assert answer.text == "at last"
    assert len(chat.seen) == 5
    assert spend.report()["calls"] == 1


def test_a_rate_limit_longer_than_the_deadline_is_not_sat_out(chat):
    chat.script("m", {"status": 429, "headers": {"Retry-After": "900"}}, REPEAT)
    (error,) = complete(chat.url, timeout=5)
    assert isinstance(error, EndpointError)
    assert error.status == 429
    assert len(chat.seen) == 1


def test_no_usage_reported_is_estimated_and_said(chat):
    chat.script("m", {"text": "x" * 300, "usage": None})
    spend = Spend()
    complete(chat.url, spend=spend)
    report = spend.report()
    assert report["tokens_estimated"] is True
    assert report["output_tokens"] >= 100


@pytest.mark.parametrize(
    "body",
    ["<html>login</html>", "[]", '{"choices": []}', '{"error": {"message": "model crashed"}}'],
)
def test_an_answer_that_is_no_completion_is_an_error_of_this_call_only(chat, body):
    chat.script("m", {"body": body}, "fine")
    error, answer = complete(chat.url, times=2)
    assert isinstance(error, EndpointError)
    assert not isinstance(error, EndpointDead)
    assert "WHILEAI_API" not in str(error)
    assert answer.text == "fine"


def test_a_redirect_is_not_followed_and_said(chat):
    chat.script("m", {"status": 307, "headers": {"Location": "http://127.0.0.1:9/"}}, REPEAT)
    (error,) = complete(chat.url)
    assert "redirects" in str(error)
    assert "WHILEAI_API" not in str(error)
    assert len(chat.seen) == 1


def test_a_refused_request_is_an_error_of_this_call_only(chat):
    chat.script("m", {"status": 400, "error": {"message": "context too long"}}, "fine")
    error, answer = complete(chat.url, times=2)
    assert "context too long" in str(error)
    assert not isinstance(error, EndpointDead)
    assert answer.text == "fine"


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refusal_for_good_ends_it_at_once(chat, status):
    chat.script("m", {"status": status, "error": {"message": f"bad key {KEY}"}}, REPEAT)
    first, second = complete(chat.url, times=2)
    assert isinstance(first, EndpointDead)
    assert isinstance(second, EndpointDead)
    assert len(chat.seen) == 1
    assert KEY not in str(first)


def test_an_exhausted_quota_is_no_rate_limit(chat):
    error = {"message": "no credit", "code": "insufficient_quota"}
    chat.script("m", {"status": 429, "headers": {"Retry-After": "0"}, "error": error}, REPEAT)
    (dead,) = complete(chat.url)
    assert isinstance(dead, EndpointDead)


def test_an_endpoint_that_stays_broken_dies_after_three_calls(chat):
    chat.script("m", {"status": 500}, REPEAT)
    answers = complete(chat.url, times=4)
    dead = [isinstance(answer, EndpointDead) for answer in answers]
    assert dead == [False, False, True, True]


def test_one_good_answer_starts_the_count_anew(chat):
    broken = [{"status": 500}] * 7  # one call with all its attempts
    chat.script("m", *broken, *broken, "alive", *broken, *broken, "alive")
    answers = complete(chat.url, times=6)
    assert not any(isinstance(answer, EndpointDead) for answer in answers)


def test_nobody_at_the_address_is_dead_at_once(chat):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (dead,) = complete(f"http://127.0.0.1:{port}/v1")
    assert isinstance(dead, EndpointDead)


def test_an_endpoint_that_goes_away_in_the_middle_is_noticed(chat):
    server = ChatServer()
    server.script("m", "hi", REPEAT)

    async def run():
        async with chat_client(ChatEndpoint(server.url, "m"), Spend()) as client:
            await client.complete(ASK, role="agent")
            server.close()
            for _ in range(3):
                with pytest.raises(EndpointError) as caught:
                    await client.complete(ASK, role="agent")
        return caught.value

    assert isinstance(anyio.run(run), EndpointDead)


def test_models_that_know_other_parameters_are_asked_their_way(chat):
    no_limit = {"message": "Unsupported parameter: use 'max_completion_tokens' instead."}
    no_heat = {"message": "'temperature' does not support 0.8, only the default."}
    chat.script(
        "m", {"status": 400, "error": no_limit}, {"status": 400, "error": no_heat}, "a", "b"
    )
    assert [answer.text for answer in complete(chat.url, times=2)] == ["a", "b"]
    last = chat.seen[-1]
    assert last["max_completion_tokens"] == 768
    assert "max_tokens" not in last
    assert "temperature" not in last
    assert len(chat.seen) == 4


def test_content_in_parts_and_refusals_are_text(chat):
    parts = '{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"text":"b"}]}}]}'
    refusal = '{"choices":[{"message":{"content":null,"refusal":"I will not."}}]}'
    chat.script("m", {"body": parts}, {"body": refusal})
    assert [answer.text for answer in complete(chat.url, times=2)] == ["ab", "I will not."]


def test_a_budget_ends_the_calls(chat):
    chat.script("m", "hi", REPEAT)
    first, second = complete(chat.url, times=2, spend=Spend(max_calls=1))
    assert first.text == "hi"
    assert isinstance(second, SpendExhausted)
    assert len(chat.seen) == 1


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("<think>secret</think>\nHello", "Hello"),
        ("a <thinking>x</thinking> b", "a  b"),
        ("opened by the template</think>Hello", "Hello"),
        ("<think>cut off in the middle", ""),
        ("I think <b>so</b>", "I think <b>so</b>"),
    ],
)
def test_thoughts_are_not_spoken(text, spoken):
    assert without_thoughts(text) == spoken


@pytest.mark.parametrize(
    "reply",
    [
        {"status": 400, "error": {"message": "no such key: sk-other-0123456789abcdef"}},
        {"status": 401, "error": {"message": "no such key: sk-other-0123456789abcdef"}},
        {"body": '{"error": {"message": "no such key: sk-other-0123456789abcdef"}}'},
    ],
)
def test_a_secret_that_an_endpoint_repeats_is_masked(chat, reply):
    chat.script("m", reply)
    (error,) = complete(chat.url)
    assert "no such key: ***" in str(error)
