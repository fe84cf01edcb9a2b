"""The queues stay quick when ANALYZE last saw them empty.

Found by the bench: with reltuples 0 the planner takes a queue for one row, and compared each of 20,000 rows with each
of the 500 that were picked, the slower the more waited.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import cast

import pytest

from dao.commands import commands
from dao.postgres.database import Database
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.tasks import task_events
from model.cluster.slots import Slot
from model.ids import Epoch
from tests.dao.explaining import Explaining

FILL = """
    INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                   priority, worker_group)
    SELECT g, 1, 1, 'RUNNING_EXECUTION', 1, 'END', 'MEDIUM', 'default' FROM generate_series(1, 1000) g;
    INSERT INTO task_event (workflow_instance_id, task_code, attempt, state)
    SELECT g % 1000 + 1, 1, 1, 'SUCCESS' FROM generate_series(1, 20000) g;
    INSERT INTO command (type, workflow_code) SELECT 'START_PROCESS', 1 FROM generate_series(1, 20000);
    UPDATE pg_class SET reltuples = 0, relpages = 3000 WHERE relname IN ('command', 'task_event');
"""


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    made = Database(database_url, application_name="test")
    async with made.writing() as connection:
        for statement in FILL.strip().split(";")[:-1]:
            await connection.execute(Sql(statement))
    yield made
    await made.close()


TAKE = {
    "consume": lambda connection: task_events.consume(connection, Epoch(1), 500),
    "claim": lambda connection: commands.claim(connection, Slot(0, 1), 500, 1),
    "steal": lambda connection: commands.steal(connection, timedelta(0), 500),
}


@pytest.mark.parametrize("name", TAKE)
async def test_a_batch_reads_in_proportion_to_what_it_takes(database: Database, name: str) -> None:
    async with database.writing() as connection:
        explaining = Explaining(connection)
        assert len(await TAKE[name](cast(AsyncConnection, explaining))) == 500
    assert explaining.plan.compared == 0
    assert sum(explaining.plan.read.values()) < 5_000
