"""Lookups of one object: the outcome of a command, the run of a task. Reads only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from dao.runs.rows import CommandFate, TaskRun
from model.cluster.nodes import NodeState
from model.cluster.slots import Slot
from model.errors import NotFound
from model.ids import CommandId, Epoch, TaskInstanceId, WorkflowInstanceId


@dataclass(frozen=True, slots=True)
class NodeLife:
    """A present or past master or worker."""

    epoch: Epoch
    address: str
    state: NodeState
    ended_at: datetime | None
    ended_why: str | None


_FATE = Sql("""
    SELECT c.id, c.type,
           CASE WHEN isfinite(c.created_at)
                THEN extract(epoch FROM clock_timestamp() - c.created_at)::float8 END AS age_s,
           NULL::timestamptz AS handled_at, NULL::bigint AS run, NULL::bigint AS master,
           NULL::int AS slot_current, NULL::int AS slot_total, NULL AS reason
    FROM command c WHERE c.id = :id
    UNION ALL
    SELECT h.command_id, h.type, extract(epoch FROM clock_timestamp() - h.created_at)::float8, h.handled_at,
           h.workflow_instance_id, h.master_id, h.slot_current, h.slot_total, e.reason
    FROM command_history h
    LEFT JOIN error_command e ON e.command_id = h.command_id
    WHERE h.command_id = :id
""")
# Whether its id is at or below the floor (`dao/retention/floor.py`). A floor above the newest row of the history was
# written by hand.
_IS_DELETED = Sql("""
    SELECT EXISTS (SELECT FROM history_floor f
                   WHERE CAST(:id AS bigint) % f.step = f.residue AND CAST(:id AS bigint) <= f.command_id
                     AND CAST(:id AS bigint) <= (SELECT max(command_id) FROM command_history))
""")
_STARTED_BY = Sql("SELECT command_id FROM workflow_instance WHERE id = :id")
_VALUES = Sql("SELECT id, parameter_values, parameter_types FROM task_instance WHERE id = ANY(CAST(:ids AS bigint[]))")


async def fate_of(connection: AsyncConnection, id_: CommandId) -> CommandFate:
    """The outcome of a command. Raises `NotFound`.

    One statement, so that a command that moves from one table to the other is not missed.
    """
    row = (await connection.execute(_FATE, {"id": id_})).first()
    if row is None:
        if (await connection.execute(_IS_DELETED, {"id": id_})).scalar_one():
            raise NotFound(
                f"command {id_} was handled, and its history has been deleted since (docs/guides/retention.md)"
            )
        raise NotFound(f"there is no command {id_}, and there was none")
    slot = None if row.slot_current is None else str(Slot(row.slot_current, row.slot_total))
    return CommandFate(row.id, row.type, row.age_s, row.handled_at, row.run, row.master, slot, row.reason)


@statement("""
    SELECT d.project FROM (
        SELECT workflow_code, workflow_instance_id FROM command WHERE id = :id_
        UNION ALL
        SELECT workflow_code, workflow_instance_id FROM error_command WHERE command_id = :id_
        UNION ALL
        SELECT NULL, workflow_instance_id FROM command_history WHERE command_id = :id_
    ) AS c
    JOIN workflow_definition d ON d.code = coalesce(
        c.workflow_code, (SELECT i.workflow_code FROM workflow_instance i WHERE i.id = c.workflow_instance_id))
    LIMIT 1
""")
async def project_of_command(connection: AsyncConnection, id_: CommandId) -> str | None:
    """The project of the workflow that a command starts or whose run it changes; None if that does not exist."""


def no_task(id_: TaskInstanceId) -> NotFound:
    """The error for an attempt that does not exist."""
    return NotFound(f"there is no task instance {id_}; `shoal show RUN` lists those of a run")


async def started_by(connection: AsyncConnection, run: WorkflowInstanceId) -> CommandFate | None:
    """The command that started a run; None when its history was dropped."""
    command = (await connection.execute(_STARTED_BY, {"id": run})).scalar()
    try:
        return await fate_of(connection, CommandId(command)) if command is not None else None
    except NotFound:
        return None


async def parameter_values(
    connection: AsyncConnection, attempts: Iterable[TaskRun]
) -> dict[TaskInstanceId, tuple[str, str | None]]:
    """The values that those of these attempts saw which chose a branch, each as a JSON object, and their types."""
    chose = [each.id for each in attempts if each.branch is not None]
    rows = (await connection.execute(_VALUES, {"ids": chose})).all() if chose else []
    return {TaskInstanceId(id_): (values, types) for id_, values, types in rows}


async def values_of(connection: AsyncConnection, attempt: TaskInstanceId) -> str:
    """What each `${name}` stands for in an attempt, a JSON object; secrets in it are sealed."""
    return str((await connection.execute(_VALUES, {"ids": [attempt]})).one().parameter_values)


@statement("SELECT id, address, state, ended_at, ended_why FROM node WHERE id = :epoch")
async def node_life(connection: AsyncConnection, epoch: Epoch) -> NodeLife | None: ...


@statement("""
    SELECT NOT EXISTS (SELECT FROM workflow_definition) AND NOT EXISTS (SELECT FROM command_history)
""")
async def is_unused(connection: AsyncConnection) -> bool:
    """Whether there is no workflow, and no command was ever handled."""
