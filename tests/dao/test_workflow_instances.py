"""`dao/runs/workflow_instances.py`: a run has one owner, and only the owner's writes land."""

from __future__ import annotations

import asyncio

import pytest

from dao.cluster import gone_nodes
from dao.cluster.nodes import Me
from dao.postgres.errors import BadData
from dao.runs import failover, workflow_instances
from dao.runs.failover import TAKEOVERS_MAX
from dao.runs.workflow_instances import InstanceEnd, NewInstance, OwnershipLost
from model.choices import FailureStrategy, Priority
from model.ids import CommandId, WorkflowCode, WorkflowInstanceId
from model.runs.states import WorkflowState
from tests.dao.scene import Scene


async def finish(scene: Scene, id_: WorkflowInstanceId, master: Me) -> None:
    async with scene.writing() as connection:
        await workflow_instances.finish(connection, [InstanceEnd(id_, WorkflowState.SUCCESS, "")], master.epoch)


async def fail_over(scene: Scene, limit: int = 100) -> int:
    async with scene.writing() as connection:
        return await failover.fail_over(connection, limit)


async def claim_failover(scene: Scene, *ids: WorkflowInstanceId, master: Me) -> dict[WorkflowInstanceId, int]:
    """Those that were taken, with the number of their takeovers."""
    async with scene.writing() as connection:
        taken = await failover.claim_failover(connection, ids, master.epoch)
    return {id_: takeovers for id_, (_, takeovers) in taken.items()}


async def owner_of(scene: Scene, id_: WorkflowInstanceId) -> tuple[str, int]:
    [found] = await scene.sql("SELECT state, master_id FROM workflow_instance WHERE id = :id", id=id_)
    return found  # type: ignore[no-any-return]


async def test_a_new_run_is_its_masters_and_stands_there_as_it_was_asked_for(scene: Scene) -> None:
    master = await scene.master()
    new = [
        NewInstance(CommandId(n), WorkflowCode(1001), 2, FailureStrategy.END, Priority.LOW, "gpu", '{"a": "1"}')
        for n in (70, 80)
    ]
    async with scene.writing() as connection:
        made = await workflow_instances.insert(connection, new, master.epoch)
        ids = {command: id_ for command, (id_, _) in made.items()}
        assert await workflow_instances.owned(connection, master.epoch) == set(ids.values())
        [found] = await workflow_instances.read_owned(connection, [ids[CommandId(80)]], master.epoch)
    assert list(ids) == [70, 80]
    assert (found.workflow_code, found.workflow_version, found.failure_strategy) == (1001, 2, FailureStrategy.END)
    assert (found.priority, found.worker_group, found.params) == (Priority.LOW, "gpu", '{"a": "1"}')


async def test_a_command_makes_one_run_and_no_second(scene: Scene) -> None:
    master = await scene.master()
    new = NewInstance(CommandId(7), WorkflowCode(1), 1, FailureStrategy.END, Priority.LOW, "g", "{}")
    for attempt in (1, 2):
        try:
            async with scene.writing() as connection:
                await workflow_instances.insert(connection, [new], master.epoch)
        except BadData:
            assert attempt == 2
    assert await scene.sql("SELECT count(*) FROM workflow_instance") == [1]


async def test_only_the_owner_ends_a_run_and_only_once(scene: Scene) -> None:
    master, other = await scene.master(), await scene.master()
    id_ = await scene.instance(master)
    with pytest.raises(OwnershipLost, match=f"{id_} of 1 runs to finish"):
        await finish(scene, id_, other)
    await finish(scene, id_, master)
    with pytest.raises(OwnershipLost):
        await finish(scene, id_, master)
    assert await scene.sql("SELECT state, ended_at IS NOT NULL, reason FROM workflow_instance") == [
        ("SUCCESS", True, None)
    ]
    async with scene.database.reading() as connection:
        assert await workflow_instances.owned(connection, master.epoch) == set()
        assert await workflow_instances.read_owned(connection, [id_], master.epoch) == []


