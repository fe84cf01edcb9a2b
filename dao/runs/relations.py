"""Relations of a run: the children of its tasks, and the runs before it in its serial line."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from model.commands import read_parent
from model.errors import Refused
from model.ids import CommandId, TaskCode, TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.instances import Parent
from model.states import WorkflowState


@dataclass(frozen=True, slots=True)
class ChildRun:
    """A child of an attempt of a task. `workflow` is None when its definition no longer exists."""

    id: WorkflowInstanceId
    workflow: str | None
    state: WorkflowState
    code: TaskCode
    attempt: int
    index: int


@dataclass(frozen=True, slots=True)
class FailedBelow:
    """The task (its name, and the `id` of its attempt) of a `run` below, for which an attempt of a task (`code`) of the
    run above failed."""

    code: TaskCode
    attempt: int
    run: WorkflowInstanceId
    id: TaskInstanceId
    task: str
    reason: str | None


_CHILDREN = text("""
    SELECT c.id, d.name, c.state, c.parent_task_code, c.parent_attempt, c.child_index
    FROM workflow_instance c LEFT JOIN workflow_definition d ON d.code = c.workflow_code
    WHERE c.parent_instance_id = :run                                              -- index: workflow_instance_child
    ORDER BY c.parent_task_code, c.parent_attempt, c.child_index
""")
# UNION, not UNION ALL: rows written by hand may stand under each other. OFFSET 0: each run by itself, since a join
# could read all tasks in the history.
_FAILURES = text("""
    WITH RECURSIVE failed AS (
        SELECT c.parent_task_code AS code, c.parent_attempt AS attempt, c.id FROM workflow_instance c
        WHERE c.parent_instance_id = :run AND c.state = 'FAILURE'                  -- index: workflow_instance_child
        UNION
        SELECT f.code, f.attempt, below.id FROM failed f CROSS JOIN LATERAL (
            SELECT c.id FROM workflow_instance c                                   -- index: workflow_instance_child
            WHERE c.parent_instance_id = f.id AND c.state = 'FAILURE' OFFSET 0) AS below
    )
    SELECT DISTINCT ON (f.code, f.attempt) f.code, f.attempt, f.id AS run, t.id, t.task_name, t.reason
    FROM failed f CROSS JOIN LATERAL (
        SELECT id, task_name, task_type, reason FROM task_instance                 -- index: task_instance_attempt
        WHERE workflow_instance_id = f.id AND state = 'FAILURE' AND flag = 'YES' OFFSET 0) AS t
    WHERE f.code IS NOT NULL AND f.attempt IS NOT NULL
    ORDER BY f.code, f.attempt, t.task_type IN ('SUB_PROCESS', 'DYNAMIC'), f.id, t.id
""")
_ASKED = text("""
    SELECT id, parent FROM command
    WHERE parent IS NOT NULL AND left(split_part(parent, '/', 1), 20) = CAST(:run AS text)  -- index: command_child
    ORDER BY id
""")
_BEFORE = text("""
    SELECT id, state FROM workflow_instance
    WHERE workflow_code = :code AND id <> :run                                     -- index: workflow_instance_live
      AND (state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP', 'SERIAL_WAIT')) IS NOT TRUE
    UNION ALL
    SELECT id, state FROM workflow_instance
    WHERE workflow_code = :code AND state = 'SERIAL_WAIT' AND id < :run            -- index: workflow_instance_waiting
    ORDER BY id
""")


async def children(connection: AsyncConnection, run: WorkflowInstanceId) -> list[ChildRun]:
    """The children of a run, by task, attempt and index."""
    rows = (await connection.execute(_CHILDREN, {"run": run})).all()
    return [ChildRun(row[0], row[1], WorkflowState(row[2]), *row[3:]) for row in rows]


async def failures_below(connection: AsyncConnection, run: WorkflowInstanceId) -> list[FailedBelow]:
    """For each attempt of a run whose child run failed, the first task that failed at the bottom of it."""
    return [FailedBelow(*row) for row in (await connection.execute(_FAILURES, {"run": run})).all()]


async def asked(connection: AsyncConnection, run: WorkflowInstanceId) -> list[tuple[CommandId, Parent]]:
    """The commands for children of a run that no master has taken, in their order."""
    found = []
    for id_, written in (await connection.execute(_ASKED, {"run": str(run)})).all():
        with suppress(Refused):  # written by hand; the master that takes it reports what is wrong
            if (parent := read_parent(written)) is not None:
                found.append((CommandId(id_), parent))
    return found


async def before(
    connection: AsyncConnection, run: WorkflowInstanceId, code: WorkflowCode
) -> list[tuple[WorkflowInstanceId, WorkflowState]]:
    """The runs of the same workflow that must end before this waiting one continues; oldest first."""
    rows = (await connection.execute(_BEFORE, {"run": run, "code": code})).all()
    return [(WorkflowInstanceId(id_), WorkflowState(state)) for id_, state in rows]
