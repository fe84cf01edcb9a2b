"""`dao/cluster/slot_changes.py`: only changes are written, each with its reason, and kept for a day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from dao.cluster import slot_changes
from dao.cluster.rows import SlotChange, SlotReason
from dao.postgres.database import Database
from model.ids import Epoch
from tests.dao.scene import Scene

R = SlotReason
LONG_AGO, FAR = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)


async def _record(scene: Scene, *masters: Epoch, busy: tuple[Epoch, ...] = ()) -> None:
    async with scene.writing() as connection:
        writing: Any = connection
        await slot_changes.record(writing, masters, busy)


async def _all(database: Database, since: datetime = LONG_AGO) -> list[SlotChange]:
    async with database.reading() as connection:
        return await slot_changes.between(connection, since, FAR)


async def test_only_a_change_is_written_and_each_with_its_reason(scene: Scene) -> None:
    a, b = [(await scene.master()).epoch for _ in range(2)]
    for masters, busy in (((a,), ()), ((a,), ()), ((a, b), ()), ((a,), (b,)), ((a, b), ()), ((a,), ())):
        await _record(scene, *masters, busy=busy)
    found = await _all(scene.database)
    assert [[(each.epoch, each.reason) for each in change.changes] for change in found] == [
        [(a, R.JOINED)],
        [(b, R.JOINED)],
        [(b, R.BUSY)],
        [(b, R.BACK)],
        [(b, R.LOST)],
    ]
    await scene.sql("UPDATE node SET state = 'FENCED', ended_at = now() WHERE id = :id", id=b)
    assert (await _all(scene.database))[-1].changes[0].reason is R.FENCED
    assert [each.number for each in await _all(scene.database, found[2].at)] == [3, 4, 5]
    between = found[2].at + (found[3].at - found[2].at) / 2
    assert [each.number for each in await _all(scene.database, between)] == [3, 4, 5]


async def test_changes_are_kept_for_a_day_and_the_one_in_force_when_it_began(scene: Scene) -> None:
    a = (await scene.master()).epoch
    await _record(scene, a)
    await scene.sql(
        "INSERT INTO slot_change (number, at, members, changes) "
        "SELECT 1 + n, now() - interval '20 h' - (10 - n) * interval '1 h', '[]', '[]' FROM generate_series(1, 10) AS n"
    )
    await scene.sql("UPDATE slot_change SET at = now() - interval '2 d' WHERE number = 1")
    async with scene.writing() as connection:
        writing: Any = connection
        assert await slot_changes.delete_old(writing, timedelta(hours=24), 3) == 3
        assert await slot_changes.delete_old(writing, timedelta(hours=24), 100) == 3
        assert await slot_changes.delete_old(writing, timedelta(hours=24), 100) == 0
    assert await scene.sql("SELECT number FROM slot_change ORDER BY number") == [7, 8, 9, 10, 11]
