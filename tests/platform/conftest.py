from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fault_platform import KEY, FaultPlatform

from whileai_core.platform import _polling, _retry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An own home, no configuration from outside, and short waits."""
    for name in ("API_URL", "API_KEY", "DELEGATED_CREDENTIAL", "ALLOW_INSECURE"):
        monkeypatch.delenv(f"WHILEAI_{name}", raising=False)
    monkeypatch.setenv("WHILEAI_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(_retry, "BASE_SECONDS", 0.002)
    monkeypatch.setattr(_polling, "_SHORTEST_POLL", 0.01)
    return tmp_path / "home"


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultPlatform]:
    server = FaultPlatform()
    monkeypatch.setenv("WHILEAI_API_URL", server.url)
    monkeypatch.setenv("WHILEAI_API_KEY", KEY)
    yield server
    server.close()


@pytest.fixture
def forgetful(platform: FaultPlatform) -> FaultPlatform:
    """The same platform, without idempotency keys."""
    platform.idempotent = False
    return platform
