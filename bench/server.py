"""The one PostgreSQL of the bench: its own defaults, durable, with a statement log that can be switched on and off.

Settings that differ from PostgreSQL's defaults are read back from the server and shown in the result.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import psycopg
from sqlalchemy import make_url

from dao.postgres.session_settings import SESSION_SETTINGS
from tests.servers.postgres import PostgresServer, binaries

SCHEMA = Path(__file__).parent.parent / "sql" / "schema.sql"
_TEMPLATE = "shoal_template"
_DURABILITY = ("fsync", "synchronous_commit", "full_page_writes", "wal_sync_method")
_LOG_PREFIX = "bench app=%a "
# No statement text can imitate this line: the server indents all lines of a statement but the first.
_STATEMENT = re.compile(r"^bench app=(\S*) LOG:  (?:statement|execute [^:\n]*):\s*(\w+)", re.MULTILINE)

Connection = psycopg.Connection[tuple[object, ...]]


class BenchServer:
    """PostgreSQL with Shoal's schema as a template. Use it as a context manager.

    Args:
        on_disk: its data lies on the disk, also if there is room in memory.
    """

    def __init__(self, *, on_disk: bool = False) -> None:
        # The fixture of the tests uses half of the default memory; here the server has its own default.
        settings = {
            "shared_buffers": "128MB",
            "log_line_prefix": _LOG_PREFIX,
            "shared_preload_libraries": "pg_stat_statements",
        }
        self._server = PostgresServer(settings=settings, on_disk=on_disk)
        try:
            with self._server.connect() as connection:
                connection.execute("CREATE EXTENSION pg_stat_statements")
            self._server.create_database(_TEMPLATE)
            with self._server.connect(_TEMPLATE) as connection:
                connection.execute(SCHEMA.read_bytes())
        except BaseException:
            self._server.close()
            raise

    def __enter__(self) -> BenchServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()

    @property
    def folder(self) -> Path:
        """The folder of its socket and log, which is deleted with it."""
        return Path(str(make_url(self._server.socket_url()).query["host"]))

    @property
    def port(self) -> int:
        """The number in the name of its socket."""
        return self._server.port

    @property
    def pid(self) -> int:
        """Its first process, the parent of all others."""
        return int((self.folder / "data" / "postmaster.pid").read_text().splitlines()[0])

    @property
    def programs(self) -> Path:
        """The folder of its programs."""
        return binaries()

    def url(self, database: str) -> str:
        """The URL of a database over the socket, as Shoal's processes get it."""
        return self._server.socket_url(database)

    def connect(self, database: str, *, as_shoal: bool = False) -> Connection:
        """A connection in autocommit; `as_shoal`: with the planner settings of Shoal, but without its time-outs."""
        connection = self._server.connect(database)
        for name, value in SESSION_SETTINGS.items() if as_shoal else ():
            if not name.endswith("_timeout"):
                connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        return connection

    @contextmanager
    def database(self, name: str) -> Iterator[str]:
        """An empty database with Shoal's schema, for the duration of the block; yields its name."""
        self._server.create_database(name, template=_TEMPLATE)
        try:
            yield name
        finally:
            self._server.drop_database(name)

    @contextmanager
    def plain_database(self, name: str) -> Iterator[str]:
        """A database without the schema."""
        self._server.create_database(name)
        try:
            yield name
        finally:
            self._server.drop_database(name)

    @contextmanager
    def statements_counted(self) -> Iterator[Counter[tuple[str, str]]]:
        """Counts, by (application, first word), every statement that the server executes during the block.

        The counts are available when the block has ended. They come from the server's own log, which has each EXECUTE,
        BEGIN and COMMIT included: it needs no extension and names the sender.
        """
        counts: Counter[tuple[str, str]] = Counter()
        log = self.folder / "log"
        try:
            self._set_log_statement("all")
            begin = log.stat().st_size
            yield counts
            with log.open("rb") as file:
                file.seek(begin)
                text = file.read().decode(errors="replace")
        finally:
            self._set_log_statement("none")
        counts.update((app, word.upper()) for app, word in _STATEMENT.findall(text))

    def version(self) -> str:
        """The server's version as it reports it."""
        return str(self._one("SHOW server_version"))

    def durability(self) -> dict[str, str]:
        """The current settings by which a COMMIT waits for the disk."""
        return {name: str(self._one(f"SHOW {name}")) for name in _DURABILITY}

    def changed_settings(self) -> dict[str, str]:
        """Settings that differ from PostgreSQL's defaults and affect speed, without paths and ports."""
        names = ("shared_buffers", "dynamic_shared_memory_type", "client_connection_check_interval", "log_line_prefix",
                 "shared_preload_libraries")  # fmt: skip
        return {name: str(self._one(f"SHOW {name}")) for name in names}

    def _set_log_statement(self, value: str) -> None:
        with self._server.connect() as connection:
            connection.execute(f"ALTER SYSTEM SET log_statement = '{value}'")
            connection.execute("SELECT pg_reload_conf()")
            connection.execute("SELECT pg_sleep(0.5)")  # so that sessions reload it before their next statement

    def _one(self, query: str) -> object:
        with self._server.connect() as connection:
            row = connection.execute(query.encode()).fetchone()
        assert row is not None
        return row[0]
