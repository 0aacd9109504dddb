"""The kinds of background jobs this gate does."""

from __future__ import annotations

from whileai_core.gate import jobs, remake

HANDLERS: dict[str, jobs.Handler] = {remake.KIND: remake.remake}
