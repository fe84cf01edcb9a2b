"""A batch reads in proportion to itself while nobody has looked at the tables yet, or long ago, when nothing ran.

Found by the bench: the planner then takes all that a master drives for one row, and reads through the whole table to
join it with the batch, row by row: 5,700,000 comparisons, 3 s, for 500 tasks beside 11,000 runs. What keeps it from
that is told at `dao.postgres.session_settings.SESSION_SETTINGS`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from itertools import pairwise
from typing import Any, cast

import pytest

from dao.checks import stuck_runs
from dao.checks.stuck_runs import UnderWay
from dao.postgres.database import Database
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.runs import after_end, children, control, failover, workflow_instances
from dao.runs.control import Revival
from dao.runs.workflow_instances import InstanceEnd, OwnershipLost
from dao.tasks import past_attempts, task_claims, task_instances
from dao.tasks.task_claims import Report
from model.ids import Epoch, TaskCode, TaskInstanceId, WorkflowInstanceId
from model.runs.instances import AttemptEnd, Parent
from model.runs.states import TaskState, WorkflowState
from tests.dao.explaining import Explaining, Plan, undoing
from tests.dao.scene import new_task

SIZES = (1_000, 3_000, 6_000, 12_000)
"""How much runs. From some size on it costs more to read a table through than to look up a batch."""
BATCH = [WorkflowInstanceId(id_) for id_ in range(501, 1001)]
MASTER, WORKER = Epoch(1), Epoch(2)
BEGIN = """
    ALTER TABLE workflow_instance SET (autovacuum_enabled = false);
    ALTER TABLE task_instance SET (autovacuum_enabled = false);
"""
MORE = """
    INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                   priority, worker_group, parent_instance_id, parent_task_code, parent_attempt,
                                   child_index)
    SELECT g, 1, 1, 'RUNNING_EXECUTION', 1, 'END', 'MEDIUM', 'default', g + 20000, 1, 1, 0
    FROM generate_series(:before + 1, :size) g;
    INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group,
                               workflow_priority, task_priority, worker_id, started_at)
    SELECT g, 1, 'a', 'FAKE', 'RUNNING_EXECUTION', 'default', 'MEDIUM', 'MEDIUM', 2, clock_timestamp()
    FROM generate_series(:before + 1, :size) g;
    INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group,
                               workflow_priority, task_priority, started_at)
    SELECT g, 2, 'b', 'SUB_PROCESS', 'RUNNING_EXECUTION', 'default', 'MEDIUM', 'MEDIUM', clock_timestamp()
    FROM generate_series(:before + 1, :size) g;
"""

Call = Callable[[AsyncConnection], Awaitable[Any]]
BATCHES: dict[str, Call] = {
    "queue": lambda c: task_instances.queue(c, [new_task(each, 3) for each in BATCH], MASTER),
    "halt": lambda c: task_instances.halt(c, dict.fromkeys(BATCH, (TaskState.KILL, "x")), BATCH, MASTER),
    "ask kill": lambda c: task_instances.ask_kill(c, BATCH, MASTER),
    "end in master": lambda c: task_instances.end_in_master(
        c, [(each, AttemptEnd(TaskCode(2), 1, TaskState.SUCCESS)) for each in BATCH], MASTER
    ),
    "invalidate": lambda c: task_instances.invalidate(c, [(each, TaskCode(1)) for each in BATCH]),
    "enter": lambda c: workflow_instances.enter(c, dict.fromkeys(BATCH, WorkflowState.READY_STOP), MASTER),
    "finish": lambda c: workflow_instances.finish(
        c, [InstanceEnd(each, WorkflowState.SUCCESS, "") for each in BATCH], MASTER
    ),
    "settle": lambda c: workflow_instances.reset_takeovers(c, BATCH, MASTER),
    "read owned": lambda c: workflow_instances.read_owned(c, BATCH, MASTER),
    "ask for a halt": lambda c: control.ask_halt(c, dict.fromkeys(BATCH, WorkflowState.READY_STOP)),
    "revive": lambda c: control.revive(c, [Revival(each) for each in BATCH], MASTER),
    "existing children": lambda c: children.existing(
        c, [Parent(WorkflowInstanceId(each + 20_000), TaskCode(1), 1, 0) for each in BATCH]
    ),
    "resume children": lambda c: children.resume(
        c, [(Parent(WorkflowInstanceId(each + 20_000), TaskCode(1), 1, 0), 2) for each in BATCH]
    ),
    "halt children": lambda c: children.halt(c, {WorkflowInstanceId(each + 20_000): TaskState.KILL for each in BATCH}),
    "tell at rest": lambda c: children.report_at_rest(c, dict.fromkeys(BATCH)),
    "tell who waits for an end": lambda c: after_end.notify_awaiting(c, BATCH),
    "end what waits": lambda c: control.end_waiting(c, dict.fromkeys(BATCH, (WorkflowState.STOP, "x"))),
    "fail over": lambda c: failover.claim_failover(c, BATCH, MASTER),
    "what was not heard": lambda c: stuck_runs.unheard(
        c, [UnderWay(each, TaskCode(1), 1) for each in BATCH], timedelta(0)
    ),
    "latest attempts": lambda c: past_attempts.latest_attempts(c, BATCH),
    "report": lambda c: task_claims.report(
        c, [Report(TaskInstanceId(each), 1, TaskState.SUCCESS, "", 0, None) for each in BATCH], WORKER
    ),
}


@pytest.fixture(params=["plans of the moment", "kept plans"])
async def database(database_url: str, request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    made = Database(database_url, application_name="test", keeps_plans=request.param == "kept plans")
    yield made
    await made.close()


async def test_a_batch_is_compared_with_nothing_but_its_own_rows(database: Database) -> None:
    await _run(database, BEGIN)
    for call in BATCHES.values():
        with suppress(OwnershipLost):
            await _plan(database, call)
    slow: dict[str, list[tuple[int, int]]] = {}
    for before, size in pairwise((0, *SIZES)):
        await _run(database, MORE, before=before, size=size)
        for name, call in BATCHES.items():
            plan = await _plan(database, call)
            if plan.compared > len(BATCH) or sum(plan.read.values()) > 5 * SIZES[-1]:
                slow.setdefault(name, []).append((size, plan.compared))
    assert not slow


async def _run(database: Database, statements: str, **values: int) -> None:
    async with database.writing() as connection:
        for statement in statements.strip().split(";")[:-1]:
            await connection.execute(Sql(statement), values)


async def _plan(database: Database, call: Call) -> Plan:
    """What a call does; undone. With the joins left out that would cost as much, by which the trap could be missed."""
    async with database.writing() as connection:
        for join in ("hashjoin", "mergejoin"):
            await connection.execute(Sql(f"SET LOCAL enable_{join} = off"))
        connection.driver.prepare_threshold = 0  # from the first time on
        explaining = Explaining(connection)
        with undoing(connection):
            await call(cast(AsyncConnection, explaining))
    return explaining.plan
