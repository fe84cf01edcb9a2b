"""`dao/cluster/drains.py`: a drain is of a name, read with each beat and each claim."""

from __future__ import annotations

import json
from datetime import timedelta

from dao.cluster import drains, nodes
from dao.cluster.drains import KnownNode
from dao.cluster.nodes import fenced_transaction
from model.cluster.nodes import Heartbeat, NodeKind
from tests.dao.scene import Scene

WORKER, MASTER = NodeKind.WORKER, NodeKind.MASTER
ADDRESS = "10.0.0.2:1234"
"""Of the scene's workers, which have no name: it stands for one."""


async def drain(scene: Scene, kind: NodeKind, name: str, by: str = "anna") -> bool:
    async with scene.writing() as connection:
        return await drains.ask(connection, kind, name, by)


async def undrain(scene: Scene, kind: NodeKind, name: str) -> bool:
    async with scene.writing() as connection:
        return await drains.end(connection, kind, name)


async def test_a_drained_worker_claims_nothing_until_it_is_undrained_and_others_claim(scene: Scene) -> None:
    master, drained, other = await scene.master(), await scene.worker(), await scene.node(WORKER, "10.0.0.3:1")
    await scene.queue(await scene.instance(master), 1, 2, 3, master=master)
    assert await drain(scene, MASTER, ADDRESS), "of the other kind"
    assert len(await scene.claim(drained, 1)) == 1
    assert await drain(scene, WORKER, ADDRESS)
    assert await scene.claim(drained) == []
    assert len(await scene.claim(other, 1)) == 1
    assert await undrain(scene, WORKER, ADDRESS)
    assert len(await scene.claim(drained)) == 1


async def test_asking_twice_leaves_the_first_as_it_is_and_ending_twice_says_so(scene: Scene) -> None:
    await scene.worker()
    assert await drain(scene, WORKER, ADDRESS)
    async with scene.database.reading() as connection:
        [first] = await drains.every(connection)
    assert not await drain(scene, WORKER, ADDRESS, by="bert")
    async with scene.database.reading() as connection:
        [same] = await drains.every(connection)
    assert (same.drain.id, same.drain.asked_by) == (first.drain.id, "anna")
    assert await undrain(scene, WORKER, ADDRESS)
    assert not await undrain(scene, WORKER, ADDRESS)


async def test_the_confirmation_of_a_former_drain_is_none_of_the_present_one(scene: Scene) -> None:
    worker = await scene.worker()
    await drain(scene, WORKER, ADDRESS)
    row = await scene.row_of(worker)
    assert row.drain is not None
    assert not row.is_drained
    confirms = Heartbeat(epoch=worker.epoch, kind=WORKER, address=ADDRESS, drained=row.drain.id)
    async with scene.writing() as connection:
        await nodes.beat(connection, worker, 0, unanswered=0, heartbeat=confirms)
    assert (await scene.row_of(worker)).is_drained
    await undrain(scene, WORKER, ADDRESS)
    assert not (await scene.row_of(worker)).is_drained
    await drain(scene, WORKER, ADDRESS)
    assert not (await scene.row_of(worker)).is_drained


async def test_a_heartbeat_of_a_version_without_drains_confirms_none(scene: Scene) -> None:
    worker = await scene.worker()
    former = json.loads(Heartbeat(epoch=worker.epoch, kind=WORKER, address=ADDRESS).model_dump_json())
    del former["drained"]
    await scene.sql("UPDATE node_beat SET heartbeat = :beat", beat=json.dumps(former))
    await drain(scene, WORKER, ADDRESS)
    row = await scene.row_of(worker)
    assert row.heartbeat is not None
    assert (row.heartbeat.drained, row.is_drained) == (None, False)


async def test_names_are_found_by_name_and_address_of_the_living_and_the_dead(scene: Scene) -> None:
    dead, living = await scene.worker(), await scene.node(WORKER, "10.0.0.3:1")
    await scene.fence(dead)
    await scene.sql("UPDATE node SET name = 'w2' WHERE id = :id", id=living.epoch)
    async with scene.database.reading() as connection:
        assert await drains.known(connection, WORKER, ADDRESS) == [KnownNode(ADDRESS, ADDRESS, lives=False)]
        by_name = await drains.known(connection, WORKER, "w2")
        assert by_name == await drains.known(connection, WORKER, "10.0.0.3:1")
        assert by_name == [KnownNode("w2", "10.0.0.3:1", lives=True)]
        assert await drains.known(connection, MASTER, "w2") == []


async def test_only_old_drains_of_names_that_no_node_has_had_are_deleted(scene: Scene) -> None:
    master, dead = await scene.master(), await scene.worker()
    await scene.fence(dead)
    for kind, name in ((WORKER, ADDRESS), (WORKER, "gone"), (WORKER, "new"), (MASTER, ADDRESS)):
        await drain(scene, kind, name)
    await scene.sql("UPDATE drain SET asked_at = asked_at - interval '31 days' WHERE name <> 'new'")
    async with fenced_transaction(scene.database, master) as connection:
        assert await drains.delete_unused(connection, timedelta(days=30)) == 2
    assert await scene.sql("SELECT name FROM drain ORDER BY name") == [ADDRESS, "new"]


async def test_times_by_hand_that_cannot_be_subtracted_silence_nobody(scene: Scene) -> None:
    worker = await scene.worker()
    await scene.sql("INSERT INTO drain (kind, name, asked_at) VALUES ('WORKER', :name, 'infinity')", name=ADDRESS)
    row = await scene.row_of(worker)
    assert row.drain is not None
    assert row.drain.age_s == 0
