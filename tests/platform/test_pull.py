"""A pull gives every row in order, or an error and no file."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import TYPE_CHECKING

import pytest
from fault_platform import KEY
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import whileai_core
from whileai_core import errors, sync
from whileai_core.atomic import owner_tag
from whileai_core.platform import iter_rows

if TYPE_CHECKING:
    from pathlib import Path

    from fault_platform import FaultPlatform

PARTS = [b'{"n": 0}\n{"n": 1}\n', b'{"n": 2}', b"", b' \n{"n": 3}\n\n']


def numbers(rows: list[dict[str, int]]) -> list[int]:
    return [row["n"] for row in rows]


def test_parts_come_in_order_with_one_line_feed_between(
    platform: FaultPlatform, tmp_path: Path
) -> None:
    dataset_id = platform.add_set(PARTS)
    assert numbers(sync.pull(dataset_id)) == [0, 1, 2, 3]
    path = str(tmp_path / "new" / "out.jsonl")
    assert sync.pull(dataset_id, path) is path
    assert (
        tmp_path / "new" / "out.jsonl"
    ).read_bytes() == b'{"n": 0}\n{"n": 1}\n{"n": 2}\n{"n": 3}\n'


def test_more_parts_than_connections(platform: FaultPlatform) -> None:
    dataset_id = platform.add_set([b'{"n": %d}' % n for n in range(120)])
    platform.fault("GET", ".*/7", times=2)
    assert numbers(sync.pull(dataset_id)) == list(range(120))


def test_parts_are_fetched_side_by_side(platform: FaultPlatform) -> None:
    dataset_id = platform.add_set([b'{"n": %d}' % n for n in range(32)])
    platform.together = threading.Barrier(8)  # breaks unless eight are asked for at once
    assert numbers(sync.pull(dataset_id)) == list(range(32))
    assert platform.connections <= 16


def test_a_part_of_another_size_than_announced_is_refused(
    platform: FaultPlatform, tmp_path: Path
) -> None:
    dataset_id = platform.add_set([b'{"n": 0}\n'])
    grant = {"parts": [f"{platform.url}/part/{dataset_id}/0"], "partSizes": [10]}
    platform.fault("GET", ".*/download", status=200, body=grant)
    with pytest.raises(errors.BadReply, match="has 9 bytes instead of 10"):
        sync.pull(dataset_id, tmp_path / "out.jsonl")
    assert list(tmp_path.glob("out*")) == []


def test_a_killed_pull_leaves_nothing_for_long(platform: FaultPlatform, tmp_path: Path) -> None:
    host, _, tag = owner_tag().split(".")
    half = tmp_path / f".out.jsonl.{host}.{2**22 + 1}.{tag}.tmp"  # no process has that number
    half.write_bytes(b"half")
    sync.pull(platform.add_set(PARTS), tmp_path / "out.jsonl")
    assert not half.exists()


def test_one_part_comes_back_byte_for_byte(platform: FaultPlatform, tmp_path: Path) -> None:
    data = json.dumps({"prompt": "é\u2028\x85 漢" * 200_000}, ensure_ascii=False).encode() + b"\n"
    dataset_id = platform.add_set([data])
    sync.pull(dataset_id, tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes() == data
    assert sync.pull(dataset_id) == [json.loads(data)]


def test_marks_and_carriage_returns_are_no_content(platform: FaultPlatform) -> None:
    dataset_id = platform.add_set([b'\xef\xbb\xbf{"n": 0}\r\n{"n": 1}\r\n'] * 2)
    assert numbers(sync.pull(dataset_id)) == [0, 1, 0, 1]


def test_an_empty_set_has_no_rows(platform: FaultPlatform, tmp_path: Path) -> None:
    dataset_id = platform.add_set([b""])
    assert sync.pull(dataset_id) == []
    sync.pull(dataset_id, tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes() == b""


def test_an_empty_set_may_have_no_part(platform: FaultPlatform) -> None:
    assert sync.pull(platform.add_set([])) == []


def test_a_set_without_parts_is_not_taken_for_an_empty_one(platform: FaultPlatform) -> None:
    with pytest.raises(errors.BadReply, match="finalized"):
        sync.pull(platform.add_set([], status="pending"))


@given(st.lists(st.lists(st.integers(0, 99), max_size=4), min_size=1, max_size=6), st.data())
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_row_is_lost_however_parts_are_cut(
    platform: FaultPlatform, values: list[list[int]], data: st.DataObject
) -> None:
    blanks = st.sampled_from([b"", b"\n", b" \n\n", b"\r\n"])
    parts = [
        data.draw(blanks) + b"\n".join(b'{"n": %d}' % n for n in part) + data.draw(blanks)
        for part in values
    ]
    rows = sync.pull(platform.add_set(parts))
    assert numbers(rows) == [n for part in values for n in part]


@pytest.mark.parametrize(
    "fault",
    [{"do": "truncate"}, {"do": "reset"}, {"do": "reset", "after": True}, {"status": 503}],
)
def test_a_passing_fault_costs_no_row(platform: FaultPlatform, fault: dict[str, object]) -> None:
    dataset_id = platform.add_set(PARTS)
    platform.fault("GET", "/part/.*", times=2, **fault)
    assert numbers(sync.pull(dataset_id)) == [0, 1, 2, 3]


@pytest.mark.parametrize("fault", [{"do": "truncate"}, {"do": "reset"}, {"status": 500}])
def test_a_lasting_fault_leaves_the_old_file(
    platform: FaultPlatform, tmp_path: Path, fault: dict[str, object]
) -> None:
    dataset_id = platform.add_set(PARTS)
    platform.fault("GET", f"/part/{dataset_id}/1", times=99, **fault)
    (tmp_path / "out.jsonl").write_text("old")
    with pytest.raises(errors.Unavailable):
        sync.pull(dataset_id, tmp_path / "out.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
    assert (tmp_path / "out.jsonl").read_text() == "old"


def test_expired_addresses_are_renewed_once(platform: FaultPlatform) -> None:
    dataset_id = platform.add_set([b'{"n": %d}' % n for n in range(4)])
    for part in (1, 3):
        platform.fault("GET", f"/part/{dataset_id}/{part}", status=403, times=1)
    assert numbers(sync.pull(dataset_id)) == [0, 1, 2, 3]
    assert len(platform.calls("GET", ".*/download")) == 2
    platform.fault("GET", f"/part/{dataset_id}/2", status=403, times=9)
    with pytest.raises(errors.Refused):
        sync.pull(dataset_id)


def test_a_line_that_is_not_json_is_named(platform: FaultPlatform) -> None:
    dataset_id = platform.add_set([b'{"n": 0}\n{"n": \n'])
    with pytest.raises(errors.BadReply, match=f"line 2 of dataset {dataset_id}"):
        sync.pull(dataset_id)


def test_a_folder_is_no_file(platform: FaultPlatform, tmp_path: Path) -> None:
    with pytest.raises(errors.InputError, match="folder"):
        sync.pull(platform.add_set(PARTS), tmp_path)
    assert platform.seen == []


# -- own and public


def test_without_a_key_the_public_copy_is_read_keyless(
    platform: FaultPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WHILEAI_API_KEY")
    dataset_id = platform.add_set(PARTS)
    with pytest.raises(errors.NotFound):
        sync.pull(dataset_id)
    platform.public.add(dataset_id)
    assert len(sync.pull(dataset_id)) == 4
    assert all("x-api-key" not in seen.headers for seen in platform.seen)


def test_what_is_not_ones_own_is_looked_for_in_the_catalog(platform: FaultPlatform) -> None:
    dataset_id = platform.add_set(PARTS)
    platform.public.add(dataset_id)
    platform.fault("GET", "/datasets/.*/download", status=404, body={"error": "no"}, times=9)
    assert len(sync.pull(dataset_id)) == 4
    (public,) = platform.calls("GET", "/catalog/.*")
    assert "x-api-key" not in public.headers


def test_a_404_in_the_text_of_another_error_is_no_404(platform: FaultPlatform) -> None:
    dataset_id = platform.add_set(PARTS)
    platform.public.add(dataset_id)
    platform.fault("GET", "/datasets/.*", status=500, body={"error": "upstream 404"}, times=99)
    with pytest.raises(errors.Unavailable):
        sync.pull(dataset_id)
    assert platform.calls("GET", "/catalog/.*") == []


def test_a_refused_key_reads_the_public_copy_only_when_asked(platform: FaultPlatform) -> None:
    dataset_id = platform.add_set(PARTS)
    platform.public.add(dataset_id)
    with pytest.raises(errors.NotAuthenticated):
        sync.pull(dataset_id, api_key="zp_wrong")
    assert len(sync.pull(dataset_id, api_key="zp_wrong", allow_public=True)) == 4


# -- in async code


def test_rows_one_by_one(platform: FaultPlatform) -> None:
    dataset_id = platform.add_set([b'{"n": 1}\n' * 700] * 2)

    async def count() -> int:
        return sum([row["n"] async for row in iter_rows(dataset_id, api_key=KEY)])

    assert asyncio.run(count()) == 1400


def test_a_cancelled_pull_leaves_nothing(platform: FaultPlatform, tmp_path: Path) -> None:
    dataset_id = platform.add_set([b'{"n": 0}' + b" " * 5000] * 3)
    platform.fault("GET", f"/part/{dataset_id}/2", "trickle")

    async def cancel_half_way() -> None:
        task = asyncio.create_task(whileai_core.pull(dataset_id, tmp_path / "out.jsonl"))
        await asyncio.to_thread(platform.trickling.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel_half_way())
    assert list(tmp_path.iterdir()) == []
