"""The published peer SDK, used as a program, against `gate serve`: all of its 21 operations.

It runs in an interpreter that has it: the one WHILEAI_TEST_SDK_PYTHON names, else this one.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import threading
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from whileai_core.gate.admin import create_key
from whileai_core.gate.settings import GateSettings

OPERATIONS = {
    "agents",
    "catalog",
    "datasets",
    "delete_dataset",
    "delete_empty_datasets",
    "hf_publish",
    "hf_publish_run",
    "hf_status",
    "import_hf",
    "issue_delegated_credential",
    "preview",
    "profile",
    "publish",
    "pull",
    "purge_agent",
    "push_file",
    "push_rows",
    "refresh_delegated_credential",
    "register_agent",
    "unpublish",
    "update_dataset",
}
_called: set[str] = set()


def _interpreter() -> str | None:
    named = os.environ.get("WHILEAI_TEST_SDK_PYTHON")
    if named:
        return named
    return sys.executable if importlib.util.find_spec("whileai") else None


pytestmark = pytest.mark.skipif(
    _interpreter() is None,
    reason="the peer SDK is not here: install the extra `conformance`, or name an interpreter "
    "that has it in WHILEAI_TEST_SDK_PYTHON",
)


class SdkError(Exception):
    """The SDK raised; the text begins with the type's name."""


