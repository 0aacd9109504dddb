"""Spans taken in over OTLP, background jobs, and runs with their logs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_RowNumber = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create the tables."""
    _create_spans()
    _create_jobs()
    _create_runs()


def _number() -> sa.Column[int]:
    return sa.Column("number", _RowNumber, primary_key=True, autoincrement=True)


def _account_id() -> sa.Column[str]:
    owner = sa.ForeignKey("accounts.id", ondelete="CASCADE")
    return sa.Column("account_id", sa.String(40), owner, nullable=False)


def _create_spans() -> None:
    op.create_table(
        "spans",
        _number(),
        _account_id(),
        sa.Column("trace_id", sa.String(80), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("conversation", sa.String(64)),
        sa.Column("dataset_name", sa.Text),
        sa.Column("has_content", sa.Boolean, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("received_at", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("account_id", "digest"),
    )
    op.create_index("ix_spans_trace", "spans", ["account_id", "trace_id"])
    op.create_index("ix_spans_conversation", "spans", ["account_id", "conversation"])


def _create_jobs() -> None:
    op.create_table(
        "jobs",
        _number(),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("payload", sa.JSON, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("holder", sa.String(32)),
        sa.Column("lease_until", sa.BigInteger, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_jobs_due", "jobs", ["state", "lease_until"])


def _create_runs() -> None:
    op.create_table(
        "runs",
        _number(),
        sa.Column("id", sa.String(40), nullable=False, unique=True),
        _account_id(),
        sa.Column("name", sa.Text),
        sa.Column("facts", sa.JSON, nullable=False),
        sa.Column("status", sa.String(32), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("finished_at", sa.BigInteger),
        sa.Column("idempotency_key", sa.String(255)),
        sa.UniqueConstraint("account_id", "idempotency_key"),
    )
    op.create_table(
        "run_logs",
        _number(),
        sa.Column(
            "run_number",
            _RowNumber,
            sa.ForeignKey("runs.number", ondelete="CASCADE"),
            nullable=False,
            index=True,
        ),
        sa.Column("entry", sa.JSON, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
