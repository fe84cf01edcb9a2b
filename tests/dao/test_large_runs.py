"""A run whose tasks were run very often: what is read of it to stop it and to restore it grows with its tasks."""

from __future__ import annotations

from typing import Any, cast

import pytest
from sqlalchemy import text

from dao.cluster.nodes import Me
from dao.postgres.database import FencedTransaction
from dao.runs import children
from dao.tasks import past_attempts, task_instances
from model.ids import TaskCode, WorkflowInstanceId
from model.states import TaskState
from tests.dao.explaining import Explaining
from tests.dao.scene import Scene

TASKS, TIMES = 50, 450
assert TASKS * TIMES > past_attempts.ATTEMPTS_READ_MAX


ATTEMPTS = """
    INSERT INTO task_instance (workflow_instance_id, task_code, attempt, flag, state, worker_id, ended_at, task_name,
                               task_type, worker_group, workflow_priority, task_priority)
    SELECT :run, code, attempt, CASE WHEN attempt < last THEN 'NO' ELSE 'YES' END, state, 7,
           CASE WHEN state = 'FAILURE' THEN now() END, 'a', 'FAKE', 'default', 'MEDIUM', 'MEDIUM'
    FROM generate_series(1, CAST(:tasks AS bigint)) AS code
    CROSS JOIN LATERAL (SELECT CASE WHEN code <= 2 THEN CAST(:times AS integer) + 1 ELSE :times END AS last) AS own
    CROSS JOIN generate_series(1, own.last) AS attempt
    CROSS JOIN LATERAL (SELECT CASE WHEN attempt <= :times THEN 'FAILURE' WHEN code = 1 THEN 'QUEUED'
                                    ELSE 'RUNNING_EXECUTION' END AS state) AS its
"""


async def large_run(scene: Scene, master: Me) -> WorkflowInstanceId:
    """Each of its tasks has ended many times, and two are open: the first waits, a worker runs the second."""
    run = await scene.instance(master)
    async with scene.writing() as connection:
        await connection.execute(text("SET LOCAL session_replication_role = replica"))  # no triggers: it takes a second
        await connection.execute(text(ATTEMPTS), {"run": run, "times": TIMES, "tasks": TASKS})
    return run


@pytest.mark.parametrize("statistics", ["none", "fresh"])
async def test_what_is_read_of_a_run_grows_with_its_tasks_and_not_with_their_attempts(
    scene: Scene, statistics: str
) -> None:
    master = await scene.master()
    run = await large_run(scene, master)
    if statistics == "fresh":
        await scene.sql("ANALYZE")
    async with scene.database.writing() as connection:
        explaining: Any = Explaining(connection)
        fenced = cast(FencedTransaction, explaining)
        found = (await past_attempts.latest_attempts(explaining, [run]))[run]
        assert {each.code: each.attempt for each in found} == {
            TaskCode(code): TIMES + (code <= 2) for code in range(1, TASKS + 1)
        }
        assert sum(explaining.plan.read.values()) <= past_attempts.ATTEMPTS_READ_MAX + 5 * TASKS, explaining.plan
        explaining = Explaining(connection)
        fenced = cast(FencedTransaction, explaining)
        await children.above(fenced, [run])
        ended = await task_instances.halt(fenced, {run: (TaskState.KILL, "stopped")}, (), master.epoch)
        assert [(id_, end.code) for id_, end in ended] == [(run, 1)]
        await task_instances.hand_over_streams(fenced, [run], master.epoch)
        await task_instances.ask_kill(fenced, [run], master.epoch)
        await task_instances.reset_retries(fenced, run, {each.code: each.attempt for each in found})
        assert sum(explaining.plan.read.values()) <= 20 * TASKS, explaining.plan
    killed = "SELECT task_code FROM task_instance WHERE state = 'KILL' OR kill_requested ORDER BY task_code"
    assert await scene.sql(killed) == [1, 2]
