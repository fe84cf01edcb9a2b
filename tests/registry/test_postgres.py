"""Faults of the PostgreSQL registry alone."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from dao.cluster.registry_rows import CHANNEL
from dao.postgres.listen import Listener
from model.cluster.nodes import NodeKind, NodeStatus
from model.errors import Refused
from registry.connect import make_registry
from registry.protocol import ConnectionState
from tests.eventually import eventually
from tests.registry.scenes import OPEN_S, SESSION, PostgresScene, master, opened
from tests.registry.test_contract import epochs_of, woken
from tests.servers.postgres import PostgresServer


@pytest.fixture
def scene(postgres_server: PostgresServer, database_url: str) -> PostgresScene:
    return PostgresScene(postgres_server, database_url)


async def test_a_change_of_status_wakes_the_others_and_a_mere_beat_does_not(scene: PostgresScene) -> None:
    """Method: a third client receives everything in order, up to its own message."""
    async with opened(scene) as one, opened(scene) as other:
        await one.register(master(1))
        with scene.connect() as third:
            third.execute(f'LISTEN "{CHANNEL}"')
            await one.update(master(1, running=1, load=0.5))
            other.changed.clear()
            await one.update(master(1, running=1, load=0.5, status=NodeStatus.BUSY))
            await woken(other, 10)
            third.execute(f"NOTIFY \"{CHANNEL}\", 'over'")
            heard = []
            for notification in third.notifies(timeout=60):
                if notification.payload == "over":
                    break
                heard.append(notification.payload)
        assert heard == [NodeKind.MASTER]


async def test_a_crash_of_the_server_empties_the_table_and_it_fills_again(scene: PostgresScene) -> None:
    async with opened(scene, SESSION) as one, opened(scene, SESSION) as other:
        await one.register(master(1))
        await other.register(master(2))
        scene.server.kill()
        scene.server.start()
        await eventually(epochs_of(one), until=[1, 2], within_s=10)
        await eventually(lambda: one.state, until=ConnectionState.CONNECTED, within_s=10)


async def test_a_session_ended_by_an_administrator_is_replaced(scene: PostgresScene) -> None:
    async with opened(scene) as one:
        await one.register(master(1))
        scene.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'shoal-test%'"
        )
        assert await one.members(NodeKind.MASTER) == [master(1)]


async def test_who_registers_removes_what_lapsed_long_ago(scene: PostgresScene) -> None:
    scene.execute(
        "INSERT INTO registry_lease VALUES ('MASTER', 1, '', clock_timestamp() - interval '61 s'), "
        "('MASTER', 2, '', clock_timestamp() - interval '1 s')"
    )
    async with opened(scene) as one:
        await one.register(master(3))
        assert scene.execute("SELECT epoch FROM registry_lease ORDER BY epoch") == [(2,), (3,)]


async def test_a_lease_lasts_no_longer_after_the_clock_was_set_back(scene: PostgresScene) -> None:
    scene.execute(
        "INSERT INTO registry_lease VALUES ('MASTER', 1, '', clock_timestamp() + interval '1 h', interval '0.2 s')"
    )
    async with opened(scene) as one:
        await one.members(NodeKind.MASTER)
        lapsed = "SELECT epoch FROM registry_lease WHERE expires_at < clock_timestamp()"
        await eventually(lambda: scene.execute(lapsed), until=[(1,)])


async def test_a_database_without_our_table_is_told(scene: PostgresScene) -> None:
    scene.execute("DROP TABLE registry_lease")
    registry = make_registry(scene.url, session_timeout=SESSION, application_name="shoal-test")
    with pytest.raises(Refused, match="run `shoal db init`"):
        await registry.open(OPEN_S)
    await registry.close()


async def test_a_registry_in_the_cluster_s_database_listens_where_its_node_does(scene: PostgresScene) -> None:
    async with opened(scene) as one, opened(scene) as other:
        await eventually(lambda: listening(scene), until=2, within_s=10)
        ears = Listener(scene.url, "shoal-ears", {})
        one.use(ears)
        await eventually(lambda: listening(scene), until=1, within_s=10)
        one.changed.clear()
        hearing = asyncio.create_task(ears.run())
        try:
            await woken(one, 10)  # it listens again, and may have missed something
            await other.register(master(2))
            await woken(one, 10)
        finally:
            hearing.cancel()
            await asyncio.wait({hearing})


async def test_a_registry_in_another_database_keeps_its_own_connection(scene: PostgresScene) -> None:
    async with opened(scene) as one:
        await eventually(lambda: listening(scene), until=1)
        one.use(Listener(scene.server.url("another"), "shoal-ears", {}))
        await one.register(master(1))
        assert listening(scene) == 1


async def test_who_listens_renews_the_lease(scene: PostgresScene) -> None:
    """Goal: the check for life of a LISTEN connection is a renewal. Method: by time it is minutes away."""
    lasts = "SELECT expires_at, heartbeat LIKE '%%\"running\":3%%' FROM registry_lease"
    asked = "SELECT pid, query_start FROM pg_stat_activity WHERE application_name = 'shoal-test'"
    async with opened(scene, timedelta(hours=1)) as one:
        await woken(one, 10)  # it listens, and proves its lease for that: before the second of these
        await one.register(master(1))
        await one.register(master(1))
        [(first, _)], before = scene.execute(lasts), scene.execute(asked)
        await one.update(master(1, running=3))
        await eventually(lambda: scene.execute(lasts)[0][1], within_s=Listener.PROBE_S + 10)
        assert scene.execute(lasts)[0][0] > first  # type: ignore[operator]
        assert scene.execute(asked) == before, "nobody acts upon it: it waits for the renewal"
        assert len(before) == 1


def listening(scene: PostgresScene) -> object:
    """How many registries have a LISTEN connection of their own."""
    [(count,)] = scene.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'shoal-test-listen'")
    return count
