"""What only the ZooKeeper registry can suffer."""

from __future__ import annotations

import threading

import pytest
from kazoo.exceptions import NoAuthError

from model.cluster.nodes import NodeKind
from model.errors import Refused
from registry.connect import make_registry
from registry.ensemble import Credentials, Ensemble
from registry.protocol import ConnectionState
from registry.zookeeper import ZooKeeperRegistry
from tests.eventually import eventually
from tests.registry.scenes import SESSION, SESSION_S, ZooKeeperScene, kazoo_of, master, opened
from tests.registry.test_contract import epochs_of, woken
from tests.servers.zookeeper import ZooKeeperServer

PATH = "masters/0000000000000000001"


@pytest.fixture
def scene(zookeeper_server: ZooKeeperServer, zookeeper_url: str) -> ZooKeeperScene:
    return ZooKeeperScene(zookeeper_server, Ensemble.parse(zookeeper_url).root)


async def test_entries_come_back_when_the_folder_was_deleted(scene: ZooKeeperScene) -> None:
    async with opened(scene) as one, opened(scene) as other:
        await one.register(master(1))
        await other.members(NodeKind.MASTER)
        with scene.raw() as client:
            client.delete(scene.root, recursive=True)
        await eventually(lambda: scene.children("masters"), until=[PATH.partition("/")[2]], within_s=SESSION_S)
        assert await epochs_of(other)() == [1]
        other.changed.clear()
        await one.unregister()
        await woken(other, 1)


async def test_entries_come_back_when_the_server_has_lost_everything(scene: ZooKeeperScene) -> None:
    async with opened(scene) as one, opened(scene) as other:
        await one.register(master(1))
        await other.register(master(2))
        await other.members(NodeKind.MASTER)
        scene.server.stop()
        scene.server.wipe()
        await scene.start_server()
        await eventually(epochs_of(other), until=[1, 2], within_s=2 * SESSION_S + 3)
        assert one.state is other.state is ConnectionState.CONNECTED
        other.changed.clear()
        await one.unregister()
        await woken(other, 1)


async def test_a_deaf_watch_is_made_good_by_the_next_read(scene: ZooKeeperScene) -> None:
    async with opened(scene) as one, opened(scene) as deaf:
        await deaf.members(NodeKind.MASTER)
        assert isinstance(deaf, ZooKeeperRegistry)
        kazoo_of(deaf)._child_watchers.clear()
        await one.register(master(1))
        assert await deaf.members(NodeKind.MASTER) == [master(1)]
        deaf.changed.clear()
        await one.unregister()
        await woken(deaf, 1)


async def test_our_epochs_entry_of_an_older_session_is_replaced(scene: ZooKeeperScene) -> None:
    async with opened(scene) as one:
        with scene.raw() as old:
            old.create(f"{scene.root}/{PATH}", b"old", ephemeral=True)
            await one.register(master(1))
        assert await one.members(NodeKind.MASTER) == [master(1)], "the old session's end takes only its own"


async def test_a_client_that_gave_up_is_replaced(scene: ZooKeeperScene) -> None:
    async with opened(scene) as one:
        await one.register(master(1))
        assert isinstance(one, ZooKeeperRegistry)
        kazoo_of(one).stop()
        await eventually(lambda: one.state, until=ConnectionState.LOST, within_s=1)
        await eventually(lambda: one.state, until=ConnectionState.CONNECTED, within_s=4)
        assert await one.members(NodeKind.MASTER) == [master(1)]


async def test_what_we_make_is_for_our_user_only(scene: ZooKeeperScene) -> None:
    async with opened(scene) as one:
        await one.register(master(1))
        for credentials in ("", "shoal:wrong"):
            with scene.raw(credentials) as stranger:
                with pytest.raises(NoAuthError):
                    stranger.get(f"{scene.root}/{PATH}")
                with pytest.raises(NoAuthError):
                    stranger.create(f"{scene.root}/masters/2", b"")
        wrong = make_registry(
            scene.server.url(scene.root, "shoal:wrong"), session_timeout=SESSION, application_name="shoal-test"
        )
        with pytest.raises(Refused, match="denies us access"):
            await wrong.open(5)


async def test_close_leaves_no_thread(scene: ZooKeeperScene) -> None:
    before = set(threading.enumerate())
    async with opened(scene) as one:
        await one.register(master(1))
    await eventually(lambda: set(threading.enumerate()) <= before, within_s=2)


def test_a_url_is_read() -> None:
    parsed = Ensemble.parse("zookeeper://me:p%40ss%3A@a.example:2181,[::1]:2182,c/shoal/test/")
    assert parsed == Ensemble("a.example:2181,[::1]:2182,c", "/shoal/test", Credentials("me", "p@ss:"))
    assert str(parsed) == "zookeeper://a.example:2181,[::1]:2182,c/shoal/test"
    assert "p@ss" not in repr(parsed)