async def test_ends_that_are_not_all_ours_are_not_written_at_all(scene: Scene) -> None:
    master, other = await scene.master(), await scene.master()
    mine, theirs = await scene.instance(master), await scene.instance(other)
    with pytest.raises(OwnershipLost, match="of 2 runs") as lost:
        async with scene.writing() as connection:
            ends = [InstanceEnd(id_, WorkflowState.FAILURE, "x") for id_ in (mine, theirs)]
            await workflow_instances.finish(connection, ends, master.epoch)
    assert lost.value.ids == {theirs}
    assert await owner_of(scene, mine) == ("RUNNING_EXECUTION", master.epoch)


async def test_a_run_that_somebody_set_to_failover_is_taken_back_by_its_living_owner(scene: Scene) -> None:
    master, other = await scene.master(), await scene.master()
    odd, asked, theirs = [await scene.instance(each) for each in (master, master, other)]
    await scene.sql("UPDATE workflow_instance SET state = 'FAILOVER'")
    await scene.sql("UPDATE workflow_instance SET requested_state = 'READY_STOP' WHERE id = :id", id=asked)
    async with scene.writing() as connection:
        await workflow_instances.take_back(connection, [odd, asked, theirs], master.epoch)
    assert [(await owner_of(scene, id_))[0] for id_ in (odd, asked, theirs)] == [
        "RUNNING_EXECUTION", "READY_STOP", "FAILOVER"
    ]  # fmt: skip


async def test_a_run_in_line_belongs_to_nobody_whatever_its_row_says(scene: Scene) -> None:
    master = await scene.master()
    waits, runs = await scene.instance(master, state=WorkflowState.SERIAL_WAIT), await scene.instance(master)
    await scene.sql("UPDATE workflow_instance SET master_id = :id", id=master.epoch)
    async with scene.writing() as connection:
        assert await workflow_instances.owned(connection, master.epoch) == {runs}
        assert await workflow_instances.still_owned(connection, [waits, runs], master.epoch) == [runs]
        assert len(await workflow_instances.read_owned(connection, [waits, runs], master.epoch)) == 1


async def test_what_a_dead_master_left_is_failed_over_once(scene: Scene) -> None:
    dead, living = await scene.master(), await scene.master()
    left = [await scene.instance(dead, priority=Priority.HIGH) for _ in range(3)]
    ended, others = await scene.instance(dead), await scene.instance(living)
    await finish(scene, ended, dead)
    assert await fail_over(scene) == 0
    await scene.fence(dead)
    assert [await fail_over(scene, limit=2), await fail_over(scene), await fail_over(scene)] == [2, 1, 0]
    assert await scene.sql(
        "SELECT workflow_instance_id, type, priority FROM command ORDER BY workflow_instance_id"
    ) == [(id_, "RECOVER_TOLERANCE_FAULT_PROCESS", "HIGH") for id_ in left]
    assert await owner_of(scene, left[0]) == ("FAILOVER", dead.epoch)
    assert await owner_of(scene, others) == ("RUNNING_EXECUTION", living.epoch)
    assert await owner_of(scene, ended) == ("SUCCESS", dead.epoch)


