"""One BLAS thread while many small matrix products follow one another.

BLAS hands each product to all cores and waits for the slowest; for products that take less than
that wait, and on cores that others hold too, one thread is quicker.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_lock = threading.Lock()
_users = 0
_before: list[int] = []


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread, then as many as before.

    The number is one for the whole process. Of several users in several threads the first to
    leave lifts the limit for all: OpenBLAS may not heed a thread that lifts another's limit.
    """
    global _users, _before
    pools = _pools()
    with _lock:
        if _users == 0:
            _before = [pool.num_threads for pool in pools]
        _users += 1
        for pool in pools:
            pool.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            for pool, number in zip(pools, _before, strict=True):
                pool.set_num_threads(number)


@cache
def _pools() -> list[Any]:
    import numpy  # noqa: F401 - its BLAS has to be there to be found
    from threadpoolctl import ThreadpoolController

    pools: list[Any] = ThreadpoolController().select(user_api="blas").lib_controllers
    return pools
