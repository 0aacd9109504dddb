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
_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread; leave it as it was once no thread of ours needs that."""
    global _users, _limit
    with _lock:
        if _users == 0:
            _limit = _controller().limit(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limit.restore_original_limits()
                _limit = None


@cache
def _controller() -> Any:
    import numpy  # noqa: F401 - its BLAS has to be there to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
