"""What one gate needs to know: where it keeps things, how it is reached, what it accepts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whileai_core.rows import LONGEST_LINE_BYTES
from whileai_core.settings import Settings, get_settings

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class GateSettings:
    """Settings of one gate.

    Attributes:
        folder: Folder of the default database and blobs; created when missing.
        database_url: SQLAlchemy URL; unset means SQLite in `folder`.
        blob_url: Folder or fsspec URL of the blobs; unset means `folder/blobs`.
        runs_url: Address of Prefect's list of runs, for links from datasets.
        origin: `scheme://host[:port]` put in front of presigned addresses; unset means the
            Host header of the request.
        url_seconds: Life of presigned addresses.
        max_upload_bytes: Largest dataset accepted in one upload.
        max_json_bytes: Largest JSON request body.
        max_line_bytes: Longest line of an upload; bounds the memory of its check.
        max_traces_bytes: Largest OTLP request, packed and unpacked.
        max_check_bytes: Largest request or dataset the publish gate is run over.
        loose_span_seconds: How long a span is kept that belongs to no conversation.
        key_rate: Requests a second a key may make in the long run; 0 means any number.
        key_burst: Requests a key may make at once.
        failure_rate: Requests a second without a good credential that an address may make.
        failure_burst: Such requests at once.
        lease_seconds: How long a background job of a dead process waits for another one.
    """

    folder: Path
    database_url: str | None = None
    blob_url: str | None = None
    origin: str | None = None
    runs_url: str | None = None
    url_seconds: int = 3600
    max_upload_bytes: int = 5 * 1024 * MIB
    max_json_bytes: int = 1 * MIB
    max_line_bytes: int = LONGEST_LINE_BYTES
    max_traces_bytes: int = 64 * MIB
    max_check_bytes: int = 64 * MIB
    loose_span_seconds: float = 7 * 24 * 3600
    key_rate: float = 200
    key_burst: int = 2000
    failure_rate: float = 5
    failure_burst: int = 500
    lease_seconds: float = 60

    @classmethod
    def from_settings(cls, settings: Settings | None = None) -> GateSettings:
        """Take the gate's part out of the product's settings (default: the environment's)."""
        settings = settings or get_settings()
        return cls(
            folder=settings.gate_folder,
            database_url=settings.gate_database_url,
            blob_url=settings.gate_blob_url,
            origin=settings.gate_origin,
            runs_url=settings.runs_url,
            max_upload_bytes=settings.gate_max_upload_bytes,
            max_traces_bytes=settings.gate_max_traces_bytes,
            loose_span_seconds=settings.gate_loose_span_days * 24 * 3600,
            key_rate=settings.gate_key_rate,
            key_burst=settings.gate_key_burst,
            failure_rate=settings.gate_failure_rate,
            failure_burst=settings.gate_failure_burst,
        )
