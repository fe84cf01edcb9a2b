"""A plan that a node's session made while the tables were empty is right when they are full.

Nothing tells the session: as long as nobody analyses the tables, it keeps its plans.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import cast

from dao.postgres.database import Database
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from model.errors import ShoalError
from tests.conftest import SCHEMA
from tests.dao.explaining import Explaining, undoing
from tests.dao.hot_statements import BIG, HOT
from tests.dao.hot_views import VIEWS
from tests.servers.postgres import PostgresServer

MILLION = (Path(__file__).parent / "million.sql").read_text().splitlines()
READ_MAX = 5_000
"""A wrong plan reads a million."""
FORGETS_PLANS = ("ALTER TABLE", "ANALYZE")
SERVER = {"full_page_writes": "off", "synchronous_commit": "off", "max_wal_size": "8GB", "autovacuum": "off"}


async def test_a_plan_of_empty_tables_is_right_for_full_ones() -> None:
    wrong = {}
    with PostgresServer(fsync=False, settings=SERVER) as server:
        server.create_database("full")
        with server.connect("full") as other:
            other.execute(SCHEMA.read_bytes())
        database = Database(server.url("full"), application_name="test", keeps_plans=True)
        async with database.writing() as connection:
            driver = connection.driver
            driver.prepare_threshold, driver.prepared_max = 0, None  # from the first time on, and all of them
            await connection.execute(Sql("SELECT"))
            for hot in HOT.values():
                with undoing(connection), suppress(ShoalError):
                    await hot.call(connection)
        with server.connect("full") as other:
            other.execute("\n".join(line for line in MILLION if not line.startswith(FORGETS_PLANS)).encode())
        async with database.writing() as connection:
            await connection.execute(Sql("SELECT"))
            for name in HOT.keys() - VIEWS.keys():
                explaining = Explaining(connection)
                with undoing(connection):
                    await HOT[name].call(cast(AsyncConnection, explaining))
                plan = explaining.plan
                if plan.whole_tables & BIG or plan.rows_read > max(READ_MAX, HOT[name].rows_read_max):
                    wrong[name] = plan
        await database.close()
    assert not {name: (plan.whole_tables & BIG, plan.read) for name, plan in wrong.items()}
