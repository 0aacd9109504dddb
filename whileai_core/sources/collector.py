"""Pausing the cyclic garbage collector while many objects are made and kept.

The collector would walk them again and again, for most of the time such a build takes.
"""

from __future__ import annotations

import gc
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Fewer new objects are walked in a millisecond, and aged ones that are garbage stay for long.
_MANY = 100_000
_lock = threading.Lock()
_users = 0
_was_enabled = False


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector for one bulk build; leave it as it was once no thread needs that."""
    global _users, _was_enabled
    with _lock:
        if _users == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0 and _was_enabled:
                _age_new_objects()
                gc.enable()


def _age_new_objects() -> None:
    """Move what was made to the oldest generation, or the next small collection walks it all."""
    # Thawing would touch what somebody else froze.
    if gc.get_count()[0] > _MANY and gc.get_freeze_count() == 0:
        gc.freeze()
        gc.unfreeze()
