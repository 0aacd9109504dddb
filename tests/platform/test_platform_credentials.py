"""Where a call goes and with which key."""

from __future__ import annotations

import asyncio
import json
import stat
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from fault_platform import KEY
from pydantic import SecretStr

from whileai_core import errors, sync
from whileai_core.platform import DelegatedCredentials, KeptKey, _delegated
from whileai_core.platform._target import HOSTED_URL, checked_base_url, choose_target
from whileai_core.platform.credentials import store_credential
from whileai_core.settings import get_settings

if TYPE_CHECKING:
    from pathlib import Path

    from fault_platform import FaultPlatform


def key_used(api_key: str | None = None) -> str | None:
    credential = choose_target(get_settings(), api_key).credential
    return credential.secret.get_secret_value() if credential else None


def test_order_of_credentials(clean_environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert key_used() is None
    store_credential(clean_environment, "zp_stored", api_url=HOSTED_URL)
    assert key_used() == "zp_stored"
    monkeypatch.setenv("WHILEAI_API_KEY", "zp_static")
    assert key_used() == "zp_static"
    monkeypatch.setenv("WHILEAI_DELEGATED_CREDENTIAL", "zp_dc_short")
    assert key_used() == "zp_dc_short"
    assert key_used("zp_argument") == "zp_argument"
    assert key_used("") == "zp_dc_short"
    monkeypatch.setenv("WHILEAI_DELEGATED_CREDENTIAL", "")
    assert key_used() == "zp_static"


def test_a_key_without_an_address_means_the_hosted_platform() -> None:
    assert choose_target(get_settings(), "zp_argument").base_url == HOSTED_URL
    assert choose_target(get_settings(), None).base_url is None


def test_an_address_without_a_key_is_an_error_before_any_request(
    platform: FaultPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WHILEAI_API_KEY")
    with pytest.raises(errors.NotAuthenticated, match="WHILEAI_API_KEY"):
        sync.push_rows([{"prompt": "q"}], "set")
    assert platform.seen == []


def test_a_stored_key_goes_to_its_own_platform_only(
    platform: FaultPlatform, clean_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WHILEAI_API_KEY")
    store_credential(clean_environment, KEY, api_url="https://gate.example/v1")
    with pytest.raises(errors.NotAuthenticated, match=r"gate\.example.*127\.0\.0\.1"):
        sync.datasets()
    assert platform.seen == []
    store_credential(clean_environment, KEY, api_url=platform.url + "/")
    assert sync.datasets()["datasets"] == []
    assert sync.catalog()["datasets"] == []


@pytest.mark.parametrize("name", ["api.while.ai", "api.withwhile.com", "api.zeroproofai.com"])
def test_a_login_to_the_hosted_platform_is_good_under_all_its_names(
    clean_environment: Path, name: str
) -> None:
    store_credential(clean_environment, KEY, api_url=f"https://{name}")
    assert choose_target(get_settings(), None).base_url == HOSTED_URL


@pytest.mark.parametrize("content", ["", "[]", "{", '{"api_key": 7}', '{"api_key": ""}'])
def test_an_unusable_file_means_no_stored_key(clean_environment: Path, content: str) -> None:
    clean_environment.mkdir()
    (clean_environment / "credentials.json").write_text(content)
    assert key_used() is None


def test_the_file_is_private_and_keeps_other_fields(clean_environment: Path) -> None:
    clean_environment.mkdir()
    path = clean_environment / "credentials.json"
    path.write_text('{"email": "kim@example.org", "api_key": "old"}')
    assert store_credential(clean_environment, KEY, api_url=HOSTED_URL) == path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    record = json.loads(path.read_text())
    assert (record["email"], record["api_key"], record["api_url"]) == (
        "kim@example.org",
        KEY,
        HOSTED_URL,
    )


@pytest.mark.parametrize("bad", ["zp_a\nb", "zp_ä", "zp a", "   ", "zp_\x00"])
def test_a_key_no_header_can_carry_is_refused_unseen(bad: str) -> None:
    with pytest.raises(errors.NotAuthenticated) as caught:
        sync.datasets(api_key=bad)
    assert bad.strip() == "" or bad not in str(caught.value)


def test_spaces_around_a_key_do_not_matter(platform: FaultPlatform) -> None:
    assert sync.datasets(api_key=f" {KEY}\n")["datasets"] == []


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host",
        "host",
        "https://user:secret-canary@host",
        "https://host/?key=secret-canary",
        "http://host.example",
        "http://169.254.169.254",
        "https://host:port",
        "https://[::1",
    ],
)
def test_unsafe_addresses_are_refused_unseen(url: str) -> None:
    with pytest.raises(errors.SettingsError) as caught:
        checked_base_url(url, source="it", allow_insecure=False)
    assert "secret-canary" not in str(caught.value)


def test_safe_addresses() -> None:
    for url in ("https://h/v1", "http://localhost:8000", "http://127.0.0.1", "http://[::1]:1"):
        assert checked_base_url(url + "/", source="it", allow_insecure=False) == url
    assert checked_base_url("http://h", source="it", allow_insecure=True) == "http://h"


@pytest.mark.parametrize("token", ["", "   ", "a\nb"])
def test_a_blank_session_token_sends_nothing(platform: FaultPlatform, token: str) -> None:
    with pytest.raises(errors.NotAuthenticated):
        sync.issue_delegated_credential(token)
    with pytest.raises(errors.NotAuthenticated):
        sync.refresh_delegated_credential("session", token)
    assert platform.seen == []


def test_an_auth_call_never_carries_the_key(platform: FaultPlatform) -> None:
    assert sync.issue_delegated_credential("session", ttl_seconds=60.9)["credential"]
    assert sync.refresh_delegated_credential("session", "zp_dc_old")["credential"]
    for seen in platform.seen:
        assert seen.headers["authorization"] == "Bearer session"
        assert "x-api-key" not in seen.headers
    assert json.loads(platform.seen[0].body) == {"name": "sdk-default", "ttlSeconds": 60}
    assert json.loads(platform.seen[1].body) == {"credential": "zp_dc_old", "ttlSeconds": 3600}


def test_a_kept_credential_is_issued_once_and_renewed_in_time(
    platform: FaultPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def session_token() -> str:
        return "session"

    async def ask_together(credentials: DelegatedCredentials) -> set[str]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(credentials.current()) for _ in range(5)]
        return {task.result() for task in tasks}

    async def use() -> None:
        credentials = DelegatedCredentials(session_token, ttl_seconds=100)
        assert await ask_together(credentials) == {"zp_dc_new"}
        assert len(platform.calls("POST", "/auth/issue-credential")) == 1
        later = time.monotonic() + 81
        monkeypatch.setattr(_delegated, "time", SimpleNamespace(monotonic=lambda: later))
        await ask_together(credentials)
        assert "zp_dc_new" not in repr(vars(credentials))

    asyncio.run(use())
    assert [seen.path for seen in platform.seen] == [
        "/auth/issue-credential",
        "/auth/refresh-credential",
    ]


def test_a_source_is_asked_for_each_request_and_its_secret_never_shown(
    platform: FaultPlatform,
) -> None:
    class Rotating:
        api_url = None
        given = 0

        async def current(self) -> str:
            self.given += 1
            return f"zq-unusual-{self.given}"

    source = Rotating()
    platform.keys = frozenset({"zq-unusual-1", "zq-unusual-2", "zq-unusual-3"})
    dataset_id = platform.add_set([b"{}"], agent="kim")
    assert sync.purge_agent("kim", dry_run=True, api_key=source)["datasets"] == 1
    assert [seen.headers["x-api-key"] for seen in platform.seen] == ["zq-unusual-1", "zq-unusual-2"]
    platform.fault("GET", ".*/preview", status=403, body={"error": "no zq-unusual-3 here"})
    with pytest.raises(errors.Refused) as caught:
        sync.preview(dataset_id, api_key=source)
    assert "zq-unusual" not in f"{caught.value} {vars(caught.value)}"


def test_a_source_of_a_key_no_header_can_carry_sends_nothing(platform: FaultPlatform) -> None:
    with pytest.raises(errors.NotAuthenticated):
        sync.datasets(api_key=KeptKey(SecretStr("zp_a\nb")))
    assert platform.seen == []


def test_a_source_goes_to_its_own_platform(
    platform: FaultPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = KeptKey(SecretStr(KEY), "https://gate.example")
    with pytest.raises(errors.NotAuthenticated, match=r"gate\.example"):
        sync.datasets(api_key=elsewhere)
    monkeypatch.delenv("WHILEAI_API_URL")
    monkeypatch.delenv("WHILEAI_API_KEY")
    assert sync.datasets(api_key=KeptKey(SecretStr(KEY), platform.url))["datasets"] == []

    async def session_token() -> str:
        return "session"

    platform.keys = frozenset({"zp_dc_new"})
    delegated = DelegatedCredentials(session_token, api_url=platform.url)
    assert sync.datasets(api_key=delegated)["datasets"] == []
    assert KEY not in repr(elsewhere)
