"""What happens to a call when the network or the server misbehaves."""

from __future__ import annotations

import logging
import pickle
import socket
import subprocess
import sys
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING

import pytest
from fault_platform import KEY, SIGNATURE

from whileai_core import __version__, errors, sync
from whileai_core.platform import _retry, counters

if TYPE_CHECKING:
    from pathlib import Path

    from fault_platform import FaultPlatform

ROWS = [{"prompt": "q", "steps": [], "final_text": "a"}]


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 507, 520, 524, 529])
def test_a_read_is_tried_again_after_a_passing_fault(platform: FaultPlatform, status: int) -> None:
    platform.fault("GET", "/datasets", status=status, times=2)
    assert sync.datasets() == {"datasets": [], "usedBytes": 0}
    assert len(platform.seen) == 3


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.Refused),
        (401, errors.NotAuthenticated),
        (403, errors.Refused),
        (404, errors.NotFound),
        (409, errors.Conflict),
        (413, errors.Refused),
        (422, errors.Refused),
        (501, errors.Unavailable),
    ],
)
def test_a_refusal_is_told_at_once_in_the_servers_words(
    platform: FaultPlatform, status: int, kind: type[errors.PlatformError]
) -> None:
    platform.fault("GET", "/datasets", status=status, body={"error": "bad shape"}, times=9)
    with pytest.raises(kind, match=rf"{status}: bad shape") as caught:
        sync.datasets()
    assert len(platform.seen) == 1
    error = caught.value
    assert (error.status, error.method, error.retryable) == (status, "GET", False)
    assert error.url == f"{platform.url}/datasets"
    assert error.request_id == platform.seen[0].headers["x-request-id"]


def test_a_fault_that_stays_ends_after_a_bounded_number_of_tries(platform: FaultPlatform) -> None:
    platform.fault("GET", "/datasets", times=99)
    with pytest.raises(errors.Unavailable) as caught:
        sync.datasets()
    assert len(platform.seen) == _retry.TRIES
    assert caught.value.retryable
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), vars(again)) == (str(caught.value), vars(caught.value))


@pytest.mark.parametrize("after", [False, True])
def test_a_dropped_connection_is_tried_again(platform: FaultPlatform, after: bool) -> None:
    platform.fault("GET", "/datasets", "reset", after=after)
    assert sync.datasets()["datasets"] == []


def test_a_short_answer_is_not_taken_for_the_whole(platform: FaultPlatform) -> None:
    platform.fault("GET", "/datasets", "truncate")
    assert sync.datasets()["datasets"] == []
    assert len(platform.seen) == 2


def test_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        monkeypatch.setenv("WHILEAI_API_URL", url)
        with pytest.raises(errors.Unavailable, match="no complete answer") as caught:
            sync.datasets(api_key=KEY)
    assert caught.value.retryable
    assert caught.value.status is None


def test_a_wait_longer_than_the_deadline_is_not_begun(platform: FaultPlatform) -> None:
    platform.fault("GET", "/datasets", status=429, headers={"Retry-After": "3600"}, times=9)
    with pytest.raises(errors.RateLimited):
        sync.datasets()
    assert len(platform.seen) == 1


def test_retry_after_is_read_as_seconds_or_date() -> None:
    assert _retry.retry_after({"retry-after": "7"}) == 7
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert 80 < (_retry.retry_after({"retry-after": later}) or 0) <= 90
    past = format_datetime(datetime.now(UTC) - timedelta(days=1), usegmt=True)
    assert _retry.retry_after({"retry-after": past}) == 0
    for unusable in ("", "soon", "-1 minutes"):
        assert _retry.retry_after({"retry-after": unusable}) is None
    assert _retry.retry_after({}) is None


def test_a_trickling_answer_ends_with_the_deadline(platform: FaultPlatform) -> None:
    platform.fault("POST", "/auth/.*", "trickle")
    with pytest.raises(errors.Unavailable, match="was not done after"):
        sync.issue_delegated_credential("session-token", timeout=0.1)


@pytest.mark.parametrize("body", [b"", b"<html>login</html>", b"[]", b"null", b"{"])
def test_a_success_that_is_not_json_is_an_error(platform: FaultPlatform, body: bytes) -> None:
    platform.fault("GET", "/datasets", status=200, body=body, times=9)
    with pytest.raises(errors.BadReply, match=r"GET http://127.*not a JSON object"):
        sync.datasets()


