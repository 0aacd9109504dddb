"""`hf` and `runs` at the prompt, against a Hub over real HTTP."""

from __future__ import annotations

import io
import json
import stat
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hub_kit import ROWS, shards
from local_hub import TOKEN, LocalHub

from whileai_core.cli.main import main
from whileai_core.hub import failures
from whileai_core.platform import _hub


async def _soon(wait_for: Callable[..., Awaitable[Any]], look: Any, **options: Any) -> Any:
    """Wait for a job as the product does, but look at it more often."""
    return await wait_for(look, **options | {"poll": 0})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[LocalHub]:
    hub = LocalHub()
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(failures, "BASE_SECONDS", 0.001)
    monkeypatch.setattr(_hub, "wait_for", partial(_soon, _hub.wait_for))
    yield hub
    for thread in threading.enumerate():
        if thread.name == "whileai-gate-jobs":
            thread.join(30)
    hub.close()


class Prompt:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> Any:
        """Run a command for machines; return its object."""
        assert main([*arguments, "--json"]) == code
        return json.loads(self._capsys.readouterr().out)

    def said(self, *arguments: str, code: int = 0) -> str:
        """Run a command for people; return what it prints."""
        assert main(list(arguments)) == code
        shown = self._capsys.readouterr()
        return shown.out + shown.err


@pytest.fixture
def prompt(capsys: pytest.CaptureFixture[str]) -> Prompt:
    return Prompt(capsys)


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "orders.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), "utf-8")
    return str(path)


