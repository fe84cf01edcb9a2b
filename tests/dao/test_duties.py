"""`dao/duties/duties.py`: a duty is done once a period, by one master at a time, whoever dies or hangs in between."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from dao.cluster import nodes
from dao.cluster.nodes import Me
from dao.duties import duties
from dao.duties.duties import TakenDuty
from dao.postgres.sql import Sql
from model.cluster.duties import PAUSE_MAX, DutyName, Step
from model.errors import Fenced, Unknown
from tests.conftest import AS_SHIPPED
from tests.dao.scene import Scene
from tests.eventually import eventually

ONE = DutyName.ENDED_NODES
NOT_YET = Step("half of it", is_over=False, progress={"deleted": 7})
OVER = Step("all of it")


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others leave a duty to whose it is for longer than a busy machine keeps a test waiting."""
    monkeypatch.setattr(duties, "OVERDUE", timedelta(minutes=10))
    monkeypatch.setattr(duties, "HELD", PAUSE_MAX)


async def _given(scene: Scene, *names: DutyName, due: str = "0 s", every_s: float = 3_600) -> None:
    async with scene.writing() as connection:
        writing: Any = connection
        await duties.add(writing, {name: timedelta(seconds=every_s) for name in names or (ONE,)})
    await scene.sql("UPDATE duty SET due_at = clock_timestamp() + CAST(:due AS interval)", due=due)


async def _step(scene: Scene, me: Me, step: Step, *, mine: Sequence[str] = (ONE,)) -> TakenDuty | None:
    async with nodes.fenced_transaction(scene.database, me) as connection:
        taken = await duties.take(connection, me.epoch, mine, list(DutyName))
        if taken is not None:
            in_s = await duties.record(connection, me, taken, step, late=not mine)
            assert in_s is not None
            assert (in_s > 0) is step.is_over
        return taken


async def _done(scene: Scene) -> list[Any]:
    return await scene.sql("SELECT node_id, late, steps, result FROM duty_done ORDER BY due_at")


async def test_whose_turn_it_is_does_it_once_a_period_and_the_next_one_is_due_a_period_later(scene: Scene) -> None:
    await _given(scene)
    me = await scene.master()
    assert await _step(scene, me, OVER) is not None
    assert await _step(scene, me, OVER) is None, "the next period has not begun"
    assert await _done(scene) == [(me.epoch, False, 1, "all of it")]
    assert await scene.sql("SELECT d.due_at = e.due_at + interval '1 h' FROM duty d JOIN duty_done e USING (name)") == [
        True
    ]


async def test_alerts_are_written_only_while_there_are_any_to_write(scene: Scene) -> None:
    rules = DutyName.ALERT_RULES
    await _given(scene, rules)
    me = await scene.master()
    assert await _step(scene, me, OVER, mine=(rules,)) is None
    async with scene.database.reading() as connection:
        assert await duties.read_next(connection, me.epoch, (rules,), list(DutyName)) == (1, 0, None)
    await scene.sql("INSERT INTO error_command (command_id, reason, master_id) VALUES (1, 'x', 1)")
    assert await _step(scene, me, NOT_YET, mine=(rules,)) is not None
    await scene.sql("UPDATE error_command SET is_alerted = true")
    assert await _step(scene, me, OVER, mine=(rules,)) is not None, "what has begun ends"
    assert await _step(scene, me, OVER, mine=(rules,)) is None


async def test_others_do_it_only_when_it_is_overdue(scene: Scene) -> None:
    await _given(scene)
    other = await scene.master()
    assert await _step(scene, other, OVER, mine=()) is None
    async with scene.database.reading() as connection:
        following = await duties.read_next(connection, other.epoch, (), list(DutyName))
    assert (following.rows, following.due) == (1, 0)
    assert following.in_s is not None
    assert 0 < following.in_s < 600
    await scene.sql("UPDATE duty SET due_at = due_at - interval '11 min'")
    assert await _step(scene, other, OVER, mine=()) is not None
    assert await _done(scene) == [(other.epoch, True, 1, "all of it")]


async def test_who_did_a_step_goes_on_and_nobody_else_while_it_lives_and_is_not_late(scene: Scene) -> None:
    await _given(scene, due="-1 h", every_s=86_400)
    me, other = await scene.master(), await scene.master()
    assert await _step(scene, me, NOT_YET) is not None
    assert await _step(scene, other, OVER) is None
    again = await _step(scene, me, NOT_YET, mine=())
    assert again is not None
    assert (again.steps, again.progress) == (1, {"deleted": 7})
    await scene.sql("UPDATE duty SET free_at = clock_timestamp()")
    assert (await _step(scene, other, OVER)) is not None, "it is late"
    assert await _done(scene) == [(other.epoch, False, 3, "all of it")]
    assert await _step(scene, me, OVER) is None, "it is done for this period"


async def test_what_a_fenced_master_held_is_free_at_once(scene: Scene) -> None:
    await _given(scene, due="-1 h", every_s=86_400)
    me, other = await scene.master(), await scene.master()
    await _step(scene, me, NOT_YET)
    await scene.fence(me)
    assert await _step(scene, other, OVER, mine=()) is not None
    with pytest.raises(Fenced):
        await _step(scene, me, OVER)


