"""How long a night waits for the workers of its cluster."""

from __future__ import annotations

from functools import partial

import anyio
import pytest

from flows import _shards
from whileai_core.errors import SettingsError, StoreError


class Cluster:
    """Says how many workers there are at each look; then the scheduler is gone."""

    def __init__(self, *counts):
        self.counts = list(counts)

    def scheduler_info(self):
        if not self.counts:
            raise OSError("gone")
        return {"workers": dict.fromkeys(range(self.counts.pop(0)))}


@pytest.fixture(autouse=True)
def three_looks(monkeypatch):
    monkeypatch.setattr(_shards, "_LOOK", 0.001)
    monkeypatch.setattr(_shards, "_PATIENCE", 0.0029)


def looks_at(cluster):
    anyio.run(partial(_shards._see_to_workers, "tcp://dask:8786", cluster))


def test_a_cluster_that_stays_empty_is_an_error_that_says_what_to_do():
    cluster = Cluster(1, 0, 0, 0, 0, 0)
    with pytest.raises(StoreError, match=r"tcp://dask:8786 has had no workers .* Start some and"):
        looks_at(cluster)
    assert len(cluster.counts) == 2


def test_one_that_comes_back_in_time_is_waited_for_anew():
    looks_at(Cluster(0, 0, 1, 0, 0, 2, 0, 0))


def test_workers_that_cannot_load_our_tasks_are_named():
    class Workers:
        def run(self, function, *arguments, on_error):
            found = function(*arguments)
            return {"tcp://one:1": found, "tcp://two:2": ModuleNotFoundError("tasks")}

    with pytest.raises(SettingsError, match="^tcp://two:2 of the Dask cluster .* PYTHONPATH="):
        _shards._check_workers("tcp://dask:8786", Workers())
