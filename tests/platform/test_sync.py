"""The blocking calls offer every operation with its own signature."""

from __future__ import annotations

import inspect

import whileai_core
from whileai_core import platform, sync


def test_every_operation_is_there_and_blocks() -> None:
    for name in whileai_core.__all__:
        blocking, original = getattr(sync, name), getattr(whileai_core, name)
        assert not inspect.iscoroutinefunction(blocking), name
        if inspect.isfunction(original):
            assert inspect.signature(blocking) == inspect.signature(original), name


def test_the_room_exports_what_it_says() -> None:
    assert platform.__all__ == sorted(platform.__all__)
    for name in platform.__all__:
        assert inspect.getdoc(getattr(platform, name)), name