def type_in(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_a_token_is_checked_kept_for_its_owner_only_and_forgotten(
    server: LocalHub, prompt: Prompt, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    assert "not connected" in prompt.said("hf", "status", code=1)
    for wrong in ("hf_wrongTokenXYZ\n", "no token\n", "\n"):
        type_in(monkeypatch, wrong)
        said = prompt.said("hf", "connect", code=1)
        assert "token" in said
        assert wrong.strip() not in said or not wrong.strip()
    assert not (home / "huggingface.json").exists()
    type_in(monkeypatch, f"  {TOKEN}\n")
    said = prompt.said("hf", "connect")
    assert "connected as kim, may write to acme, kim" in said
    assert TOKEN not in said
    assert stat.S_IMODE((home / "huggingface.json").stat().st_mode) == 0o600
    assert prompt("hf", "status")["username"] == "kim"
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    assert prompt("hf", "status", code=1)["connected"] is False  # the token is for another Hub
    assert prompt("hf", "connect", "--forget") == {"connected": False, "forgotten": True}
    assert not (home / "huggingface.json").exists()


def test_a_file_goes_straight_to_a_repository_and_back(
    server: LocalHub, prompt: Prompt, file: str, tmp_path: Path
) -> None:
    made = prompt("hf", "push", file, "orders", "--private", "--agent", "Shop")
    assert (made["repo"], made["rows"], made["new"]) == ("kim/orders", 3, True)
    assert "it was there already" in prompt.said("hf", "push", file, "kim/orders")
    prompt("hf", "push", file, "kim/orders", "--split", "eval")
    repo = server.dataset("kim/orders")
    assert repo.private
    assert [title.split(":")[0] for title in repo.titles] == ["train", "eval"]
    assert [json.loads(text) for text in shards(server, "kim/orders", "train")] == ROWS
    out = tmp_path / "back.jsonl"
    done = prompt("hf", "import", "kim/orders", "--out", str(out), "--max-rows", "2")
    assert (done["rows"], done["commit"]) == (2, repo.head.id)
    assert [json.loads(line) for line in out.read_text("utf-8").splitlines()] == ROWS[:2]
    said = prompt.said("hf", "import", "kim/orders", "--split", "no", "--out", "x", code=1)
    assert "no split 'no'" in said
    assert not Path("x").exists()
    assert prompt("hf", "push", file, "strangers/x", code=1)["error"].startswith("the account kim")
    assert "name a repository" in prompt.said("hf", "push", file, "x", "--split", "a b", code=1)


def test_a_dataset_is_published_and_imported(server: LocalHub, prompt: Prompt, file: str) -> None:
    dataset = prompt("push", file)["datasetId"]
    hf = prompt("hf", "publish", dataset, "--namespace", "acme", "--repo", "talks")
    assert hf["repo"] == "acme/talks"
    row = prompt("hf", "import", "acme/talks", "--purpose", "eval", "--name", "again")
    assert (row["rows"], row["purpose"], row["name"]) == (3, "eval", "again")
    said = prompt.said("hf", "import", "acme/talks", "--purpose", "eval", "--name", "again")
    assert f"{row['datasetId']} has 3 rows of acme/talks, split train" in said
    assert "has it as commit" in prompt.said("hf", "publish", dataset)
    assert len(server.dataset("acme/talks").titles) == 1
    assert "no split 'x'" in prompt.said("hf", "import", "acme/talks", "--split", "x", code=1)


def test_a_run_goes_all_the_way(server: LocalHub, prompt: Prompt, tmp_path: Path) -> None:
    assert "no runs yet" in prompt.said("runs", "list")
    run = prompt("runs", "create", "night", "--base-model", "acme/base")["runId"]
    assert "no adapter" in prompt.said("runs", "publish", run, code=1)
    folder = tmp_path / "adapter"
    (folder / "deep").mkdir(parents=True)
    (folder / "adapter_model.safetensors").write_bytes(b"w" * 1000)
    (folder / "deep" / "notes.txt").write_text("n")
    (folder / ".hidden").write_text("h")
    files = prompt("runs", "upload", run, str(folder))["files"]
    assert files == ["adapter_model.safetensors", "deep/notes.txt"]
    prompt("runs", "finish", run, "--metric", "pass_rate=0.5", "--metric", "steps=7")
    hf = prompt("runs", "publish", run)
    repo = server.repos["models", "kim/night"]
    assert (hf["repo"], hf["tag"], repo.private) == ("kim/night", f"zp-{run}", True)
    assert repo.head.files["deep/notes.txt"].data == b"n"
    assert "| steps | 7 |" in repo.head.files["README.md"].data.decode()
    assert "| pass_rate | 0.5 |" in repo.head.files["README.md"].data.decode()
    listed = prompt.said("runs", "list")
    assert "kim/night" in listed
    assert "finished" in listed
    assert "there is no folder" in prompt.said("runs", "upload", run, str(tmp_path / "x"), code=1)


@pytest.mark.slow
def test_what_is_published_at_the_prompt_is_private_unless_it_says_public(
    server: LocalHub, prompt: Prompt, file: str
) -> None:
    dataset = prompt("push", file)["datasetId"]
    said = prompt.said("hf", "publish", dataset, "--repo", "inner")
    assert "the repository is private" in said
    assert "settings page" not in said
    said = prompt.said("hf", "publish", dataset, "--repo", "inner", "--public")
    assert "the repository is private and stays so" in said
    said = prompt.said("hf", "publish", dataset, "--repo", "outer", "--public")
    assert "the repository is public" in said
    assert "publish with --public" in prompt.said("hf", "publish", dataset, code=1)
    prompt("hf", "push", file, "straight")
    prompt("hf", "push", file, "open", "--public")
    repos = {name: repo.private for (_, name), repo in server.repos.items()}
    assert repos == {
        "kim/inner": True,
        "kim/outer": False,
        "kim/straight": True,
        "kim/open": False,
    }


@pytest.mark.slow
def test_a_run_that_stays_private_says_so(server: LocalHub, prompt: Prompt, file: str) -> None:
    run = prompt("runs", "create", "night")["runId"]
    prompt("runs", "upload", run, file)
    assert "the repository is private\n" in prompt.said("runs", "publish", run)
    said = prompt.said("runs", "publish", run, "--public")
    assert "the repository is private and stays so; to make it public" in said
    assert server.repos["models", "kim/night"].private


def test_faults_of_runs_are_told(
    server: LocalHub, prompt: Prompt, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "404" in prompt.said("runs", "create", "n", "--dataset", "ds_nope", code=1)
    assert "no runs yet" in prompt.said("runs", "list")
    for value in ("abc", "nan", "", "1e999", "9" * 5000):
        assert main(["runs", "finish", "run_1", "--metric", f"loss={value}"]) == 2
        assert "is no finite number" in capsys.readouterr().err
    (tmp_path / "a" / ".cache").mkdir(parents=True)
    (tmp_path / "a" / ".cache" / "x").write_text("x")
    run = prompt("runs", "create", "n")["runId"]
    said = prompt.said("runs", "upload", run, str(tmp_path / "a"), code=1)
    assert "holds no files but hidden ones" in said
    (tmp_path / "a" / "w.bin").write_text("w")
    said = prompt.said("runs", "upload", run, str(tmp_path / "a"))
    assert "uploaded 1 file: w.bin\nskipped 1 hidden: .cache/x\n" in said


def test_without_a_network_the_host_is_named(
    prompt: Prompt, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setattr(failures, "BASE_SECONDS", 0.001)
    type_in(monkeypatch, f"{TOKEN}\n")
    said = prompt.said("hf", "connect", code=1)
    assert "cannot connect to 127.0.0.1; check the network" in said
    assert not (home / "huggingface.json").exists()


def test_a_failed_import_says_why_is_not_trained_on_and_can_be_removed(
    server: LocalHub, prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = prompt.said("hf", "import", "acme/none", code=1)
    assert "no such repository" in said
    assert "Traceback" not in said
    (entry,) = prompt("datasets")["datasets"]
    made = entry["datasetId"]
    assert (entry["status"], entry["rows"]) == ("failed", None)
    line = prompt.said("datasets").splitlines()[-1]
    assert line.startswith(f"{made} failed and holds no rows: ")
    assert "no such repository" in line
    assert line.endswith(f"to remove it: whileai-pipelines delete {made}")
    assert "holds no rows to train on" in prompt.said(
        "runs", "create", "n", "--dataset", made, code=1
    )
    assert "give --yes" in prompt("delete", made, code=2)["error"]
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    assert "nothing was deleted" in prompt.said("delete", made, code=1)
    monkeypatch.setattr("sys.stdin", Terminal("yes\n"))
    assert f"deleted {made}" in prompt.said("delete", made)
    assert prompt("datasets")["datasets"] == []
    assert prompt("delete", made, "--yes", code=1)["error"].endswith(f"no dataset '{made}'")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True
