"""The databases that are tested with real servers or files: PostgreSQL, MySQL and MariaDB, SQLite, DuckDB."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing, suppress
from datetime import date, datetime, time
from typing import Any

from sqlalchemy import URL, Connection, Engine, event, make_url
from sqlalchemy.exc import ArgumentError

from worker.statements import grammar
from worker.statements.binding import Bind, Statement
from worker.statements.driver import CONNECT_TIMEOUT_S, Driver, Result, Row, fetched, rendered
from worker.statements.files import ANYWHERE, Files

CANCEL_TIMEOUT_S = 5


def driver_for(url: URL, files: Files = ANYWHERE) -> Driver:
    """The most specific driver for this kind of database."""
    return _DRIVERS.get(url.get_backend_name(), Driver)(url, files)


def load_drivers() -> None:
    """Load all installed drivers, so that forks of this process need not."""
    for name in ("postgresql+psycopg", "mysql+pymysql", "sqlite", "duckdb"):
        with suppress(ImportError, ArgumentError):
            make_url(f"{name}://").get_dialect().import_dbapi()


class PostgresDriver(Driver):
    """psycopg 3: values are sent beside the text; the server derives their types from their place."""

    grammar = grammar.POSTGRES
    connect_args = {  # noqa: RUF012 - a ClassVar in Driver
        "connect_timeout": CONNECT_TIMEOUT_S,
        "application_name": "shoal-task",
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
    }

    def interrupt(self, raw: Any) -> None:
        """Ask the server to cancel, over a separate connection."""
        raw.cancel_safe(timeout=CANCEL_TIMEOUT_S)

    def run(self, raw: Any, statement: Statement, limit: int) -> Result:
        """Run a statement and fetch rows one by one; libpq would load all of them into memory first."""
        if statement.first_word not in ("SELECT", "VALUES", "TABLE", "WITH"):
            return super().run(raw, statement, limit)
        import psycopg

        text, values = rendered(statement, self.style)
        with raw.cursor() as cursor:
            rows: list[Row] = []
            dropped = 0
            try:
                for row in cursor.stream(text, values or None):
                    if len(rows) < limit:
                        rows.append(row)
                    else:
                        dropped += 1
            except psycopg.ProgrammingError as error:
                if error.sqlstate is not None or cursor.description:
                    raise
                return Result()  # WITH ... INSERT, SELECT ... INTO: it has run, and returns no rows
            if not rows:
                return Result(self._columns(raw, statement))
            return Result(tuple(column.name for column in cursor.description or ()), rows, dropped)

    @staticmethod
    def _columns(raw: Any, statement: Statement) -> tuple[str, ...]:
        """The columns of a query without rows, which `stream` does not return: the server describes the query."""
        text, _ = rendered(statement, "numeric_dollar")
        raw.pgconn.prepare(b"", text.encode(raw.info.encoding))
        described = raw.pgconn.describe_prepared(b"")
        names = (described.fname(place) or b"" for place in range(described.nfields))
        return tuple(name.decode(raw.info.encoding) for name in names)


class MysqlDriver(Driver):
    """PyMySQL. It would put values into the text itself, so a statement with values is prepared on the server."""

    grammar = grammar.MYSQL
    date_time = "DATETIME"
    connect_args = {"connect_timeout": CONNECT_TIMEOUT_S}  # noqa: RUF012
    extra = "mysql"

    def interrupt(self, raw: Any) -> None:
        """KILL QUERY, over a separate connection."""
        engine = self.engine()
        try:
            with closing(engine.raw_connection()) as other, closing(other.cursor()) as cursor:
                cursor.execute(f"KILL QUERY {int(raw.thread_id())}")
        finally:
            engine.dispose()

    def run(self, raw: Any, statement: Statement, limit: int) -> Result:
        """Run a statement row by row; values go into variables of the session, which the text refers to in order."""
        from pymysql.cursors import SSCursor

        values = [part.value for part in statement.parts if isinstance(part, Bind)]
        text = "".join(part if isinstance(part, str) else "?" for part in statement.parts)
        with closing(raw.cursor(SSCursor)) as cursor:
            if not values:
                cursor.execute(text)
                return self._all_results(cursor, limit)
            names = [f"@shoal_{place}" for place in range(len(values))]
            cursor.execute("SET " + ", ".join(f"{name} = %s" for name in names), values)
            cursor.execute("PREPARE shoal_statement FROM %s", (text,))
            try:
                cursor.execute(f"EXECUTE shoal_statement USING {', '.join(names)}")
                return self._all_results(cursor, limit)
            finally:
                cursor.execute("DEALLOCATE PREPARE shoal_statement")

    @staticmethod
    def _all_results(cursor: Any, limit: int) -> Result:
        """The first result set of a statement; a CALL returns several, and an unread one blocks the next statement."""
        found = fetched(cursor, limit)
        while cursor.nextset():
            other = fetched(cursor, limit)
            found = found if found.is_table else other
        return found


class _InProcessDriver(Driver):
    """A database inside the process of the task."""

    def without_transaction(self, connection: Connection) -> Connection:
        return connection

    def interrupt(self, raw: Any) -> None:
        """Interrupt the statement, which ends with an error."""
        raw.interrupt()


class SqliteDriver(_InProcessDriver):
    """Python's driver. Its implicit transactions are disabled here; transactions begin explicitly."""

    grammar = grammar.SQLITE
    connect_args = {"timeout": 30}  # noqa: RUF012

    def engine(self) -> Engine:
        """Create the engine without the driver's own transactions, which exclude statements such as CREATE TABLE."""
        engine = super().engine()

        @event.listens_for(engine, "connect")
        def _quiet(raw: Any, _record: object) -> None:
            raw.isolation_level = None
            if not self.files.are_anywhere:
                raw.set_authorizer(self.files.authorize)

        @event.listens_for(engine, "begin")
        def _begin(connection: Connection) -> None:
            connection.exec_driver_sql("BEGIN")

        return engine

    def run(self, raw: Any, statement: Statement, limit: int) -> Result:
        """Run a statement; dates and times are written as SQLite's own functions write them."""
        parts = (Bind(_sqlite(part.value)) if isinstance(part, Bind) else part for part in statement.parts)
        return super().run(raw, Statement(tuple(parts)), limit)


class DuckdbDriver(_InProcessDriver):
    """DuckDB."""

    grammar = grammar.DUCKDB
    extra = "duckdb"

    @property
    def connect_args(self) -> Mapping[str, Any]:  # type: ignore[override]
        """Unless all files are allowed, it opens only its own, loads no extension, and no statement can change that."""
        # Otherwise a name in a statement could refer to one of our variables.
        config: dict[str, Any] = {"python_enable_replacements": False}
        if not self.files.are_anywhere:
            config |= {"enable_external_access": False, "lock_configuration": True}
        return {"config": config}

    def run(self, raw: Any, statement: Statement, limit: int) -> Result:
        """Run a statement. One that changes rows returns their number as a table, and so does CREATE TABLE."""
        found = super().run(raw, statement, limit)
        if found.columns != ("Count",) or statement.first_word in ("SELECT", "FROM", "VALUES", "TABLE", "WITH"):
            return found
        return Result(changed=int(found.rows[0][0]) if found.rows else None)


_DRIVERS: Mapping[str, type[Driver]] = {
    "postgresql": PostgresDriver,
    "mysql": MysqlDriver,
    "sqlite": SqliteDriver,
    "duckdb": DuckdbDriver,
}


def _sqlite(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat(" ")
    return value.isoformat() if isinstance(value, date | time) else value
