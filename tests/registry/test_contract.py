"""One contract for both registries, each on a real server, with members in processes of their own."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from structlog.testing import capture_logs

from model.cluster.nodes import NodeKind, NodeStatus
from model.errors import Refused, Unavailable
from registry.clock import boottime_s
from registry.connect import make_registry
from registry.protocol import ConnectionState, Registry
from tests.eventually import PATIENCE, eventually
from tests.every import every
from tests.registry.scenes import (
    OPEN_S,
    SESSION,
    SESSION_S,
    PostgresScene,
    Scene,
    ZooKeeperScene,
    master,
    member_process,
    opened,
)

_root = itertools.count(1)


@pytest.fixture(params=["zookeeper", "postgres"])
async def scene(request: pytest.FixtureRequest) -> AsyncIterator[Scene]:
    made: Scene
    if request.param == "zookeeper":
        made = ZooKeeperScene(request.getfixturevalue("zookeeper_server"), f"/contract-{next(_root)}/shoal")
    else:
        url = request.getfixturevalue("database_url")
        made = PostgresScene(request.getfixturevalue("postgres_server"), url)
    yield made
    made.resume_server()
    await made.start_server()


def epochs_of(registry: Registry, kind: NodeKind = NodeKind.MASTER) -> Callable[[], Awaitable[list[int]]]:
    async def look() -> list[int]:
        return [member.epoch for member in await registry.members(kind)]

    return look


async def woken(registry: Registry, within_s: float) -> None:
    """`changed` is set within the time, times `PATIENCE`; then it is cleared."""
    async with asyncio.timeout(within_s * PATIENCE):
        await registry.changed.wait()
    registry.changed.clear()


async def test_members_are_listed_by_kind_and_rising_epoch(scene: Scene) -> None:
    async with opened(scene) as first, opened(scene) as second, opened(scene) as third, opened(scene) as worker:
        await first.register(master(10, running=3, groups=("a", "b")))
        await second.register(master(9))
        await third.register(master(100))
        await worker.register(master(11).model_copy(update={"kind": NodeKind.WORKER}))
        members = await worker.members(NodeKind.MASTER)
        assert [member.epoch for member in members] == [9, 10, 100]
        assert members[1] == master(10, running=3, groups=("a", "b"))
        assert [member.epoch for member in await first.members(NodeKind.WORKER)] == [11]
        await first.unregister()
        assert await epochs_of(worker)() == [9, 100]
    async with opened(scene) as later:
        assert await later.members(NodeKind.MASTER) == []


async def test_an_update_is_read_by_the_others_at_once(scene: Scene) -> None:
    async with opened(scene) as one, opened(scene) as other:
        await one.update(master(1))
        assert await other.members(NodeKind.MASTER) == [], "an update before the registration makes no entry"
        await one.register(master(1))
        await one.update(master(1, running=7, status=NodeStatus.BUSY))
        assert await other.members(NodeKind.MASTER) == [master(1, running=7, status=NodeStatus.BUSY)]


async def test_a_process_that_comes_goes_or_dies_is_noticed(scene: Scene) -> None:
    async with opened(scene) as watcher:
        await watcher.members(NodeKind.MASTER)
        watcher.changed.clear()
        async with member_process(scene, 5) as member:
            await woken(watcher, 10)
            await eventually(epochs_of(watcher), until=[5], within_s=10)
            watcher.changed.clear()
            await member.unregister()
            await woken(watcher, 10)
            assert await watcher.members(NodeKind.MASTER) == []
        async with member_process(scene, 6) as member:
            await eventually(epochs_of(watcher), until=[6], within_s=10)
            watcher.changed.clear()
            member.process.kill()
            while await watcher.members(NodeKind.MASTER):
                await woken(watcher, SESSION_S + 10)


async def test_a_lost_entry_is_made_again_under_the_same_epoch(scene: Scene) -> None:
    async with opened(scene) as one, opened(scene) as other:
        await one.register(master(1))
        await one.update(master(1, running=2))
        assert await epochs_of(other)() == [1]
        await scene.lose_entry(one)
        await eventually(lambda: other.members(NodeKind.MASTER), until=[master(1, running=2)], within_s=10)
        await eventually(lambda: one.state, until=ConnectionState.CONNECTED, within_s=10)


async def test_after_a_restart_of_the_server_all_are_back(scene: Scene) -> None:
    async with opened(scene, SESSION) as one, opened(scene, SESSION) as other:
        await one.register(master(1))
        await other.register(master(2))
        await scene.stop_server()
        await eventually(lambda: one.state is not ConnectionState.CONNECTED, within_s=SESSION_S + 10)
        one.changed.clear()
        await scene.start_server()
        await woken(one, 10)
        await eventually(epochs_of(other), until=[1, 2], within_s=10)
        await eventually(lambda: one.state is other.state is ConnectionState.CONNECTED, within_s=10)


async def test_a_long_outage_is_told_and_survived(scene: Scene) -> None:
    async with opened(scene, SESSION) as one:
        await one.register(master(1))
        await scene.stop_server()
        down_s = boottime_s()
        await eventually(lambda: one.state is not ConnectionState.CONNECTED, within_s=SESSION_S + 10)
        await eventually(lambda: one.state, until=ConnectionState.LOST, within_s=SESSION_S + 10)
        assert boottime_s() - one.last_contact >= SESSION_S
        assert one.last_contact <= down_s
        with pytest.raises(Unavailable) as error:
            await one.members(NodeKind.MASTER)
        assert one.url in str(error.value)
        assert scene.secret not in str(error.value)
        await one.update(master(1, running=5))
        await scene.start_server()
        await eventually(lambda: one.state, until=ConnectionState.CONNECTED, within_s=10)
        await eventually(lambda: one.members(NodeKind.MASTER), until=[master(1, running=5)], within_s=10)


async def test_an_entry_taken_away_during_an_outage_does_not_come_back(scene: Scene) -> None:
    async with opened(scene, 3 * SESSION) as one, opened(scene, 3 * SESSION) as other:
        await one.register(master(1))
        await scene.stop_server()
        with pytest.raises(Unavailable):
            while True:
                await one.unregister()
                await asyncio.sleep(0.05)
        await scene.start_server()
        await eventually(epochs_of(other), until=[], within_s=10)


async def test_a_server_that_says_nothing_is_found_out(scene: Scene) -> None:
    async with opened(scene, SESSION) as one:
        await one.register(master(1))
        scene.pause_server()
        await eventually(lambda: one.state, until=ConnectionState.LOST, within_s=SESSION_S + 10)
        with pytest.raises(Unavailable):
            await one.members(NodeKind.MASTER)
        scene.resume_server()
        await eventually(lambda: one.state, until=ConnectionState.CONNECTED, within_s=SESSION_S + 10)
        await eventually(epochs_of(one), until=[1], within_s=10)


async def test_garbage_is_left_out_and_told_once(scene: Scene) -> None:
    await scene.put_raw(NodeKind.MASTER, "3", "{]")
    await scene.put_raw(NodeKind.MASTER, "4", master(5).model_dump_json())
    async with opened(scene) as one:
        await one.register(master(1))
        with capture_logs() as logs:
            assert await one.members(NodeKind.MASTER) == [master(1)]
            assert await one.members(NodeKind.MASTER) == [master(1)]
        assert [(log["event"], log["entry"]) for log in logs] == [
            ("registry_entry_unreadable", "3"),
            ("registry_entry_unreadable", "4"),
        ]


async def test_the_last_contact_rises_while_a_process_does_nothing(scene: Scene) -> None:
    registry = make_registry(scene.url, session_timeout=SESSION, application_name="shoal-test")
    assert (registry.last_contact, registry.state) == (0.0, ConnectionState.LOST)
    await registry.open(OPEN_S)
    await registry.register(master(1))
    before_s = registry.last_contact
    assert 0 < before_s <= boottime_s()
    await eventually(lambda: registry.last_contact > before_s, within_s=SESSION_S + 10)
    await registry.close()
    assert registry.state is ConnectionState.LOST
    await registry.close()


async def test_no_server_is_one_sentence_without_the_password(scene: Scene) -> None:
    await scene.stop_server()
    registry = make_registry(scene.url, session_timeout=SESSION, application_name="shoal-test")
    with pytest.raises(Unavailable) as error:
        await registry.open(1)
    assert registry.url in str(error.value)
    assert scene.secret not in str(error.value) + registry.url
    await registry.close()


async def test_the_password_is_in_no_log(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(1)
    logging.getLogger("shoal.kazoo").setLevel(1)
    with capture_logs() as logs:
        async with opened(scene, SESSION) as one:
            await one.register(master(1))
            await scene.stop_server()
            await eventually(lambda: one.state is not ConnectionState.CONNECTED, within_s=SESSION_S + 10)
    assert any(log["event"] == "registry_disconnected" for log in logs)
    assert scene.secret not in str(logs) + caplog.text


@every(
    "url",
    [
        "etcd://127.0.0.1:2379",
        "zookeeper://127.0.0.1:2181",
        "zookeeper://127.0.0.1:2181/",
        "zookeeper:///shoal",
        "zookeeper://127.0.0.1:99999/shoal",
        "zookeeper://me:p4ss:@host:x/shoal",
        "zookeeper://p4ss@host/shoal",
        "zookeeper://host,/shoal",
        "postgresql+asyncpg://me:p4ss@host/x",
    ],
)
def test_a_wrong_url_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(Refused) as error:
        make_registry(url, session_timeout=SESSION, application_name="x")
    assert "p4ss" not in str(error.value)


async def test_what_is_to_be_remembered_outlives_all_nodes_unless_it_is_the_database(scene: Scene) -> None:
    async with opened(scene) as registry:
        assert await registry.remembered() is None
        registry.remember("a beat")
        await registry.register(master(1))
        registry.remember("the last beat")
        await registry.unregister()
    async with opened(scene) as registry:
        kept = "the last beat" if isinstance(scene, ZooKeeperScene) else None
        assert await registry.remembered() == kept
        await registry.forget()
        assert await registry.remembered() is None
