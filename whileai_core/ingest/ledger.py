"""The ledger: what has been ingested, on which side each task fell, and what is under way.

One small database (SQLite under the home folder, or any SQLAlchemy URL when several hosts
share it), keyed by agent throughout. Nothing is remembered of a night before `commit`, which
writes everything in one transaction; a night that was killed earlier simply starts again. The
one state in between is *pushing*: from there the night's plan is durable, and the next run
finishes it from the store before it looks at anything new.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from whileai_core import jsonio
from whileai_core.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from sqlalchemy import Connection, Engine

    from whileai_core.settings import Settings

_BATCH = 500  # bound parameters stay below SQLite's limit

Side: TypeAlias = Literal["train", "holdout"]
Change: TypeAlias = dict[str, Any]  # {"table": one of `_INSERT`, column: value …}


class Ledger:
    """The ledger of one agent.

    Args:
        url: SQLAlchemy URL, or a path for SQLite.
        agent: Whose nights these are; agents share a database and nothing else.
    """

    def __init__(self, url: str | Path, agent: str) -> None:
        text = str(url)
        self._url = text if "://" in text else f"sqlite:///{text}"
        self._path = None if "://" in text else url
        self.agent = agent

    @classmethod
    def from_settings(cls, settings: Settings, agent: str) -> Ledger:
        """Open the ledger that the settings name."""
        return cls(settings.ledger_url or settings.home / "ledger.db", agent)

    def close(self) -> None:
        """Give back the database connections."""
        if "_engine" in self.__dict__:
            self._engine.dispose()
            del self.__dict__["_engine"]

    # -- what is known

    def known_sources(self, hashes: Iterable[str]) -> set[str]:
        """Return those content hashes of files that an earlier night has ingested."""
        return self._known("sources", "sha256", hashes)

    def known_rows(self, row_ids: Iterable[str]) -> set[str]:
        """Return those row ids that an earlier night has ingested."""
        return self._known("rows", "row_id", row_ids)

    def conversations(self, keys: Iterable[str]) -> dict[str, tuple[str, int, int]]:
        """Return the last (row id, revision, number of steps) of the known ones among `keys`."""
        wanted = ("row_id", "revision", "steps")
        rows = self._lookup("conversations", "conversation", wanted, keys)
        return {key: (row_id, revision, steps) for key, row_id, revision, steps in rows}

    def span_shards(
        self, column: Literal["trace", "conversation"], values: Iterable[str]
    ) -> list[tuple[str, str, str]]:
        """Return (trace, conversation, shard) for earlier spans of these traces or conversations.

        `conversation` is empty where the spans named none.
        """
        other = "conversation" if column == "trace" else "trace"
        rows = self._lookup("spans", column, (other, "shard"), values)
        if column == "trace":
            return [(value, found, shard) for value, found, shard in rows]
        return [(found, value, shard) for value, found, shard in rows]

    def sides(self, tasks: Iterable[str]) -> dict[str, Side]:
        """Return the side on which those tasks that are known first fell."""
        return dict(self._lookup("sides", "task", ("side",), tasks))

    def asks(self) -> Iterator[tuple[str, Side, str]]:
        """Yield (task, side, ask) of earlier nights, to hold near copies against."""
        with self._reading() as run:
            yield from run(
                "SELECT task, side, ask FROM asks WHERE agent = :agent ORDER BY task, ask"
            )

    def flaws(self) -> set[str]:
        """Return the kinds of flaw that are held out already."""
        with self._reading() as run:
            return {row[0] for row in run("SELECT flaw FROM flaws WHERE agent = :agent")}

    def last_train_dataset(self) -> str | None:
        """Return the dataset id of the last night that pushed a training set."""
        with self._reading() as run:
            for (result,) in run(
                "SELECT result FROM nights WHERE agent = :agent AND state = 'done' "
                "ORDER BY number DESC",
            ):
                for entry in jsonio.loads(result)["datasets"]:
                    if entry["purpose"] == "train":
                        return str(entry["datasetId"])
        return None

    def nights_on(self, night: str) -> int:
        """Return how many intakes of that date are done."""
        with self._reading() as run:
            results = run("SELECT result FROM nights WHERE agent = :agent AND state = 'done'")
            return sum(jsonio.loads(result).get("night") == night for (result,) in results)

    # -- a night under way

    def pending(self) -> dict[str, Any] | None:
        """Return the plan of a night that began to push and was not committed."""
        with self._reading() as run:
            row = run("SELECT plan FROM nights WHERE agent = :agent AND state = 'pushing'").first()
        return None if row is None else dict(jsonio.loads(row[0]))

    def begin_push(self, plan: dict[str, Any]) -> None:
        """Make a night's plan durable, right before its first push."""
        with self._writing() as run:
            number = run("SELECT COALESCE(MAX(number), 0) FROM nights WHERE agent = :agent").one()[
                0
            ]
            run(
                "INSERT INTO nights (agent, number, state, plan, result) "
                "VALUES (:agent, :number, 'pushing', :plan, '{}')",
                number=number + 1,
                plan=jsonio.dumps(plan).decode(),
            )

    def commit(self, changes: Iterable[Change], result: dict[str, Any]) -> None:
        """Remember everything of the pending night and close it, in one transaction."""
        with self._writing() as run:
            for table, rows in _by_table(changes):
                run(_INSERT[table], [{"agent": self.agent, **row} for row in rows])
            run(
                "UPDATE nights SET state = 'done', result = :result, plan = '{}' "
                "WHERE agent = :agent AND state = 'pushing'",
                result=jsonio.dumps(result).decode(),
            )

    # -- plumbing

    def _known(self, table: str, column: str, values: Iterable[str]) -> set[str]:
        return {row[0] for row in self._lookup(table, column, (), values)}

    def _lookup(
        self, table: str, column: str, wanted: Sequence[str], values: Iterable[str]
    ) -> list[Any]:
        from sqlalchemy import bindparam, text

        columns = ", ".join((column, *wanted))
        statement = text(
            f"SELECT {columns} FROM {table} WHERE agent = :agent AND {column} IN :values"  # noqa: S608 - names are ours
        ).bindparams(bindparam("values", expanding=True))
        found: list[Any] = []
        with self._reading() as run:
            for batch in _batches(values):
                found += run(statement, agent=self.agent, values=batch).all()
        return found

    @contextmanager
    def _reading(self) -> Iterator[Any]:
        with self._translated(), self._engine.connect() as connection:
            yield self._runner(connection)

    @contextmanager
    def _writing(self) -> Iterator[Any]:
        with self._translated(), self._engine.begin() as connection:
            yield self._runner(connection)

    def _runner(self, connection: Connection) -> Any:
        from sqlalchemy import text

        def run(statement: Any, many: list[dict[str, Any]] | None = None, **values: Any) -> Any:
            query = text(statement) if isinstance(statement, str) else statement
            return connection.execute(query, many or {"agent": self.agent, **values})

        return run

    @contextmanager
    def _translated(self) -> Iterator[None]:
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except SQLAlchemyError as error:
            cause = getattr(error, "orig", None) or type(error).__name__
            raise StoreError(
                f"the ledger at {_shown(self._url)} failed: {cause}; nothing of this night is "
                "remembered, mend the database and run again"
            ) from error

    @cached_property
    def _engine(self) -> Engine:
        from sqlalchemy import create_engine, event

        if self._path is not None:
            from pathlib import Path

            Path(self._path).parent.mkdir(parents=True, exist_ok=True)
        engine = create_engine(self._url)
        if engine.dialect.name == "sqlite":
            event.listen(engine, "connect", _tune_sqlite)
        with engine.begin() as connection:
            for statement in _TABLES:
                connection.exec_driver_sql(statement)
        return engine


def _tune_sqlite(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=30000"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _shown(url: str) -> str:
    """Return a database URL without user name and password."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def _batches(values: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    for value in values:
        batch.append(value)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _by_table(changes: Iterable[Change]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Group changes by table in batches, in bounded memory."""
    waiting: dict[str, list[dict[str, Any]]] = {}
    for change in changes:
        rows = waiting.setdefault(change["table"], [])
        rows.append({key: value for key, value in change.items() if key != "table"})
        if len(rows) == _BATCH:
            yield change["table"], rows
            waiting[change["table"]] = []
    yield from ((table, rows) for table, rows in waiting.items() if rows)


_TABLES = (
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
    """CREATE TABLE IF NOT EXISTS nights (
        agent TEXT NOT NULL, number INTEGER NOT NULL, state TEXT NOT NULL,
        plan TEXT NOT NULL, result TEXT NOT NULL, PRIMARY KEY (agent, number))""",
)

_INSERT = {
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
