"""Endpoints by name, and where their keys may go."""

from __future__ import annotations

import pickle

import pytest

from whileai_core import ChatEndpoint
from whileai_core.errors import SettingsError

KEY = "sk-canary-51a7c0ffee"


def test_an_openai_reference_takes_its_key_and_address_from_the_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    endpoint = ChatEndpoint.parse("openai:gpt-x")
    assert (endpoint.base_url, endpoint.model) == ("https://api.openai.com/v1", "gpt-x")
    assert endpoint.api_key is not None
    assert endpoint.api_key.get_secret_value() == KEY
    monkeypatch.setenv("OPENAI_BASE_URL", "https://proxy.example/openai/v1/")
    assert ChatEndpoint.parse("openai:gpt-x").base_url == "https://proxy.example/openai/v1"


@pytest.mark.parametrize(
    ("reference", "url", "model"),
    [
        ("vllm:Qwen/Qwen3-8B@http://127.0.0.1:8000", "http://127.0.0.1:8000/v1", "Qwen/Qwen3-8B"),
        ("vllm:m@https://gpu.example/serve/v1", "https://gpu.example/serve/v1", "m"),
        ("vllm:m@http://127.0.0.1:1/v1/chat/completions", "http://127.0.0.1:1/v1", "m"),
        ("ollama:llama3:8b", "http://127.0.0.1:11434/v1", "llama3:8b"),
        ("ollama:llama3@http://box.example:9", "http://box.example:9/v1", "llama3"),
    ],
)
def test_references_with_addresses(reference, url, model):
    endpoint = ChatEndpoint.parse(reference)
    assert (endpoint.base_url, endpoint.model, endpoint.api_key) == (url, model, None)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("box", "http://box:11434/v1"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080/v1"),
        ("https://box.example:443", "https://box.example:443/v1"),
    ],
)
def test_ollama_host_in_all_its_spellings(monkeypatch, host, url):
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert ChatEndpoint.parse("ollama:m").base_url == url


@pytest.mark.parametrize(
    "reference",
    [
        "gpt-x",
        "openai:",
        "vllm:m",
        "vllm:m@not a url",
        "vllm:@http://127.0.0.1",
        "vllm:m@http://user:pw@127.0.0.1",
        "vllm:m@http://127.0.0.1/v1?key=1",
        "openai:m@https://elsewhere.example",
        "azure:m",
    ],
)
def test_a_reference_of_another_form_is_refused_and_no_password_shown(reference, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(SettingsError) as caught:
        ChatEndpoint.parse(reference)
    assert "pw" not in str(caught.value).replace(reference, "")


def test_openai_without_a_key_is_said_before_any_call():
    with pytest.raises(SettingsError, match="OPENAI_API_KEY"):
        ChatEndpoint.parse("openai:gpt-x")


def test_the_openai_key_never_goes_to_an_address_in_a_reference(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert ChatEndpoint.parse("vllm:m@https://elsewhere.example").api_key is None


def test_a_key_does_not_travel_in_plain_http(monkeypatch):
    with pytest.raises(SettingsError, match="plain http"):
        ChatEndpoint("http://box.example", "m", KEY)
    monkeypatch.setenv("WHILEAI_ALLOW_INSECURE", "1")
    assert ChatEndpoint("http://box.example", "m", KEY).host == "box.example"


def test_the_key_is_in_no_text_of_the_endpoint():
    endpoint = ChatEndpoint("https://box.example/v1", "m", KEY)
    assert KEY not in f"{endpoint!r} {endpoint} {vars(type(endpoint))}"
    assert pickle.loads(pickle.dumps(endpoint)) == endpoint
