"""Every operation under every fault: done exactly once, or an error and a re-run that finishes.

The steps of an operation are the requests it makes when nothing goes wrong. Each fault strikes at
each step in turn. Whatever happened, no secret may show, and once the fault is over the same call
must bring the platform to the state that an undisturbed call would have left.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from fault_platform import KEY, SIGNATURE, FaultPlatform

import whileai_core
from whileai_core import errors, sync
from whileai_core.platform import _call, transport

pytestmark = pytest.mark.filterwarnings("ignore:holdout")

ROWS = [
    {"prompt": f"q{n}", "steps": [], "final_text": f"a{n}", "scenario_id": f"s{n}"}
    for n in range(12)
]
SESSION = "zp_st_canary_session"
SECRETS = (KEY, SIGNATURE, SESSION)


@dataclass
class Operation:
    """One operation: what is there before, the call, and what must be so when it is done."""

    arguments: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    before: Callable[[FaultPlatform], Any] = lambda platform: None
    done: Callable[[FaultPlatform], bool] = lambda platform: True
    repeated: type[Exception] | None = None  # what a second call says of work that is done


def a_set(platform: FaultPlatform) -> None:
    platform.add_set([b'{"n": 0}\n', b'{"n": 1}\n'], agent="kim")


def an_empty_set(platform: FaultPlatform) -> None:
    a_set(platform)
    platform.add_set([])


def an_agent(platform: FaultPlatform) -> None:
    a_set(platform)
    platform.traces = ["t1", "t2"]
    platform.agents = [{"name": "kim"}]


def jobs(platform: FaultPlatform) -> None:
    a_set(platform)
    platform.hf_states = [{"status": "pushing"}] + [{"status": "done"}] * 999
    platform.import_states = [{"status": "ready"}] * 999


def all_pushed(platform: FaultPlatform) -> bool:
    sent = [json.loads(line) for row in platform.ready for line in lines_of(platform, row)]
    return sorted(sent, key=str) == sorted(ROWS, key=str)


def lines_of(platform: FaultPlatform, row: dict[str, Any]) -> list[bytes]:
    (data,) = platform.parts[row["datasetId"]]
    return data.splitlines()


OPERATIONS = {
    "agents": Operation(),
    "catalog": Operation(),
    "datasets": Operation(before=a_set),
    "delete_dataset": Operation(
        ("ds_1",), before=a_set, done=lambda p: not p.sets, repeated=errors.NotFound
    ),
    "delete_empty_datasets": Operation(
        before=an_empty_set, done=lambda p: list(p.sets) == ["ds_1"]
    ),
    "hf_publish": Operation(("ds_1",), {"poll": 0.01}, before=jobs),
    "hf_publish_run": Operation(("run_1",), {"poll": 0.01}, before=jobs),
    "hf_status": Operation(),
    "import_hf": Operation(
        ("kim/set",), {"poll": 0.01}, before=jobs, done=lambda p: len(p.ready) >= 2
    ),
    "issue_delegated_credential": Operation((SESSION,)),
    "preview": Operation(("ds_1",), before=a_set),
    "profile": Operation(("ds_1",), before=a_set),
    "publish": Operation(("ds_1", "kim"), before=a_set, done=lambda p: p.public == {"ds_1"}),
    "pull": Operation(("ds_1",), before=a_set),
    "purge_agent": Operation(
        ("kim",), before=an_agent, done=lambda p: not (p.traces or p.agents or p.sets)
    ),
    "push_file": Operation(("rows.jsonl",), {"gate": False}, done=all_pushed),
    "push_rows": Operation(
        (ROWS, "set"),
        {"holdout": 0.4, "publish": True, "agent": "kim"},
        done=lambda p: all_pushed(p) and len(p.ready) == 2 and len(p.public) == 1,
    ),
    "refresh_delegated_credential": Operation((SESSION, "zp_dc_old")),
    "register_agent": Operation(("kim",), done=lambda p: {"name": "kim"} in p.agents),
    "unpublish": Operation(("ds_1",), before=a_set),
    "update_dataset": Operation(
        ("ds_1",),
        {"mode": "sft"},
        before=a_set,
        done=lambda p: p.sets["ds_1"]["mode"] == "sft",
    ),
}
PUSHES = {"push_file", "push_rows"}
CREATES = (  # what a server without idempotency keys cannot be asked twice
    "push_file",
    "push_rows",
    "import_hf",
    "hf_publish",
    "hf_publish_run",
    "issue_delegated_credential",
    "refresh_delegated_credential",
)


_steps: dict[str, list[tuple[str, str, int]]] = {}


class World:
    """Fresh platforms and homes, one after the other."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._patch = monkeypatch
        self._number = 0
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
        monkeypatch.chdir(folder)
        monkeypatch.setenv("WHILEAI_API_KEY", KEY)

    @contextlib.contextmanager
    def platform(self, operation: Operation, *, idempotent: bool = True) -> Iterator[FaultPlatform]:
        self._number += 1
        self._patch.setenv("WHILEAI_HOME", str(self._folder / f"home-{self._number}"))
        platform = FaultPlatform(idempotent=idempotent)
        self._patch.setenv("WHILEAI_API_URL", platform.url)
        operation.before(platform)
        try:
            yield platform
        finally:
            platform.close()

    def steps(self, name: str) -> list[tuple[str, str, int]]:
        """Return what an undisturbed call asks: method, path, how many like it came before."""
        if name in _steps:
            return _steps[name]
        operation = OPERATIONS[name]
        with self.platform(operation) as platform:
            call(name)
            assert operation.done(platform)
            made = [(seen.method, seen.path) for seen in platform.seen]
        _steps[name] = [(*step, made[:at].count(step)) for at, step in enumerate(made)]
        return _steps[name]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


