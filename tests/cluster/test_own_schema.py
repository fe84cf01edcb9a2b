"""A cluster whose database URL names the schema of its tables: nothing else says which, and all of it obeys."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg

from dao.postgres.address import with_argument
from tests.cluster.cluster import Cluster
from tests.cluster.test_roles import users_of
from tests.eventually import eventually
from tests.servers.postgres import PostgresServer
from tests.servers.warm import run_verb

WOKEN = {"SHOAL_MASTER__LOOK_EVERY": "300", "SHOAL_WORKER__LOOK_EVERY": "300"}
"""Without polling: only NOTIFY wakes the nodes."""
BESIDE = """
    SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname <> 'Jobs' AND n.nspname <> 'information_schema' AND NOT starts_with(n.nspname, 'pg_')
"""


async def test_all_of_a_cluster_is_in_the_schema_that_its_url_names(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    plain = postgres_server.create_database("of_others")
    try:
        with psycopg.connect(plain.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute('CREATE SCHEMA "Jobs"')
        url = with_argument(plain, "options", '-csearch_path="Jobs"')
        with Cluster(url, url, tmp_path) as cluster:
            await _works(cluster)
            assert cluster.one(BESIDE) == 0
            # As after a restore of a database that had it as its own setting.
            unnamed = {"SHOAL_DATABASE_URL": plain, "SHOAL_REGISTRY_URL": plain}
            told = run_verb(["doctor"], {**os.environ, **cluster.environment, **unnamed}, cwd=tmp_path)
            assert told.code == 1
            assert 'ALTER DATABASE of_others SET search_path = "Jobs"' in " ".join(told.out.split())
    finally:
        postgres_server.drop_database("of_others")


async def _works(cluster: Cluster) -> None:
    """Check that it works, with a role for each part, and the database as the registry."""
    cluster.environment.update(WOKEN)
    cluster.shoal("db", "init")
    _, users = await users_of(cluster)
    await cluster.master(**users["master"])
    await cluster.worker(**users["worker"])
    assert cluster.one("SELECT count(*) FROM registry_lease") == 2
    cluster.define(7, "w", tasks=[{"name": "a", "type": "SHELL", "params": {"script": cluster.journal.script()}}])
    cluster.start(7, 3)
    await cluster.all_ends()
    assert int(cluster.shoal("db", "psql", "-Atc", "SELECT start_workflow(7)")) > 3
    cluster.shoal("run", "w", "--wait")
    await eventually(cluster.unfinished, until=0)
    cluster.check_exactly_once(5)
