"""Accounts, credentials, agents, datasets and their parts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_RowNumber = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create the first tables."""
    _create_accounts()
    _create_datasets()
    op.create_table(
        "garbage",
        sa.Column("blob_key", sa.String(80), primary_key=True),
        sa.Column("due_at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_garbage_due_at", "garbage", ["due_at"])


def _account_id(*, primary_key: bool = False) -> sa.Column[str]:
    owner = sa.ForeignKey("accounts.id", ondelete="CASCADE")
    return sa.Column("account_id", sa.String(40), owner, nullable=False, primary_key=primary_key)


def _create_accounts() -> None:
    op.create_table(
        "secrets",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("value", sa.String(128), nullable=False),
    )
    op.create_table(
        "accounts",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "credentials",
        sa.Column("digest", sa.String(64), primary_key=True),
        _account_id(),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger),
    )
    op.create_index("ix_credentials_account_id", "credentials", ["account_id"])
    op.create_table(
        "agents",
        _account_id(primary_key=True),
        sa.Column("slug", sa.String(200), primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("description", sa.Text),
        sa.Column("tools", sa.JSON),
        sa.Column("system_prompt", sa.Text),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )


def _create_datasets() -> None:
    op.create_table(
        "datasets",
        sa.Column("number", _RowNumber, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(40), nullable=False, unique=True),
        _account_id(),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("purpose", sa.String(16)),
        sa.Column("mode", sa.String(16)),
        sa.Column("agent", sa.String(200)),
        sa.Column("description", sa.Text),
        sa.Column("parent_id", sa.String(40)),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("rows", sa.BigInteger),
        sa.Column("size_bytes", sa.BigInteger, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("published_at", sa.BigInteger),
        sa.Column("idempotency_key", sa.String(255)),
        sa.Column("request_digest", sa.String(64)),
        sa.Column("profile", sa.JSON),
        sa.UniqueConstraint("account_id", "idempotency_key"),
    )
    op.create_index("ix_datasets_account_number", "datasets", ["account_id", "number"])
    op.create_index("ix_datasets_public", "datasets", ["published_at"])
    dataset = "datasets.number"
    op.create_table(
        "uploads",
        sa.Column(
            "dataset_number",
            _RowNumber,
            sa.ForeignKey(dataset, ondelete="CASCADE"),
            primary_key=True,
        ),
        *_blob_columns(),
        sa.Column("problem", sa.Text),
    )
    op.create_table(
        "parts",
        sa.Column("id", _RowNumber, primary_key=True, autoincrement=True),
        sa.Column(
            "dataset_number",
            _RowNumber,
            sa.ForeignKey(dataset, ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("number", sa.Integer, nullable=False),
        *_blob_columns(),
        sa.Column("trace_id", sa.String(80)),
        sa.Column("agent", sa.String(200)),
        sa.UniqueConstraint("blob_key"),
        sa.UniqueConstraint("dataset_number", "number"),
    )
    op.create_index("ix_parts_trace_id", "parts", ["trace_id"])


def _blob_columns() -> list[sa.Column[object]]:
    return [
        sa.Column("blob_key", sa.String(80), nullable=False),
        sa.Column("size_bytes", sa.BigInteger, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("rows", sa.BigInteger, nullable=False),
    ]
