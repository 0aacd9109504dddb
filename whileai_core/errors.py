"""Everything the product raises on purpose, sorted by what the caller can do about it.

::

    WhileError
    ├── InputError (ValueError)            change the input
    │   ├── SourceNotFound (FileNotFoundError)
    │   ├── UnreadableSource
    │   ├── SchemaInvalid
    │   ├── BadShareExceeded               too much of a night was quarantined
    │   └── PublishGateError               the publish gate refused the rows
    ├── SettingsError (ValueError)         change the settings
    │   └── MissingExtra (ImportError)     install the named extra
    ├── StoreError (OSError)               mend the machine: disk, database, bucket
    ├── ModelError (RuntimeError)          an agent, judge or model of a simulation
    │   ├── AgentError                     one rollout that is no row
    │   ├── EndpointError                  a chat endpoint gave no usable answer to one call
    │   │   └── EndpointDead               and will give none to the next
    │   └── SpendExhausted                 allow more calls or tokens
    └── PlatformError (RuntimeError)       see `whileai_core.platform`; says whether to retry
        ├── NotAuthenticated               ask for another credential
        ├── NotFound
        ├── Conflict
        ├── Refused                        any other 4xx: change the request
        ├── RateLimited                    wait and retry
        ├── Unavailable                    5xx, no connection, deadline: wait and retry
        ├── BadReply                       the answer is not what the protocol says
        ├── JobFailed                      a server-side job ended badly
        └── StillRunning                   a server-side job outlasted the wait: look later

The built-in bases are part of the contract: callers of the peer SDK catch `ValueError` for
arguments and `RuntimeError` for the platform.
"""

from __future__ import annotations


class WhileError(Exception):
    """Base of every error raised on purpose."""


class InputError(WhileError, ValueError):
    """The input cannot be used as it is; the message says which part and what to change."""


class SourceNotFound(InputError, FileNotFoundError):
    """A path, glob or URL names nothing that exists."""

    def __str__(self) -> str:  # OSError would print its own form for several arguments
        return str(self.args[0]) if self.args else ""


class UnreadableSource(InputError):
    """A source exists but its bytes cannot be read as traces."""


class SchemaInvalid(InputError):
    """Rows break the row schema; at most five are named."""


class BadShareExceeded(InputError):
    """More of a night went to quarantine than the caller allows."""


class PublishGateError(InputError):
    """The publish gate refused the rows; nothing was sent."""


class SettingsError(WhileError, ValueError):
    """A setting is missing, contradictory or out of range."""


class MissingExtra(SettingsError, ImportError):
    """An optional dependency is not installed; the message names the extra."""

    @classmethod
    def named(cls, extra: str, need: str) -> MissingExtra:
        """Return the error for an extra, with how to install it.

        Args:
            extra: The extra, as the package names it.
            need: What needs which package: "publishing needs pyarrow".
        """
        return cls(
            f"{need}; install it with: pip install 'whileai-pipelines[{extra}]', or in a checkout "
            f"of the project: pip install -c constraints.txt -e '.[{extra}]'"
        )


class StoreError(WhileError, OSError):
    """The store, ledger or disk failed; nothing half-written is left under its final name."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class ModelError(WhileError, RuntimeError):
    """An agent, a judge or the model behind one failed."""


class AgentError(ModelError):
    """One rollout is no row: the agent raised, took too long, or said nothing that can be used.

    Attributes:
        kind: `agent_error`, `timeout`, `unreadable_reply`, `empty_reply`, `tool_markup` or
            `endpoint_error`.
    """

    def __init__(self, message: str, *, kind: str = "agent_error") -> None:
        super().__init__(message)
        self.kind = kind


class EndpointError(ModelError):
    """A chat endpoint gave no usable answer to one call, after the client's own retries.

    Attributes:
        status: HTTP status of the last answer, or None when none came.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class EndpointDead(EndpointError):
    """A chat endpoint refuses every call or is gone; a run ends with what it has."""


class SpendExhausted(ModelError):
    """The allowed number of model calls or tokens is used up."""


class CutShort(WhileError):
    """A step of a climb ended before its work was done; the same climb goes on from there.

    Attributes:
        code: Why, for machines (see docs/climb.md).
        rows: Rows that have landed.
    """

    def __init__(self, code: str, reason: str, *, rows: int = 0) -> None:
        super().__init__(reason)
        self.code = code
        self.rows = rows


class PlatformError(WhileError, RuntimeError):
    """A platform call failed.

    Attributes:
        status: HTTP status, or None when no answer came.
        method: HTTP method of the failed request.
        url: Its address without query, user name or password.
        detail: The server's own words, cut and redacted.
        code: Machine-readable code from the reply, if it had one.
        request_id: The id we sent with the failed attempt.
        retryable: Whether the same call may succeed later.
        stage: For a push: `create`, `upload`, `finalize`, `holdout` or `publish`.
        dataset_id: The dataset that is left on the platform, if one is.
    """

    retryable = False

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        method: str | None = None,
        url: str | None = None,
        detail: str | None = None,
        code: str | None = None,
        request_id: str | None = None,
        retryable: bool | None = None,
        stage: str | None = None,
        dataset_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.method = method
        self.url = url
        self.detail = detail
        self.code = code
        self.request_id = request_id
        self.stage = stage
        self.dataset_id = dataset_id
        if retryable is not None:
            self.retryable = retryable


class NotAuthenticated(PlatformError):
    """No credential, or the platform does not accept the one that was sent."""


class NotFound(PlatformError):
    """The dataset, run or trace does not exist for this account."""


class Conflict(PlatformError):
    """The thing is in another state than the call needs."""


class Refused(PlatformError):
    """The platform refused the request as it stands."""


class RateLimited(PlatformError):
    """Too many requests, still after the client's own waiting."""

    retryable = True


class Unavailable(PlatformError):
    """No usable answer within the deadline."""

    retryable = True


class BadReply(PlatformError):
    """The reply is not JSON or lacks a field the protocol promises."""


class JobFailed(PlatformError):
    """A job on the platform (import, publish) ended with an error."""


class StillRunning(PlatformError):
    """A job on the platform was not done when the wait for it was over; it goes on."""

    retryable = True