def call(name: str, **more: Any) -> Any:
    operation = OPERATIONS[name]
    return getattr(sync, name)(*operation.arguments, **operation.options | more)


def short(name: str) -> dict[str, float]:
    """Return the options with which a job is not waited for long."""
    return {"timeout": 0.2} if name in {"hf_publish", "hf_publish_run", "import_hf"} else {}


def told(error: BaseException) -> str:
    return f"{error} {error!r} {vars(error)}"


def attempt(name: str, **more: Any) -> errors.WhileError | None:
    """Make the call; return the error of ours that it ended with, which shows no secret."""
    try:
        result = call(name, **more)
    except errors.WhileError as error:
        assert not any(secret in told(error) for secret in SECRETS)
        return error
    # Purge goes on past failures and reports them instead.
    if isinstance(result, dict) and result.get("failures"):
        assert not any(secret in str(result) for secret in SECRETS)
        return errors.Unavailable(str(result["failures"]))
    return None


def finish(name: str, platform: FaultPlatform, error: errors.WhileError | None) -> None:
    """Check what an error says, run again without the fault, and check the final state."""
    operation = OPERATIONS[name]
    platform.faults.clear()
    if error is None:
        assert operation.done(platform)
        return
    if name in PUSHES:
        assert isinstance(error, errors.PlatformError)
        assert error.stage in {"create", "upload", "finalize", "holdout", "publish"}
        assert (error.dataset_id in platform.sets) is (error.stage != "create")
        if error.dataset_id:
            assert error.dataset_id in str(error)
    again = attempt(name)
    assert again is None or isinstance(again, operation.repeated or ()), again
    assert operation.done(platform)


PAST = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
WAITS: dict[str, dict[str, str]] = {
    "": {},
    " in seconds": {"Retry-After": "0"},
    " at a date": {"Retry-After": PAST},
}
ONCE: dict[str, dict[str, Any]] = {
    "reset before": {"do": "reset"},
    "reset after": {"do": "reset", "after": True},
    "truncated": {"do": "truncate"},
    **{
        f"{status}{wait}": {"status": status, "headers": WAITS[wait], "body": {"error": KEY}}
        for status in (408, 425, 429, 500, 502, 503, 504)
        for wait in (WAITS if status in {429, 503} else [""])
    },
}


LIKE_503 = {"408", "425", "500", "502", "504"}


@pytest.mark.parametrize(
    "fault",
    [pytest.param(f, marks=pytest.mark.slow if f in LIKE_503 else ()) for f in ONCE],
)
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_passing_fault_is_passed_over(world: World, name: str, fault: str) -> None:
    for method, path, skip in world.steps(name):
        with world.platform(OPERATIONS[name]) as platform:
            platform.fault(method, path, skip=skip, **ONCE[fault])
            error = attempt(name)
            # Starting a job is not repeated before the server is known to honour keys.
            assert error is None or (name in CREATES and method == "POST")
            if name not in PUSHES or error is None:
                finish(name, platform, error)


