"""Several gates on one store, and several clients at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def _at_once(count: int, work: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_gates_that_start_at_once_serve_one_database(serve_with: Callable[..., Any]) -> None:
    gates: list[Any] = []
    _at_once(3, lambda _: gates.append(serve_with()))
    user = gates[0].user()
    pushed: dict[str, bytes] = {}

    def write(writer: int) -> None:
        data = b'{"writer": %d}\n' % writer
        pushed[user.push(data, agent="Same")] = data

    _at_once(8, write)
    assert set(user.listed()) == set(pushed)
    assert {dataset: user.fetch(dataset) for dataset in pushed} == pushed
    (agent,) = user.call("GET", "/agents", 200)["agents"]
    assert agent["datasets"]["raw"] == 8


def test_one_idempotency_key_at_once_makes_one_dataset(serve_with: Callable[..., Any]) -> None:
    user = serve_with().user()
    made: list[str] = []

    def create(_: int) -> None:
        headers = {"Idempotency-Key": "same"}
        body = {"name": "n", "agent": "x"}
        made.append(user.call("POST", "/datasets", 201, json=body, headers=headers)["datasetId"])

    _at_once(8, create)
    assert len(made) == 8
    assert len(set(made)) == 1


def test_the_life_of_a_dataset(serve_with: Callable[..., Any]) -> None:
    user = serve_with().user()
    dataset, url = user.create(purpose="train", agent="a", description="d")
    user.call("POST", f"/datasets/{dataset}/finalize", 409)
    for content in (b"no\n", b'{"prompt": "a", "reward": 1}\n', b'{"prompt": "a"}\n'):
        assert user.http.put(url, content=content).status_code == 200
        status = 422 if content == b"no\n" else 200
        user.call("POST", f"/datasets/{dataset}/finalize", status)
    profile = user.call("GET", f"/datasets/{dataset}/profile", 200)
    assert user.call("GET", f"/datasets/{dataset}/profile", 200) == profile
    user.call("POST", f"/datasets/{dataset}/meta", 200, json={"mode": "rl", "description": ""})
    user.call("POST", f"/datasets/{dataset}/publish", 200, json={"agent": "a"})
    assert user.http.get(f"/catalog/{dataset}/download").status_code == 200
    user.call("GET", "/traces?agent=a&page=1", 200)
    user.call("DELETE", f"/datasets/{dataset}", 200)
    assert user.listed() == []
