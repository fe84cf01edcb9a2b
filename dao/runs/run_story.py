"""The rows of the story of a run, besides its attempts: what was asked of it, its children, its nodes. Reads only."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import statement
from model.cluster.slots import Slot
from model.ids import CommandId, Epoch, TaskCode, WorkflowInstanceId
from model.runs.states import WorkflowState


@dataclass(frozen=True, slots=True)
class HandledCommand:
    """A command about a run that a master handled. `reason` is why it was refused, None = it was not.

    `by` is who asked for it, None = not recorded; `slot` that of the master as it believed then.
    """

    id: CommandId
    type: str
    created_at: datetime
    handled_at: datetime
    by: str | None
    master: Epoch
    slot: Slot | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class ChildLife:
    """A child run of an attempt of a task. `project` and `workflow` are None when its definition no longer exists."""

    id: WorkflowInstanceId
    project: str | None
    workflow: str | None
    state: WorkflowState
    started_at: datetime
    ended_at: datetime | None
    code: TaskCode
    attempt: int
    reason: str | None


# The condition on the type is that of the index; the start is found by its id.
@statement("""
    SELECT h.command_id, h.type, h.created_at, h.handled_at, h.created_by, h.master_id, h.slot_current, h.slot_total,
           CASE WHEN h.outcome = 'ERROR' THEN coalesce(e.reason, 'no reason was stored') END AS reason
    FROM (SELECT * FROM command_history
          WHERE command_id = (SELECT command_id FROM workflow_instance WHERE id = :run)
          UNION ALL
          SELECT * FROM command_history                                        -- index: command_history_run
          WHERE workflow_instance_id = :run
            AND type NOT IN ('START_PROCESS', 'SCHEDULER', 'COMPLEMENT_DATA', 'START_CURRENT_TASK_PROCESS')) AS h
    LEFT JOIN error_command e ON e.command_id = h.command_id
    ORDER BY h.handled_at, h.command_id
""")
async def commands_of(connection: AsyncConnection, run: WorkflowInstanceId) -> list[HandledCommand]:
    """The command that started a run and all later ones about it, in the order in which they were handled."""


@statement("""
    SELECT c.id, d.project, d.name, c.state, c.started_at, c.ended_at, c.parent_task_code, c.parent_attempt, c.reason
    FROM workflow_instance c LEFT JOIN workflow_definition d ON d.code = c.workflow_code
    WHERE c.parent_instance_id = :run                                          -- index: workflow_instance_child
    ORDER BY c.id
""")
async def children_of(connection: AsyncConnection, run: WorkflowInstanceId) -> list[ChildLife]: ...


@statement("SELECT id, coalesce(nullif(name, ''), address) FROM node WHERE id = ANY(CAST(:epochs AS bigint[]))")
async def names_of(connection: AsyncConnection, epochs: Collection[Epoch]) -> dict[Epoch, str]:
    """The names of nodes; those whose rows are deleted are missing."""