def test_a_success_without_the_promised_field_is_an_error(platform: FaultPlatform) -> None:
    platform.fault("GET", "/datasets", status=200, body={"items": []})
    with pytest.raises(errors.BadReply, match="datasets"):
        sync.datasets()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(platform: FaultPlatform, status: int) -> None:
    elsewhere = {"Location": f"{platform.url}/catalog"}
    platform.fault("GET", "/datasets", status=status, headers=elsewhere)
    with pytest.raises(errors.Refused, match="redirect"):
        sync.datasets()
    assert len(platform.seen) == 1


def test_ids_stay_in_their_place(platform: FaultPlatform) -> None:
    with pytest.raises(errors.NotFound):
        sync.preview("../traces?x=1&y#z")
    assert platform.seen[0].path == "/datasets/..%2Ftraces%3Fx%3D1%26y%23z/preview"
    assert platform.seen[0].query == ""
    for nothing in ("", "  ", ".", ".."):
        with pytest.raises(errors.InputError):
            sync.preview(nothing)


def test_presigned_requests_carry_nothing_of_ours(platform: FaultPlatform) -> None:
    entry = sync.push_rows(ROWS, "set")
    sync.pull(entry["datasetId"])
    (put,) = platform.calls("PUT", ".*")
    (part,) = platform.calls("GET", "/part/.*")
    assert set(put.headers) == {"host", "content-type", "content-length"}
    assert put.headers["content-type"] == "application/jsonl"
    assert set(part.headers) == {"host"}


@pytest.mark.parametrize(
    "body",
    [
        {"error": f"key {KEY} is wrong; Bearer abc.def"},
        {"error": {"message": f"see https://u:pw-canary@h/p?X-Amz-Signature={SIGNATURE}"}},
        f"<Error><Code>Denied</Code><AWSAccessKeyId>{SIGNATURE}</AWSAccessKeyId></Error>".encode(),
        f"plain text with X-Amz-Signature={SIGNATURE}&x=1 and {KEY}".encode(),
    ],
)
@pytest.mark.parametrize("status", [400, 403, 500])
def test_no_secret_in_errors_or_logs(
    platform: FaultPlatform, caplog: pytest.LogCaptureFixture, body: object, status: int
) -> None:
    caplog.set_level(logging.DEBUG)
    for method, path in (("GET", "/datasets"), ("PUT", "/upload/.*"), ("GET", "/part/.*")):
        platform.fault(method, path, status=status, body=body, times=99)
    dataset_id = platform.add_set([b"{}"])
    shown = []
    for call in (
        sync.datasets,
        lambda: sync.push_rows(ROWS, "set"),
        lambda: sync.pull(dataset_id),
    ):
        with pytest.raises(errors.PlatformError) as caught:
            call()
        shown += traceback.format_exception(caught.value)
        shown.append(repr(vars(caught.value)))
    text = "".join(shown) + caplog.text
    for secret in (KEY, SIGNATURE, "pw-canary", "abc.def"):
        assert secret not in text


def test_error_bodies_are_parsed_before_they_are_cut(platform: FaultPlatform) -> None:
    body = {"context": "x" * 5000, "code": "too_big", "error": "the set\nis too big " + "y" * 900}
    platform.fault("GET", "/datasets", status=413, body=body)
    with pytest.raises(errors.Refused) as caught:
        sync.datasets()
    assert caught.value.code == "too_big"
    assert "the set is too big" in str(caught.value)
    assert len(str(caught.value)) < 600


