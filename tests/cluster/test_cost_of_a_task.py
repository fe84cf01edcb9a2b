"""What a FAKE task costs the database, in counts that no other load changes: records of its write-ahead log, by kind.

The bounds are slightly above the measured counts. A change that exceeds one makes every task dearer.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster
from tests.conftest import SCHEMA
from tests.servers.postgres import PostgresServer

RUNS, TASKS_OF_A_RUN = 100, 10
TASKS = RUNS * TASKS_OF_A_RUN
_SETTINGS = {
    "shared_preload_libraries": "pg_stat_statements",
    # What would write to the log by chance.
    "full_page_writes": "off",
    "autovacuum": "off",
}
INDEX_ENTRIES = 15.3
"""Per task in all tables, with its share of those of its run."""
WAL_BYTES = 2_270
_RECORDS = """
    SELECT "resource_manager/record_type", count, combined_size
    FROM pg_get_wal_stats(%s, pg_current_wal_flush_lsn(), true) WHERE count > 0
"""
_INDEX_ENTRIES = ("Btree/INSERT_LEAF", "Btree/INSERT_POST", "Btree/SPLIT_L", "Btree/SPLIT_R")


@pytest.fixture(scope="module")
def counting_server() -> Iterator[PostgresServer]:
    """A server that counts statements, and writes to its log what it is asked to and no more."""
    with PostgresServer(fsync=False, settings=_SETTINGS) as server:
        yield server


@pytest.mark.parametrize("shape", ["parallel", "chains"])
async def test_a_task_costs_the_database_no_more_than_it_did(
    counting_server: PostgresServer, tmp_path: Path, shape: str
) -> None:
    url = counting_server.create_database(shape)
    with counting_server.connect(shape) as connection:
        connection.execute(SCHEMA.read_bytes())
        connection.execute("CREATE EXTENSION pg_stat_statements; CREATE EXTENSION pg_walinspect")
    with Cluster(url, url, tmp_path) as cluster:
        after = {n: [f"t{n - 1}"] if n and shape == "chains" else [] for n in range(TASKS_OF_A_RUN)}
        cluster.define(1, shape, tasks=[{"name": f"t{n}", "type": "FAKE", "after": after[n]} for n in after])
        await cluster.master()
        await cluster.worker()
        cluster.start(1)
        await cluster.all_ends()
        cluster.rows("SELECT pg_stat_statements_reset()")
        since = cluster.one("SELECT pg_current_wal_insert_lsn()")
        cluster.start(1, RUNS)
        await cluster.all_ends()
        statements = cluster.one("SELECT sum(calls)::integer FROM pg_stat_statements")
        records = cluster.rows(_RECORDS, since)
    count = {kind.removesuffix("+INIT"): 0 for kind, *_ in records}
    for kind, number, _ in records:
        count[kind.removesuffix("+INIT")] += number
    # A run is a command, the proof of it, an instance that is updated once, and ten tasks. A task is a row that is
    # updated twice, and an event.
    assert count["Heap/INSERT"] <= 2 * TASKS + 3 * RUNS + 10, records
    assert count["Heap/UPDATE"] <= 2 * TASKS + RUNS + 50, records
    assert count["Heap/DELETE"] <= TASKS + RUNS + 50, records
    assert sum(count.get(kind, 0) for kind in _INDEX_ENTRIES) <= INDEX_ENTRIES * TASKS + 100, records
    assert sum(size for *_, size in records) <= WAL_BYTES * TASKS, records
    # Depends on the sizes of batches, and so on the machine: a task that had its own transactions would need many more.
    assert count["Transaction/COMMIT"] <= 0.5 * TASKS, records
    assert statements <= 2 * TASKS, statements
