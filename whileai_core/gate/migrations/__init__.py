"""The gate's schema, version by version (alembic)."""

# The newest revision. Known without alembic, so that a current database opens without its import.
HEAD = "0003"