@pytest.mark.parametrize("state", ["RUNNING_EXECUTION", "READY_PAUSE", "READY_STOP", "FAILOVER"])
@pytest.mark.parametrize("owner", [0, -1, 2**63 - 1, 10**6, "worker", "fenced", "left"])
async def test_a_run_whose_owner_cannot_drive_it_is_failed_over_and_failed_over(
    scene: Scene, state: str, owner: int | str
) -> None:
    fenced, left, me, worker = [await scene.master() for _ in range(3)] + [await scene.worker()]
    await scene.fence(fenced)
    await scene.sql("UPDATE node SET state = 'LEFT' WHERE id = :id", id=left.epoch)
    odd, waits, runs = [await scene.instance(me) for _ in range(3)]
    epochs = {"worker": worker.epoch, "fenced": fenced.epoch, "left": left.epoch}
    await scene.sql("ALTER TABLE workflow_instance DISABLE TRIGGER workflow_instance_moves_legally")
    await scene.sql("UPDATE workflow_instance SET state = :state WHERE id = :id", state=state, id=odd)
    await scene.sql("UPDATE workflow_instance SET state = 'SERIAL_WAIT' WHERE id = :id", id=waits)
    await scene.sql("ALTER TABLE workflow_instance ENABLE TRIGGER workflow_instance_moves_legally")
    number = epochs[owner] if isinstance(owner, str) else owner
    await scene.sql(
        "UPDATE workflow_instance SET master_id = :owner WHERE id = ANY(:ids)", owner=number, ids=[odd, waits]
    )
    async with scene.database.reading() as connection:
        assert (await gone_nodes.work_left(connection)).by_gone_nodes
    assert await fail_over(scene) == 1
    assert await scene.sql("SELECT workflow_instance_id FROM command") == [odd]
    assert list(await claim_failover(scene, odd, waits, runs, master=me)) == [odd]
    await scene.sql("DELETE FROM command")
    assert await fail_over(scene) == 0
    async with scene.database.reading() as connection:
        assert not (await gone_nodes.work_left(connection)).by_gone_nodes
    expected = "RUNNING_EXECUTION" if state == "FAILOVER" else state
    assert await owner_of(scene, odd) == (expected, me.epoch)
    assert (await owner_of(scene, waits))[0] == "SERIAL_WAIT"


async def test_two_masters_that_fail_over_at_once_ask_once(scene: Scene) -> None:
    dead = await scene.master()
    for _ in range(20):
        await scene.instance(dead)
    await scene.fence(dead)
    await asyncio.gather(*(fail_over(scene) for _ in range(4)))
    assert await scene.sql("SELECT count(*), count(DISTINCT workflow_instance_id) FROM command") == [(20, 20)]


async def test_a_failover_that_was_claimed_and_lost_again_is_asked_for_again(scene: Scene) -> None:
    first, second = await scene.master(), await scene.master()
    id_ = await scene.instance(first)
    await scene.fence(first)
    assert await fail_over(scene) == 1
    await scene.sql("DELETE FROM command")
    assert await claim_failover(scene, id_, master=second) == {id_: 1}
    assert await fail_over(scene) == 0
    await scene.fence(second)
    assert await fail_over(scene) == 1


async def test_only_what_belongs_to_the_gone_is_failed_over_and_only_once(scene: Scene) -> None:
    dead, living, me, late = [await scene.master() for _ in range(4)]
    lost, theirs, over = await scene.instance(dead), await scene.instance(living), await scene.instance(dead)
    await finish(scene, over, dead)
    assert await claim_failover(scene, lost, master=me) == {}
    await scene.fence(dead)
    assert await claim_failover(scene, lost, theirs, over, WorkflowInstanceId(777), master=me) == {lost: 1}
    assert await claim_failover(scene, lost, master=late) == {}
    assert await owner_of(scene, lost) == ("RUNNING_EXECUTION", me.epoch)
    assert await owner_of(scene, theirs) == ("RUNNING_EXECUTION", living.epoch)


async def test_a_master_that_left_by_itself_does_not_count_as_a_failover(scene: Scene) -> None:
    left, me = await scene.master(), await scene.master()
    id_ = await scene.instance(left)
    await scene.sql("UPDATE node SET state = 'LEFT' WHERE id = :id", id=left.epoch)
    assert await claim_failover(scene, id_, master=me) == {id_: 0}


async def test_two_that_claim_failover_at_once_do_not_both_get_it(scene: Scene) -> None:
    dead, one, other = await scene.master(), await scene.master(), await scene.master()
    ids = [await scene.instance(dead) for _ in range(10)]
    await scene.fence(dead)
    first, second = await asyncio.gather(
        claim_failover(scene, *ids, master=one), claim_failover(scene, *reversed(ids), master=other)
    )
    assert sorted([*first, *second]) == ids


