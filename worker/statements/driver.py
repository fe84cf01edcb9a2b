"""How to connect to, query and interrupt one kind of database: the common part.

Values are bound by the driver's own style of placeholders. Rows beyond the limit are read and dropped: the statement
runs to its end, and the worker's memory stays bounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sqlalchemy import URL, Connection, Engine, create_engine
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import NullPool

from model.errors import Refused
from worker.attempts.extras import how_to_install
from worker.statements.binding import Bind, Statement
from worker.statements.files import ANYWHERE, Files
from worker.statements.grammar import STANDARD, Grammar

CONNECT_TIMEOUT_S = 10
DROPPED_AT_ONCE = 1_000

Row = Sequence[Any]


@dataclass(frozen=True)
class Result:
    """The result of a statement. `dropped` rows came after the limit; `changed` is None when that number is unknown."""

    columns: tuple[str, ...] = ()
    rows: list[Row] = field(default_factory=list)
    dropped: int = 0
    changed: int | None = None

    @property
    def is_table(self) -> bool:
        """Whether it returns rows at all, even none."""
        return bool(self.columns)


class Driver:
    """Any SQLAlchemy dialect. Subclasses handle theirs specifically.

    The methods run in the statement's thread, `interrupt` in another one.
    """

    grammar: ClassVar[Grammar] = STANDARD
    date_time: ClassVar[str] = "TIMESTAMP"
    connect_args: ClassVar[Mapping[str, Any]] = {}
    extra: ClassVar[str | None] = None
    """The extra of the package that installs the driver."""

    def __init__(self, url: URL, files: Files = ANYWHERE) -> None:
        self.url = url
        self.files = files

    def engine(self) -> Engine:
        """An engine without a connection pool. Raises `Refused` when the driver is not installed."""
        try:
            return create_engine(self.url, poolclass=NullPool, connect_args=dict(self.connect_args))
        except NoSuchModuleError:
            name = self.url.drivername
            cure = how_to_install(self.extra) if self.extra else "install its SQLAlchemy dialect there"
            raise Refused(f'this worker has no driver for "{name}"; {cure}, or fix the URL') from None
        except ModuleNotFoundError as error:
            cure = how_to_install(self.extra) if self.extra else f"pip install {error.name} there"
            raise Refused(f"this worker lacks the driver of {self.url.drivername}; {cure}") from None
        except (ArgumentError, TypeError, ValueError):  # such as connect_timeout=soon; its text may contain a secret
            raise Refused("an option in the data source's URL has a value that its driver does not take") from None

    def without_transaction(self, connection: Connection) -> Connection:
        """The connection in autocommit mode."""
        return connection.execution_options(isolation_level="AUTOCOMMIT")

    def interrupt(self, raw: Any) -> None:
        """Interrupt the running statement of a connection, on the server too."""
        for name in ("cancel", "interrupt", "close"):
            if hasattr(raw, name):
                getattr(raw, name)()
                return

    def run(self, raw: Any, statement: Statement, limit: int) -> Result:
        """Run one statement on a driver's connection; at most `limit` rows of its result are retained."""
        cursor = raw.cursor()
        try:
            text, values = rendered(statement, self.style)
            cursor.execute(text, values) if values else cursor.execute(text)
            return fetched(cursor, limit)
        finally:
            cursor.close()

    @property
    def style(self) -> str:
        """Its placeholder style, as in PEP 249."""
        return str(self.url.get_dialect().import_dbapi().paramstyle)


def rendered(statement: Statement, style: str) -> tuple[str, Any]:
    """The text with placeholders, and the values. Without values the text is unchanged."""
    values = [part.value for part in statement.parts if isinstance(part, Bind)]
    escaped = style in ("format", "pyformat") and values
    text, number = "", 0
    for part in statement.parts:
        if isinstance(part, Bind):
            number += 1
            text += {"qmark": "?", "numeric": f":{number}", "numeric_dollar": f"${number}", "named": f":p{number}"}.get(
                style, "%s"
            )
        else:
            text += part.replace("%", "%%") if escaped else part
    if style == "named" and values:
        return text, {f"p{place}": value for place, value in enumerate(values, 1)}
    return text, values


def fetched(cursor: Any, limit: int) -> Result:
    """The first rows of a cursor, the rest counted."""
    if not cursor.description:
        return Result(changed=cursor.rowcount if cursor.rowcount >= 0 else None)
    rows = list(cursor.fetchmany(limit))
    dropped = 0
    while len(rows) == limit and (more := cursor.fetchmany(DROPPED_AT_ONCE)):
        dropped += len(more)
    return Result(tuple(column[0] for column in cursor.description), rows, dropped)
