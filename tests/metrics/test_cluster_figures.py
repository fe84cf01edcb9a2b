"""Figures of the whole cluster: their values, and that nobody waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from prometheus_client import generate_latest

from dao.cluster import cluster_figures
from dao.postgres.database import Database
from metrics import cluster_collector as metrics
from metrics.cluster_collector import ClusterCollector
from node import cluster_gauges as loop
from node.cluster_gauges import figures_of, show_figures
from tests.cluster.cluster import Cluster
from tests.eventually import eventually
from tests.metrics.scraping import scraped, value
from tests.servers.postgres import PostgresServer


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[ClusterCollector]:
    """A collector that no other test has used, in place of the process's own."""
    made = ClusterCollector()
    monkeypatch.setattr(loop, "collector", made)
    monkeypatch.setattr(loop, "EVERY_S", 0.05)
    metrics.PART.registry.unregister(metrics.collector)
    metrics.PART.registry.register(made)
    monkeypatch.setattr(metrics.PART, "refresh", made.refresh)
    yield made
    metrics.PART.registry.unregister(made)
    metrics.PART.registry.register(metrics.collector)


async def shown() -> str:
    """The text of a scrape."""
    assert metrics.PART.refresh is not None
    await metrics.PART.refresh()
    return generate_latest(metrics.PART.registry).decode()


def _insert(server: PostgresServer, url: str, *statements: str) -> None:
    with server.connect(url.rsplit("/", 1)[1]) as connection:
        for statement in statements:
            connection.execute(statement.encode())


QUEUED = """
    INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group,
                               workflow_priority, task_priority, queued_at)
    SELECT n, 1, 'a', 'FAKE', 'QUEUED', {group}, 'MEDIUM', 'MEDIUM', {queued_at}
    FROM generate_series({first}, {last}) AS n
"""


async def test_they_say_what_waits_and_runs(postgres_server: PostgresServer, database_url: str) -> None:
    run = """INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id,
                                            failure_strategy, priority, worker_group)
             SELECT n, 1, 1, '{state}', 1, 'CONTINUE', 'MEDIUM', 'g' FROM generate_series({first}, {last}) AS n"""
    _insert(
        postgres_server,
        database_url,
        "SET session_replication_role = replica",
        run.format(state="RUNNING_EXECUTION", first=1, last=7),
        run.format(state="SERIAL_WAIT", first=8, last=9),
        QUEUED.format(group="'gpu'", queued_at="clock_timestamp() - interval '100 s'", first=1, last=5),
        QUEUED.format(group="'cpu'", queued_at="'infinity'", first=11, last=12),
        """INSERT INTO command (type, created_at)
           VALUES ('B', now() - interval '50 s'), ('C', now())""",
        "INSERT INTO error_command (command_id, reason, master_id) VALUES (1, 'r', 1)",
        """INSERT INTO schedule (workflow_code, crontab, next_fire_at)
           VALUES (1, 'x', now() - interval '30 s'), (1, 'y', NULL)""",
        "INSERT INTO resource_pool (name) VALUES ('proxies'), ('empty')",
        """INSERT INTO pool_resource (pool_code, name, set_aside_at, set_aside_why, removed)
           SELECT code, n::text, CASE WHEN n = 1 THEN now() END, CASE WHEN n = 1 THEN 'broken' END, n = 2
           FROM resource_pool, generate_series(1, 5) AS n WHERE name = 'proxies'""",
    )
    database = Database(database_url, application_name="test")
    async with database.reading() as connection:
        found = await cluster_figures.read(connection)
        few = await cluster_figures.read(connection, 3)
    await database.close()
    assert found.runs == {"RUNNING_EXECUTION": 7, "SERIAL_WAIT": 2}
    assert found.commands == 2
    assert 50 <= found.oldest_command_s < 1000
    assert found.error_commands == 1
    assert 30 <= found.overdue_schedule_s < 1000
    cpu, gpu = found.groups
    assert (cpu.group, cpu.waiting, cpu.oldest_s, cpu.running) == ("cpu", 2, 0, 0)
    assert (gpu.group, gpu.waiting, gpu.running) == ("gpu", 5, 0)
    assert 100 <= gpu.oldest_s < 1000
    empty, proxies = found.pools
    assert (empty.free, proxies.free, proxies.taken, proxies.set_aside, proxies.waiting) == (0, 3, 0, 1, 0)
    assert sum(few.runs.values()) == 3
    assert {figure.name: figure for figure in figures_of(found)}["shoal_cluster_runs"].values[("FAILOVER",)] == 0


