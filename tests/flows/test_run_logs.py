"""What a run prints is no reason for it to end."""

from __future__ import annotations

import logging
import os
from pathlib import Path

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
            with Path(os.devnull).open("w") as nowhere:  # takes what is still buffered
                os.dup2(nowhere.fileno(), writing)
    os.close(writing)