def test_requests_are_counted_by_route_and_told_without_ids_or_secrets(
    platform: FaultPlatform, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    before = counters()
    platform.fault("POST", "/datasets/.*/finalize", status=503)
    entry = sync.push_rows(ROWS, "set")
    sync.pull(entry["datasetId"])
    with pytest.raises(errors.NotFound):
        sync.profile("ds_missing")
    after = counters()

    def grown(route: str) -> list[float]:
        old = before.get(route, {})
        names = ("attempts", "retries", "failures")
        return [after[route][name] - old.get(name, 0) for name in names]

    assert grown("POST /datasets") == [1, 0, 0]
    assert grown("POST /datasets/{id}/finalize") == [2, 1, 1]
    assert grown("GET /datasets/{id}/profile") == [1, 0, 1]
    assert grown("PUT presigned") == grown("GET presigned") == [1, 0, 0]
    size = platform.sets[entry["datasetId"]]["sizeBytes"]
    assert after["PUT presigned"]["bytes_sent"] >= size
    assert after["GET presigned"]["bytes_received"] >= size
    told = [record for record in caplog.records if record.name == "whileai_core.platform.requests"]
    finalized = [r for r in told if r.http_route == "/datasets/{id}/finalize"]
    assert [(r.http_status, r.attempt, r.levelname) for r in finalized] == [
        (503, 1, "INFO"),
        (200, 2, "DEBUG"),
    ]
    ids = {seen.headers.get("x-request-id") for seen in platform.calls("POST", ".*/finalize")}
    assert {record.request_id for record in finalized} == ids
    everything = " ".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    for secret in (KEY, SIGNATURE):
        assert secret not in everything
    assert entry["datasetId"] not in " ".join(record.getMessage() for record in told)


def test_waits_grow_to_a_cap_and_are_any_share_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    drawn: list[tuple[float, float]] = []

    def uniform(low: float, high: float) -> float:
        drawn.append((low, high))
        return high

    monkeypatch.setattr(_retry.random, "uniform", uniform)
    for attempt in range(1, 9):
        _retry.backoff(attempt)
    assert drawn == [(0, high) for high in (0.5, 1, 2, 4, 8, 16, 20, 20)]
    assert _retry.TRIES == 5


def test_every_attempt_says_who_asks_and_has_a_number_of_its_own(platform: FaultPlatform) -> None:
    platform.fault("GET", "/datasets", status=503, times=2)
    sync.datasets()
    assert {seen.headers["user-agent"] for seen in platform.seen} == {
        f"whileai-pipelines/{__version__}"
    }
    assert len({seen.headers["x-request-id"] for seen in platform.seen}) == 3


def test_an_operation_keeps_its_connections(platform: FaultPlatform) -> None:
    entry = sync.push_rows(ROWS, "set")
    assert len(platform.seen) == 4
    assert platform.connections == 1
    platform.traces = [f"t{n}" for n in range(60)]
    sync.purge_agent("kim")
    assert platform.connections <= 1 + 8
    assert entry["datasetId"] in platform.sets


@pytest.mark.parametrize(
    "address",
    ["http://storage.example/x?sig=canary", "/relative", "ftp://storage.example/x", "https://"],
)
def test_rows_are_not_sent_to_a_place_that_is_none_or_unsafe(
    platform: FaultPlatform, address: str
) -> None:
    body = {"datasetId": "ds_1", "uploadUrl": address}
    platform.fault("POST", "/datasets", status=201, body=body)
    with pytest.raises(errors.BadReply, match="transfer address") as caught:
        sync.push_rows(ROWS, "set")
    assert "canary" not in str(caught.value)
    assert platform.calls("PUT", ".*") == []


def test_a_refusal_at_once_speaks_of_no_time_and_a_timeout_of_the_true_one(
    platform: FaultPlatform,
) -> None:
    platform.fault("PUT", "/upload/.*", status=413, body={"error": "too large"})
    with pytest.raises(errors.Refused) as refused:
        sync.push_rows(ROWS, "set")
    assert " s)" not in str(refused.value)
    assert "timeout" not in str(refused.value)
    platform.fault("POST", "/auth/.*", "trickle")
    with pytest.raises(errors.Unavailable, match=r"after 0\.\d s \(time allowed: 0 s\).*timeout"):
        sync.issue_delegated_credential("session-token", timeout=0.2)


_LARGE = """
import resource, sys
from whileai_core import sync

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

sync.datasets()
before = peak()
rows = ({"prompt": str(n), "final_text": "x" * 1000} for n in range(80_000))
entry = sync.push_rows(rows, "large")
sync.pull(entry["datasetId"], sys.argv[1])
print(peak() - before)
"""


def test_memory_does_not_grow_with_the_dataset(platform: FaultPlatform, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LARGE, str(tmp_path / "out.jsonl")],
        capture_output=True,
        text=True,
        check=True,
    )
    (data,) = platform.parts["ds_1"]
    assert (tmp_path / "out.jsonl").read_bytes() == data
    assert len(data) > 80_000_000
    assert int(done.stdout) < 40  # megabytes
