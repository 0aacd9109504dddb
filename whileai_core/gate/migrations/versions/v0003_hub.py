"""What was published on the Hub and imported from it, and the files of adapters."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_RowNumber = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the columns and the table."""
    op.add_column("datasets", sa.Column("hf", sa.JSON))
    op.add_column("datasets", sa.Column("hf_import", sa.JSON))
    op.add_column("runs", sa.Column("hf", sa.JSON))
    op.create_table(
        "run_files",
        sa.Column("number", _RowNumber, primary_key=True, autoincrement=True),
        sa.Column(
            "run_number",
            _RowNumber,
            sa.ForeignKey("runs.number", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("path", sa.String(200), nullable=False),
        sa.Column("blob_key", sa.String(80)),
        sa.Column("size_bytes", sa.BigInteger, nullable=False),
        sa.Column("sha256", sa.String(64)),
        sa.UniqueConstraint("run_number", "path"),
    )
