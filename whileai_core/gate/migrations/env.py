"""Alembic's entry: run the migrations on the connection that `gate.migrate` hands over."""

from __future__ import annotations

from alembic import context

from whileai_core.gate.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    # SQLite rolls schema changes back too, so a start that dies half way leaves nothing.
    transactional_ddl=True,
    render_as_batch=True,
)
context.run_migrations()
