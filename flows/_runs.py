"""How a run presents itself: its name, its tags, the addresses of its pages."""

from __future__ import annotations

import logging
from datetime import UTC, date, datetime
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.runtime import flow_run
from prefect.settings import PREFECT_SERVER_UI_ENABLED, PREFECT_UI_URL


def night_name() -> str:
    """Name a night's run by agent and date."""
    given = flow_run.parameters
    agent = str(given["agent"]).strip().lower()
    return f"nightly-{agent}-{night_date(given.get('night'))}"


def night_date(night: date | str | None) -> str:
    """Return the date of a night, by default the day on which the run was due, UTC.

    Not the day on which it started: a run that waited past midnight is still that night's, and
    so is one that is tried again.
    """
    due = flow_run.scheduled_start_time or datetime.now(UTC)
    return str(night or due.astimezone(UTC).date())


async def open_run(*tags: str) -> None:
    """Make the run readable: our log lines in, routine lines out, tags like `agent:support`."""
    _set_up_logs()
    await tag_run(*tags)


async def tag_run(*tags: str) -> None:
    """Add tags to the run, so that the UI finds it by them."""
    if flow_run.id is None:
        return
    identity = UUID(flow_run.id)
    async with get_client() as client:
        now = await client.read_flow_run(identity)
        await client.update_flow_run(identity, tags=sorted({*now.tags, *tags}))


def _set_up_logs() -> None:
    """Send our lines to the run's log, also where Prefect was there before our defaults."""
    ours = logging.getLogger("whileai_core")
    for handler in logging.getLogger("prefect.extra").handlers:
        ours.addHandler(handler)  # a handler that is there already is not added again
    if ours.level == logging.NOTSET:
        ours.setLevel(logging.INFO)
    requests = logging.getLogger("whileai_core.gate")  # of the gate in this process
    if requests.level == logging.NOTSET:
        requests.setLevel(logging.WARNING)
    logging.getLogger("prefect.task_runs").addFilter(_is_news)
    _outlive_reader()


def _outlive_reader() -> None:
    """Go on when nobody reads our output any more: the pipe of a worker that was killed.

    The console's own way is to end the process at the next line.
    """
    for logger in logging.root.manager.loggerDict.values():
        for handler in logger.handlers if isinstance(logger, logging.Logger) else ():
            if console := getattr(handler, "console", None):
                console.on_broken_pipe = _go_on


def _go_on() -> None:
    pass


def _is_news(record: logging.LogRecord) -> bool:
    """Leave out that a task ended well: the run's page shows that."""
    return not record.getMessage().startswith("Finished in state Completed(")


def page_links(pages: dict[str, UUID]) -> str:
    """Link pages of this run in markdown; empty where no UI will be there to show them."""
    if not PREFECT_SERVER_UI_ENABLED.value() or not PREFECT_UI_URL.value():
        return ""
    return " · ".join(
        f"[{title}]({PREFECT_UI_URL.value()}/artifacts/artifact/{identity})"
        for title, identity in pages.items()
    )
