"""A push ends with one dataset that holds what was pushed, or says what is left behind."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from fault_platform import KEY
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whileai_core import errors, jsonio, sync
from whileai_core.atomic import owner_tag

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fault_platform import FaultPlatform

ROWS = [
    {"prompt": f"q{n}", "steps": [], "final_text": f"a{n}", "scenario_id": f"s{n}"}
    for n in range(20)
]


def uploaded(platform: FaultPlatform, dataset_id: str) -> list[dict[str, Any]]:
    (data,) = platform.parts[dataset_id]
    return [json.loads(line) for line in data.decode().split("\n") if line]


def journals(home: Path) -> list[Path]:
    return list((home / "pushes").glob("*")) if home.exists() else []


def test_rows_arrive_as_they_are(platform: FaultPlatform, clean_environment: Path) -> None:
    rows: list[dict[str, Any]] = [{"prompt": "a\u2028b\x85c\nd é 漢", "n": 10**30, "x": None}]
    entry = sync.push_rows(
        iter(rows), "set", parent="ds_0", mode="sft", purpose="eval", agent="kim", description=""
    )
    assert uploaded(platform, entry["datasetId"]) == rows
    assert (entry["name"], entry["status"], entry["rows"]) == ("set", "ready", 1)
    (create,) = platform.calls("POST", "/datasets")
    assert json.loads(create.body) == {
        "name": "set",
        "purpose": "eval",
        "mode": "sft",
        "agent": "kim",
        "description": "",
        "parentDatasetId": "ds_0",
    }
    assert rows == [{"prompt": "a\u2028b\x85c\nd é 漢", "n": 10**30, "x": None}]
    assert journals(clean_environment) == []


def test_a_record_is_one_line_for_every_reader(platform: FaultPlatform) -> None:
    entry = sync.push_rows([{"prompt": "a\u2028b\u2029c\x85d\x0be\x1cf"}] * 2, "set")
    (data,) = platform.parts[entry["datasetId"]]
    assert len(data.decode().splitlines()) == 2


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [{"prompt": "q"}, {"steps": [{"result": float("nan")}]}],
            r"row 1: \$\.steps\[0\]\.result",
        ),
        ([{"prompt": "q", "at": datetime.date(2026, 1, 1)}], r"row 0: \$\.at is a date"),
        ([{"prompt": "\ud800"}], r"row 0: \$\.prompt holds a lone surrogate"),
        ([{"prompt": "q", "tags": {"a"}}], r"\$\.tags is a set"),
        ([{"prompt": "q", "by_id": {1: 2}}], r"\$\.by_id has the key 1"),
        (["not a row", {}, {"schema_version": "9"}], "schema_invalid in push_rows: 0:.*1:.*2:"),
        ([{"schema_version": "1", "reward": True}], "reward_is_bool"),
    ],
)
def test_what_json_or_schema_cannot_carry_is_refused_before_anything_is_sent(
    platform: FaultPlatform, rows: list[Any], message: str
) -> None:
    with pytest.raises(errors.InputError, match=message):
        sync.push_rows(rows, "set")
    assert platform.seen == []


def test_a_row_longer_than_a_line_may_be_is_named_before_anything_is_sent(
    platform: FaultPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whileai_core.platform._payload.LONGEST_LINE_BYTES", 1000)
    rows = [{"prompt": "short"}, {"prompt": "x" * 1000}]
    with pytest.raises(errors.InputError, match=r"row 1 is \d+ bytes long.* may have 1000"):
        sync.push_rows(rows, "long")
    assert platform.seen == []


def test_what_json_cannot_carry_is_text_for_who_asks(platform: FaultPlatform) -> None:
    row = {
        "prompt": "q",
        "at": datetime.date(2026, 1, 1),
        "tags": {"b", "a"},
        "raw": b"x",
        1: {None: (1, True), True: 2.5},
    }
    first = sync.push_rows([row], "set", lossy=True)
    assert uploaded(platform, first["datasetId"]) == [
        {
            "prompt": "q",
            "at": "2026-01-01",
            "tags": "{'a', 'b'}",
            "raw": "b'x'",
            "1": {"null": [1, True], "true": 2.5},
        }
    ]
    assert row["tags"] == {"b", "a"}
    assert sync.push_rows([row], "set", lossy=True)["datasetId"] == first["datasetId"]
    for lost in (float("nan"), float("-inf"), "\ud800"):
        with pytest.raises(errors.InputError, match=r"row 1: \$\.x\[0\]"):
            sync.push_rows([row, {"x": (lost,)}], "set", lossy=True)
    circle: dict[str, Any] = {"prompt": "q"}
    circle["me"] = circle
    with pytest.raises(errors.InputError, match="row 0"):
        sync.push_rows([circle], "set", lossy=True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"mode": "raw"},
        {"purpose": "test"},
        {"publish": True},
        {"holdout": 1.0},
        {"holdout": True},
        {"holdout": -0.1},
        {"timeout": 0},
    ],
)
def test_wrong_arguments_send_nothing(platform: FaultPlatform, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        sync.push_rows(ROWS, "set", **wrong)
    assert platform.seen == []


def test_no_rows_are_an_empty_set(platform: FaultPlatform) -> None:
    entry = sync.push_rows([], "set")
    assert platform.parts[entry["datasetId"]] == [b""]
    with pytest.raises(errors.InputError, match="no training rows"):
        sync.push_rows([], "set", holdout=0.5)


def test_the_holdout_is_linked_and_never_published(platform: FaultPlatform) -> None:
    with pytest.warns(UserWarning, match="holdout 'set-holdout' has"):
        entry = sync.push_rows(ROWS, "set", holdout=0.3, agent="kim", publish=True)
    held = entry["holdout"]
    train_rows = uploaded(platform, entry["datasetId"])
    held_rows = uploaded(platform, held["datasetId"])
    assert sorted(train_rows + held_rows, key=str) == sorted(ROWS, key=str)
    assert (held["name"], held["purpose"]) == ("set-holdout", "holdout")
    assert held["parentDatasetId"] == entry["datasetId"]
    assert entry["holdout_tasks"] == len(held_rows)
    assert platform.public == {entry["datasetId"]}
    assert entry["card"]["datasetId"] == entry["datasetId"]


def test_held_tasks_are_counted_by_what_splits_them(platform: FaultPlatform) -> None:
    rows = [{"prompt": f"q{n % 15}", "n": n} for n in range(60)]
    with pytest.warns(UserWarning, match="holdout"):
        entry = sync.push_rows(rows, "set", holdout=0.4)
    held = uploaded(platform, entry["holdout"]["datasetId"])
    assert entry["holdout_tasks"] == len({row["prompt"] for row in held}) > 1


def test_an_entry_has_its_id_and_name_whatever_finalize_says(platform: FaultPlatform) -> None:
    platform.fault("POST", "/datasets/.*/finalize", status=200, body={})
    assert sync.push_rows(ROWS, "set") == {"datasetId": "ds_1", "name": "set"}


@given(st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f"]), min_size=1), st.floats(0.1, 0.9))
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@pytest.mark.filterwarnings("ignore:holdout")
def test_a_task_is_on_one_side(platform: FaultPlatform, tasks: list[str], share: float) -> None:
    rows = [{"prompt": "p", "task_id": task, "n": n} for n, task in enumerate(tasks)]
    try:
        entry = sync.push_rows(rows, "set", holdout=share)
    except errors.InputError:
        return  # everything would have been held out
    train = uploaded(platform, entry["datasetId"])
    held = uploaded(platform, entry["holdout"]["datasetId"]) if "holdout" in entry else []
    assert {row["task_id"] for row in train}.isdisjoint(row["task_id"] for row in held)
    assert sorted(row["n"] for row in train + held) == list(range(len(rows)))


# -- faults on the way


@pytest.mark.parametrize("method_path", [("PUT", "/upload/.*"), ("POST", "/datasets/.*/finalize")])
@pytest.mark.parametrize(
    "fault", [{"status": 503}, {"do": "reset"}, {"do": "reset", "after": True}]
)
def test_passing_faults_leave_one_whole_set(
    platform: FaultPlatform, method_path: tuple[str, str], fault: dict[str, Any]
) -> None:
    platform.fault(*method_path, **fault)
    entry = sync.push_rows(ROWS, "set")
    assert [row["datasetId"] for row in platform.ready] == [entry["datasetId"]]
    assert uploaded(platform, entry["datasetId"]) == ROWS


@pytest.mark.parametrize(
    "fault", [{"status": 500}, {"do": "reset"}, {"do": "reset", "after": True}]
)
def test_a_lost_create_is_repeated_where_keys_are_honoured(
    platform: FaultPlatform, fault: dict[str, Any]
) -> None:
    platform.fault("POST", "/datasets", **fault)
    sync.push_rows(ROWS, "set")
    assert len(platform.sets) == 1
    first, second = platform.calls("POST", "/datasets")
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]


@pytest.mark.parametrize("fault", [{"status": 500}, {"do": "reset", "after": True}])
def test_a_lost_create_is_not_repeated_elsewhere(
    forgetful: FaultPlatform, fault: dict[str, Any]
) -> None:
    forgetful.fault("POST", "/datasets", **fault)
    with pytest.raises(errors.Unavailable, match="may have carried it out") as caught:
        sync.push_rows(ROWS, "set")
    assert caught.value.stage == "create"
    assert len(forgetful.calls("POST", "/datasets")) == 1


def test_a_create_the_server_did_not_take_is_repeated(forgetful: FaultPlatform) -> None:
    forgetful.fault("POST", "/datasets", status=429, headers={"Retry-After": "0"})
    sync.push_rows(ROWS, "set")
    assert len(forgetful.ready) == 1


@pytest.mark.parametrize("idempotent", [True, False])
def test_an_expired_upload_address_is_renewed_once(
    platform: FaultPlatform, idempotent: bool
) -> None:
    platform.idempotent = idempotent
    platform.fault("PUT", "/upload/.*", status=403, body=b"<Error>Request has expired</Error>")
    entry = sync.push_rows(ROWS, "set")
    assert list(platform.sets) == [entry["datasetId"]]
    assert uploaded(platform, entry["datasetId"]) == ROWS


def test_nothing_is_finalized_whose_bytes_were_refused(
    platform: FaultPlatform, clean_environment: Path
) -> None:
    platform.fault("PUT", "/upload/.*", status=403, times=9)
    with pytest.raises(errors.Refused) as caught:
        sync.push_rows(ROWS, "set")
    (left,) = platform.sets
    assert caught.value.stage == "upload"
    assert caught.value.dataset_id == left
    assert left in str(caught.value)
    assert platform.calls("POST", ".*/finalize") == []
    platform.faults.clear()
    assert sync.push_rows(ROWS, "set")["datasetId"] == left
    assert journals(clean_environment) == []


def test_bytes_that_changed_on_the_way_are_noticed(platform: FaultPlatform) -> None:
    platform.stored_as = b'{"prompt": "other"}\n'
    with pytest.raises(errors.BadReply, match="not what was pushed") as caught:
        sync.push_rows(ROWS, "set")
    assert (caught.value.stage, caught.value.dataset_id) == ("finalize", "ds_1")


def test_a_failing_holdout_says_what_is_there_and_is_completed_later(
    forgetful: FaultPlatform,
) -> None:
    forgetful.fault("PUT", "/upload/.*", status=413, skip=1)
    with pytest.warns(UserWarning, match="holdout"), pytest.raises(errors.Refused) as caught:
        sync.push_rows(ROWS, "set", holdout=0.3)
    assert (caught.value.stage, caught.value.dataset_id) == ("holdout", "ds_1")
    with pytest.warns(UserWarning, match="holdout"):
        entry = sync.push_rows(ROWS, "set", holdout=0.3)
    assert entry["datasetId"] == "ds_1"
    assert len(forgetful.sets) == len(forgetful.ready) == 2


def test_the_same_push_again_sends_nothing_again(platform: FaultPlatform) -> None:
    first = sync.push_rows(ROWS, "set")
    again = sync.push_rows(iter(ROWS), "set")
    assert first["datasetId"] == again["datasetId"]
    assert len(platform.calls("PUT", ".*")) == 1
    others = [sync.push_rows(ROWS, "other"), sync.push_rows(ROWS[1:], "set")]
    others.append(sync.push_rows(ROWS, "set", purpose="eval"))
    assert len({entry["datasetId"] for entry in [first, *others]}) == 4


def test_a_set_deleted_meanwhile_is_pushed_anew(platform: FaultPlatform) -> None:
    platform.fault("PUT", "/upload/.*", status=413)
    with pytest.raises(errors.Refused):
        sync.push_rows(ROWS, "set")
    platform.sets.clear()
    entry = sync.push_rows(ROWS, "set")
    assert [row["datasetId"] for row in platform.ready] == [entry["datasetId"]]


def test_journals_nobody_goes_on_with_are_given_up(
    platform: FaultPlatform, clean_environment: Path, caplog: pytest.LogCaptureFixture
) -> None:
    platform.fault("PUT", "/upload/.*", status=413, times=2)
    for name in ("old", "young"):
        with pytest.raises(errors.Refused):
            sync.push_rows(ROWS, name)
    old, young = sorted(journals(clean_environment), key=lambda path: path.stat().st_mtime)
    long_ago = time.time() - 31 * 24 * 3600
    os.utime(old, (long_ago, long_ago))
    host, _, tag = owner_tag().split(".")
    half_written = young.with_name(f".x.json.{host}.{2**22 + 1}.{tag}.tmp")  # no process has that
    half_written.touch()
    (clean_environment / "pushes" / f".y.json.{owner_tag()}.tmp").touch()  # is being written
    sync.push_rows(ROWS, "other")
    left = {path.name for path in journals(clean_environment)}
    assert young.name in left
    assert not {old.name, half_written.name} & left
    assert len(left) == 2
    assert "dataset ds_1 was left at the stage upload" in caplog.text
    assert sync.push_rows(ROWS, "young")["datasetId"] == "ds_2"


def test_a_home_that_cannot_be_written_shows_before_anything_is_created(
    platform: FaultPlatform, clean_environment: Path
) -> None:
    clean_environment.write_text("a file where the folder should be")
    with pytest.raises(errors.SettingsError, match="is no folder"):
        sync.push_rows(ROWS, "set")
    clean_environment.unlink()
    clean_environment.mkdir()
    (clean_environment / "pushes").write_text("another one")
    with pytest.raises(errors.StoreError):
        sync.push_rows(ROWS, "set")
    assert platform.sets == {}


# -- killed on the way

_PUSH = """
import json, sys, warnings
warnings.simplefilter("ignore")
from whileai_core import sync
sync.push_rows(json.loads(sys.stdin.read()), "set", holdout=0.3, agent="kim", publish=True)
"""


def push_in_a_process(platform: FaultPlatform) -> int:
    with subprocess.Popen([sys.executable, "-c", _PUSH], stdin=subprocess.PIPE) as process:
        for fault in platform.faults:
            fault.pid = process.pid
        process.communicate(json.dumps(ROWS).encode(), timeout=60)
        return process.returncode


STEPS = {
    "create": ("POST", "/datasets", 0),
    "upload": ("PUT", "/upload/.*", 0),
    "finalize": ("POST", "/datasets/.*/finalize", 0),
    "create holdout": ("POST", "/datasets", 1),
    "upload holdout": ("PUT", "/upload/.*", 1),
    "finalize holdout": ("POST", "/datasets/.*/finalize", 1),
    "publish": ("POST", "/datasets/.*/publish", 0),
}


@pytest.mark.filterwarnings("ignore:holdout")
@pytest.mark.parametrize("step", STEPS)
def test_a_killed_push_is_completed_by_the_next_one(
    platform: FaultPlatform, clean_environment: Path, step: str
) -> None:
    # A lost answer to a create can only be healed where keys are honoured.
    platform.idempotent = step.startswith("create")
    method, path, skip = STEPS[step]
    platform.fault(method, path, "kill", skip=skip, after=True)
    assert push_in_a_process(platform) < 0
    entry = sync.push_rows(ROWS, "set", holdout=0.3, agent="kim", publish=True)
    assert {entry["datasetId"], entry["holdout"]["datasetId"]} == set(platform.sets)
    assert len(platform.ready) == 2
    assert platform.public == {entry["datasetId"]}
    assert journals(clean_environment) == []


# -- files


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "my.set.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"prompt": "q" }\r\n\n{"prompt": 2}')
    yield path


def test_a_file_is_sent_byte_for_byte(platform: FaultPlatform, file: Path) -> None:
    entry = sync.push_file(str(file), gate=False, purpose="eval", agent="kim", timeout=9)
    assert platform.parts[entry["datasetId"]] == [file.read_bytes()]
    assert (entry["name"], entry["purpose"], entry["agent"]) == ("my.set", "eval", "kim")
    assert "gate" not in entry


def test_the_name_of_a_file(platform: FaultPlatform, file: Path) -> None:
    other = file.rename(file.with_name("x.json"))
    assert sync.push_file(other, gate=False)["name"] == "x.json"
    assert sync.push_file(other, "named", gate=False)["name"] == "named"


def test_a_missing_file_sends_nothing(platform: FaultPlatform, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="none.jsonl"):
        sync.push_file(tmp_path / "none.jsonl", gate=False)
    with pytest.raises(errors.InputError):
        sync.push_file(tmp_path, gate=False)
    assert platform.seen == []


def test_a_large_file_and_a_retry_stream_the_same_bytes(
    platform: FaultPlatform, tmp_path: Path
) -> None:
    path = tmp_path / "large.jsonl"
    path.write_bytes(jsonio.dumps_line({"prompt": "x" * 1000}) * 3000)
    platform.fault("PUT", "/upload/.*", status=502)
    entry = sync.push_file(path, gate=False)
    assert platform.parts[entry["datasetId"]] == [path.read_bytes()]


def test_a_file_that_grows_while_it_is_sent_is_refused(
    platform: FaultPlatform, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from whileai_core.platform import _push

    def growing(path: Path, **options: bool) -> object:
        payload = original(path, **options)
        with path.open("ab") as more:
            more.write(b'{"prompt": "late"}\n')
        return payload

    original = _push.file_payload
    monkeypatch.setattr(_push, "file_payload", growing)
    with pytest.raises(errors.InputError, match="changed while"):
        sync.push_file(file, gate=False)
    assert platform.sets == {}


def test_a_key_never_reaches_the_journal(platform: FaultPlatform, clean_environment: Path) -> None:
    platform.fault("PUT", "/upload/.*", status=413)
    with pytest.raises(errors.Refused):
        sync.push_rows(ROWS, "set")
    (journal,) = journals(clean_environment)
    assert KEY not in journal.read_text()
    assert journal.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("gate", [False, True])
@pytest.mark.parametrize("end", ["", "\n", "\n{}\n"])
def test_a_line_longer_than_a_dataset_takes_is_named_before_anything_is_sent(
    gate, end, tmp_path, monkeypatch
):
    monkeypatch.setattr("whileai_core.platform._payload.LONGEST_LINE_BYTES", 5000)
    monkeypatch.setattr("whileai_core.platform._payload._CHUNK", 1000)
    fits, long = [json.dumps({"prompt": "p" * length}) for length in (4980, 5001)]
    path = tmp_path / "a.jsonl"
    path.write_text(f"{fits}\n\n{fits}\n{long}{end}")
    with pytest.raises(errors.InputError, match=r"a\.jsonl line 4 is longer than 5000 bytes"):
        sync.push_file(path, gate=gate)
    path.write_text(f"{fits}\n" * 3)
    assert sync.push_file(path, gate=False)["rows"] == 3
