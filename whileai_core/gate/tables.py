"""The gate's tables.

A dataset has 1..n parts, each one blob. An upload is staged beside the parts and becomes the
data at finalize, so a reader never sees half of a set. Times are milliseconds since 1970.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

# SQLite numbers rows by itself only for a column declared INTEGER.
RowNumber = BigInteger().with_variant(Integer, "sqlite")


class Base(DeclarativeBase):
    """Base of all tables."""

    type_annotation_map = {dict[str, Any]: JSON, list[Any]: JSON}  # noqa: RUF012  SQLAlchemy's form


class Secret(Base):
    """A secret of the server, made at its first start."""

    __tablename__ = "secrets"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    value: Mapped[str] = mapped_column(String(128))


class Account(Base):
    """Who owns datasets; everything of another account does not exist."""

    __tablename__ = "accounts"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    created_at: Mapped[int] = mapped_column(BigInteger)


class Credential(Base):
    """A static key (`zp_`) or a delegated credential (`zp_dc_`); only its hash is kept."""

    __tablename__ = "credentials"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    account_id: Mapped[str] = mapped_column(
        ForeignKey("accounts.id", ondelete="CASCADE"), index=True
    )
    kind: Mapped[str] = mapped_column(String(16))
    name: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[int] = mapped_column(BigInteger)
    expires_at: Mapped[int | None] = mapped_column(BigInteger)


class Agent(Base):
    """An agent of an account, known by its slug."""

    __tablename__ = "agents"

    account_id: Mapped[str] = mapped_column(
        ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True
    )
    slug: Mapped[str] = mapped_column(String(200), primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    description: Mapped[str | None] = mapped_column(Text)
    tools: Mapped[list[Any] | None]
    system_prompt: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[int] = mapped_column(BigInteger)


class Dataset(Base):
    """A dataset; `number` orders them by creation."""

    __tablename__ = "datasets"
    __table_args__ = (
        UniqueConstraint("account_id", "idempotency_key"),
        Index("ix_datasets_account_number", "account_id", "number"),
        Index("ix_datasets_public", "published_at"),
    )

    number: Mapped[int] = mapped_column(RowNumber, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(40), unique=True)
    account_id: Mapped[str] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(Text)
    purpose: Mapped[str | None] = mapped_column(String(16))
    mode: Mapped[str | None] = mapped_column(String(16))
    agent: Mapped[str | None] = mapped_column(String(200))
    description: Mapped[str | None] = mapped_column(Text)
    # Lineage is a fact that outlives the parent, hence no foreign key.
    parent_id: Mapped[str | None] = mapped_column(String(40))
    status: Mapped[str] = mapped_column(String(16))
    rows: Mapped[int | None] = mapped_column(BigInteger)
    size_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    created_at: Mapped[int] = mapped_column(BigInteger)
    published_at: Mapped[int | None] = mapped_column(BigInteger)
    idempotency_key: Mapped[str | None] = mapped_column(String(255))
    request_digest: Mapped[str | None] = mapped_column(String(64))
    # Computed when first asked for, dropped when the data changes.
    profile: Mapped[dict[str, Any] | None]
    # The state of its publication on the Hub, and where it was imported from.
    hf: Mapped[dict[str, Any] | None]
    hf_import: Mapped[dict[str, Any] | None]


class Upload(Base):
    """The latest upload of a dataset that finalize has not taken over yet."""

    __tablename__ = "uploads"

    dataset_number: Mapped[int] = mapped_column(
        ForeignKey("datasets.number", ondelete="CASCADE"), primary_key=True
    )
    blob_key: Mapped[str] = mapped_column(String(80))
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str] = mapped_column(String(64))
    rows: Mapped[int] = mapped_column(BigInteger)
    # Why the bytes are not JSONL; finalize reports it.
    problem: Mapped[str | None] = mapped_column(Text)


class Part(Base):
    """One blob of a finalized dataset; a trace taken in by itself is a part with a trace id."""

    __tablename__ = "parts"
    __table_args__ = (UniqueConstraint("dataset_number", "number"),)

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True, autoincrement=True)
    dataset_number: Mapped[int] = mapped_column(ForeignKey("datasets.number", ondelete="CASCADE"))
    number: Mapped[int]
    blob_key: Mapped[str] = mapped_column(String(80), unique=True)
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str] = mapped_column(String(64))
    rows: Mapped[int] = mapped_column(BigInteger)
    trace_id: Mapped[str | None] = mapped_column(String(80), index=True)
    agent: Mapped[str | None] = mapped_column(String(200))


class SpanRecord(Base):
    """A span as it was taken in; parts of raw datasets are made from these, again and again.

    Belongs to a trace of the account, not to a dataset: which one that is shows only when the
    spans that name the agent are there.
    """

    __tablename__ = "spans"
    __table_args__ = (
        UniqueConstraint("account_id", "digest"),
        Index("ix_spans_trace", "account_id", "trace_id"),
        Index("ix_spans_conversation", "account_id", "conversation"),
    )

    number: Mapped[int] = mapped_column(RowNumber, primary_key=True, autoincrement=True)
    account_id: Mapped[str] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"))
    trace_id: Mapped[str] = mapped_column(String(80))
    # Of the content: a redelivery has the same one.
    digest: Mapped[str] = mapped_column(String(64))
    # Hash of the conversation id the span carries itself; conversations may span traces.
    conversation: Mapped[str | None] = mapped_column(String(64))
    # The dataset its resource asks for.
    dataset_name: Mapped[str | None] = mapped_column(Text)
    has_content: Mapped[bool]
    # Compressed JSON; bytes, because spans hold what text columns refuse.
    body: Mapped[bytes] = mapped_column(LargeBinary)
    received_at: Mapped[int] = mapped_column(BigInteger)


class Job(Base):
    """Work that outlives the process which began it; done jobs are deleted.

    A job is free once `lease_until` has passed. While somebody works on it the lease is renewed,
    and `holder` says who that is.
    """

    __tablename__ = "jobs"
    __table_args__ = (Index("ix_jobs_due", "state", "lease_until"),)

    number: Mapped[int] = mapped_column(RowNumber, primary_key=True, autoincrement=True)
    kind: Mapped[str] = mapped_column(String(32))
    payload: Mapped[dict[str, Any]]
    state: Mapped[str] = mapped_column(String(16))
    holder: Mapped[str | None] = mapped_column(String(32))
    lease_until: Mapped[int] = mapped_column(BigInteger)
    attempts: Mapped[int] = mapped_column(Integer)
    error: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[int] = mapped_column(BigInteger)


class Run(Base):
    """A training run as its trainer reports it."""

    __tablename__ = "runs"
    __table_args__ = (UniqueConstraint("account_id", "idempotency_key"),)

    number: Mapped[int] = mapped_column(RowNumber, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(40), unique=True)
    account_id: Mapped[str] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"))
    name: Mapped[str | None] = mapped_column(Text)
    # What else was said of it: dataset, model, trainer, configuration, final numbers.
    facts: Mapped[dict[str, Any]]
    status: Mapped[str] = mapped_column(String(32))
    created_at: Mapped[int] = mapped_column(BigInteger)
    finished_at: Mapped[int | None] = mapped_column(BigInteger)
    idempotency_key: Mapped[str | None] = mapped_column(String(255))
    hf: Mapped[dict[str, Any] | None]


class RunFile(Base):
    """A file of a run's adapter; without a blob it was announced and has not come yet."""

    __tablename__ = "run_files"
    __table_args__ = (UniqueConstraint("run_number", "path"),)

    number: Mapped[int] = mapped_column(RowNumber, primary_key=True, autoincrement=True)
    run_number: Mapped[int] = mapped_column(ForeignKey("runs.number", ondelete="CASCADE"))
    path: Mapped[str] = mapped_column(String(200))
    blob_key: Mapped[str | None] = mapped_column(String(80))
    size_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    sha256: Mapped[str | None] = mapped_column(String(64))


class RunLog(Base):
    """One log entry of a run."""

    __tablename__ = "run_logs"

    number: Mapped[int] = mapped_column(RowNumber, primary_key=True, autoincrement=True)
    run_number: Mapped[int] = mapped_column(
        ForeignKey("runs.number", ondelete="CASCADE"), index=True
    )
    entry: Mapped[dict[str, Any]]
    created_at: Mapped[int] = mapped_column(BigInteger)


class Garbage(Base):
    """A blob to delete once `due_at` has passed.

    A key stands here from before its blob is written until the blob is linked, and again from
    the moment it is unlinked: whatever dies in between, no blob is forgotten.
    """

    __tablename__ = "garbage"

    blob_key: Mapped[str] = mapped_column(String(80), primary_key=True)
    due_at: Mapped[int] = mapped_column(BigInteger, index=True)
