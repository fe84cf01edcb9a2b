"""The place of a command, which is in the answer to whoever asked for it."""

from __future__ import annotations

import pytest

from dao.cluster import nodes
from dao.postgres.database import Database
from model.cluster.nodes import Heartbeat
from model.cluster.slots import Slot
from service.slots import slot_owners
from service.slots.slot_owners import Place, SlotOwners
from tests.dao.scene import Scene


async def test_what_was_read_is_kept_for_those_who_ask_soon_and_a_failure_is_not(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slot_owners, "VALID_S", 60)
    database = Database(database_url, application_name="shoal-test")
    scene, owners = Scene(database), SlotOwners(database, id_step=1)
    master = await scene.master()
    heartbeat = Heartbeat(epoch=master.epoch, kind=master.kind, address=master.address)
    async with scene.writing() as connection:
        await nodes.beat(connection, master, 0, unanswered=0, heartbeat=heartbeat)
    await scene.sql("ALTER TABLE node RENAME TO gone")
    assert await owners.place_of(11) == Place()
    await scene.sql("ALTER TABLE gone RENAME TO node")
    assert await owners.place_of(11) == Place(Slot(0, 1), master.address)
    await scene.sql("ALTER TABLE node RENAME TO gone")
    assert await owners.place_of(12) == Place(Slot(0, 1), master.address)
    await database.close()
