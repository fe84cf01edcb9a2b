"""A master's schedules on a real database: they fire by its time, and nothing that stands in a row stops the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

import psycopg
import pytest
import pytest_asyncio
from sqlalchemy import make_url

from dao.cluster import nodes
from dao.definitions import schedules
from dao.postgres.listen import Listener
from dao.postgres.notify import SCHEDULE
from master.membership.membership import Membership
from master.schedule_timer import DUE_PAUSE_S, Schedules, _timer
from model.cluster.master_settings import MasterSettings
from model.cluster.slots import Slot
from model.errors import Fenced
from model.ids import ScheduleId, WorkflowCode
from model.time.schedules import ScheduleSpec
from node.life import Life
from node.waiting import set_within
from tests.eventually import eventually
from tests.master.lives import begin_life

SLOW = MasterSettings(look_every=timedelta(seconds=60))
"""Looks so seldom by itself that a test sees who else wakes it."""
QUICK = MasterSettings(look_every=timedelta(seconds=0.2))


ALONE = Slot(0, 1)


@dataclass
class Place:
    """The part of the membership that schedules use: the slot."""

    slot: Slot | None


@pytest_asyncio.fixture
async def life(database_url: str) -> AsyncIterator[Life]:
    began = await begin_life(database_url)
    yield began
    await began.close()


@pytest.fixture
def sql(database_url: str) -> Iterator[Any]:
    plain = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as connection:

        def run(statement: str, *values: object) -> list[Any]:
            cursor = connection.execute(statement, values)  # type: ignore[call-overload]
            rows = cursor.fetchall() if cursor.description else []
            return [row[0] if len(row) == 1 else row for row in rows]

        yield run


@asynccontextmanager
async def firing(life: Life, place: Place, settings: MasterSettings = QUICK) -> AsyncIterator[Schedules]:
    """The loop runs during the block, and has not ended at its end."""
    loop = Schedules(life, cast(Membership, place), settings)
    task = asyncio.create_task(loop.run())
    try:
        yield loop
        assert not task.done(), task.exception()
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def insert(sql: Any, crontab: str = "* * * * * ?", **fields: object) -> int:
    """A schedule by plain SQL, as a person may."""
    names = ["workflow_code", "crontab", *fields]
    values = [1001, crontab, *fields.values()]
    places = ", ".join(["%s"] * len(values))
    return int(sql(f"INSERT INTO schedule ({', '.join(names)}) VALUES ({places}) RETURNING id", *values)[0])


def times(sql: Any, schedule: int) -> list[Any]:
    return cast("list[Any]", sql("SELECT schedule_time FROM command WHERE schedule_id = %s ORDER BY id", schedule))


async def test_each_second_fires_once_and_none_is_left_out(life: Life, sql: Any) -> None:
    schedule = insert(sql)
    async with firing(life, Place(ALONE), SLOW):
        await eventually(lambda: len(times(sql, schedule)) >= 4, within_s=15)
    fired = times(sql, schedule)
    assert [time - fired[0] for time in fired] == [timedelta(seconds=number) for number in range(len(fired))]
    late = "SELECT max(created_at - schedule_time) FROM command"
    assert sql(late)[0] < SLOW.look_every / 2, "the timer wakes it, long before its next look"


async def test_the_timer_wakes_it_for_the_next_one(life: Life, sql: Any) -> None:
    """It polls once a minute, and nothing notifies it: only the timer can be in time."""
    schedule = insert(sql, "0 0 5 * * ?")
    sql("UPDATE schedule SET next_fire_at = clock_timestamp() + interval '1 s'")
    async with firing(life, Place(ALONE), SLOW):
        await eventually(lambda: len(times(sql, schedule)) == 1, within_s=10)
    assert sql("SELECT created_at - schedule_time FROM command")[0] < SLOW.look_every / 2


async def test_broken_rows_get_a_sentence_and_the_others_fire(life: Life, sql: Any) -> None:
    broken = {
        insert(sql, "every day"): 'cron "every day" must have 5 fields',
        insert(sql, time_zone="Mars/Olympus"): "there is no time zone",
        insert(sql, start_time="infinity"): "start_time must be a time from the year 1900 to 9000, not infinity",
        insert(sql, next_fire_at="-infinity"): "next_fire_at must be a time",
        insert(sql, last_fire_at="infinity"): "last_fire_at must be a time",
        insert(sql, misfire_grace_s="NaN"): "misfire_grace_s must be from 0 to",
        insert(sql, end_time="2020-01-01"): 'no fire time of "* * * * * ?" is left before its end',
        insert(sql, "0 0 0 30 2 ?"): "cron ",
        insert(sql, "\x01" * 100): "cron ",
        insert(sql, "1" * 1_000_000): "the cron text is longer than",
    }
    good = insert(sql)
    async with firing(life, Place(ALONE)):
        await eventually(lambda: len(times(sql, good)) >= 2, within_s=10)
        problems = dict(sql("SELECT id, problem FROM schedule WHERE problem IS NOT NULL"))
        assert problems.keys() == broken.keys()
        for id_, sentence in broken.items():
            assert problems[id_].startswith(sentence)
            assert len(problems[id_]) < 500
        fixed = next(iter(broken))
        sql("UPDATE schedule SET crontab = '* * * * * ?' WHERE id = %s", fixed)
        await eventually(lambda: len(times(sql, fixed)) >= 1, within_s=10)
    assert sql("SELECT problem FROM schedule WHERE id = %s", fixed) == [None]


async def test_a_row_that_the_database_refuses_to_fire_does_not_stop_the_others(life: Life, sql: Any) -> None:
    sql("ALTER TABLE command ADD CONSTRAINT odd CHECK (workflow_code <> 13)")
    bad, good = insert(sql), insert(sql)
    sql("UPDATE schedule SET workflow_code = 13, next_fire_at = date_trunc('second', now()) WHERE id = %s", bad)
    sql("UPDATE schedule SET next_fire_at = date_trunc('second', now()) WHERE id = %s", good)
    async with firing(life, Place(ALONE)):
        await eventually(lambda: len(times(sql, good)) >= 2, within_s=10)
    (problem,) = sql("SELECT problem FROM schedule WHERE id = %s", bad)
    assert "odd" in problem


async def test_without_a_slot_nothing_fires_and_a_new_slot_is_picked_up(life: Life, sql: Any) -> None:
    ids = [insert(sql) for _ in range(4)]
    place = Place(None)
    fired = "SELECT DISTINCT schedule_id FROM command ORDER BY 1"
    async with firing(life, place) as loop:
        for _ in range(2):  # the second time it has looked at least once since the first
            loop.wake.set()
            await eventually(lambda: not loop.wake.is_set())
        assert sql("SELECT count(*) FROM schedule WHERE next_fire_at IS NOT NULL") == [0]
        place.slot = Slot(0, 2)
        await eventually(lambda: sql(fired), until=[id_ for id_ in ids if id_ % 2 == 0], within_s=10)
        place.slot = Slot(0, 1)
        await eventually(lambda: sql(fired), until=ids, within_s=10)


@pytest.mark.parametrize(("misfire", "commands"), [("FIRE_ALL", 10), ("FIRE_ONCE", 1), ("SKIP", 0)])
async def test_what_was_missed_is_dealt_with_as_the_rule_says(
    life: Life, sql: Any, misfire: str, commands: int
) -> None:
    """No master ran for the last ten hours."""
    schedule = insert(sql, "30 * * * *", misfire=misfire, misfire_grace_s=0, next_fire_at="2026-01-01 00:30")
    sql("""UPDATE schedule SET next_fire_at =
               date_trunc('hour', clock_timestamp() - interval '30 min') + interval '30 min' - interval '9 h'""")
    async with firing(life, Place(ALONE)):
        await eventually(lambda: sql("SELECT next_fire_at > clock_timestamp() FROM schedule"), until=[True])
    assert len(times(sql, schedule)) == commands
    if commands:
        (latest,) = sql("SELECT last_fire_at FROM schedule")
        assert times(sql, schedule)[-1] == latest
        assert sql("SELECT %s > clock_timestamp() - interval '1 h'", latest) == [True]


async def test_a_long_standstill_with_fire_all_loses_none(life: Life, sql: Any) -> None:
    schedule = insert(sql, "0/10 * * * * ?", misfire="FIRE_ALL")
    sql("UPDATE schedule SET next_fire_at = date_trunc('minute', clock_timestamp()) - interval '1 h'")
    async with firing(life, Place(ALONE)):
        await eventually(lambda: sql("SELECT next_fire_at > clock_timestamp() FROM schedule"), until=[True])
    fired = times(sql, schedule)
    assert len(fired) >= 361
    assert [time - fired[0] for time in fired] == [timedelta(seconds=10 * number) for number in range(len(fired))]


async def test_two_masters_that_believe_in_one_slot_fire_once(life: Life, database_url: str, sql: Any) -> None:
    other = await begin_life(database_url, "m2")
    ids = [insert(sql) for _ in range(20)]
    try:
        async with firing(life, Place(ALONE)), firing(other, Place(ALONE)):
            await eventually(lambda: len(times(sql, ids[-1])) >= 4, within_s=15)
    finally:
        await other.close()
    assert sql("SELECT schedule_id FROM command GROUP BY schedule_id, schedule_time HAVING count(*) > 1") == []
    gaps = """SELECT schedule_id FROM (SELECT schedule_id, schedule_time - lag(schedule_time) OVER
              (PARTITION BY schedule_id ORDER BY schedule_time) AS gap FROM command) AS g WHERE gap <> interval '1 s'"""
    assert sql(gaps) == []


async def test_whoever_writes_one_through_dao_rings_for_the_masters(life: Life, database_url: str) -> None:
    rung = asyncio.Event()
    ears = Listener(database_url, "shoal-test", {SCHEDULE: lambda _: rung.set()})
    listening = asyncio.create_task(ears.run())
    try:
        assert await set_within(rung, 60), "it calls once when it begins to listen"
        async with life.database.writing() as connection:
            id_ = await schedules.insert(connection, WorkflowCode(1001), ScheduleSpec("0 5 * * *"))
        assert await set_within(rung, 60)
        async with life.database.writing() as connection:
            await schedules.set_state(connection, id_, online=False)
        assert await set_within(rung, 60)
    finally:
        listening.cancel()


async def test_a_fenced_master_fires_nothing(life: Life, sql: Any) -> None:
    schedule = insert(sql)
    async with life.database.writing() as connection:
        await nodes.set_left(connection, life.me)
    with pytest.raises(Fenced):
        await Schedules(life, cast(Membership, Place(ALONE)), QUICK).run()
    assert times(sql, schedule) == []


@pytest.mark.parametrize(("misfire", "commands"), [("FIRE_ALL", 10), ("FIRE_ONCE", 1), ("SKIP", 0)])
async def test_times_that_pass_before_any_master_sees_a_new_schedule_go_by_its_misfire_rule(
    life: Life, sql: Any, misfire: str, commands: int
) -> None:
    """Its row is ten hours old, and no master has computed it since."""
    schedule = insert(sql, "30 * * * *", misfire=misfire, misfire_grace_s=0)
    sql("""UPDATE schedule SET counts_from =
               date_trunc('hour', clock_timestamp() - interval '30 min') + interval '29 min' - interval '9 h'""")
    async with firing(life, Place(ALONE)):
        await eventually(lambda: sql("SELECT next_fire_at > clock_timestamp() FROM schedule"), until=[True])
    assert len(times(sql, schedule)) == commands


async def test_what_passed_while_it_was_offline_or_before_it_was_changed_does_not_fire(life: Life, sql: Any) -> None:
    changes = {
        insert(sql, "0 0 1 1 *", misfire="FIRE_ALL"): "crontab = '30 * * * *'",
        insert(sql, "30 * * * *", misfire="FIRE_ALL", state="OFFLINE"): "state = 'ONLINE'",
        insert(sql, "30 * * * *", misfire="FIRE_ALL"): "time_zone = 'Asia/Kathmandu'",
        insert(sql, "30 * * * *", misfire="FIRE_ALL"): "start_time = '2026-01-01'",
    }
    sql("UPDATE schedule SET counts_from = clock_timestamp() - interval '10 h'")
    for id_, change in changes.items():
        sql(f"UPDATE schedule SET {change} WHERE id = %s", id_)
    async with firing(life, Place(ALONE)):
        computed = "SELECT count(*) FROM schedule WHERE next_fire_at > clock_timestamp()"
        await eventually(lambda: sql(computed), until=[len(changes)])
    assert sql("SELECT count(*) FROM command") == [0]


async def test_one_that_was_put_online_by_its_verb_begins_then(life: Life, sql: Any) -> None:
    schedule = insert(sql, "30 * * * *", misfire="FIRE_ALL")
    async with firing(life, Place(ALONE)):
        await eventually(lambda: sql("SELECT next_fire_at > clock_timestamp() FROM schedule"), until=[True])
    for online in (False, True):
        sql("UPDATE schedule SET counts_from = clock_timestamp() - interval '10 h'")
        async with life.database.writing() as connection:
            await schedules.set_state(connection, ScheduleId(schedule), online=online)
    assert sql("SELECT clock_timestamp() - counts_from < interval '1 min' FROM schedule") == [True]


async def test_a_change_of_what_it_starts_leaves_its_times_as_they_are(life: Life, sql: Any) -> None:
    schedule = insert(sql, "30 * * * *", misfire="FIRE_ALL", misfire_grace_s=0)
    sql("""UPDATE schedule SET counts_from =
               date_trunc('hour', clock_timestamp() - interval '30 min') + interval '29 min' - interval '9 h'""")
    sql("UPDATE schedule SET params = '{\"a\": \"b\"}', priority = 'HIGH'")
    async with firing(life, Place(ALONE)):
        await eventually(lambda: sql("SELECT next_fire_at > clock_timestamp() FROM schedule"), until=[True])
    assert len(times(sql, schedule)) == 10


async def test_while_somebody_holds_a_schedule_that_is_due_the_others_fire_in_their_time(
    life: Life, database_url: str, sql: Any
) -> None:
    held, other = insert(sql, "* * * * * ?"), insert(sql, "* * * * * ?")
    plain = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    async with firing(life, Place(ALONE), SLOW):
        await eventually(lambda: len(times(sql, held)) >= 1)
        with psycopg.connect(plain) as stranger:
            stranger.execute("SELECT FROM schedule WHERE id = %s FOR UPDATE", (held,))
            before = len(times(sql, other))
            await eventually(lambda: len(times(sql, other)) >= before + 3, within_s=6)
            stranger.rollback()
        before = len(times(sql, held))
        await eventually(lambda: len(times(sql, held)) > before)


async def test_a_timer_that_ends_as_it_rings_tells_of_no_error(life: Life, caplog: pytest.LogCaptureFixture) -> None:
    loop = Schedules(life, cast(Membership, Place(ALONE)), QUICK)
    with _timer() as timer:
        loop._set(timer, -DUE_PAUSE_S)
    for _ in range(3):
        await asyncio.sleep(0)
    assert loop.wake.is_set()
    assert caplog.text == ""
