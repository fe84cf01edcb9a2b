"""Database roles and their write permissions, granted by `sql/roles.sql`."""

from __future__ import annotations

import re
from importlib.resources import files

import psycopg

from dao.postgres.database import Database
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.table_changes import change_tables
from model.errors import Refused

PREFIX = "shoal_"
PARTS = ("owner", "master", "worker", "api", "alert", "submitter")

_PREFIX = Sql("SELECT set_config('shoal.role_prefix', :prefix, true)")


async def grant(database: Database, prefix: str = PREFIX) -> list[str]:
    """Create the roles and grant their rights; a second run brings them up to date. Returns the names of the roles.

    Args:
        database: of the user who owns the tables and may create roles; with two connections. Nodes may run.
        prefix: of the role names, so that two clusters can share a server.

    Raises:
        Refused: the prefix is invalid, or the user lacks the rights.
        Unavailable: others hold locks for too long; the message names them.
    """
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,40}", prefix):
        raise Refused(f'"{prefix[:60]}" cannot begin the name of a role; use small letters, digits and _')
    script = (files("sql") / "roles.sql").read_text("utf-8")

    async def run(connection: AsyncConnection) -> None:
        await connection.execute(_PREFIX, {"prefix": prefix})
        driver = connection.driver
        try:
            await driver.execute(script.encode())
        except psycopg.errors.InsufficientPrivilege as error:
            raise Refused(
                f"the user of {database.shown} may not give these rights: {str(error).splitlines()[0]}; run it as the "
                f"owner of the tables, with CREATEROLE"
            ) from error

    await change_tables(database, "the grant", run)
    return [f"{prefix}{part}" for part in PARTS]
