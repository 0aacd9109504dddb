"""Scans use one BLAS thread, and leave the number of threads as they found it."""

from __future__ import annotations

import threading

import numpy as np
from threadpoolctl import ThreadpoolController

from whileai_core.quality.blas import one_blas_thread


def blas_threads() -> dict[str, int]:
    np.ones((2, 2)) @ np.ones((2, 2))
    pools = ThreadpoolController().select(user_api="blas").lib_controllers
    return {pool.filepath: pool.num_threads for pool in pools}


def test_threads_that_overlap_leave_no_limit_behind() -> None:
    before = blas_threads()
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with one_blas_thread():
            inside.set()
            leave.wait(60)

    with one_blas_thread():
        assert 1 in blas_threads().values()
        thread = threading.Thread(target=other)
        thread.start()
        assert inside.wait(60)
    leave.set()
    thread.join()
    assert blas_threads() == before


def test_the_limit_ends_with_an_error() -> None:
    before = blas_threads()
    try:
        with one_blas_thread():
            raise ValueError
    except ValueError:
        pass
    assert blas_threads() == before
