"""A schema that was recorded while nodes ran, and that their program does not know."""

from __future__ import annotations

from dataclasses import dataclass

from dao.postgres.pool import AsyncConnection
from dao.postgres.schema_scripts import read_scripts
from dao.postgres.sql import Sql

# Reads the primary key beyond the known version: almost always no rows. An upgrade adds a row. If our own row is
# missing, somebody edited the table: that is not an upgrade, and no reason to stop.
_NEWER = Sql("""
    SELECT max(version) AS newest_schema, max(version) FILTER (WHERE NOT old_nodes_may_run) AS forbidding_schema
    FROM schema_version
    WHERE version > :knows AND EXISTS (SELECT FROM schema_version WHERE version = :knows)
""")


@dataclass(frozen=True, slots=True)
class Newer:
    """A schema that this program does not know, and whether its nodes must stop because of it."""

    version: int
    must_stop: bool

    def __str__(self) -> str:
        return f"the database has schema version {self.version}, this program knows only {known_version()}"


def known_version() -> int:
    return read_scripts().version


async def newer(connection: AsyncConnection) -> Newer | None:
    """A recorded schema that this program does not know, if any; one that requires it to stop comes first."""
    row = (await connection.execute(_NEWER, {"knows": known_version()})).one()
    return newer_of(row.newest_schema, row.forbidding_schema)


def newer_of(newest: int | None, forbidding: int | None) -> Newer | None:
    """Interpret the columns of `_NEWER`."""
    if newest is None:
        return None
    return Newer(newest, must_stop=False) if forbidding is None else Newer(forbidding, must_stop=True)