LASTING: dict[str, dict[str, Any]] = {
    "reset before": {"do": "reset"},
    "reset after": {"do": "reset", "after": True},
    "truncated": {"do": "truncate"},
    "429": {"status": 429, "body": {"error": f"wait, {KEY}"}},
    "503": {"status": 503, "body": f"<title>down; X-Amz-Signature={SIGNATURE}</title>".encode()},
    "no JSON": {"status": 200, "body": b"<html>hello</html>"},
    "cut JSON": {"status": 200, "body": b'{"datasetId": "ds_'},
    "another JSON": {"status": 200, "body": [1]},
    "not allowed": {"status": 403, "body": {"error": f"not with {KEY}"}},
}


@pytest.mark.parametrize("fault", LASTING)
@pytest.mark.parametrize(
    ("name", "idempotent"),
    [(name, honoured) for name in OPERATIONS for honoured in {True, name not in CREATES}],
)
def test_a_lasting_fault_is_told_and_a_re_run_finishes(
    world: World, name: str, fault: str, idempotent: bool
) -> None:
    for method, path, skip in world.steps(name):
        with world.platform(OPERATIONS[name], idempotent=idempotent) as platform:
            platform.fault(method, path, skip=skip, times=999, **LASTING[fault])
            error = attempt(name, **short(name))
            finish(name, platform, error)
            if name in PUSHES and idempotent:
                assert len(platform.sets) == len(platform.ready)  # nothing is left half done


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_body_that_trickles_meets_the_deadline(
    world: World, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = world.steps(name)
    for method, path, skip in steps:
        with world.platform(OPERATIONS[name]) as platform:
            platform.fault(method, path, "trickle", skip=skip, times=999)
            with monkeypatch.context() as patch:
                patch.setattr(transport, "Deadline", lambda s: _call.Deadline(min(s, 0.25)))
                error = attempt(name, **short(name))
            finish(name, platform, error)


@pytest.mark.parametrize("name", OPERATIONS)
def test_nobody_listening_is_told_and_nothing_is_done(
    world: World, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with world.platform(OPERATIONS[name]) as platform, socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        with monkeypatch.context() as patch:
            patch.setenv("WHILEAI_API_URL", f"http://127.0.0.1:{unused.getsockname()[1]}")
            error = attempt(name)
        assert isinstance(error, errors.Unavailable)
        assert platform.seen == []
        assert attempt(name) is None
        assert OPERATIONS[name].done(platform)


@pytest.mark.parametrize("status", [400, 401, 403, 410])
@pytest.mark.parametrize("name", ["pull", "push_file", "push_rows"])
def test_an_expired_address_is_renewed(world: World, name: str, status: int) -> None:
    for method, path, skip in world.steps(name):
        if not path.startswith(("/upload/", "/part/")):
            continue
        with world.platform(OPERATIONS[name]) as platform:
            platform.fault(method, path, status=status, skip=skip)
            assert attempt(name) is None
            assert OPERATIONS[name].done(platform)


@pytest.mark.parametrize("name", OPERATIONS)
def test_twice_is_once(world: World, name: str) -> None:
    with world.platform(OPERATIONS[name]) as platform:
        assert attempt(name) is None
        again = attempt(name)
        assert again is None or isinstance(again, OPERATIONS[name].repeated or ())
        assert OPERATIONS[name].done(platform)


@pytest.mark.parametrize("name", OPERATIONS)
def test_writers_side_by_side(world: World, name: str) -> None:
    with world.platform(OPERATIONS[name]) as platform:
        outcomes: list[errors.WhileError | None] = []
        writers = [
            threading.Thread(target=lambda: outcomes.append(attempt(name))) for _ in range(4)
        ]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        assert len(outcomes) == 4
        assert None in outcomes
        failures = [outcome for outcome in outcomes if outcome is not None]
        assert all(isinstance(error, OPERATIONS[name].repeated or ()) for error in failures)
        assert OPERATIONS[name].done(platform)


@pytest.mark.parametrize("after", [False, True], ids=["before the work", "after the work"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_cancelled_in_the_middle(world: World, name: str, after: bool) -> None:
    operation = OPERATIONS[name]

    async def cancel(platform: FaultPlatform) -> None:
        ours = getattr(whileai_core, name)(*operation.arguments, **operation.options)
        task = asyncio.create_task(ours)
        assert await asyncio.to_thread(platform.hanging.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    for method, path, skip in world.steps(name):
        with world.platform(operation) as platform:
            platform.fault(method, path, "hang", skip=skip, after=after)
            asyncio.run(cancel(platform))
            platform.released.set()
            again = attempt(name)
            assert again is None or isinstance(again, operation.repeated or ())
            assert operation.done(platform)
