"""Making one commit happen once: lost answers are looked for, conflicts are rebased once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whileai_core.errors import Conflict, PlatformError
from whileai_core.hub.failures import ATTEMPTS, pause, translated

if TYPE_CHECKING:
    from whileai_core.hub.client import Hub, Repo

_REBASES = 1


@dataclass(frozen=True)
class Landing:
    """The commit that has what was to be committed, and whether it was made now."""

    commit: str
    new: bool


def land(
    hub: Hub,
    repo: Repo,
    landed: Callable[[Repo], str | None],
    commit: Callable[[Repo], str],
    doing: str,
) -> Landing:
    """Commit unless the repository has it already.

    Args:
        hub: The Hub.
        repo: The repository as it is.
        landed: Return the commit that has the content already, if there is one.
        commit: Make the commit on top of a repository's state.
        doing: For messages.

    Raises:
        Conflict: Others changed the repository again after one rebase.
        PlatformError: The Hub refused or stayed away.
    """
    rebases = failures = 0
    tried = False
    ended: PlatformError | None = None
    while True:
        found = landed(repo)
        if found is not None:
            return Landing(found, new=tried)
        if ended is not None:
            raise ended
        try:
            return Landing(commit(repo), new=True)
        except Exception as error:
            ours = translated(error, doing)
            if isinstance(ours, Conflict):
                rebases += 1
                if rebases > _REBASES:
                    ended = Conflict(
                        f"{doing}: others changed the repository twice meanwhile; nothing was "
                        "committed, run again"
                    )
            elif ours.retryable:
                failures += 1
                tried = True  # its answer may be all that was lost
                if failures < ATTEMPTS:
                    pause(failures, error)
                else:
                    ended = ours
            else:
                raise ours from None
        repo = hub.repo(repo.id, repo.kind)
