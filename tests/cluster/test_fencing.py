"""Nodes write under their licence only, as the database itself sees it, while every kind of workflow runs."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.chaos import audit
from tests.chaos.journal import Journal
from tests.chaos.load import Load
from tests.chaos.pool_rules import make_pools
from tests.chaos.workflows import kinds
from tests.cluster.cluster import Cluster
from tests.eventually import eventually
from tests.servers.postgres import PostgresServer

RATE = 25.0
COMMANDS = 200


@pytest.mark.timeout(180)
async def test_no_node_ever_writes_without_holding_its_own_row(
    cluster: Cluster, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    """Commands of all kinds, a master and a worker that are killed, and one of each that leaves by itself."""
    with postgres_server.connect(cluster.psql_url.rpartition("/")[2]) as connection:
        audit.install(connection)
    make_pools(cluster)
    known = kinds(Journal(tmp_path / "tasks.journal"))
    for kind in known:
        cluster.define(kind.code, kind.name, **kind.spec)
    masters = [await cluster.master() for _ in range(3)]
    workers = [await cluster.worker() for _ in range(3)]
    with Cluster(cluster.environment["SHOAL_DATABASE_URL"], "", tmp_path) as submitter:
        load = Load(submitter, known, seed=1, rate=RATE)
        load.start()
        try:
            await eventually(lambda: len(load.promises.acknowledged) > COMMANDS / 2, within_s=60)
            for node, number in zip(
                (masters[0], workers[0], masters[1], workers[1]),
                (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGTERM),
                strict=True,
            ):
                node.signal(number)
            await eventually(lambda: len(load.promises.acknowledged) > COMMANDS, within_s=60)
        finally:
            load.stop()
    await cluster.all_ends(within_s=90)
    assert cluster.rows("SELECT * FROM chaos.unlicensed LIMIT 10") == []
    assert cluster.rows("SELECT * FROM chaos.change WHERE node_state = 'FENCED' LIMIT 10") == []
    writers = cluster.one("SELECT count(DISTINCT epoch) FROM chaos.change")
    assert writers >= len(masters) + len(workers), "it saw them all"
