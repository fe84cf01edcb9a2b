"""A database of DolphinScheduler, read in one read-only transaction.

Its tables are read as they are, since each version of DolphinScheduler has its own columns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from sqlalchemy import Connection, MetaData, Table, create_engine, inspect
from sqlalchemy.exc import DBAPIError, NoSuchModuleError, SQLAlchemyError

from dao.secrets.data_source_url import parse_data_source_url, shown_url
from importers.dolphinscheduler.database import (
    NAMED,
    PARAMETERS,
    VERSIONS,
    WHOLE,
    Row,
    export_of,
    names_of,
    older_tasks,
)
from model.errors import Refused, Unavailable

NAME = "the database"
"""The name of the input in the report."""
CONNECT_TIMEOUT_S = 10
_READ_ONLY = {"postgresql": "SET TRANSACTION READ ONLY", "mysql": "START TRANSACTION READ ONLY"}


def read_database(url: str) -> tuple[bytes, dict[str, dict[str, str]]]:
    """The workflows of a database as an export, and the names behind its ids.

    Raises:
        Refused: it is no database of DolphinScheduler 3, or there is no driver for it.
        Unavailable: it does not answer, or the login fails.
    """
    with _connected(url) as connection:
        present = set(inspect(connection).get_table_names())
        tables = {what: next((name for name in names if name in present), None) for what, names in WHOLE.items()}
        if absent := [WHOLE[what][0] for what, name in tables.items() if name is None]:
            raise Refused(f"it is no database of DolphinScheduler 3: it has no table {absent[0]}")
        rows = {what: _rows(connection, name or "") for what, name in tables.items()}
        if (older := older_tasks(rows)) and VERSIONS in present:
            rows["versions"] = _rows(connection, VERSIONS, of=older)
        named = {
            kind: _rows(connection, table, (id_, name))
            for kind, (table, id_, name) in NAMED.items()
            if table in present
        }
        table, columns = PARAMETERS
        parameters = _rows(connection, table, columns) if table in present else []
    return export_of(rows, parameters), names_of(named)


@contextmanager
def _connected(text: str) -> Iterator[Connection]:
    url = parse_data_source_url(text)
    if (read_only := _READ_ONLY.get(url.get_backend_name())) is None:
        raise Refused("a database of DolphinScheduler is PostgreSQL or MySQL; give its URL")
    try:
        engine = create_engine(url, connect_args={"connect_timeout": CONNECT_TIMEOUT_S})
    except (ModuleNotFoundError, NoSuchModuleError):
        raise Refused(f"there is no driver here for {url.get_backend_name()}; install the extra mysql") from None
    try:
        with engine.connect() as connection, connection.begin():
            connection.exec_driver_sql(read_only)
            yield connection
    except DBAPIError as error:
        raise Unavailable(f"{shown_url(url)} does not answer: {str(error.orig).splitlines()[0]}") from None
    except SQLAlchemyError as error:
        raise Refused(f"{shown_url(url)} cannot be read: {str(error).splitlines()[0]}") from None
    finally:
        engine.dispose()


def _rows(
    connection: Connection, name: str, columns: Sequence[str] | None = None, of: Collection[int] | None = None
) -> list[Row]:
    table = Table(name, MetaData(), autoload_with=connection)
    wanted = table.select() if of is None else table.select().where(table.c["code"].in_(of))
    if columns is not None:
        wanted = wanted.with_only_columns(*(table.c[each] for each in columns))
    return [dict(row._mapping) for row in connection.execute(wanted)]
