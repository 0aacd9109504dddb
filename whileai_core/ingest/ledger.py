"""The ledger: what has been ingested, on which side each task fell, and what is under way.

One small database (SQLite under the home folder, or any SQLAlchemy URL when several hosts
share it), keyed by agent throughout. Nothing is remembered of a night before `commit`, which
writes everything in one transaction; a night that was killed earlier simply starts again. The
one state in between is *pushing*: from there the night's plan is durable, and the next run
finishes it from the store before it looks at anything new. What a judge said of a row is kept at
once, whatever becomes of the night: it was paid for, and is true of the row on any night.

Who holds the agent's night (`whileai_core.ingest.lock`) signs in here, and only the one that
signed in last may write: a run that lost its lock without noticing changes nothing.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from whileai_core import jsonio
from whileai_core.dburl import parse_database_url
from whileai_core.errors import MissingExtra, StoreError
from whileai_core.ingest.ledger_tables import INSERTS, TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from sqlalchemy import Connection, Engine

    from whileai_core.settings import Settings

_MAKING_TABLES = 0x7768696C65  # key of the lock, told from others by its number
_POSTGRES_SCHEMES = ("postgresql", "postgres", "postgresql+asyncpg")
_BATCH = 500  # bound parameters stay below SQLite's limit

Side: TypeAlias = Literal["train", "holdout"]
Change: TypeAlias = dict[str, Any]  # {"table": one of `INSERTS`, column: value …}


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
        self._holder: str | None = None
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

    @property
    def on_server(self) -> bool:
        """Whether the ledger is a database server's, so that other machines may use it too."""
        return self._path is None and not self._url.startswith("sqlite")

    def sign_in(self, holder: str) -> None:
        """Become the one run that may write; whoever was it before no longer may."""
        with self._writing() as run:
            run(
                "INSERT INTO holders (agent, holder) VALUES (:agent, :holder) "
                "ON CONFLICT (agent) DO UPDATE SET holder = excluded.holder",
                holder=holder,
            )
        self._holder = holder

    @contextmanager
    def session(self) -> Iterator[Callable[[str], Any]]:
        """Lend a database session of its own, as a function that gives the value of a query.

        What the server ties to the session, its locks above all, ends with the block.
        """
        with self._translated():
            connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            connection.detach()

        def ask(query: str) -> Any:
            with self._translated():
                return connection.exec_driver_sql(query).scalar()

        try:
            yield ask
        finally:
            connection.close()

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
            rows = run("SELECT task, side, ask FROM asks WHERE agent = :agent ORDER BY task, ask")
            for task, side, ask in rows:
                yield _loaded(task), side, _loaded(ask)

    def flaws(self) -> set[str]:
        """Return the kinds of flaw that are held out already."""
        with self._reading() as run:
            return {_loaded(row[0]) for row in run("SELECT flaw FROM flaws WHERE agent = :agent")}

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

    # -- what judges said

    def judgements(
        self, judge: str, version: str, row_ids: Iterable[str]
    ) -> dict[str, dict[str, Any]]:
        """Return the verdicts this version of a judge gave on the known ones of these rows."""
        found = self._lookup("judgements", "row_id", ("judge", "version", "verdict"), row_ids)
        return {
            row_id: dict(jsonio.loads(verdict))
            for row_id, by, by_version, verdict in found
            if (by, by_version) == (judge, version)
        }

    def keep_judgements(
        self, judge: str, version: str, night: str, verdicts: dict[str, dict[str, Any]]
    ) -> None:
        """Remember verdicts by row id, in one transaction; a first one stays."""
        if not verdicts:
            return
        shared = {"agent": self.agent, "judge": judge, "version": version, "night": night}
        with self._writing() as run:
            run(
                "INSERT INTO judgements (agent, row_id, judge, version, verdict, night) "
                "VALUES (:agent, :row_id, :judge, :version, :verdict, :night) "
                "ON CONFLICT DO NOTHING",
                [
                    {**shared, "row_id": row_id, "verdict": _stored(jsonio.dumps(verdict).decode())}
                    for row_id, verdict in verdicts.items()
                ],
            )

    # -- a night under way

    def pending(self) -> dict[str, Any] | None:
        """Return the plan of a night that began to push and was not committed."""
        with self._reading() as run:
            row = run("SELECT plan FROM nights WHERE agent = :agent AND state = 'pushing'").first()
        return None if row is None else dict(jsonio.loads(row[0]))

    def begin_push(self, plan: dict[str, Any]) -> None:
        """Make a night's plan durable, right before its first push."""
        with self._writing() as run:
            self._check_holder(run)
            number = run("SELECT COALESCE(MAX(number), 0) FROM nights WHERE agent = :agent").one()[
                0
            ]
            run(
                "INSERT INTO nights (agent, number, state, plan, result) "
                "VALUES (:agent, :number, 'pushing', :plan, '{}')",
                number=number + 1,
                plan=jsonio.dumps(plan).decode(),
            )

    def forget_sources(self, names: Iterable[str]) -> None:
        """Take files of these names for new ones; their rows stay known."""
        with self._writing() as run:
            self._check_holder(run)
            for name in names:
                run("DELETE FROM sources WHERE agent = :agent AND name = :name", name=name)

    def forget_pending(self) -> None:
        """Give up the plan of the night under way, so that the next takes its files again."""
        with self._writing() as run:
            self._check_holder(run)
            run("DELETE FROM nights WHERE agent = :agent AND state = 'pushing'")

    def commit(self, changes: Iterable[Change], result: dict[str, Any]) -> None:
        """Remember everything of the pending night and close it, in one transaction."""
        with self._writing() as run:
            self._check_holder(run)
            for table, rows in _by_table(changes):
                run(INSERTS[table], [{"agent": self.agent, **row} for row in rows])
            run(
                "UPDATE nights SET state = 'done', result = :result, plan = '{}' "
                "WHERE agent = :agent AND state = 'pushing'",
                result=jsonio.dumps(result).decode(),
            )

    # -- plumbing

    def _check_holder(self, run: Any) -> None:
        if self._holder is None:
            return
        # Taking the row's lock makes a run that signs in now wait for the end of this write.
        run("UPDATE holders SET holder = holder WHERE agent = :agent")
        (holder,) = run("SELECT holder FROM holders WHERE agent = :agent").one()
        if holder != self._holder:
            raise StoreError(
                f"another run has taken over the nights of agent {self.agent!r} since this one "
                "lost its connection to the ledger; nothing was written, run it again"
            )

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
                rows = run(statement, agent=self.agent, values=[_stored(value) for value in batch])
                found += [[_loaded(value) for value in row] for row in rows]
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
        try:
            url = parse_database_url(_with_driver(self._url), setting="the ledger's URL")
            engine = create_engine(url, pool_pre_ping=self.on_server, hide_parameters=True)
        except ModuleNotFoundError as error:
            need = f"the ledger's database needs {error.name}"
            raise MissingExtra.named("postgres", need) from None
        if engine.dialect.name == "sqlite":
            event.listen(engine, "connect", _tune_sqlite)
        with engine.begin() as connection:
            if engine.dialect.name == "postgresql":
                # Two machines that make the same table at once would fail on each other.
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MAKING_TABLES})")
            for statement in TABLES:
                connection.exec_driver_sql(statement)
        return engine


def _with_driver(url: str) -> str:
    """Name the driver we use, whatever the URL says: a gate's URL serves for the ledger too."""
    scheme, _, rest = url.partition("://")
    return f"postgresql+psycopg://{rest}" if scheme in _POSTGRES_SCHEMES else url


def _tune_sqlite(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=30000"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _shown(url: str) -> str:
    """Return a database URL without user name and password."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def _stored(value: Any) -> Any:
    """Write a text without NUL, which PostgreSQL takes in no text; `_loaded` gives it back."""
    if not isinstance(value, str):
        return value
    return value.replace("\ue000", "\ue0001").replace("\0", "\ue0000")


def _loaded(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return value.replace("\ue0000", "\0").replace("\ue0001", "\ue000")


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
        rows.append({key: _stored(value) for key, value in change.items() if key != "table"})
        if len(rows) == _BATCH:
            yield change["table"], rows
            waiting[change["table"]] = []
    yield from ((table, rows) for table, rows in waiting.items() if rows)
