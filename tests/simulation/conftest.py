from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from chat_server import ChatServer

from whileai_core.platform import _retry

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def chat_process() -> Iterator[ChatServer]:
    server = ChatServer()
    yield server
    server.close()


@pytest.fixture
def chat(chat_process: ChatServer, monkeypatch: pytest.MonkeyPatch) -> ChatServer:
    """A chat endpoint without scripts, and short waits between attempts."""
    monkeypatch.setattr(_retry, "BASE_SECONDS", 0.002)
    chat_process.forget()
    return chat_process