async def test_many_groups_cost_no_more_series_than_a_hundred(
    postgres_server: PostgresServer, database_url: str
) -> None:
    group = "'group ' || lpad(n::text, 5, '0')"
    _insert(
        postgres_server,
        database_url,
        "SET session_replication_role = replica",
        QUEUED.format(group=group, queued_at="now()", first=1, last=2_000),
    )
    database = Database(database_url, application_name="test")
    async with database.reading() as connection:
        found = await cluster_figures.read(connection)
    await database.close()
    assert [each.group for each in found.groups] == [f"group {n:05}" for n in range(1, 101)]
    assert all(len(figure.values) <= 300 for figure in figures_of(found))


async def test_they_are_read_when_somebody_scrapes_and_not_before(
    database_url: str, collector: ClusterCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = []
    read = cluster_figures.read
    monkeypatch.setattr(cluster_figures, "read", lambda connection: reads.append(1) or read(connection))
    monkeypatch.setattr(loop, "EVERY_S", 3600.0)
    database = Database(database_url, application_name="test")
    showing = asyncio.create_task(show_figures(database))
    try:
        await asyncio.sleep(0)
        assert not reads
        await eventually(lambda: _has("shoal_cluster_runs"))
        for _ in range(5):
            await shown()
        assert len(reads) == 1
    finally:
        showing.cancel()
        await database.close()


async def _has(name: str) -> bool:
    return name in await shown()


async def test_a_database_that_hangs_holds_up_no_scrape(
    postgres_server: PostgresServer, database_url: str, collector: ClusterCollector
) -> None:
    database = Database(database_url, application_name="test", answer_within_s=2)
    showing = asyncio.create_task(show_figures(database))

    async def failed() -> float:
        return value(await shown(), "shoal_cluster_reads_failed_total")

    try:
        await eventually(lambda: _has("shoal_cluster_runs"))
        before = await failed()
        postgres_server.pause()
        try:

            async def fails() -> bool:
                async with asyncio.timeout(10 * metrics.FRESH_S_MAX):
                    return await failed() > before

            await eventually(fails, within_s=20)
            assert "shoal_cluster_runs" in await shown()
            stale_s = value(await shown(), "shoal_cluster_figures_age_seconds")
            assert stale_s > 0
        finally:
            postgres_server.resume()

        async def is_fresh() -> bool:
            return value(await shown(), "shoal_cluster_figures_age_seconds") < stale_s

        await eventually(is_fresh, within_s=20)
    finally:
        showing.cancel()
        await database.close()


async def test_figures_that_are_too_old_are_not_shown(collector: ClusterCollector) -> None:
    collector.show([metrics.Figure("shoal_cluster_commands_waiting", "Some.", (), {(): 1})])
    assert "shoal_cluster_commands_waiting 1.0" in await shown()
    collector._read_s -= metrics.SHOWN_S_MAX
    assert "shoal_cluster_commands_waiting" not in await shown()
    assert value(await shown(), "shoal_cluster_figures_age_seconds") > metrics.SHOWN_S_MAX


async def test_a_master_whose_database_hangs_is_scraped(cluster: Cluster, postgres_server: PostgresServer) -> None:
    master = await cluster.master()
    await eventually(lambda: "shoal_cluster_runs" in scraped(master))
    postgres_server.pause()
    try:
        before = value(scraped(master), "shoal_node_beats_failed_total")
        await eventually(lambda: value(scraped(master), "shoal_node_beats_failed_total") > before, within_s=20)
        assert value(scraped(master), "shoal_node_beat_age_seconds") > 0
    finally:
        postgres_server.resume()


async def test_few_masters_read_them(cluster: Cluster) -> None:
    masters = [await cluster.master() for _ in range(3)]
    await cluster.slots_become(3)
    for master in masters:
        scraped(master)
    await eventually(lambda: sum("shoal_cluster_runs" in scraped(master) for master in masters) == 2, within_s=20)
    last = next(master for master in masters if value(scraped(master), "shoal_master_slot") == 2)
    assert "shoal_cluster_runs" not in scraped(last)
