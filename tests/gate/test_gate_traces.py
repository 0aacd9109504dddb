"""Traces as parts of datasets, listed and deleted one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from whileai_core.gate.blobs import new_key
from whileai_core.gate.state import open_gate
from whileai_core.gate.tables import Dataset, Part


def _add_traces(served: Any, dataset_id: str, traces: list[tuple[str, str]]) -> None:
    """Turn a finalized dataset into one made of traces, as an ingest would store them."""

    async def add() -> None:
        async with open_gate(served.settings) as gate, gate.database.write() as session:
            dataset = await session.scalar(select(Dataset).where(Dataset.id == dataset_id))
            assert dataset is not None
            first = await session.scalar(select(Part).where(Part.dataset_number == dataset.number))
            await session.delete(first)
            await session.flush()
            for number, (trace, agent) in enumerate(traces, 1):
                key = new_key()
                writer = gate.blobs.writer(key)
                writer.write(b"{}\n")
                writer.commit()
                session.add(
                    Part(
                        dataset_number=dataset.number,
                        number=number,
                        blob_key=key,
                        size_bytes=3,
                        sha256="0" * 64,
                        rows=1,
                        trace_id=trace,
                        agent=agent,
                    )
                )
            dataset.rows, dataset.size_bytes = len(traces), 3 * len(traces)

    asyncio.run(add())


def _ids(answer: Any) -> list[str]:
    return [trace["traceId"] for trace in answer["traces"]]


def test_an_account_without_traces_has_one_empty_page(user: Any) -> None:
    answer = user.call("GET", "/traces?agent=a&from=all&limit=200&page=1", 200)
    assert answer == {"traces": [], "page": 1, "pages": 1, "total": 0}
    user.call("DELETE", "/traces/none", 200)


def test_pages_by_agent(served: Any, user: Any, new_user: Callable[[], Any]) -> None:
    dataset = user.push(b"{}\n")
    _add_traces(served, dataset, [("t1", "a"), ("t2", "b"), ("t3", "a"), ("t4", "a")])
    assert user.call("GET", "/traces", 200)["total"] == 4
    first = user.call("GET", "/traces?agent=%20A&from=all&limit=2&page=1", 200)
    second = user.call("GET", "/traces?agent=a&from=all&limit=2&page=2", 200)
    assert (_ids(first), _ids(second)) == (["t1", "t3"], ["t4"])
    assert (first["pages"], first["total"]) == (2, 3)
    assert new_user().call("GET", "/traces", 200)["traces"] == []
    user.call("POST", "/agents", 200, json={"name": "a"})
    (agent,) = user.call("GET", "/agents", 200)["agents"]
    assert agent["traces"] == 3


@pytest.mark.parametrize("query", ["page=0", "page=x", "limit=-1", "page=²"])
def test_senseless_pages_are_400(user: Any, query: str) -> None:
    user.call("GET", f"/traces?{query}", 400)


def test_a_deleted_trace_leaves_its_dataset_too(
    served: Any, user: Any, new_user: Callable[[], Any]
) -> None:
    dataset = user.push(b"{}\n")
    _add_traces(served, dataset, [("d1", "a"), ("d2", "a")])
    grant = user.call("GET", f"/datasets/{dataset}/download", 200)
    assert [user.http.get(url).content for url in grant["parts"]] == [b"{}\n"] * 2
    new_user().call("DELETE", "/traces/d1", 200)
    assert len(_ids(user.call("GET", "/traces", 200))) == 2
    for _ in range(2):
        user.call("DELETE", "/traces/d1", 200)
    row = user.call("GET", f"/datasets/{dataset}", 200)
    assert (row["rows"], row["sizeBytes"]) == (1, 3)
    assert user.http.get(grant["parts"][0]).status_code == 404
    user.call("DELETE", "/traces/d2", 200)
    row = user.call("GET", f"/datasets/{dataset}", 200)  # a purge deletes it itself, after them
    assert (row["rows"], row["sizeBytes"]) == (0, 0)
    assert user.fetch(dataset) == b""
    assert user.call("GET", f"/datasets/{dataset}/preview", 200)["rows"] == []
    user.call("DELETE", f"/datasets/{dataset}", 200)


def test_the_hub_is_refused_cleanly(user: Any) -> None:
    dataset = user.push(b"{}\n")
    status = user.call("GET", "/hf/me", 200)
    assert status == {"connected": False, "username": None, "namespaces": [], "scopes": []}
    error = user.call("POST", f"/datasets/{dataset}/hf-publish", 409, json={"private": True})
    assert "Hugging Face" in error["error"]
    user.call("POST", "/datasets/ds_none/hf-publish", 404)
    user.call("POST", "/datasets/import-hf", 409, json={"repo": "a/b"})
