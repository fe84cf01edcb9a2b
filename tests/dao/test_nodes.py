"""`dao/cluster/nodes.py`: who may write, and that a fence waits for writes under way and is seen by all later ones."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from dao.cluster import fencing, gone_nodes, nodes
from dao.cluster.nodes import Me, application_name
from dao.postgres.database import Database
from dao.postgres.errors import LockTaken
from dao.postgres.sql import Sql
from model.cluster.nodes import Heartbeat, NodeKind, NodeState, NodeStatus
from model.errors import Fenced, ShoalError
from model.ids import Epoch
from tests.dao.scene import Scene
from tests.eventually import eventually


def heartbeat_of(me: Me) -> Heartbeat:
    return Heartbeat(epoch=me.epoch, kind=me.kind, address=me.address, running=3, slot_current=0, slot_total=1)


async def beat(scene: Scene, me: Me, beat_no: int, *, unanswered: int = 0) -> int:
    async with scene.writing() as connection:
        return (await nodes.beat(connection, me, beat_no, unanswered=unanswered, heartbeat=heartbeat_of(me)))[0]


async def test_each_life_gets_a_higher_epoch(scene: Scene) -> None:
    first, second = await scene.master(), await scene.worker()
    assert second.epoch > first.epoch


async def test_the_living_are_seen_with_their_beats(scene: Scene) -> None:
    master, worker, dead = await scene.master(), await scene.worker(), await scene.master()
    await scene.fence(dead)
    await beat(scene, master, 0)
    async with scene.database.reading() as connection:
        seen_master, seen_worker = await nodes.living(connection)
    assert (seen_master.epoch, seen_master.beat_no, seen_master.heartbeat) == (master.epoch, 1, heartbeat_of(master))
    assert seen_master.heartbeat is not None
    assert seen_master.heartbeat.status is NodeStatus.NORMAL
    assert 0 <= seen_master.beat_age_s < 60
    assert (seen_worker.epoch, seen_worker.kind, seen_worker.heartbeat) == (worker.epoch, NodeKind.WORKER, None)


async def test_a_beat_gives_the_next_number_and_a_master_all_who_live(scene: Scene) -> None:
    me, other = await scene.master(), await scene.worker()
    async with scene.writing() as connection:
        number, living, _ = await nodes.beat(connection, other, 0, unanswered=0, heartbeat=heartbeat_of(other))
    assert (number, [row.epoch for row in living]) == (1, [other.epoch])
    async with scene.writing() as connection:
        number, living, newer = await nodes.beat(connection, me, 0, unanswered=0, heartbeat=heartbeat_of(me))
    assert (number, newer) == (1, None)
    assert [row.epoch for row in living] == [me.epoch, other.epoch]
    assert await beat(scene, me, 1) == 2


async def test_a_beat_with_a_number_that_is_not_the_last_finds_itself_fenced(scene: Scene) -> None:
    """History was rewritten under us: a restored backup, a cloned machine."""
    me = await scene.master()
    await beat(scene, me, 0)
    for wrong in (0, 2):
        with pytest.raises(Fenced):
            await beat(scene, me, wrong)


async def test_a_beat_is_right_whether_those_without_an_answer_arrived_or_not(scene: Scene) -> None:
    me = await scene.master()
    assert await beat(scene, me, 0, unanswered=1) == 1  # it had not arrived
    assert await beat(scene, me, 0, unanswered=1) == 2  # it had
    assert await beat(scene, me, 0, unanswered=2) == 3  # two had
    with pytest.raises(Fenced):
        await beat(scene, me, 0, unanswered=2)


ASKS = (nodes.hold_alive, nodes.barrier)
"""What asks whether a node may write."""


async def test_a_stranger_with_our_epoch_cannot_write_or_beat(scene: Scene) -> None:
    me = await scene.master()
    clone = replace(me, incarnation=uuid4())
    with pytest.raises(Fenced):
        await beat(scene, clone, 0)
    for ask in ASKS:
        with pytest.raises(Fenced):
            async with scene.writing() as connection:
                await ask(connection, clone)


async def test_a_fenced_node_can_neither_write_nor_beat_and_is_fenced_once(scene: Scene) -> None:
    me = await scene.master()
    row = await scene.row_of(me)
    assert await fencing.fence(scene.database, row, "its beat stood still", by=None) is True
    assert await fencing.fence(scene.database, row, "again", by=None) is False
    assert await scene.sql("SELECT state, ended_why FROM node") == [("FENCED", "its beat stood still")]
    with pytest.raises(Fenced, match=f"epoch {me.epoch}"):
        await beat(scene, me, 0)
    for ask in ASKS:
        with pytest.raises(Fenced):
            async with scene.writing() as connection:
                await ask(connection, me)


async def test_a_node_that_beat_since_it_was_judged_is_left_in_peace(scene: Scene) -> None:
    """A judge that was stopped between its verdict and its write wakes with an old verdict."""
    me, judge = await scene.worker(), await scene.master()
    seen = await scene.row_of(me)
    await beat(scene, me, 0)
    session = Database(scene.database.url, application_name=application_name(NodeKind.WORKER, me.epoch))
    async with session.reading() as own:
        assert await fencing.fence(scene.database, seen, "its beat stood still", by=judge) is False
        assert (await own.execute(Sql("SELECT 1"))).scalar_one() == 1, "its sessions were not ended either"
    await session.close()
    assert (await scene.row_of(me)).state is NodeState.ALIVE


async def test_a_judge_that_was_fenced_itself_fences_nobody(scene: Scene) -> None:
    judge, other = await scene.master(), await scene.worker()
    row = await scene.row_of(other)
    await scene.fence(judge)
    with pytest.raises(Fenced):
        await fencing.fence(scene.database, row, "its beat stood still", by=judge)
    assert (await scene.row_of(other)).state is NodeState.ALIVE


async def test_a_leaving_node_still_writes_and_one_that_left_does_not(scene: Scene) -> None:
    me = await scene.master()
    async with scene.writing() as connection:
        await nodes.set_leaving(connection, me)
        await nodes.hold_alive(connection, me)
    assert (await scene.row_of(me)).state is NodeState.LEAVING
    async with scene.writing() as connection:
        assert await nodes.set_left(connection, me)
    with pytest.raises(Fenced):
        async with scene.writing() as connection:
            await nodes.hold_alive(connection, me)


async def test_a_fenced_node_is_told_that_it_cannot_leave(scene: Scene) -> None:
    me = await scene.master()
    await scene.fence(me)
    async with scene.writing() as connection:
        assert not await nodes.set_left(connection, me)
    assert await scene.sql("SELECT state FROM node") == ["FENCED"]


async def test_a_fence_ends_the_sessions_of_the_dead_and_no_others(scene: Scene) -> None:
    """One that was stopped inside a transaction would hold its share lock, and so the fence, for ever."""
    me, bystander = await scene.master(), await scene.master()
    asleep = Database(scene.database.url, application_name=application_name(me.kind, me.epoch))
    awake = Database(scene.database.url, application_name=application_name(bystander.kind, bystander.epoch))
    try:
        async with awake.writing() as neighbour:
            await nodes.hold_alive(neighbour, bystander)
            with pytest.raises(ShoalError):
                async with asleep.writing() as connection:
                    await nodes.hold_alive(connection, me)
                    assert await scene.fence(me) is True  # a wait would be an error after lock_timeout
                    await nodes.hold_alive(connection, me)
            await nodes.hold_alive(neighbour, bystander)
    finally:
        await asleep.close()
        await awake.close()


async def test_a_fence_waits_for_a_write_under_way_and_is_seen_by_the_next(scene: Scene) -> None:
    me = await scene.master()  # its sessions here have another name, so the fence cannot end them and must wait
    async with scene.writing() as connection:
        await nodes.hold_alive(connection, me)
        fence = asyncio.create_task(scene.fence(me))
        await scene.waits_for_a_lock()
        assert not fence.done()
    assert await fence is True
    with pytest.raises(Fenced):
        async with scene.writing() as connection:
            await nodes.hold_alive(connection, me)


async def test_while_a_fence_waits_no_beat_is_answered(scene: Scene) -> None:
    """Else a worker would believe in itself again, begin tasks, and be fenced by what was judged before."""
    me = await scene.worker()
    waiting = (
        "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) "
        "WHERE NOT l.granted AND a.datname = current_database()"
    )

    async def both_wait() -> bool:
        return await scene.sql(waiting) == [2]

    # Connections for all of it: on a busy machine opening them takes longer than the fence waits for its lock.
    await asyncio.gather(*(scene.sql("SELECT count(*) FROM pg_sleep(0.1)") for _ in range(4)))
    async with scene.writing() as connection:
        await nodes.hold_alive(connection, me)
        fence = asyncio.create_task(scene.fence(me))
        await scene.waits_for_a_lock()
        late = asyncio.create_task(beat(scene, me, 0))
        await eventually(both_wait)
        assert not late.done()
    assert await fence is True
    await asyncio.gather(late, return_exceptions=True)
    with pytest.raises(Fenced):
        await beat(scene, me, 0, unanswered=1)


async def test_a_write_that_meets_a_fence_under_way_waits_and_finds_itself_fenced(scene: Scene) -> None:
    me = await scene.master()

    async def write() -> None:
        async with scene.writing() as connection:
            await nodes.hold_alive(connection, me)

    async with scene.writing() as fencing:
        await fencing.execute(Sql(f"UPDATE node SET state = 'FENCED' WHERE id = {me.epoch}"))
        late = asyncio.create_task(write())
        await scene.waits_for_a_lock()
        assert not late.done()
    with pytest.raises(Fenced):
        await late


async def test_a_fence_that_cannot_get_the_row_says_so_and_may_be_tried_again(scene: Scene) -> None:
    me = await scene.master()
    async with scene.writing() as connection:
        await nodes.hold_alive(connection, me)
        with pytest.raises(LockTaken, match="somebody else holds a lock \\(55P03\\)"):
            await scene.fence(me)
    assert await scene.fence(me) is True


async def test_a_barrier_waits_for_our_earlier_write(scene: Scene) -> None:
    """After a COMMIT that was cut: its backend may still be committing."""
    me = await scene.master()

    async def look_behind_the_barrier() -> list[int]:
        async with scene.writing() as connection:
            await nodes.barrier(connection, me)
        return await scene.sql("SELECT count(*) FROM command")

    async with scene.writing() as earlier:
        await nodes.hold_alive(earlier, me)
        await earlier.execute(Sql("INSERT INTO command (type) VALUES ('START_PROCESS')"))
        look = asyncio.create_task(look_behind_the_barrier())
        await scene.waits_for_a_lock()
        assert not look.done()
    assert await look == [1]


async def test_a_beat_does_not_wait_for_our_own_slow_write(scene: Scene) -> None:
    me = await scene.master()
    async with scene.writing() as slow:
        await nodes.hold_alive(slow, me)
        assert await beat(scene, me, 0) == 1  # a wait would be an error after lock_timeout


def test_sessions_are_named_after_kind_and_epoch() -> None:
    assert application_name(NodeKind.MASTER, Epoch(17)) == "shoal-master-17"


async def test_nodes_that_ended_long_ago_are_forgotten_and_their_epochs_never_given_again(scene: Scene) -> None:
    living, fenced, left, busy, recent = [await scene.master() for _ in range(5)]
    worker = await scene.worker()
    run = await scene.instance(living)
    await scene.queue(run, 1, master=living)
    await scene.claim(worker)
    await scene.instance(busy)
    for node in (fenced, busy, recent, worker):
        await scene.fence(node)
    async with scene.writing() as connection:
        await nodes.set_left(connection, left)
    await scene.sql("UPDATE node SET ended_at = ended_at - interval '31 days' WHERE id <> :recent", recent=recent.epoch)
    gone = []
    while True:
        async with scene.writing() as connection:
            gone.append(await gone_nodes.delete_ended(connection, timedelta(days=30), 1))
        if not gone[-1]:
            break
    assert gone == [1, 1, 0], "in steps"
    kept = [living.epoch, busy.epoch, recent.epoch, worker.epoch]
    assert await scene.sql("SELECT id FROM node ORDER BY id") == kept, "of those something is unfinished, or new"
    assert await scene.sql("SELECT node_id FROM node_beat ORDER BY node_id") == kept
    assert (await scene.master()).epoch > worker.epoch
    with pytest.raises(Fenced):
        async with scene.writing() as connection:
            await nodes.hold_alive(connection, fenced)
