"""The tables that queries are composed from are those of the database."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Dialect, MetaData, Table

from dao.postgres.database import Database
from dao.postgres.tables import metadata


def _said(table: Table, dialect: Dialect) -> dict[str, Any]:
    """What two sides must agree on, in plain values that a failing test prints well."""
    return {
        "columns": {
            column.name: (column.type.compile(dialect), "null" if column.nullable else "not null")
            for column in table.columns
        },
        "primary key": [column.name for column in table.primary_key],
        "unique": {
            constraint.name: [column.name for column in constraint.columns]  # type: ignore[attr-defined]
            for constraint in table.constraints
            if constraint.__visit_name__ == "unique_constraint"
        },
    }


async def test_each_table_is_the_same_here_and_in_the_database(database: Database) -> None:
    found = MetaData()

    def reflect(connection: Connection) -> Dialect:
        found.reflect(connection)
        return connection.dialect

    async with database.reading() as connection:
        dialect = await connection.run_sync(reflect)
    assert metadata.tables.keys() <= found.tables.keys()
    for name, table in metadata.tables.items():
        assert _said(table, dialect) == _said(found.tables[name], dialect), name