class Sdk:
    """The SDK in a process of its own."""

    def __init__(self, origin: str, home: Path, key: str = "") -> None:
        interpreter = _interpreter()
        assert interpreter is not None
        self._process = subprocess.Popen(
            [interpreter, str(Path(__file__).with_name("sdk_driver.py"))],
            env={
                "PATH": os.environ.get("PATH", ""),
                "WHILEAI_API_URL": origin,
                "WHILEAI_API_KEY": key,
                "WHILEAI_HOME": str(home),
                "WHILEAI_NO_USAGE_REPORT": "1",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def __getattr__(self, function: str) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            _called.add(function)
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            request = {"function": function, "args": args, "options": options}
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            outcome = json.loads(self._process.stdout.readline())
            if "error" in outcome:
                raise SdkError(f"{outcome['error']}: {outcome['text']}")
            return outcome["value"]

        return call

    def close(self) -> None:
        """Let the process end."""
        self._process.communicate(timeout=30)


class Gate:
    """`gate serve` in a process of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._process = subprocess.Popen(
            [*_CLI, "serve", "--port", "0"], env=self._env(), stderr=subprocess.PIPE, text=True
        )
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if line.startswith("gate listens on "):
                self.origin = line.split()[-1]
                break
        # Nobody else reads what it says; a full pipe would stop it.
        self._reader = threading.Thread(target=self._process.stderr.read)
        self._reader.start()

    def create(self, what: str, name: str) -> str:
        """Make a key or a session token with the command line."""
        done = subprocess.run(
            [*_CLI, what, "create", name],
            env=self._env(),
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()[-1]

    def close(self) -> None:
        """Stop serving."""
        self._process.terminate()
        self._reader.join()
        self._process.communicate(timeout=30)

    def _env(self) -> dict[str, str]:
        return os.environ | {"WHILEAI_HOME": str(self.home)}


_CLI = [sys.executable, "-c", "from whileai_core.cli import main; main()", "gate"]


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gate]:
    served = Gate(tmp_path_factory.mktemp("home"))
    yield served
    served.close()


@pytest.fixture
def new_sdk(gate: Gate, tmp_path: Path) -> Iterator[Callable[..., Sdk]]:
    """Start the SDK with a key, or without one."""
    with contextlib.ExitStack() as running:

        def start(key: str = "") -> Sdk:
            sdk = Sdk(gate.origin, tmp_path / "no-credentials", key)
            running.callback(sdk.close)
            return sdk

        yield start


@pytest.fixture
def new_key(gate: Gate) -> Callable[[], str]:
    """Make a key of an account of its own; in this process, which is quicker than the command."""
    settings = GateSettings(folder=gate.home / "gate")
    return lambda: asyncio.run(create_key(uuid.uuid4().hex, settings=settings))


@pytest.fixture
def sdk(new_sdk: Callable[..., Sdk], new_key: Callable[[], str]) -> Sdk:
    return new_sdk(new_key())


ROWS = [
    {
        "prompt": f"Frage {n} – 漢字 \u2028",
        "final_text": "ok",
        "reward": n % 2,
        "task_id": f"t{n % 5}",
    }
    for n in range(40)
]


def test_pushed_rows_come_back_equal_with_their_holdout(sdk: Sdk) -> None:
    entry = sdk.push_rows(
        ROWS, "set", purpose="train", mode="sft", agent="Weather Bot", description="d", holdout=0.4
    )
    held = entry["holdout"]
    assert (held["parentDatasetId"], held["purpose"]) == (entry["datasetId"], "holdout")
    assert (
        (held["mode"], held["agent"]) == (entry["mode"], entry["agent"]) == ("sft", "weather-bot")
    )
    train, rest = sdk.pull(entry["datasetId"]), sdk.pull(held["datasetId"])
    assert sorted(map(json.dumps, train + rest)) == sorted(map(json.dumps, ROWS))
    assert not {row["task_id"] for row in train} & {row["task_id"] for row in rest}
    listed = sdk.datasets()
    assert [row["datasetId"] for row in listed["datasets"]] == [
        held["datasetId"],
        entry["datasetId"],
    ]
    assert {row["rows"] for row in listed["datasets"]} == {len(train), len(rest)}
    assert listed["usedBytes"] == sum(row["sizeBytes"] for row in listed["datasets"])


def test_files_come_back_byte_for_byte(sdk: Sdk, tmp_path: Path) -> None:
    pushed, pulled = tmp_path / "big.set.jsonl", tmp_path / "back.jsonl"
    pushed.write_bytes(b"".join(b'{"n":%d, "t": "%s"}\n' % (n, b"x" * 300) for n in range(10_000)))
    entry = sdk.push_file(str(pushed), gate=False)
    assert (entry["name"], entry["rows"]) == ("big.set", 10_000)
    assert sdk.pull(entry["datasetId"], str(pulled)) == str(pulled)
    assert pulled.read_bytes() == pushed.read_bytes()


def test_a_file_through_the_publish_gate(sdk: Sdk, tmp_path: Path) -> None:
    pushed = tmp_path / "graded.jsonl"
    pushed.write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    parent = sdk.push_rows(ROWS, "parent")["datasetId"]
    entry = sdk.push_file(str(pushed), "gated", parent=parent)
    assert (entry["parentDatasetId"], entry["rows"]) == (parent, len(ROWS))
    assert entry["gate"]["ok"] is True
    assert [row["prompt"] for row in sdk.pull(entry["datasetId"])] == [r["prompt"] for r in ROWS]


def test_an_empty_push_is_an_empty_set(sdk: Sdk) -> None:
    entry = sdk.push_rows([], "empty")
    assert (entry["rows"], entry["sizeBytes"]) == (0, 0)
    assert sdk.pull(entry["datasetId"]) == []


def test_what_is_no_jsonl_is_refused(sdk: Sdk, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("no json\n")
    with pytest.raises(SdkError, match=r"PlatformError.*422.*line 1"):
        sdk.push_file(str(tmp_path / "bad.jsonl"), gate=False)


def test_preview_and_profile(sdk: Sdk) -> None:
    entry = sdk.push_rows(ROWS, "set")
    assert sdk.preview(entry["datasetId"])["rows"] == [ROWS[0], ROWS[20], ROWS[39]]
    profile = sdk.profile(entry["datasetId"])
    assert (profile["rows"], profile["graded"], profile["tasks"]) == (40, 40, 5)
    assert (profile["pass_rate"], profile["mixed_tasks"]) == (0.5, 5)
    assert profile["split"] == {"pass": 20, "fail": 20, "ungraded": 0}
    assert sdk.profile(entry["datasetId"], force=True) == profile


def test_meta_changes_only_what_was_sent(sdk: Sdk) -> None:
    entry = sdk.push_rows(ROWS, "set", purpose="train", description="before")
    changed = sdk.update_dataset(entry["datasetId"], mode="rl", agent=" Weather BOT ")
    assert (changed["purpose"], changed["mode"]) == ("train", "rl")
    assert (changed["description"], changed["agent"]) == ("before", "weather-bot")
    assert sdk.update_dataset(entry["datasetId"], description="")["description"] is None


def test_publishing_opens_the_catalog_and_unpublishing_closes_it(
    sdk: Sdk, new_sdk: Callable[..., Sdk], new_key: Callable[[], str]
) -> None:
    entry = sdk.push_rows(ROWS, "public", agent="a", publish=True, description="first")
    dataset = entry["datasetId"]
    assert entry["card"]["description"] == "first"
    assert sdk.publish(dataset, "a")["description"] == "first"
    assert dataset in [card["datasetId"] for card in sdk.catalog()["datasets"]]
    anybody, stranger = new_sdk(), new_sdk(new_key())
    assert anybody.pull(dataset) == stranger.pull(dataset) == ROWS
    assert sdk.unpublish(dataset)["public"] is False
    for nobody in (anybody, stranger):
        with pytest.raises(SdkError, match="404"):
            nobody.pull(dataset)
    assert sdk.pull(dataset) == ROWS


def test_agents_keep_what_was_not_sent(sdk: Sdk) -> None:
    sdk.register_agent("Weather Bot", description="d", tools=[{"name": "radar"}])
    record = sdk.register_agent("weather bot", system_prompt="Be brief.")
    assert (record["agent"], record["description"]) == ("weather-bot", "d")
    assert record["tools"] == [{"name": "radar"}]
    sdk.push_rows(ROWS, "set", agent="WEATHER BOT", purpose="train")
    (agent,) = sdk.agents()
    assert (agent["system_prompt"], agent["datasets"]["train"]) == ("Be brief.", 1)


def test_deleted_sets_are_gone(sdk: Sdk) -> None:
    entry = sdk.push_rows(ROWS, "set")
    assert sdk.delete_dataset(entry["datasetId"])["deleted"] is True
    for call in (sdk.pull, sdk.preview, sdk.profile, sdk.delete_dataset):
        with pytest.raises(SdkError, match="404"):
            call(entry["datasetId"])


def test_cleaning_up_spares_what_holds_rows(sdk: Sdk) -> None:
    empty, full = sdk.push_rows([], "empty"), sdk.push_rows(ROWS, "full")
    dry = sdk.delete_empty_datasets(dry_run=True)
    assert dry == {"datasets": [empty["datasetId"]], "deleted": False}
    assert sdk.delete_empty_datasets()["datasets"] == [empty["datasetId"]]
    assert [row["datasetId"] for row in sdk.datasets()["datasets"]] == [full["datasetId"]]


def _send_traces(gate: Gate, key: str, agent: str, count: int) -> None:
    def attribute(name: str, value: str) -> dict[str, Any]:
        return {"key": name, "value": {"stringValue": value}}

    spans = [
        {
            "traceId": f"{n + 1:032x}",
            "spanId": f"{n + 1:016x}",
            "name": "chat",
            "startTimeUnixNano": str(1_760_000_000_000_000_000 + n),
            "attributes": [
                attribute("gen_ai.agent.name", agent),
                attribute("gen_ai.prompt", f"Rain {n}?"),
                attribute("gen_ai.completion", "No."),
            ],
        }
        for n in range(count)
    ]
    body = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    request = urllib.request.Request(
        f"{gate.origin}/v1/traces",
        json.dumps(body).encode(),
        {"X-Api-Key": key, "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as reply:
        assert reply.status == 202


def test_traces_are_pulled_in_parts_and_purged(
    gate: Gate, new_sdk: Callable[..., Sdk], new_key: Callable[[], str]
) -> None:
    key = new_key()
    sdk = new_sdk(key)
    _send_traces(gate, key, "weather", 5)
    kept = sdk.push_rows(ROWS, "other", agent="other")
    raw = next(row for row in sdk.datasets()["datasets"] if row["purpose"] == "raw")
    assert [row["prompt"] for row in sdk.pull(raw["datasetId"])] == [f"Rain {n}?" for n in range(5)]
    assert sdk.push_rows(ROWS, "graded", agent="weather")["agent"] == "weather"
    dry = sdk.purge_agent(" Weather ", dry_run=True)
    assert (dry["agent"], dry["deleted"]) == ("weather", False)
    done = sdk.purge_agent("weather")
    counts = [done["traces"], done["datasets"]]
    assert counts == [dry["traces"], dry["datasets"]]
    assert [row["datasetId"] for row in sdk.datasets()["datasets"]] == [kept["datasetId"]]
    assert sdk.purge_agent("weather")["deleted"] is True
    assert [agent["agent"] for agent in sdk.agents()] == ["other"]


def test_delegated_credentials(gate: Gate, new_sdk: Callable[..., Sdk]) -> None:
    token = gate.create("session", "delegating")
    sdk = new_sdk()
    made = sdk.issue_delegated_credential(token, ttl_seconds=60)
    assert made["credential"].startswith("zp_dc_")
    assert sdk.datasets(api_key=made["credential"])["datasets"] == []
    again = sdk.refresh_delegated_credential(token, made["credential"], ttl_seconds=120)
    assert 60 < again["ttlSeconds"] <= 120
    assert sdk.datasets(api_key=again["credential"])["datasets"] == []
    for call in (
        lambda: sdk.issue_delegated_credential("zp_st_forged"),
        lambda: sdk.issue_delegated_credential(made["credential"]),
        lambda: sdk.datasets(api_key=token),
        lambda: sdk.datasets(api_key="zp_dc_forged"),
    ):
        with pytest.raises(SdkError, match="401"):
            call()


def test_hugging_face_is_refused_cleanly(sdk: Sdk) -> None:
    dataset = sdk.push_rows(ROWS, "set")["datasetId"]
    assert sdk.hf_status()["connected"] is False
    for call in (
        lambda: sdk.hf_publish(dataset, timeout=5),
        lambda: sdk.import_hf("owner/name", timeout=5),
    ):
        with pytest.raises(SdkError, match=r"PlatformError.*409.*Hugging Face"):
            call()
    with pytest.raises(SdkError, match=r"PlatformError.*404"):
        sdk.hf_publish_run("run_none", timeout=5)
    assert len(sdk.datasets()["datasets"]) == 1


def test_accounts_are_apart(sdk: Sdk, gate: Gate, new_sdk: Callable[..., Sdk]) -> None:
    mine = sdk.push_rows(ROWS, "mine", agent="a")["datasetId"]
    stranger = new_sdk(gate.create("key", "stranger"))
    assert stranger.datasets()["datasets"] == []
    for call in (stranger.pull, stranger.preview, stranger.delete_dataset, stranger.unpublish):
        with pytest.raises(SdkError, match="404"):
            call(mine)
    stranger.purge_agent("a")
    assert sdk.pull(mine) == ROWS


def test_every_operation_was_called(request: pytest.FixtureRequest) -> None:
    tests = sum(name.startswith("test_") for name in globals())
    asked_for = sum(item.path == request.node.path for item in request.session.items)
    if asked_for < tests:
        pytest.skip("only some of this file's tests were asked for")
    assert _called == OPERATIONS
