"""`dao/tasks/task_instances.py`: attempts as their master writes them, and what becomes of a lost worker's."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

import pytest

from dao.cluster import gone_nodes
from dao.cluster.nodes import Me
from dao.postgres.errors import BadData
from dao.postgres.sql import Sql
from dao.runs.workflow_instances import OwnershipLost
from dao.tasks import lost_tasks, past_attempts, task_claims, task_events, task_instances
from model.ids import TaskCode, WorkflowInstanceId
from model.runs.instances import AttemptEnd, TaskAttempt
from model.runs.states import TaskState, WaitReason
from tests.dao.scene import Scene, new_task


async def halt(
    scene: Scene,
    *instances: WorkflowInstanceId,
    master: Me,
    state: TaskState = TaskState.KILL,
    given_up: Collection[WorkflowInstanceId] = (),
) -> list[tuple[WorkflowInstanceId, AttemptEnd]]:
    async with scene.writing() as connection:
        halts = dict.fromkeys(instances, (state, "so it was asked"))
        return await task_instances.halt(connection, halts, given_up, master.epoch)


async def kill(scene: Scene, *instances: WorkflowInstanceId, master: Me) -> list[tuple[WorkflowInstanceId, AttemptEnd]]:
    """As a master kills: what waits ends, what runs is asked for."""
    async with scene.writing() as connection:
        halts = dict.fromkeys(instances, (TaskState.KILL, "so it was asked"))
        ends = await task_instances.halt(connection, halts, (), master.epoch)
        await task_instances.ask_kill(connection, instances, master.epoch)
    return ends


async def mark_lost(scene: Scene, limit: int = 100) -> int:
    async with scene.writing() as connection:
        return await lost_tasks.mark_lost(connection, limit)


async def test_only_the_owner_of_a_running_instance_queues_its_tasks(scene: Scene) -> None:
    master, other = await scene.master(), await scene.master()
    mine, theirs = await scene.instance(master), await scene.instance(other)
    with pytest.raises(OwnershipLost, match="cannot begin") as lost:
        async with scene.writing() as connection:
            await task_instances.queue(connection, [new_task(mine, 1), new_task(theirs, 1)], master.epoch)
    assert lost.value.ids == {theirs}
    assert await scene.states() == {}
    await scene.queue(mine, 1, 2, master=master)
    assert await scene.states() == {1: "QUEUED", 2: "QUEUED"}
    await scene.sql("UPDATE workflow_instance SET state = 'SUCCESS', ended_at = now() WHERE id = :id", id=mine)
    with pytest.raises(OwnershipLost):
        await scene.queue(mine, 3, master=master)


async def test_one_attempt_is_queued_once_and_no_more(scene: Scene) -> None:
    master = await scene.master()
    instance = await scene.instance(master)
    await scene.queue(instance, 1, master=master)
    with pytest.raises(BadData):
        await scene.queue(instance, 1, master=master)
    await scene.queue(instance, 1, attempt=2, master=master)


async def test_ids_follow_the_order_of_the_tasks_whatever_the_plan(scene: Scene) -> None:
    """A hash join returns its rows in any order; between equal priorities the id decides what runs first."""
    master = await scene.master()
    runs = [await scene.instance(master) for _ in range(3)]
    codes = [3, 1, 4, 2, 5]
    async with scene.writing() as connection:
        for method in ("nestloop", "mergejoin"):
            await connection.execute(Sql(f"SET LOCAL enable_{method} = off"))
        await task_instances.queue(connection, [new_task(run, code) for run in runs for code in codes], master.epoch)
    ids = "SELECT workflow_instance_id, task_code FROM task_instance ORDER BY id"
    assert await scene.sql(ids) == [(run, code) for run in runs for code in codes]


async def test_a_kill_ends_what_is_queued_and_asks_for_what_runs(scene: Scene) -> None:
    master, worker = await scene.master(), await scene.worker()
    instance, other = await scene.instance(master), await scene.instance(master)
    await scene.queue(instance, 1, master=master)
    await scene.queue(instance, 2, write_ahead=False, master=master)
    await scene.claim(worker)
    await scene.queue(instance, 3, 4, master=master)
    await scene.queue(other, 9, master=master)
    ends = await kill(scene, instance, master=master)
    assert sorted(end.code for _, end in ends) == [3, 4]
    assert {end.state for _, end in ends} == {TaskState.KILL}
    assert await scene.states() == {1: "RUNNING_EXECUTION", 2: "DISPATCH", 3: "KILL", 4: "KILL", 9: "QUEUED"}
    assert await scene.sql("SELECT task_code FROM task_instance WHERE kill_requested ORDER BY 1") == [1, 2]
    assert await kill(scene, instance, master=master) == []


async def test_a_pause_holds_back_what_has_not_begun_and_lets_the_rest_come_to_its_end(scene: Scene) -> None:
    """DEPENDENT only waits, in its master; a task that stands for other workflows ends when they have paused."""
    master, worker = await scene.master(), await scene.worker()
    instance = await scene.instance(master)
    await scene.queue(instance, 1, master=master)
    await scene.claim(worker)
    await scene.queue(instance, 2, master=master)
    await scene.queue(instance, 3, wait_reason=WaitReason.DELAY, due_in_minutes=5, master=master)
    await scene.queue(instance, 4, state=TaskState.RUNNING_EXECUTION, type_="DEPENDENT", master=master)
    await scene.queue(instance, 5, state=TaskState.RUNNING_EXECUTION, type_="SUB_PROCESS", master=master)
    ends = await halt(scene, instance, master=master, state=TaskState.PAUSE)
    assert {end.code for _, end in ends} == {2, 3, 4}
    assert {end.state for _, end in ends} == {TaskState.PAUSE}
    running = "RUNNING_EXECUTION"
    assert await scene.states() == {1: running, 2: "PAUSE", 3: "PAUSE", 4: "PAUSE", 5: running}
    assert await scene.sql("SELECT count(*) FROM task_instance WHERE kill_requested") == [0]
    assert await scene.sql("SELECT DISTINCT reason FROM task_instance WHERE state = 'PAUSE'") == ["so it was asked"]


async def test_a_kill_marks_what_lives_in_the_master_and_asks_no_worker_for_it(scene: Scene) -> None:
    """It ends when its children have; those on their way no longer begin."""
    master, worker = await scene.master(), await scene.worker()
    instance = await scene.instance(master)
    await scene.queue(instance, 1, state=TaskState.RUNNING_EXECUTION, type_="SUB_PROCESS", master=master)
    assert await kill(scene, instance, master=master) == []
    assert await scene.sql("SELECT state, kill_requested FROM task_instance") == [("RUNNING_EXECUTION", True)]
    async with scene.database.reading() as connection:
        assert await task_claims.to_end(connection, worker.epoch) == {}


async def test_an_instance_that_is_given_up_leaves_nothing_in_its_master(scene: Scene) -> None:
    master, worker = await scene.master(), await scene.worker()
    given_up, other = await scene.instance(master), await scene.instance(master)
    for instance in (given_up, other):
        await scene.queue(instance, 1, state=TaskState.RUNNING_EXECUTION, type_="SUB_PROCESS", master=master)
    await scene.queue(given_up, 2, master=master)
    await scene.claim(worker)
    ends = await halt(scene, given_up, other, master=master, given_up=[given_up])
    assert ends == [(given_up, AttemptEnd(TaskCode(1), 1, TaskState.KILL))]
    assert await scene.sql("SELECT state FROM task_instance ORDER BY workflow_instance_id, task_code") == [
        "KILL",
        "RUNNING_EXECUTION",
        "RUNNING_EXECUTION",
    ]


async def test_a_master_kills_only_what_is_its_own(scene: Scene) -> None:
    master, other, worker = await scene.master(), await scene.master(), await scene.worker()
    instance = await scene.instance(master)
    await scene.queue(instance, 1, master=master)
    await scene.claim(worker)
    await scene.queue(instance, 2, master=master)
    assert await kill(scene, instance, master=other) == []
    assert await scene.sql("SELECT count(*) FROM task_instance WHERE kill_requested OR state = 'KILL'") == [0]


async def test_a_task_that_is_claimed_during_a_kill_is_asked_for(scene: Scene) -> None:
    """It is neither ended as queued, which would leave its process running, nor forgotten."""
    master, worker = await scene.master(), await scene.worker()
    instance = await scene.instance(master)
    await scene.queue(instance, 1, master=master)
    async with scene.writing() as claiming:
        assert len(await task_claims.claim(claiming, ["default"], 1, worker.epoch)) == 1
        killing = asyncio.create_task(kill(scene, instance, master=master))
        await scene.waits_for_a_lock()
        assert not killing.done()
    assert await killing == []
    assert await scene.sql("SELECT state, kill_requested FROM task_instance") == [("RUNNING_EXECUTION", True)]


async def test_the_latest_attempt_of_each_task_is_read(scene: Scene) -> None:
    master, worker = await scene.master(), await scene.worker()
    first, second, empty = [await scene.instance(master) for _ in range(3)]
    await scene.queue(first, 1, 2, master=master)
    await scene.claim(worker)
    await scene.queue(first, 2, attempt=2, master=master)
    await scene.queue(second, 5, master=master)
    async with scene.database.reading() as connection:
        found = await past_attempts.latest_attempts(connection, [first, second, empty])
    assert {id_: sorted(attempts, key=lambda each: each.code) for id_, attempts in found.items()} == {
        first: [
            TaskAttempt(TaskCode(1), 1, TaskState.RUNNING_EXECUTION),
            TaskAttempt(TaskCode(2), 2, TaskState.QUEUED),
        ],
        second: [TaskAttempt(TaskCode(5), 1, TaskState.QUEUED)],
        empty: [],
    }


async def test_attempts_are_read_in_the_order_in_which_they_ended_with_all_that_they_gave(scene: Scene) -> None:
    master = await scene.master()
    instance = await scene.instance(master)
    success = {"state": TaskState.SUCCESS, "type_": "SWITCH"}
    await scene.queue(instance, 4, master=master)
    await scene.queue(
        instance, 2, branch=frozenset({TaskCode(4), TaskCode(7)}), outputs='{"a": "1"}', master=master, **success
    )
    await scene.queue(instance, 1, master=master, **success)
    await scene.queue(instance, 3, retries=2, state=TaskState.FAILURE, reason="x", master=master)
    async with scene.writing() as connection:
        await task_instances.invalidate(connection, [(instance, TaskCode(1)), (instance, TaskCode(9))])
        found = await past_attempts.latest_attempts(connection, [instance])
    assert found[instance] == [
        TaskAttempt(TaskCode(2), 1, TaskState.SUCCESS, 0, True, '{"a": "1"}', frozenset({TaskCode(4), TaskCode(7)})),
        TaskAttempt(TaskCode(1), 1, TaskState.SUCCESS, 0, False),
        TaskAttempt(TaskCode(3), 1, TaskState.FAILURE, 2),
        TaskAttempt(TaskCode(4), 1, TaskState.QUEUED),
    ]


async def test_a_task_that_is_to_run_again_leaves_all_its_attempts_behind(scene: Scene) -> None:
    master = await scene.master()
    instance, other = await scene.instance(master), await scene.instance(master)
    for attempt in (1, 2):
        await scene.queue(instance, 1, 2, attempt=attempt, master=master)
    await scene.queue(other, 1, master=master)
    async with scene.writing() as connection:
        await task_instances.invalidate(connection, [(instance, TaskCode(1))])
    counting = "SELECT workflow_instance_id, task_code, attempt FROM task_instance WHERE flag = 'YES' ORDER BY 1, 2"
    assert await scene.sql(counting) == [(instance, 2, 2), (other, 1, 1)]


# ------------------------------------------------------------------------------------------- a known result


async def test_a_task_with_a_known_result_is_over_at_once_and_told_like_any_other(scene: Scene) -> None:
    master = await scene.master()
    instance = await scene.instance(master)
    await scene.sql("INSERT INTO task_cache (key, outputs) VALUES ('known', '{\"rows\": \"7\"}'), ('empty', NULL)")
    delayed = {"wait_reason": WaitReason.DELAY, "due_in_minutes": 5}
    async with scene.writing() as connection:
        known = await task_instances.queue(
            connection,
            [
                new_task(instance, 1, cache_key="known"),
                new_task(instance, 2, cache_key="empty"),
                new_task(instance, 3, cache_key="known", **delayed),
                new_task(instance, 4, cache_key="unknown"),
                new_task(instance, 5),
            ],
            master.epoch,
        )
    assert known == 3
    assert await scene.states() == {1: "SUCCESS", 2: "SUCCESS", 3: "SUCCESS", 4: "QUEUED", 5: "QUEUED"}
    why = "the outputs of an earlier success were used"
    assert await scene.sql(
        "SELECT outputs, reason, started_at IS NOT NULL, wait_reason, worker_id FROM task_instance "
        "WHERE task_code < 4 ORDER BY task_code"
    ) == [(outputs, why, True, None, None) for outputs in ('{"rows": "7"}', None, '{"rows": "7"}')]
    async with scene.writing() as connection:
        told = [event[:2] for event in await task_events.consume(connection, master.epoch, 10)]
    assert sorted(told, key=lambda event: event[1].code if isinstance(event[1], AttemptEnd) else 0) == [
        (instance, AttemptEnd(TaskCode(code), 1, TaskState.SUCCESS, outputs))
        for code, outputs in [(1, '{"rows": "7"}'), (2, None), (3, '{"rows": "7"}')]
    ]
    assert await claimed(scene) == {4, 5}


async def claimed(scene: Scene) -> set[int]:
    return {task.code for task in await scene.claim(await scene.worker())}


async def test_an_attempt_that_is_only_recorded_is_told_to_nobody(scene: Scene) -> None:
    master = await scene.master()
    instance = await scene.instance(master)
    await scene.queue(instance, 1, state=TaskState.SUCCESS, type_="SWITCH", master=master)
    await scene.queue(instance, 2, state=TaskState.PAUSE, master=master)
    await scene.queue(instance, 3, state=TaskState.RUNNING_EXECUTION, type_="DEPENDENT", master=master)
    assert await scene.sql("SELECT started_at IS NOT NULL, ended_at IS NOT NULL FROM task_instance ORDER BY id") == [
        (True, True),
        (True, True),
        (True, False),
    ]
    assert await scene.sql("SELECT count(*) FROM task_event") == [0]
    assert await claimed(scene) == set()


async def test_what_a_lost_worker_ran_is_marked_once_and_told(scene: Scene) -> None:
    master, lost, alive = await scene.master(), await scene.worker(), await scene.worker()
    instance = await scene.instance(master)
    await scene.queue(instance, 1, 2, master=master)
    await scene.queue(instance, 3, write_ahead=False, master=master)
    await scene.claim(lost)
    await scene.queue(instance, 4, master=master)
    await scene.claim(alive)
    await scene.queue(instance, 5, master=master)
    assert await mark_lost(scene) == 0
    await scene.fence(lost)
    assert [await mark_lost(scene, 2), await mark_lost(scene), await mark_lost(scene)] == [2, 1, 0]
    gone = "NEED_FAULT_TOLERANCE"
    assert await scene.states() == {1: gone, 2: gone, 3: "QUEUED", 4: "RUNNING_EXECUTION", 5: "QUEUED"}
    assert await scene.sql("SELECT worker_id FROM task_instance WHERE task_code = 3") == [None], "it never started"
    assert await scene.sql("SELECT workflow_instance_id, task_code, attempt, state FROM task_event ORDER BY 2") == [
        (instance, code, 1, gone) for code in (1, 2)
    ]


async def lose(scene: Scene, master: Me, attempts: int, *, stream: str | None = None, ran: str = "1 s") -> list[str]:
    """So many attempts of one task, of each of which the worker is lost; their states."""
    instance = await scene.instance(master)
    for attempt in range(1, attempts + 1):
        worker = await scene.worker()
        await scene.queue(instance, 1, attempt=attempt, master=master)
        await scene.claim(worker)
        await scene.sql(
            "UPDATE task_instance SET stream = CAST(:stream AS jsonb), started_at = now() - CAST(:ran AS interval) "
            "WHERE workflow_instance_id = :id AND ended_at IS NULL",
            stream=stream,
            ran=ran,
            id=instance,
        )
        await scene.fence(worker)
        await mark_lost(scene)
    return await scene.sql(
        "SELECT state FROM task_instance WHERE workflow_instance_id = :id ORDER BY attempt", id=instance
    )


async def test_a_task_under_which_three_workers_were_lost_fails_and_says_so(scene: Scene) -> None:
    master = await scene.master()
    lost = "NEED_FAULT_TOLERANCE"
    assert await lose(scene, master, 4) == [lost, lost, "FAILURE", "FAILURE"]
    assert await scene.sql("SELECT attempt, is_suspect FROM task_event ORDER BY id") == [
        *((1, None), (2, None), (3, True), (4, True))
    ]
    async with scene.writing() as connection:
        events = await task_events.consume(connection, master.epoch, 100)
    assert [event.what.is_suspect for event in events if isinstance(event.what, AttemptEnd)] == [False] * 2 + [True] * 2
    (reason,) = await scene.sql("SELECT reason FROM task_instance WHERE attempt = 3")
    assert "suspect" in reason


@pytest.mark.parametrize(("ran", "last"), [("1 s", "FAILURE"), ("1 hour", "NEED_FAULT_TOLERANCE")])
async def test_a_stream_is_suspect_if_it_ran_for_moments_only(scene: Scene, ran: str, last: str) -> None:
    states = await lose(scene, await scene.master(), 3, stream="{}", ran=ran)
    assert states == ["NEED_FAULT_TOLERANCE"] * 2 + [last]


@pytest.mark.parametrize("worker_id", [0, -1, 2**63 - 1, 10**6, "master"])
@pytest.mark.parametrize("write_ahead", [True, False])
async def test_a_task_on_a_worker_that_never_was_is_lost_like_any_other(
    scene: Scene, worker_id: int | str, write_ahead: bool
) -> None:
    master, worker = await scene.master(), await scene.worker()
    instance = await scene.instance(master)
    await scene.queue(instance, 1, 2, master=master, write_ahead=write_ahead)
    await scene.claim(worker)
    number = master.epoch if isinstance(worker_id, str) else worker_id
    await scene.sql("UPDATE task_instance SET worker_id = :worker WHERE task_code = 1", worker=number)
    async with scene.database.reading() as connection:
        assert (await gone_nodes.work_left(connection)).by_gone_nodes
    assert await mark_lost(scene) == 1
    assert await scene.states() == {
        1: "NEED_FAULT_TOLERANCE" if write_ahead else "QUEUED",
        2: "RUNNING_EXECUTION" if write_ahead else "DISPATCH",
    }


async def test_two_masters_that_mark_at_once_tell_once(scene: Scene) -> None:
    master, lost = await scene.master(), await scene.worker()
    instance = await scene.instance(master)
    await scene.queue(instance, *range(1, 31), master=master)
    await scene.claim(lost)
    await scene.fence(lost)
    await asyncio.gather(*(mark_lost(scene) for _ in range(4)))
    assert await scene.sql("SELECT count(*), count(DISTINCT task_code) FROM task_event") == [(30, 30)]


async def test_of_the_attempts_of_a_task_one_counts_whoever_makes_the_next(scene: Scene) -> None:
    master = await scene.master()
    instance, other = await scene.instance(master), await scene.instance(master)
    for run in (instance, other):
        await scene.queue(run, 1, 2, master=master)
    await scene.sql("UPDATE task_instance SET state = 'KILL', ended_at = now()")
    await scene.queue(instance, 1, master=master, attempt=2)
    await scene.sql(
        "INSERT INTO task_instance (workflow_instance_id, task_code, attempt, task_name, task_type, state, "
        "worker_group, workflow_priority, task_priority) "
        "VALUES (:run, 2, 3, 'by hand', 'FAKE', 'QUEUED', 'g', 'LOW', 'LOW')",
        run=instance,
    )
    counting = """SELECT workflow_instance_id, task_code, attempt FROM task_instance WHERE flag = 'YES'
                  ORDER BY workflow_instance_id, task_code"""
    assert await scene.sql(counting) == [(instance, 1, 2), (instance, 2, 3), (other, 1, 1), (other, 2, 1)]
    with pytest.raises(BadData, match="task_instance_valid"):
        await scene.sql("UPDATE task_instance SET flag = 'YES'")
    with pytest.raises(BadData):
        await scene.queue(instance, 2, master=master, attempt=2)
