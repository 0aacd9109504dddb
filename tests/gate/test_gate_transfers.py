"""Bytes in and out, and the addresses that permit it."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from whileai_core.gate import permits


@pytest.mark.parametrize(
    "data",
    [
        '{"prompt": "Grüße, 漢字, \U0001f600"}\n'.encode(),
        '{"raw": "a\u2028b\u2029c\u0085d"}\n'.encode(),
        b'{"escaped": "\\u2028\\ud83d"}\r\n{"no": "end"}',
        b'\n\n{"n": 123456789012345678901234567890}\n\n',
        b'{"reward": NaN}\n',
        b'\xef\xbb\xbf{"bom": true}\n',
    ],
)
def test_bytes_come_back_as_they_went(user: Any, data: bytes) -> None:
    assert user.fetch(user.push(data)) == data


def test_three_megabytes_come_back_byte_identical(user: Any) -> None:
    line = json.dumps({"prompt": "zażółć \u2028" * 100, "steps": []}, ensure_ascii=False)
    data = (line + "\n").encode() * 3000
    assert len(data) > 3_000_000
    dataset = user.push(data)
    grant = user.call("GET", f"/datasets/{dataset}/download", 200)
    assert grant["partSizes"] == [len(data)]
    assert grant["partSha256"] == [hashlib.sha256(data).hexdigest()]
    assert user.fetch(dataset) == data
    assert user.call("GET", f"/datasets/{dataset}", 200)["rows"] == 3000


def test_an_upload_without_declared_length_is_taken(user: Any) -> None:
    dataset, url = user.create()
    assert user.http.put(url, content=iter([b'{"a"', b": 1}\n"])).status_code == 200
    assert user.call("POST", f"/datasets/{dataset}/finalize", 200)["rows"] == 1


def test_the_grant_has_absolute_addresses_that_need_no_key(user: Any) -> None:
    dataset = user.push(b"{}\n")
    grant = user.call("GET", f"/datasets/{dataset}/download", 200)
    assert grant["datasetId"] == dataset
    assert grant["downloadUrl"] == grant["parts"][0]
    assert grant["parts"][0].startswith("http://127.0.0.1:")
    assert grant["expiresIn"] > 0
    reply = user.http.get(grant["parts"][0])
    assert reply.headers["content-length"] == "3"


def test_addresses_follow_the_host_header_or_the_configured_origin(
    user: Any, serve_with: Callable[..., Any]
) -> None:
    made = user.call("POST", "/datasets", 201, json={"name": "n"}, headers={"Host": "gate:99"})
    assert made["uploadUrl"].startswith("http://gate:99/upload/")
    fixed = serve_with(origin="https://data.example/").user()
    assert fixed.create()[1].startswith("https://data.example/upload/")


def test_pending_sets_have_no_download(user: Any) -> None:
    dataset, _ = user.create()
    user.call("GET", f"/datasets/{dataset}/download", 409)
    user.call("GET", f"/datasets/{dataset}/preview", 409)


@pytest.mark.parametrize("kind", ["upload", "part"])
def test_forged_addresses_are_403(user: Any, kind: str) -> None:
    dataset, upload = user.create()
    user.http.put(upload, content=b"{}\n")
    user.call("POST", f"/datasets/{dataset}/finalize", 200)
    part = user.call("GET", f"/datasets/{dataset}/download", 200)["parts"][0]
    method, url = ("PUT", upload) if kind == "upload" else ("GET", part)
    base, token = url.rsplit("/", 1)
    subject, expiry, mac = token.split(".")
    later = f"{int(expiry, 16) + 9999:x}"
    other = ("B" if mac[0] == "A" else "A") + mac[1:]
    forged = [
        f"{subject}.{later}.{mac}",
        f"{subject}.{expiry}.{other}",
        f"{subject}x.{expiry}.{mac}",
        f"{subject}.{expiry}.",
        f"{subject}.{expiry}.{mac}%C3%A9",
        "nothing",
    ]
    other_use = (part if kind == "upload" else upload).rsplit("/", 1)[1]
    for attempt in [*forged, other_use]:
        reply = user.http.request(method, f"{base}/{attempt}", content=b"")
        assert reply.status_code == 403
        assert set(reply.json()) == {"error"}
    assert user.fetch(dataset) == b"{}\n"


def test_expired_addresses_are_403_and_a_repeated_creation_renews_them(
    serve_with: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    user = serve_with(url_seconds=60).user()
    headers = {"Idempotency-Key": "k"}
    made = user.call("POST", "/datasets", 201, json={"name": "n"}, headers=headers)
    later = SimpleNamespace(time=lambda: time.time() + 61)
    monkeypatch.setattr(permits, "time", later)
    assert user.http.put(made["uploadUrl"], content=b"{}\n").status_code == 403
    again = user.call("POST", "/datasets", 201, json={"name": "n"}, headers=headers)
    assert again["datasetId"] == made["datasetId"]
    assert user.http.put(again["uploadUrl"], content=b"{}\n").status_code == 200


@pytest.mark.parametrize("declared", [True, False])
def test_uploads_over_the_limit_are_413_and_leave_nothing(
    serve_with: Callable[..., Any], declared: bool
) -> None:
    gate = serve_with(max_upload_bytes=3_000_000)
    user = gate.user()
    dataset, url = user.create()
    data = b'{"a": 1}\n' * 500_000
    content = data if declared else iter([data[:2_500_000], data[2_500_000:]])
    reply = user.http.put(url, content=content)
    assert reply.status_code == 413
    assert "3000000" in reply.json()["error"]
    user.call("POST", f"/datasets/{dataset}/finalize", 409)
    assert not any(path.is_file() for path in (gate.settings.folder / "blobs").rglob("*"))


def test_a_line_over_the_limit_is_422(serve_with: Callable[..., Any]) -> None:
    user = serve_with(max_line_bytes=1000).user()
    dataset, url = user.create()
    user.http.put(url, content=b'{"a": 1}\n{"a": "' + b"x" * 3_000_000 + b'"}\n')
    error = user.call("POST", f"/datasets/{dataset}/finalize", 422)["error"]
    assert error.startswith("line 2 is longer than 1000")


def test_a_json_body_over_the_limit_is_413(user: Any) -> None:
    body = {"name": "n", "description": "x" * 1_100_000}
    user.call("POST", "/datasets", 413, json=body)
    assert user.listed() == []


def test_preview_shows_first_middle_and_last_of_any_json(user: Any) -> None:
    lines = [b'{"a": "\\ud83d"}', b'{"c": 3}', b'{"b": 123456789012345678901}', b'{"d": NaN}']
    dataset = user.push(b"\n".join(lines))
    preview = user.call("GET", f"/datasets/{dataset}/preview", 200)
    assert preview["datasetId"] == dataset
    assert [list(row) for row in preview["rows"]] == [["a"], ["b"], ["d"]]
    assert preview["rows"][1] == {"b": 123456789012345678901}
    assert preview["report"]["rows"] == 4
