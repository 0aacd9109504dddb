from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from local_hub import TOKEN, LocalHub

from whileai_core.hub import failures
from whileai_core.hub.account import find_account
from whileai_core.hub.client import Hub


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[LocalHub]:
    """A Hub on loopback that the environment points to, and no waits between attempts."""
    hub = LocalHub()
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(failures, "BASE_SECONDS", 0.001)
    yield hub
    hub.close()


@pytest.fixture
def hub(server: LocalHub) -> Hub:
    """The Hub as the connected account sees it."""
    account = find_account()
    assert account is not None
    return Hub(account)
