"""A night that began to push and can never end: how to say so, and how to give it up.

Its plan is durable and the next night tries it first (`whileai_core.ingest.ledger`). A platform
that refuses it for good would hold up every later night of the agent.
"""

from __future__ import annotations

import shlex
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from whileai_core.errors import InputError, NotAuthenticated, PlatformError
from whileai_core.ingest.lock import night_lock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whileai_core.ingest.night import NightPlan
    from whileai_core.ingest.workspace import Workspace

_WAIT_SECONDS = 5.0  # a night under way takes longer than anybody waits to give one up


@contextmanager
def naming_plan(plan: NightPlan) -> Iterator[None]:
    """Say of a push that is refused whose plan it is, and how not to try it for ever."""
    try:
        yield
    except NotAuthenticated:  # another credential mends it
        raise
    except (InputError, PlatformError) as error:
        if isinstance(error, InputError) or not error.retryable:
            error.args = (
                f"{error} [the push of {plan.name} is unfinished, and the next night of "
                f"{plan.agent!r} tries it again first; if it can never succeed, give it up with "
                f"`whileai-pipelines forget-unfinished --agent {shlex.quote(plan.agent)}`, and "
                "the next night takes the same files again]",
            )
        raise


def forget_unfinished(workspace: Workspace) -> dict[str, Any] | None:
    """Give up the agent's unfinished night, so that the next one takes the same files again.

    What was pushed of it already stays on the platform.

    Returns:
        `agent`, `night` and `name` of the plan; None when there is no such night.

    Raises:
        StoreError: A night of the agent is running, or the ledger failed.
    """
    with night_lock(workspace.settings.home, workspace.ledger, wait=_WAIT_SECONDS):
        plan = workspace.ledger.pending()
        workspace.ledger.forget_pending()
    return plan and {key: plan[key] for key in ("agent", "night", "name")}
