"""The servers of a test run, started when the first test asks, and a place of its own in them for each test."""

from __future__ import annotations

import atexit
import gc
import itertools
import math
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dao.pools import pool_claims
from dao.postgres import database, session_settings
from tests import durations
from tests.hung_folder import NoHungFolder, hung_folder
from tests.servers.mariadb import MariadbServer
from tests.servers.postgres import PostgresServer
from tests.servers.s3 import S3Server
from tests.servers.zookeeper import ZooKeeperServer

SCHEMA = Path(__file__).parent.parent / "sql" / "schema.sql"
TEMPLATE = "shoal_template"
LONG = {
    "alert/test_delivery_under_faults.py",
    "api/test_same_verbs.py",
    "api/test_schema_fuzzing.py",
    "bridge/test_interleavings.py",
    "bridge/test_same_program.py",
    "cluster/test_clocks.py",
    "cluster/test_duties.py",
    "cluster/test_half_open_links.py",
    "cluster/test_hung_loops.py",
    "cluster/test_kept_results.py",
    "cluster/test_leased_streams.py",
    "cluster/test_load.py",
    "cluster/test_order_by_key.py",
    "cluster/test_outages.py",
    "cluster/test_own_work.py",
    "cluster/test_registry_outages.py",
    "cluster/test_room.py",
    "cluster/test_rows_in_the_way.py",
    "cluster/test_shared_faults.py",
    "cluster/test_suspect_commands.py",
    "cluster/test_watcher.py",
    "cluster/test_went_back.py",
    "dao/test_kept_plans.py",
    "deploy/test_patroni.py",
    "edits/test_edits.py",
    "newcomer/test_newcomer.py",
    "scenarios/test_many_serial_keys.py",
    "simulation/test_seeds_1.py",
    "simulation/test_seeds_2.py",
    "simulation/test_simulation.py",
    "simulation/test_switches.py",
    "tests/test_wheel.py",
    "worker/test_spark_task.py",
}
"""`make test-long` runs these files, and what is marked so in others."""
SHARING = {"scenarios", "upstream"}
"""Folders whose files share a cluster, which ends when a process goes on to another folder."""
PARTLY_LONG = {
    "page/test_accessibility.py",
    "dao/test_plans.py",
    "shoal/test_every_verb.py",
    "dao/test_run_pages.py",
    "dao/test_run_walks.py",
    "scenarios/test_whole_database.py",
    *(f"simulation/test_{what}.py" for what in ("approvals", "closing", "dates", "elements", "max_active")),
    *(f"simulation/test_{what}.py" for what in ("start_rules", "started_runs", "triggers")),
}
"""Those others; in simulation/ what proves that the simulation would see a fault."""
_number = itertools.count(1)
# Each process of a run collects all tests, and none of what it makes meanwhile is garbage: to look for some takes a
# quarter of that time, and would take it again in the tests, and five times as pytest ends. At the end of the process
# it is let go: else libraries say that these objects leak.
gc.disable()
atexit.register(gc.unfreeze)
# Other work on this machine may use the memory: a node that is BUSY for it would take nothing for the whole test.
os.environ |= {"SHOAL_MASTER__LOAD__MEMORY_MAX": "1", "SHOAL_WORKER__LOAD__MEMORY_MAX": "1"}
AS_SHIPPED = session_settings.SESSION_SETTINGS
"""The settings of connections of processes that tests start."""
# A transaction that this process itself opened is not ended while other work keeps its loop waiting for seconds.
session_settings.SESSION_SETTINGS = {
    **AS_SHIPPED,
    "idle_in_transaction_session_timeout": "60s",
    "statement_timeout": "60s",
}
# Nor is one statement, such as one that fills a table, given up while the disk keeps the server waiting for seconds.
defaults = database.Database.__init__.__kwdefaults__
assert defaults is not None
defaults["answer_within_s"] = 61.0
pool_claims.HELD_MS_MAX = 60_000


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A run without the longest files does not read them, nor one of these the others: that takes seconds of each
    process."""
    expression, name = config.getoption("markexpr"), short_name(collection_path)
    if "long" not in expression or not collection_path.name.startswith("test_"):
        return None
    if "not long" in expression:
        return name in LONG or None
    return name not in LONG | PARTLY_LONG or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files are begun first: else the last of them would keep the other processes waiting.

    A file that durations.txt does not know may be one of them. Those that share a cluster stay together.
    """
    for item in items:
        if short_name(item.path) in LONG:
            item.add_marker("long")
    known, unknown = durations.recorded(), durations.Duration(math.inf, math.inf)

    def place(item: pytest.Item) -> tuple[bool, bool, str, float, str]:
        file = item.nodeid.partition("::")[0]
        folder = item.path.parent.name if item.path.parent.name in SHARING else ""
        return short_name(item.path) not in LONG, not folder, folder, -known.get(file, unknown).clock_s, file

    items.sort(key=place)


def short_name(file: Path) -> str:
    """A file with its folder: names of files alone come again in others."""
    return f"{file.parent.name}/{file.name}"


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def zookeeper_server() -> Iterator[ZooKeeperServer]:
    """One ZooKeeper for the whole run. A test that stops it brings it back before it ends."""
    with ZooKeeperServer() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One PostgreSQL for the whole run, holding a template with our schema. Who stops it brings it back."""
    with PostgresServer() as server:
        server.create_database(TEMPLATE)
        with server.connect(TEMPLATE) as connection:
            connection.execute(SCHEMA.read_bytes())
        yield server


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MariadbServer]:
    """One MariaDB for the whole run, without databases of ours."""
    with MariadbServer() as server:
        yield server


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """One S3-compatible server for the whole run. Who stops it brings it back."""
    with S3Server() as server:
        yield server


@pytest.fixture
def bucket(s3_server: S3Server) -> str:
    """A bucket of the test's own."""
    return s3_server.bucket(f"bucket-{next(_number)}")


@pytest.fixture
def zookeeper_url(zookeeper_server: ZooKeeperServer) -> str:
    """A registry URL with a root that no other test uses."""
    return zookeeper_server.url(f"/test-{next(_number)}/shoal")


@pytest.fixture
def database_template() -> str:
    """The template of a test's database; a folder may override it."""
    return TEMPLATE


@pytest.fixture
def database_url(postgres_server: PostgresServer, database_template: str) -> Iterator[str]:
    """A fresh database with our schema, dropped afterwards."""
    name = f"test_{next(_number)}"
    yield postgres_server.create_database(name, template=database_template)
    postgres_server.drop_database(name)


@pytest.fixture
def hung(tmp_path: Path) -> Iterator[Path]:
    """A folder in which every access hangs, as on a dead server."""
    try:
        with hung_folder(tmp_path / "hung") as folder:
            yield folder
    except NoHungFolder as error:
        pytest.skip(f"only root can mount it, with FUSE: {error}")
