"""Faults of the ZooKeeper registry alone."""

from __future__ import annotations

import asyncio
import contextlib
import threading

import pytest
from kazoo.exceptions import NoAuthError
from structlog.testing import capture_logs

from model.cluster.nodes import NodeKind
from model.errors import Refused, Unavailable
from registry.connect import make_registry
from registry.ensemble import Credentials, Ensemble
from registry.protocol import ConnectionState, Registry
from registry.zookeeper import ZooKeeperRegistry
from tests.eventually import eventually
from tests.registry.scenes import OPEN_S, SESSION, SESSION_S, ZooKeeperScene, kazoo_of, master, opened
from tests.registry.test_contract import epochs_of, woken
from tests.servers.zookeeper import ZooKeeperServer

PATH = "masters/0000000000000000001"


@pytest.fixture
def scene(zookeeper_server: ZooKeeperServer, zookeeper_url: str) -> ZooKeeperScene:
    return ZooKeeperScene(zookeeper_server, Ensemble.parse(zookeeper_url).root)


async def leave(registry: Registry) -> None:
    """Give up its entry, now or as soon as the server answers."""
    with contextlib.suppress(Unavailable):
        await registry.unregister()


async def test_entries_come_back_when_the_folder_was_deleted(scene: ZooKeeperScene) -> None:
    async with opened(scene, SESSION) as one, opened(scene) as other:
        await one.register(master(1))
        await other.members(NodeKind.MASTER)
        with scene.raw() as client:
            client.delete(scene.root, recursive=True)
        await eventually(lambda: scene.children("masters"), until=[PATH.partition("/")[2]], within_s=SESSION_S + 10)
        await eventually(epochs_of(other), until=[1], within_s=10)
        other.changed.clear()
        await leave(one)
        await woken(other, 10)


async def test_entries_come_back_when_the_server_has_lost_everything(scene: ZooKeeperScene) -> None:
    async with opened(scene, SESSION) as one, opened(scene, SESSION) as other:
        await one.register(master(1))
        await other.register(master(2))
        await other.members(NodeKind.MASTER)
        scene.server.stop()
        scene.server.wipe()
        await scene.start_server()
        await eventually(epochs_of(other), until=[1, 2], within_s=2 * SESSION_S + 10)
        await eventually(lambda: one.state is other.state is ConnectionState.CONNECTED, within_s=10)
        other.changed.clear()
        await leave(one)
        await woken(other, 10)


async def test_a_deaf_watch_is_made_good_by_the_next_read(scene: ZooKeeperScene) -> None:
    async with opened(scene) as one, opened(scene) as deaf:
        await deaf.members(NodeKind.MASTER)
        assert isinstance(deaf, ZooKeeperRegistry)
        kazoo_of(deaf)._child_watchers.clear()
        await one.register(master(1))
        assert await deaf.members(NodeKind.MASTER) == [master(1)]
        deaf.changed.clear()
        await one.unregister()
        await woken(deaf, 10)


async def test_our_epochs_entry_of_an_older_session_is_replaced(scene: ZooKeeperScene) -> None:
    async with opened(scene) as one:
        with scene.raw() as old:
            old.create(f"{scene.root}/{PATH}", b"old", ephemeral=True)
            await one.register(master(1))
        assert await one.members(NodeKind.MASTER) == [master(1)], "the old session's end takes only its own"


async def test_a_client_that_gave_up_is_replaced(scene: ZooKeeperScene) -> None:
    async with opened(scene, SESSION) as one:
        await one.register(master(1))
        assert isinstance(one, ZooKeeperRegistry)
        gone = kazoo_of(one)
        with capture_logs() as logs:
            gone.stop()
            await eventually(lambda: kazoo_of(one) is not gone, within_s=10)
        assert ("registry_disconnected", ConnectionState.LOST) in [(log["event"], log.get("state")) for log in logs]
        await eventually(lambda: one.state, until=ConnectionState.CONNECTED, within_s=10)
        await eventually(lambda: one.members(NodeKind.MASTER), until=[master(1)], within_s=10)


async def test_opening_survives_a_server_that_hangs_for_a_while(
    scene: ZooKeeperScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Goal: who opens has as long as it was given. Method: the server hangs for longer than one request may take, from
    the moment that it has accepted us."""
    registry = make_registry(scene.url, session_timeout=SESSION, application_name="shoal-test")
    assert isinstance(registry, ZooKeeperRegistry)
    connection_changed, connected = registry._connection_changed, 0

    def hang(is_connected: bool | None) -> None:
        nonlocal connected
        connected += bool(is_connected)
        if is_connected and connected == 1:
            scene.pause_server()
            asyncio.get_running_loop().call_later(2, scene.resume_server)
        connection_changed(is_connected)

    monkeypatch.setattr(registry, "_connection_changed", hang)
    try:
        await registry.open(OPEN_S)
        assert registry.state is ConnectionState.CONNECTED
    finally:
        scene.resume_server()
        await registry.close()


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
            await wrong.open(OPEN_S)


async def test_close_leaves_no_thread(scene: ZooKeeperScene) -> None:
    before = set(threading.enumerate())
    async with opened(scene) as one:
        await one.register(master(1))
    await eventually(lambda: set(threading.enumerate()) <= before, within_s=10)


def test_a_url_is_read() -> None:
    parsed = Ensemble.parse("zookeeper://me:p%40ss%3A@a.example:2181,[::1]:2182,c/shoal/test/")
    assert parsed == Ensemble("a.example:2181,[::1]:2182,c", "/shoal/test", Credentials("me", "p@ss:"))
    assert str(parsed) == "zookeeper://a.example:2181,[::1]:2182,c/shoal/test"
    assert "p@ss" not in repr(parsed)
