"""The record of who had which slot: once for the whole cluster, with the reason of each change."""

from __future__ import annotations

import signal
from datetime import UTC, datetime

from dao.cluster import slot_changes
from dao.cluster.rows import SlotReason
from dao.postgres.database import Database
from tests.cluster.cluster import Cluster
from tests.eventually import eventually

R = SlotReason
LONG_AGO, FAR = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)


async def test_masters_that_come_die_and_leave_are_on_record_once(cluster: Cluster) -> None:
    first, second = await cluster.master(SHOAL_NAME="m1"), await cluster.master(SHOAL_NAME="m2")
    await cluster.slots_become(2)
    third = await cluster.master(SHOAL_NAME="m3")
    await cluster.slots_become(3)
    epochs = [node.epoch for node in (first, second, third)]
    last = "SELECT jsonb_array_length(members) FROM slot_change ORDER BY number DESC LIMIT 1"
    await eventually(lambda: cluster.one(last) == 3)
    first.signal(signal.SIGKILL)
    await cluster.slots_become(2)
    await eventually(lambda: cluster.one(last) == 2)
    third.signal(signal.SIGTERM)
    await third.ended()
    await eventually(lambda: cluster.one(last) == 1)
    database = Database(cluster.environment["SHOAL_DATABASE_URL"], application_name="shoal-test")
    await eventually(lambda: cluster.one("SELECT state FROM node WHERE id = %s", epochs[0]) == "FENCED")
    async with database.reading() as connection:
        found = await slot_changes.between(connection, LONG_AGO, FAR)
    await database.close()
    assert [each.number for each in found] == list(range(1, len(found) + 1))
    said = [(change.name, change.reason) for each in found for change in each.changes]
    assert said == [("m1", R.JOINED), ("m2", R.JOINED), ("m3", R.JOINED), ("m1", R.FENCED), ("m3", R.LEFT)]
    assert [(member.epoch, member.name, member.slot) for member in found[-1].members] == [(epochs[1], "m2", 0)]
