"""The tables of the ledger and how a night is written to them; the same SQL for every database."""

from __future__ import annotations

TABLES = (
    """CREATE TABLE IF NOT EXISTS sources (
        agent TEXT NOT NULL, sha256 TEXT NOT NULL, name TEXT NOT NULL, night TEXT NOT NULL,
        PRIMARY KEY (agent, sha256))""",
    """CREATE TABLE IF NOT EXISTS rows (
        agent TEXT NOT NULL, row_id TEXT NOT NULL, night TEXT NOT NULL,
        PRIMARY KEY (agent, row_id))""",
    """CREATE TABLE IF NOT EXISTS conversations (
        agent TEXT NOT NULL, conversation TEXT NOT NULL, row_id TEXT NOT NULL,
        revision INTEGER NOT NULL, steps INTEGER NOT NULL, night TEXT NOT NULL,
        PRIMARY KEY (agent, conversation))""",
    """CREATE TABLE IF NOT EXISTS spans (
        agent TEXT NOT NULL, trace TEXT NOT NULL, conversation TEXT NOT NULL, shard TEXT NOT NULL,
        PRIMARY KEY (agent, trace, conversation, shard))""",
    "CREATE INDEX IF NOT EXISTS spans_by_conversation ON spans (agent, conversation)",
    """CREATE TABLE IF NOT EXISTS sides (
        agent TEXT NOT NULL, task TEXT NOT NULL, side TEXT NOT NULL, night TEXT NOT NULL,
        PRIMARY KEY (agent, task))""",
    """CREATE TABLE IF NOT EXISTS asks (
        agent TEXT NOT NULL, task TEXT NOT NULL, side TEXT NOT NULL, ask TEXT NOT NULL,
        night TEXT NOT NULL, PRIMARY KEY (agent, task, ask))""",
    """CREATE TABLE IF NOT EXISTS flaws (
        agent TEXT NOT NULL, flaw TEXT NOT NULL, night TEXT NOT NULL, PRIMARY KEY (agent, flaw))""",
    """CREATE TABLE IF NOT EXISTS judgements (
        agent TEXT NOT NULL, row_id TEXT NOT NULL, judge TEXT NOT NULL, version TEXT NOT NULL,
        verdict TEXT NOT NULL, night TEXT NOT NULL,
        PRIMARY KEY (agent, row_id, judge, version))""",
    """CREATE TABLE IF NOT EXISTS holders (
        agent TEXT NOT NULL, holder TEXT NOT NULL, PRIMARY KEY (agent))""",
    """CREATE TABLE IF NOT EXISTS nights (
        agent TEXT NOT NULL, number INTEGER NOT NULL, state TEXT NOT NULL,
        plan TEXT NOT NULL, result TEXT NOT NULL, PRIMARY KEY (agent, number))""",
)

INSERTS = {
    "sources": "INSERT INTO sources (agent, sha256, name, night) "
    "VALUES (:agent, :sha256, :name, :night) ON CONFLICT DO NOTHING",
    "rows": "INSERT INTO rows (agent, row_id, night) "
    "VALUES (:agent, :row_id, :night) ON CONFLICT DO NOTHING",
    "conversations": "INSERT INTO conversations "
    "(agent, conversation, row_id, revision, steps, night) "
    "VALUES (:agent, :conversation, :row_id, :revision, :steps, :night) "
    "ON CONFLICT (agent, conversation) DO UPDATE SET row_id = excluded.row_id, "
    "revision = excluded.revision, steps = excluded.steps, night = excluded.night",
    "spans": "INSERT INTO spans (agent, trace, conversation, shard) "
    "VALUES (:agent, :trace, :conversation, :shard) ON CONFLICT DO NOTHING",
    "sides": "INSERT INTO sides (agent, task, side, night) "
    "VALUES (:agent, :task, :side, :night) ON CONFLICT DO NOTHING",
    "asks": "INSERT INTO asks (agent, task, side, ask, night) "
    "VALUES (:agent, :task, :side, :ask, :night) ON CONFLICT DO NOTHING",
    "flaws": "INSERT INTO flaws (agent, flaw, night) "
    "VALUES (:agent, :flaw, :night) ON CONFLICT DO NOTHING",
}
