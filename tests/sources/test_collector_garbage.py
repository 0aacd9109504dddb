"""Pausing the collector keeps no garbage."""

from __future__ import annotations

import weakref

from whileai_core.sources.collector import collector_paused


class Ring:
    def __init__(self) -> None:
        self.me = self


def test_what_small_builds_leave_is_collected_soon() -> None:
    left = []
    for _ in range(20):
        with collector_paused():
            left += [weakref.ref(Ring()) for _ in range(100)]
    kept = [[n] for n in range(20_000)]  # the collector comes around
    assert len(kept) == 20_000
    assert sum(ring() is not None for ring in left) < 100
