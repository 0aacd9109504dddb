"""What becomes public, and what stops being it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ROWS = b'{"prompt": "a"}\n'


def test_a_published_set_is_read_without_a_key(user: Any) -> None:
    dataset = user.push(ROWS, name="open", purpose="train", mode="sft")
    card = user.call(
        "POST", f"/datasets/{dataset}/publish", 200, json={"agent": " Bot ", "description": "d"}
    )
    assert card.pop("publishedAt").endswith("Z")
    assert card == {
        "datasetId": dataset,
        "name": "open",
        "agent": "bot",
        "purpose": "train",
        "mode": "sft",
        "rows": 1,
        "sizeBytes": len(ROWS),
        "description": "d",
    }
    catalog = user.http.get("/catalog").json()
    assert dataset in [entry["datasetId"] for entry in catalog["datasets"]]
    assert "bot" in catalog["agents"]
    grant = user.http.get(f"/catalog/{dataset}/download").json()
    assert user.http.get(grant["parts"][0]).content == ROWS
    assert user.call("GET", f"/datasets/{dataset}", 200)["public"] is True


def test_publishing_again_without_description_keeps_it(user: Any) -> None:
    dataset = user.push(ROWS)
    publish = f"/datasets/{dataset}/publish"
    first = user.call("POST", publish, 200, json={"agent": "a", "description": "d"})
    assert user.call("POST", publish, 200, json={"agent": "a"}) == first


def test_what_cannot_be_published(user: Any) -> None:
    pending, _ = user.create()
    user.call("POST", f"/datasets/{pending}/publish", 409, json={"agent": "a"})
    empty = user.push(b"")
    user.call("POST", f"/datasets/{empty}/publish", 409, json={"agent": "a"})
    full = user.push(ROWS)
    for body in ({}, {"agent": ""}, {"agent": None}):
        user.call("POST", f"/datasets/{full}/publish", 400, json=body)
    public = [entry["datasetId"] for entry in user.http.get("/catalog").json()["datasets"]]
    assert not {pending, empty, full} & set(public)
    assert user.http.get(f"/catalog/{full}/download").status_code == 404


def test_unpublish_closes_the_public_way_and_keeps_the_data(user: Any) -> None:
    dataset = user.push(ROWS)
    user.call("POST", f"/datasets/{dataset}/publish", 200, json={"agent": "a"})
    for _ in range(2):
        closed = user.call("POST", f"/datasets/{dataset}/unpublish", 200)
        assert closed == {"datasetId": dataset, "public": False}
    assert user.http.get(f"/catalog/{dataset}/download").status_code == 404
    assert user.fetch(dataset) == ROWS


def test_public_for_a_stranger_means_the_catalog_only(
    user: Any, new_user: Callable[[], Any]
) -> None:
    dataset = user.push(ROWS)
    user.call("POST", f"/datasets/{dataset}/publish", 200, json={"agent": "a"})
    stranger = new_user()
    stranger.call("GET", f"/datasets/{dataset}/download", 404)
    stranger.call("POST", f"/datasets/{dataset}/unpublish", 404)
    stranger.call("GET", f"/catalog/{dataset}/download", 200)
