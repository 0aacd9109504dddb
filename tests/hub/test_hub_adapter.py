"""Publishing a run: adapter and model card in one commit, private unless asked otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from local_hub import LocalHub, Repo

from whileai_core.errors import InputError
from whileai_core.hub.adapter import Adapter, checked_path, publish_run
from whileai_core.hub.client import Hub

REPO = "kim/night"
FACTS = {
    "base_model": "acme/base-1b",
    "trainer": "grpo",
    "result": {"pass_rate": 0.625, "steps|done": 7},
    "config": {"lr": 1e-05},
}


def adapter(folder: Path, *, weights: bytes = b"w" * 100, **about: Any) -> Adapter:
    folder.mkdir(exist_ok=True)
    (folder / "w").write_bytes(weights)
    (folder / "c").write_bytes(b'{"base_model_name_or_path": "from/config", "r": 8}')
    files = {"adapter_model.safetensors": folder / "w", "adapter_config.json": folder / "c"}
    return Adapter("run_1", "night", files, **({"facts": FACTS, "dataset_repo": "kim/o"} | about))


def repo(server: LocalHub) -> Repo:
    return server.repos["models", REPO]


def test_an_adapter_is_one_commit_with_its_card(server: LocalHub, hub: Hub, tmp_path: Path) -> None:
    made = publish_run(hub, adapter(tmp_path / "a"), REPO, private=True)
    assert repo(server).private
    assert repo(server).titles == ["run_1: 2 files"]
    assert repo(server).tags == {"zp-run_1": made.commit}
    assert made.url == f"{server.url}/{REPO}"
    files = repo(server).head.files
    assert files["adapter_model.safetensors"].data == b"w" * 100
    text = files["README.md"].data.decode()
    for part in (
        "base_model: acme/base-1b",
        "library_name: peft",
        "- kim/o",
        "| pass_rate | 0.625 |",
        "steps\\|done",
        "| lr | 1e-05 |",
    ):
        assert part in text


def test_the_same_files_again_are_no_commit_and_others_replace_them(
    server: LocalHub, hub: Hub, tmp_path: Path
) -> None:
    first = publish_run(hub, adapter(tmp_path / "a"), REPO, private=True)
    again = publish_run(hub, adapter(tmp_path / "a"), REPO, private=True)
    assert (again.commit, again.new) == (first.commit, False)
    other = adapter(tmp_path / "b", weights=b"v")
    fewer = {"adapter_model.safetensors": other.files["adapter_model.safetensors"]}
    publish_run(hub, Adapter("run_1", None, fewer), REPO, private=True)
    files = repo(server).head.files
    assert len(repo(server).titles) == 2
    assert files["adapter_model.safetensors"].data == b"v"
    assert "adapter_config.json" not in files
    assert repo(server).tags == {"zp-run_1": repo(server).head.id}


def test_a_lost_answer_makes_no_second_commit(server: LocalHub, hub: Hub, tmp_path: Path) -> None:
    server.fail("POST", f"/api/models/{REPO}/commit/", do="drop", after=True)
    publish_run(hub, adapter(tmp_path / "a"), REPO, private=True)
    assert len(repo(server).titles) == 1


def test_the_base_model_is_found_in_the_configuration(
    server: LocalHub, hub: Hub, tmp_path: Path
) -> None:
    publish_run(hub, adapter(tmp_path / "a", facts={}), REPO, private=True)
    assert "base_model: from/config" in repo(server).head.files["README.md"].data.decode()


def test_nothing_is_no_adapter(server: LocalHub, hub: Hub) -> None:
    with pytest.raises(InputError, match="run_1 has no adapter"):
        publish_run(hub, Adapter("run_1", None, {}), REPO, private=True)
    assert server.repos == {}


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "../x", "a/../../x", "a\\b", "x\n", ".git/config", "whileai.json"]
)
def test_paths_stay_inside(path: str) -> None:
    with pytest.raises(InputError):
        checked_path(path)
