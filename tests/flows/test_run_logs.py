"""What a run prints is no reason for it to end."""

from __future__ import annotations

import logging
import os

from prefect.logging.handlers import PrefectConsoleHandler

from flows._runs import _set_up_logs


def test_a_run_outlives_the_worker_that_reads_its_output() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    logger = logging.getLogger("prefect.flow_runs")
    earlier = logger.handlers, logger.level
    with os.fdopen(writing, "w", closefd=False) as output:
        logger.handlers = [PrefectConsoleHandler(stream=output)]
        logger.setLevel(logging.INFO)
        try:
            _set_up_logs()
            logger.info("still here")  # the console would end the process
        finally:
            logger.handlers, logger.level = earlier
            os.dup2(os.open(os.devnull, os.O_WRONLY), writing)
    os.close(writing)
