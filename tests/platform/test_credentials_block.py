"""Platform tasks take the name of a block; keys are neither parameters nor results."""

from __future__ import annotations

import asyncio
import inspect
import logging
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from fault_platform import KEY
from pydantic import ValidationError

import tasks
from tasks import WhileCredentials
from tasks.credentials import credential_in
from whileai_core import errors
from whileai_core.platform import DelegatedCredentials

if TYPE_CHECKING:
    from fault_platform import FaultPlatform

pytestmark = pytest.mark.usefixtures("prefect_server")

KEYLESS = {"catalog", "issue_delegated_credential", "refresh_delegated_credential"}
PLATFORM = {
    name
    for name in tasks.__all__
    if getattr(tasks, name).__module__ in {"tasks.platform", "tasks.hub"}
}


def run_flow(body: Any) -> Any:
    from prefect import flow

    return asyncio.run(flow(body)())


def test_every_platform_task_takes_the_name_of_a_block_and_no_key() -> None:
    assert len(PLATFORM) == 19
    for name in PLATFORM:
        parameters = inspect.signature(getattr(tasks, name).fn).parameters
        assert not {"api_key", "key", "token"} & set(parameters)
        assert ("credentials" in parameters) is (name not in KEYLESS), name


def test_a_block_is_used_by_its_name_and_shown_nowhere(
    platform: FaultPlatform,
    prefect_server: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.delenv("WHILEAI_API_KEY")
    monkeypatch.delenv("WHILEAI_API_URL")

    async def push() -> Any:
        block = WhileCredentials(api_key=KEY, api_url=platform.url)
        await block.save("production", overwrite=True)
        return await tasks.push_rows([{"prompt": "q"}], "set", credentials="production")

    entry = run_flow(push)
    assert [row["datasetId"] for row in platform.ready] == [entry["datasetId"]]
    assert all(seen.headers.get("x-api-key") in {KEY, None} for seen in platform.seen)
    assert KEY not in caplog.text
    types = httpx.get(f"{prefect_server}/block_types/slug/while-credentials").json()
    assert types["name"] == "While Credentials"
    documents = httpx.post(f"{prefect_server}/block_documents/filter", json={}).text
    runs = httpx.post(
        f"{prefect_server}/task_runs/filter", json={"sort": "EXPECTED_START_TIME_DESC"}
    ).text
    assert "production" in documents
    assert KEY not in documents + runs


def test_a_block_goes_to_its_own_platform_only(platform: FaultPlatform) -> None:
    async def ask() -> Any:
        block = WhileCredentials(api_key=KEY, api_url="https://gate.example")
        await block.save("elsewhere", overwrite=True)
        return await tasks.datasets(credentials="elsewhere")

    with pytest.raises(errors.NotAuthenticated, match=r"gate\.example.*127\.0\.0\.1"):
        run_flow(ask)
    assert platform.seen == []


def test_a_session_makes_one_credential_for_tasks_side_by_side(
    platform: FaultPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WHILEAI_API_KEY")
    platform.keys = frozenset({KEY, "zp_dc_new"})

    async def ask() -> None:
        block = WhileCredentials(session_token="zp_st_canary")
        await block.save("session", overwrite=True)
        async with asyncio.TaskGroup() as group:
            for _ in range(4):
                group.create_task(tasks.datasets(credentials="session"))

    run_flow(ask)
    (issued,) = platform.calls("POST", "/auth/.*")
    assert issued.headers["authorization"] == "Bearer zp_st_canary"
    keys = [seen.headers["x-api-key"] for seen in platform.calls("GET", "/datasets")]
    assert keys == ["zp_dc_new"] * 4


def test_equal_sessions_share_a_credential_in_a_loop_and_not_between_loops() -> None:
    async def provider() -> Any:
        blocks = [WhileCredentials(session_token="zp_st_x") for _ in range(2)]
        first, second = (block.get_credential() for block in blocks)
        assert first is second
        return first

    first, second = asyncio.run(provider()), asyncio.run(provider())
    assert isinstance(first, DelegatedCredentials)
    assert first is not second


@pytest.mark.parametrize("secrets", [{}, {"api_key": KEY, "session_token": "zp_st_canary"}])
def test_a_block_has_one_secret(secrets: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="either") as caught:
        WhileCredentials(**secrets)
    assert KEY not in str(caught.value)


def test_secrets_are_masked_and_no_block_leaves_it_to_the_settings() -> None:
    block = WhileCredentials(api_key=KEY)
    assert KEY not in f"{block!r}{block}{block.model_dump_json()}"
    assert asyncio.run(credential_in(None)) is None