async def test_why_a_run_cannot_be_failed_over_is_said(scene: Scene) -> None:
    master = await scene.master()
    running, ended = await scene.instance(master), await scene.instance(master)
    await finish(scene, ended, master)
    async with scene.database.reading() as connection:
        said = [await failover.why_not_recovered(connection, id_) for id_ in (running, ended)]
        said.append(await failover.why_not_recovered(connection, WorkflowInstanceId(777)))
    assert said == [
        f"workflow instance {running} belongs to master {master.epoch}, which lives; it is not taken away",
        f"workflow instance {ended} has already ended as SUCCESS; there is nothing to fail over",
        "there is no workflow instance 777",
    ]


# ------------------------------------------------------------------------------------------------ deaths that count


async def dies(scene: Scene, id_: WorkflowInstanceId, owner: Me, *, drove: str) -> tuple[Me, int]:
    """The owner is fenced, last seen so long after it had begun to drive the run; who failed over, and what counts."""
    await scene.sql(
        "UPDATE node_beat SET beaten_at = (SELECT coalesce(owned_since, started_at) + CAST(:drove AS interval) "
        "FROM workflow_instance WHERE id = :id) WHERE node_id = :node",
        drove=drove,
        id=id_,
        node=owner.epoch,
    )
    assert await scene.fence(owner)
    await fail_over(scene)
    next_one = await scene.master()
    return next_one, (await claim_failover(scene, id_, master=next_one))[id_]


async def begun(scene: Scene, ago: str) -> tuple[Me, WorkflowInstanceId]:
    """A run of that age, and the master that has driven it since."""
    master = await scene.master()
    id_ = await scene.instance(master)
    await scene.sql("UPDATE workflow_instance SET started_at = started_at - CAST(:ago AS interval)", ago=ago)
    return master, id_


async def test_a_run_that_lives_for_long_may_lose_any_number_of_masters(scene: Scene) -> None:
    master, id_ = await begun(scene, "30 d")
    for _ in range(6):
        master, takeovers = await dies(scene, id_, master, drove="3 h")
        assert takeovers == 1


@pytest.mark.parametrize("ago", ["1 s", "30 d"])
async def test_a_run_that_kills_each_master_soon_counts_three_of_them_whatever_its_age(scene: Scene, ago: str) -> None:
    master, id_ = await begun(scene, ago)
    counted = []
    for _ in range(TAKEOVERS_MAX):
        master, takeovers = await dies(scene, id_, master, drove="1 s")
        counted.append(takeovers)
    assert counted == [1, 2, 3]


async def test_the_older_a_run_is_the_more_slowly_it_may_kill(scene: Scene) -> None:
    for ago, wanted in (("10 min", [1, 1, 1]), ("3 h", [1, 2, 3]), ("30 d", [1, 2, 3])):
        master, id_ = await begun(scene, ago)
        counted = []
        for drove in ("1 h", "5 min", "5 min"):
            master, takeovers = await dies(scene, id_, master, drove=drove)
            counted.append(takeovers)
        assert counted == wanted, ago
        await scene.sql("DELETE FROM workflow_instance")


async def test_a_cluster_that_stood_still_for_a_day_before_a_failover_forgives_no_death(scene: Scene) -> None:
    """Who restarts what a poisonous run killed may take his time."""
    master, id_ = await begun(scene, "1 s")
    for wanted in (1, 2, 3):
        master, takeovers = await dies(scene, id_, master, drove="1 s")
        assert takeovers == wanted
        await scene.sql("UPDATE workflow_instance SET owned_since = owned_since - interval '1 d'")


async def test_a_run_with_times_that_cannot_be_is_failed_over_all_the_same(scene: Scene) -> None:
    master, id_ = await begun(scene, "1 s")
    await scene.sql("UPDATE workflow_instance SET started_at = 'infinity', takeovers = 32767")
    assert await scene.fence(master)
    await fail_over(scene)
    assert (await claim_failover(scene, id_, master=await scene.master()))[id_] == TAKEOVERS_MAX + 1
