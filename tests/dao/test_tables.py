"""The tables that queries are composed from are those of the database."""

from __future__ import annotations

from sqlalchemy import Connection, Dialect, MetaData

from dao.postgres.database import Database
from dao.postgres.tables import metadata


async def test_each_column_has_the_type_here_that_it_has_in_the_database(database: Database) -> None:
    found = MetaData()

    def reflect(connection: Connection) -> Dialect:
        found.reflect(connection)
        return connection.dialect

    async with database.reading() as connection:
        dialect = await connection.run_sync(reflect)
    for name, table in metadata.tables.items():
        there = found.tables[name].columns
        for column in table.columns:
            assert column.type.compile(dialect) == there[column.name].type.compile(dialect), (name, column.name)
