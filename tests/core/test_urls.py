"""Addresses with secrets are told from all others, however they are written."""

from __future__ import annotations

import pytest

from whileai_core.errors import InputError, SettingsError
from whileai_core.settings import get_settings
from whileai_core.urls import check_paths, has_secret

SECRET = [
    "ftp://kim:pa55w0rd@host/folder",
    "s3://kim:pa/55w0rd@bucket/folder",
    "simplecache::sftp://kim:pa55w0rd@host/a.jsonl",
    "https://host/a.jsonl?X-Amz-Signature=pa55w0rd",
    "https://host/a.jsonl?v=1&sig=pa55w0rd&sv=2",
    "tcp://worker:pa55w0rd@host:8786",
]
OPEN = [
    "/folder/a:b@c.jsonl",
    "s3://bucket/2026-11-28T10:00/kim@host.jsonl",
    "http://host:8080/kim@host/a.jsonl?page=2",
    "abfs://container@account.dfs.core.windows.net/folder",
    "sftp://kim@host/folder",
    "github://org:repository@main/traces",
    "tcp://host:8786",
    "file:///folder",
]


@pytest.mark.parametrize("url", SECRET)
def test_an_address_with_a_secret_is_refused_and_not_repeated(url, monkeypatch):
    assert has_secret(url)
    with pytest.raises(InputError) as caught:
        check_paths(["a.jsonl", url])
    assert "pa" not in str(caught.value).partition("://")[2].partition(" holds")[0]
    for name in ("STORE_URL", "GATE_BLOB_URL", "DASK_SCHEDULER"):
        with monkeypatch.context() as patch:
            patch.setenv(f"WHILEAI_{name}", url)
            with pytest.raises(SettingsError, match=f"WHILEAI_{name}: holds a password") as told:
                get_settings()
            assert url not in f"{told.value!r} {told.value.__cause__!r} {told.value.__context__!r}"


@pytest.mark.parametrize("url", OPEN)
def test_an_address_without_one_is_taken(url, monkeypatch):
    assert not has_secret(url)
    check_paths([url])
    monkeypatch.setenv("WHILEAI_STORE_URL", url)
    assert get_settings().store == url
