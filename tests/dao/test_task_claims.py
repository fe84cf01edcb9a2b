"""`dao/tasks/task_claims.py`: an attempt goes to one worker, by priority, and only its report lands."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from dao.cluster.nodes import Me
from dao.tasks import task_claims
from dao.tasks.task_claims import ClaimedTask, Report
from model.choices import Priority
from model.ids import TaskInstanceId
from model.runs.states import TaskState
from tests.dao.scene import Scene


def codes(tasks: list[ClaimedTask]) -> list[int]:
    return sorted(task.code for task in tasks)


def success(task: ClaimedTask) -> Report:
    return Report(task.id, task.attempt, TaskState.SUCCESS, "", 0, '{"a": "1"}')


async def report(scene: Scene, worker: Me, *reports: Report) -> set[TaskInstanceId]:
    async with scene.writing() as connection:
        return set(await task_claims.report(connection, reports, worker.epoch))


async def mark_running(scene: Scene, worker: Me, task: ClaimedTask) -> bool:
    async with scene.writing() as connection:
        return await task_claims.mark_running(connection, task, worker.epoch)


async def test_the_most_urgent_go_first_over_all_groups_of_the_worker(scene: Scene) -> None:
    """Order: workflow priority, workflow instance, task priority, task instance."""
    master, worker = await scene.master(), await scene.worker()
    older, newer, urgent = [await scene.instance(master) for _ in range(3)]
    await scene.queue(newer, 1, task_priority=Priority.HIGHEST, master=master)
    await scene.queue(older, 2, worker_group="gpu", task_priority=Priority.LOW, master=master)
    await scene.queue(older, 3, task_priority=Priority.HIGH, master=master)
    await scene.queue(older, 4, worker_group="gpu", task_priority=Priority.HIGH, master=master)
    await scene.queue(urgent, 5, workflow_priority=Priority.HIGHEST, task_priority=Priority.LOWEST, master=master)
    await scene.queue(urgent, 6, workflow_priority=Priority.HIGHEST, worker_group="elsewhere", master=master)
    groups = ("default", "gpu")
    assert [codes(await scene.claim(worker, 1, groups)) for _ in range(6)] == [[5], [3], [4], [2], [1], []]


async def test_a_claim_gives_back_what_is_beyond_its_limit(scene: Scene) -> None:
    """It locks up to the limit in each group and takes the best of all; the others stay free for others."""
    master, one, other = await scene.master(), await scene.worker(), await scene.worker()
    instance = await scene.instance(master)
    for group, first in (("default", 1), ("gpu", 11)):
        await scene.queue(instance, *range(first, first + 5), worker_group=group, master=master)
    assert len(await scene.claim(one, 5, ("default", "gpu"))) == 5
    assert len(await scene.claim(other, 10, ("default", "gpu"))) == 5


async def test_a_claim_searches_only_where_it_is_told_to_and_in_the_same_order(scene: Scene) -> None:
    master, worker = await scene.master(), await scene.worker()
    older, newer = [await scene.instance(master) for _ in range(2)]
    await scene.queue(older, 1, worker_group="gpu", master=master)
    await scene.queue(older, 2, workflow_priority=Priority.HIGH, master=master)
    await scene.queue(newer, 3, task_priority=Priority.LOW, master=master)
    await scene.queue(newer, 4, worker_group="gpu", master=master)
    await scene.queue(newer, 5, workflow_priority=Priority.LOW, master=master)
    await scene.queue(newer, 6, workflow_priority=Priority.HIGH, worker_group="elsewhere", master=master)
    places = {
        Priority.LOW: {"default": 0},
        Priority.MEDIUM: {"gpu": newer, "default": older},
        Priority.HIGH: {"default": newer},
    }
    taken = []
    for limit in (1, 2, 9):
        async with scene.writing() as connection:
            taken.append(
                codes(await task_claims.claim(connection, ["default", "gpu"], limit, worker.epoch, places=places))
            )
    assert taken == [[4], [3, 5], []]
    assert codes(await scene.claim(worker, groups=("default", "gpu"))) == [1, 2]


async def test_two_workers_never_claim_the_same(scene: Scene) -> None:
    master, one, other = await scene.master(), await scene.worker(), await scene.worker()
    instance = await scene.instance(master)
    await scene.queue(instance, *range(1, 11), master=master)
    async with scene.writing() as first, scene.writing() as second:
        mine = await task_claims.claim(first, ["default"], 4, one.epoch)
        theirs = await task_claims.claim(second, ["default"], 100, other.epoch)
    assert (codes(mine), codes(theirs)) == ([1, 2, 3, 4], [5, 6, 7, 8, 9, 10])


async def test_a_claimed_task_brings_all_that_its_run_needs(scene: Scene) -> None:
    master, worker = await scene.master(), await scene.worker()
    instance = await scene.instance(master)
    await scene.queue(instance, 7, master=master)
    [task] = await scene.claim(worker)
    [day] = await scene.sql("SELECT to_char(queued_at, 'YYYYMMDD') FROM task_instance")
    assert (task.workflow_instance_id, task.workflow_code, task.code, task.attempt) == (instance, 1001, 7, 1)
    assert (task.name, task.type, task.params, task.parameter_values) == ("task 7", "FAKE", "{}", "{}")
    assert task.day == day
    [(schedule_time, time_zone)] = await scene.sql("SELECT schedule_time, time_zone FROM workflow_instance")
    assert (task.schedule_time, task.time_zone) == (schedule_time, time_zone)
    assert task.schedule_time.tzinfo is not None
    assert (task.dry_run, task.tenant, task.parameter_types) == (False, None, None)


async def test_a_claim_brings_how_the_task_is_to_run(scene: Scene) -> None:
    master, worker = await scene.master(), await scene.worker()
    await scene.queue(await scene.instance(master), 7, master=master)
    types = '{"n": "INTEGER"}'
    await scene.sql(
        "UPDATE task_instance SET dry_run = true, tenant = 'etl', parameter_types = :types, timeout_s = 3", types=types
    )
    await scene.sql("UPDATE workflow_instance SET schedule_time = '2026-03-29 01:00+00', time_zone = 'Europe/Berlin'")
    [task] = await scene.claim(worker)
    assert (task.dry_run, task.tenant, task.parameter_types, task.timeout_s) == (True, "etl", types, 3)
    assert (task.schedule_time, task.time_zone) == (datetime(2026, 3, 29, 1, tzinfo=UTC), "Europe/Berlin")


async def test_a_claim_is_the_record_unless_the_task_must_not_run_twice(scene: Scene) -> None:
    master, worker = await scene.master(), await scene.worker()
    instance = await scene.instance(master)
    await scene.queue(instance, 1, write_ahead=True, master=master)
    await scene.queue(instance, 2, write_ahead=False, master=master)
    ahead, careful = sorted(await scene.claim(worker), key=lambda task: task.code)
    assert (ahead.state, careful.state) == (TaskState.RUNNING_EXECUTION, TaskState.DISPATCH)
    assert await scene.sql("SELECT started_at IS NULL FROM task_instance ORDER BY task_code") == [False, True]
    assert await mark_running(scene, worker, careful)
    assert await mark_running(scene, worker, careful), "the answer to the first may have been lost"
    assert await scene.states() == {1: "RUNNING_EXECUTION", 2: "RUNNING_EXECUTION"}


@pytest.mark.parametrize(
    "change", ["kill_requested = true", "state = 'NEED_FAULT_TOLERANCE', ended_at = now()", "worker_id = 77"]
)
async def test_a_task_that_was_stopped_or_taken_away_is_not_started(scene: Scene, change: str) -> None:
    master, worker = await scene.master(), await scene.worker()
    await scene.queue(await scene.instance(master), 1, write_ahead=False, master=master)
    [task] = await scene.claim(worker)
    await scene.sql(f"UPDATE task_instance SET {change}")
    assert not await mark_running(scene, worker, task)


async def test_a_report_lands_once_and_tells_the_master(scene: Scene) -> None:
    master, worker = await scene.master(), await scene.worker()
    instance = await scene.instance(master)
    await scene.queue(instance, 1, 2, master=master)
    first, second = sorted(await scene.claim(worker), key=lambda task: task.code)
    failure = Report(second.id, 1, TaskState.FAILURE, "exit code 3", 3, None)
    assert await report(scene, worker, success(first), failure) == {first.id, second.id}
    assert await report(scene, worker, success(first), failure) == set()
    assert await scene.sql(
        "SELECT state, reason, exit_code, outputs, ended_at IS NOT NULL FROM task_instance ORDER BY task_code"
    ) == [("SUCCESS", None, 0, '{"a": "1"}', True), ("FAILURE", "exit code 3", 3, None, True)]
    assert await scene.sql("SELECT workflow_instance_id, task_code, attempt, state FROM task_event ORDER BY 2") == [
        (instance, 1, 1, "SUCCESS"),
        (instance, 2, 1, "FAILURE"),
    ]


async def test_what_a_success_with_a_cache_key_gave_is_kept_and_the_first_stays(scene: Scene) -> None:
    master, worker = await scene.master(), await scene.worker()
    await scene.queue(await scene.instance(master), *range(1, 7), master=master)
    await scene.sql("UPDATE task_instance SET cache_key = 'same' WHERE task_code IN (1, 2)")
    await scene.sql("UPDATE task_instance SET cache_key = 'failed' WHERE task_code = 3")
    await scene.sql("UPDATE task_instance SET cache_key = 'dry', dry_run = true WHERE task_code = 4")
    await scene.sql("UPDATE task_instance SET cache_key = 'nothing given' WHERE task_code = 5")
    tasks = {task.code: task for task in await scene.claim(worker)}
    ends = {code: success(task) for code, task in tasks.items()}
    ends[2] = replace(ends[2], outputs='{"a": "2"}')
    ends[3] = replace(ends[3], state=TaskState.FAILURE)
    ends[5] = replace(ends[5], outputs=None)
    await report(scene, worker, ends[1])
    await report(scene, worker, *[ends[code] for code in range(2, 7)])
    cached = await scene.sql("SELECT key, outputs FROM task_cache ORDER BY 1")
    assert cached == [("nothing given", None), ("same", '{"a": "1"}')]


async def test_a_report_of_another_worker_or_attempt_hits_nothing(scene: Scene) -> None:
    master, worker, other = await scene.master(), await scene.worker(), await scene.worker()
    await scene.queue(await scene.instance(master), 1, master=master)
    [task] = await scene.claim(worker)
    assert await report(scene, other, success(task)) == set()
    assert await report(scene, worker, replace(success(task), attempt=2)) == set()
    assert await scene.states() == {1: "RUNNING_EXECUTION"}
    assert await scene.sql("SELECT count(*) FROM task_event") == [0]


async def test_a_report_wakes_who_owns_the_run_now_not_who_owned_it_at_the_claim(scene: Scene) -> None:
    former, master, worker = await scene.master(), await scene.master(), await scene.worker()
    moved, kept = await scene.instance(former), await scene.instance(former)
    await scene.queue(moved, 1, master=former)
    await scene.queue(kept, 2, master=former)
    first, second = sorted(await scene.claim(worker), key=lambda task: task.code)
    await scene.sql("UPDATE workflow_instance SET master_id = :owner WHERE id = :id", owner=master.epoch, id=moved)
    async with scene.writing() as connection:
        told = await task_claims.report(connection, [success(first), success(second)], worker.epoch)
    assert told == {first.id: master.epoch, second.id: former.epoch}
    owners = "SELECT owner FROM task_event ORDER BY task_code"
    assert await scene.sql(owners) == [master.epoch, former.epoch]


async def test_a_report_lands_for_what_is_still_ours_beside_what_is_not(scene: Scene) -> None:
    master, worker = await scene.master(), await scene.worker()
    await scene.queue(await scene.instance(master), 1, 2, master=master)
    lost, kept = sorted(await scene.claim(worker), key=lambda task: task.code)
    await scene.sql(
        "UPDATE task_instance SET state = 'NEED_FAULT_TOLERANCE', ended_at = now() WHERE id = :id", id=lost.id
    )
    assert await report(scene, worker, success(lost), success(kept)) == {kept.id}
    assert await scene.states() == {1: "NEED_FAULT_TOLERANCE", 2: "SUCCESS"}


async def test_a_worker_is_told_what_it_holds_what_waits_and_what_to_kill(scene: Scene) -> None:
    master, worker, other = await scene.master(), await scene.worker(), await scene.worker()
    instance = await scene.instance(master)

    async def look(first: int = 0, *, runs: bool = True) -> tuple[bool, bool]:
        async with scene.database.reading() as connection:
            waits = await task_claims.work_waits(connection, ["default"], worker.epoch, first=first, runs=runs)
        return waits.queued, waits.kills

    assert await look() == (False, False)
    await scene.queue(instance, 1, 2, master=master)
    await scene.queue(instance, 3, worker_group="gpu", master=master)
    assert await look() == (True, False)
    assert await look(1) == await look(2) == (True, False)
    assert await look(3) == await look(4) == (False, False), "the one that follows is of another group"
    claimed = await scene.claim(worker)
    assert await look() == (False, False)
    await scene.sql("UPDATE task_instance SET kill_requested = true WHERE task_code = 2")
    assert await look() == await look(4) == (False, True)
    assert await look(runs=False) == (False, False)
    async with scene.database.reading() as connection:
        to_kill = await task_claims.to_end(connection, worker.epoch)
        held = await task_claims.owned(connection, worker.epoch)
        assert await task_claims.owned(connection, other.epoch) == []
    assert to_kill == {task.id: None for task in claimed if task.code == 2}
    assert codes(held) == [1, 2]
    assert {task._replace(waited_s=None) for task in held} == {task._replace(waited_s=None) for task in claimed}


async def test_the_result_of_a_task_is_an_alert_with_its_report_and_once(scene: Scene) -> None:
    master, worker = await scene.master(), await scene.worker()
    run = await scene.instance(master)
    await scene.queue(run, 1, 2, master=master)
    first, second = await scene.claim(worker, 2)
    table = '{"group": "data", "title": "sold", "columns": ["a"], "rows": [["1"]], "total": 1}'
    sent = replace(success(first), alert=table)
    assert await report(scene, worker, sent, success(second)) == {first.id, second.id}
    assert await report(scene, worker, sent) == set(), "the attempt has ended: its answer was lost"
    late = replace(success(first), attempt=2, alert=table)
    assert await report(scene, worker, late) == set()
    rows = await scene.sql("SELECT kind || ' ' || alert_group || ' ' || subject FROM alert")
    assert rows == ["SQL_RESULT data sold"]
    (facts,) = await scene.sql("SELECT facts - 'task' FROM alert")
    assert facts == {"columns": ["a"], "rows": [["1"]], "total": 1}
    (of,) = await scene.sql("SELECT workflow_instance_id || ' ' || task_instance_id FROM alert")
    assert of == f"{run} {first.id}"
