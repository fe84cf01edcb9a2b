"""`dao/commands/deadly_commands.py`: what masters may have died of is tried in ever smaller groups."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dao.cluster import nodes
from dao.cluster.nodes import Me
from dao.commands import commands, deadly_commands, waiting_work
from dao.commands.deadly_commands import Suspect
from model.cluster.nodes import Heartbeat
from model.cluster.slots import Slot
from model.ids import CommandId
from tests.dao.scene import Scene

ALONE = Slot(0, 1)


async def in_slot(scene: Scene, me: Me, slot: Slot) -> None:
    """Let a master tell its slot by a beat."""
    heartbeat = Heartbeat(
        epoch=me.epoch, kind=me.kind, address=me.address, slot_current=slot.current, slot_total=slot.total
    )
    async with scene.writing() as connection:
        await nodes.beat(connection, me, 0, unanswered=0, heartbeat=heartbeat)


async def dying(scene: Scene, slot: Slot = ALONE) -> Me:
    """A master that holds a slot; fence it to let it die."""
    me = await scene.master()
    await in_slot(scene, me, slot)
    return me


async def tries(scene: Scene, me: Me) -> list[Suspect]:
    async with scene.writing() as connection:
        return await deadly_commands.try_next(connection, me.epoch, 1_000)


async def waiting(scene: Scene, me: Me) -> waiting_work.WaitingWork:
    async with scene.writing() as connection:
        return await waiting_work.work_waits(connection, Slot(0, 1), timedelta(hours=1), 1, me.epoch)


async def claimed(scene: Scene) -> list[CommandId]:
    async with scene.writing() as connection:
        return [row.id for row in await commands.claim(connection, Slot(0, 1), 1_000, 1)]


async def test_what_is_put_in_quarantine_is_not_tried(scene: Scene) -> None:
    dead, me = await dying(scene), await scene.master()
    first, second = await scene.commands(2)
    await scene.fence(dead)
    async with scene.writing() as connection:
        assert [each.id for each in await deadly_commands.try_next(connection, me.epoch, 9, [first])] == [second]
        assert await deadly_commands.try_next(connection, me.epoch, 9, [first, second]) == []


async def test_what_waits_in_the_slot_of_a_dead_master_is_not_claimed_with_the_rest(scene: Scene) -> None:
    dead, me = await dying(scene, Slot(1, 2)), await scene.master()
    young = await scene.commands(10)
    assert not (await waiting(scene, me)).suspect
    await scene.fence(dead)
    assert (await waiting(scene, me)).suspect
    group = await tries(scene, me)
    assert {each.id for each in group} == set(young), "its slot, and the oldest, which it may have taken by age"
    assert {each.deaths for each in group} == {1}
    later = await scene.commands(3)
    assert await claimed(scene) == later
    assert not (await waiting(scene, await scene.master())).suspect, "a living master is at them"


async def test_no_more_is_tried_than_there_is_room_for_and_what_is_given_back_others_may_try(scene: Scene) -> None:
    dead, full, free = await dying(scene), await scene.master(), await scene.master()
    ids = await scene.commands(5)
    await scene.fence(dead)
    async with scene.writing() as connection:
        first = [each.id for each in await deadly_commands.try_next(connection, full.epoch, 3)]
    assert first == ids[:3]
    async with scene.writing() as connection:
        await deadly_commands.give_back(connection, first[1:], full.epoch)
        await deadly_commands.give_back(connection, first[:1], free.epoch)  # not its own
    assert sorted(each.id for each in await tries(scene, free)) == ids[1:]


async def test_a_worker_s_death_sets_nothing_apart(scene: Scene) -> None:
    dead = await scene.worker()
    ids = await scene.commands(3)
    await scene.fence(dead)
    assert await claimed(scene) == ids


async def test_what_is_to_be_halted_or_failed_over_is_not_suspect(scene: Scene) -> None:
    await scene.sql("INSERT INTO command (type, workflow_instance_id) VALUES ('STOP', 1), ('PAUSE', 2)")
    await scene.sql("INSERT INTO command (type, workflow_instance_id) VALUES ('RECOVER_TOLERANCE_FAULT_PROCESS', 3)")
    await scene.fence(await dying(scene))
    assert len(await claimed(scene)) == 3


async def test_each_death_divides_the_group_until_the_culprit_is_alone(scene: Scene) -> None:
    ids = await scene.commands(60)
    culprit, killed = ids[37], 0
    await scene.fence(await dying(scene))
    sizes = []
    while True:
        me = await dying(scene)
        group = await tries(scene, me)
        assert group, "the culprit was never found"
        if group[0].is_the_culprit:
            break
        sizes.append(len(group))
        if culprit in {each.id for each in group}:
            await scene.fence(me)
            killed += 1
        else:
            await taken(scene, [each.id for each in group])
    assert [each.id for each in group] == [culprit]
    assert killed == deadly_commands.DEATHS_MAX
    assert sizes[0] == 60
    assert max(sizes[1:]) == deadly_commands.GROUPS[1]


async def taken(scene: Scene, ids: list[CommandId]) -> None:
    """They are handled, as far as the table goes."""
    async with scene.writing() as connection:
        assert {row.id for row in await commands.take(connection, ids)} == set(ids)


async def test_a_group_is_one_living_master_s_and_free_again_when_that_leaves(scene: Scene) -> None:
    await scene.commands(5)
    await scene.fence(await dying(scene))
    first, second = await dying(scene), await dying(scene)
    assert len(await tries(scene, first)) == 5
    assert await tries(scene, second) == []
    async with scene.writing() as connection:
        await nodes.set_left(connection, first)
    again = await tries(scene, second)
    assert [each.deaths for each in again] == [1] * 5, "who leaves in good order died of nothing"


async def test_a_group_whose_master_never_heard_of_it_is_that_master_s_once_more(scene: Scene) -> None:
    """The answer to the COMMIT was lost: else it would wait for as long as that master lives."""
    await scene.commands(5)
    await scene.fence(await dying(scene))
    me, other = await dying(scene), await dying(scene)
    group = await tries(scene, me)
    assert (await waiting(scene, me)).suspect
    assert not (await waiting(scene, other)).suspect
    again = await tries(scene, me)
    assert {each.id for each in again} == {each.id for each in group}
    assert {each.deaths for each in again} == {1}


@pytest.mark.parametrize("step", [1, 10])
async def test_the_slot_is_computed_with_the_stride_of_the_ids(scene: Scene, step: int) -> None:
    await scene.sql(f"ALTER SEQUENCE command_id_seq INCREMENT BY {step}")
    ids = await scene.commands(2 * deadly_commands.SUSPECTS_MAX + 200)
    oldest = ids[: deadly_commands.SUSPECTS_MAX]
    await scene.fence(await dying(scene, Slot(1, 2)))
    rows = await scene.sql("SELECT id FROM command WHERE deaths > 0")
    mine = [id_ for id_ in ids if id_ // step % 2 == 1][: deadly_commands.SUSPECTS_MAX]
    assert set(rows) == {*oldest, *mine}