async def test_a_step_that_is_lost_has_done_nothing(scene: Scene) -> None:
    await _given(scene)
    me, other = await scene.master(), await scene.master()
    with pytest.raises(RuntimeError, match="dies"):
        async with nodes.fenced_transaction(scene.database, me) as connection:
            taken = await duties.take(connection, me.epoch, (ONE,), list(DutyName))
            assert taken is not None
            await duties.record(connection, me, taken, OVER, late=False)
            raise RuntimeError("dies before its commit")
    assert await _done(scene) == []
    assert await _step(scene, other, OVER) is not None
    assert await _done(scene) == [(other.epoch, False, 1, "all of it")]


async def test_no_two_steps_run_at_once_and_one_that_hangs_is_ended_by_the_server(
    scene: Scene,
) -> None:
    await _given(scene, due="-1 h", every_s=86_400)
    me, other = await scene.master(), await scene.master()
    hangs = nodes.fenced_transaction(scene.database, me)
    connection = await hangs.__aenter__()
    assert await duties.take(connection, me.epoch, (ONE,), list(DutyName)) is not None
    assert await _step(scene, other, OVER) is None, "it is locked while the step runs"
    hung = "idle_in_transaction_session_timeout"
    await connection.execute(Sql(f"SET {hung} = '{AS_SHIPPED[hung]}'"))
    await eventually(lambda: _step(scene, other, OVER), within_s=10)
    with pytest.raises(Unknown):
        await hangs.__aexit__(None, None, None)
    assert await _done(scene) == [(other.epoch, False, 1, "all of it")]


async def test_of_many_masters_at_once_one_does_it(scene: Scene) -> None:
    await _given(scene, due="-10 s", every_s=86_400)
    masters = [await scene.master() for _ in range(5)]
    done = await asyncio.gather(*(_step(scene, me, OVER) for me in masters))
    assert len([each for each in done if each is not None]) == 1
    assert len(await _done(scene)) == 1


async def test_periods_in_which_nobody_was_there_are_left_out(scene: Scene) -> None:
    await _given(scene, due="-100 min", every_s=600)
    before = await scene.sql("SELECT due_at FROM duty")
    await _step(scene, await scene.master(), OVER)
    (row,) = await scene.sql("SELECT due_at, due_at > clock_timestamp() FROM duty")
    assert row == (before[0] + timedelta(minutes=110), True)
    assert len(await _done(scene)) == 1


async def test_a_step_that_fails_is_tried_again_after_a_pause_by_any(scene: Scene) -> None:
    await _given(scene, due="-1 min", every_s=86_400)
    await scene.sql("UPDATE duty SET failures = 9")  # so that the pause is long
    me, other = await scene.master(), await scene.master()
    async with nodes.fenced_transaction(scene.database, me) as connection:
        taken = await duties.take(connection, me.epoch, (ONE,), list(DutyName))
        assert taken is not None
        await duties.failed(connection, me.epoch, taken, "it broke")
    assert await _step(scene, me, OVER) is None
    assert await _step(scene, other, OVER) is None
    assert await scene.sql("SELECT failures, error FROM duty") == [(10, "it broke")]
    await scene.sql("UPDATE duty SET free_at = clock_timestamp()")
    assert await _step(scene, other, OVER) is not None
    assert await scene.sql("SELECT failures, error FROM duty") == [(0, "it broke")]


async def test_what_has_done_fewer_steps_goes_first(scene: Scene) -> None:
    await _given(scene, ONE, DutyName.LEFT_WORK, due="-1 min", every_s=86_400)
    me = await scene.master()
    mine = [ONE, DutyName.LEFT_WORK]
    first = await _step(scene, me, NOT_YET, mine=mine)
    second = await _step(scene, me, OVER, mine=mine)
    assert first is not None
    assert second is not None
    assert {first.name, second.name} == set(mine)


@pytest.mark.parametrize(
    "odd",
    [
        "due_at = clock_timestamp() + interval '100 years'",
        "free_at = 'infinity'",
        "holder = 4711",
        "holder = -1, free_at = 'infinity'",
        'progress = \'{"deleted": "many"}\'',
        "progress = '{\"deleted\": 1e5000}'",
        "progress = CAST('{\"deleted\":' || repeat('[', 3000) || repeat(']', 3000) || '}' AS jsonb)",
        "steps = -5",
        "due_at = '2000-01-01', every_s = 1",
    ],
)
async def test_a_row_that_somebody_wrote_keeps_nobody_away(scene: Scene, odd: str) -> None:
    await _given(scene, due="-1 h", every_s=86_400)
    await scene.sql(f"UPDATE duty SET {odd}")
    assert await _step(scene, await scene.master(), OVER, mine=()) is not None
    assert len(await _done(scene)) == 1
    assert await scene.sql("SELECT d.due_at > e.ended_at FROM duty d JOIN duty_done e USING (name)") == [True]


async def test_a_period_that_somebody_set_back_is_not_recorded_twice(scene: Scene) -> None:
    await _given(scene)
    me = await scene.master()
    await _step(scene, me, OVER)
    await scene.sql("UPDATE duty SET due_at = (SELECT due_at FROM duty_done)")
    assert await _step(scene, me, OVER) is not None
    assert len(await _done(scene)) == 1


async def test_rows_of_old_periods_are_deleted_in_batches(scene: Scene) -> None:
    await scene.sql(
        "INSERT INTO duty_done SELECT 'a', now() - n * interval '1 h', 1, '', now(), now() - n * interval '1 h', 1, "
        "false, true, '' FROM generate_series(1, 10) AS n"
    )
    async with scene.writing() as connection:
        writing: Any = connection
        assert await duties.delete_old(writing, timedelta(hours=5.5), 3) == 3
        assert await duties.delete_old(writing, timedelta(hours=5.5), 3) == 2
    assert len(await _done(scene)) == 5
