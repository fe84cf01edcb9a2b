"""`error_command`: commands that could not be handled, for a person to read, retry or drop."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from dao.postgres.notify import changed
from model.changes import Changes
from model.errors import NotFound, Refused
from model.ids import CommandId, Epoch, WorkflowCode, WorkflowInstanceId


@dataclass(frozen=True, slots=True)
class ErrorCommand:
    """A refused command with all its columns. `created_at` is text: a row inserted by hand may contain any date."""

    id: CommandId
    type: str
    workflow_code: WorkflowCode | None
    workflow_version: int | None
    workflow_instance_id: WorkflowInstanceId | None
    params: str
    priority: str | None
    failure_strategy: str | None
    worker_group: str | None
    created_at: str | None
    created_by: str | None
    reason: str
    master: Epoch
    refused_at: datetime


_LIST = text("""
    SELECT command_id, coalesce(type, ''), workflow_code, workflow_version, workflow_instance_id,
           coalesce(params, ''), priority, failure_strategy, worker_group, created_at::text, created_by, reason,
           master_id, refused_at
    FROM error_command WHERE command_id < :before ORDER BY command_id DESC LIMIT :limit
""")
# With all its values, but as a new command: a new id, so a new slot, and a new creation time, so that nobody steals it
# as one that has waited too long.
_RETRY = text("""
    WITH gone AS (
        DELETE FROM error_command WHERE command_id = :id RETURNING *
    ), asked AS (
        INSERT INTO command (type, workflow_code, workflow_version, workflow_instance_id, params, priority,
                             failure_strategy, worker_group, created_by, warning_type, alert_group, environment,
                             dry_run, task_depend_type, start_tasks, schedule_time, time_zone, schedule_id, parent)
        SELECT type, workflow_code, workflow_version, workflow_instance_id, coalesce(params, '{}'), priority,
               failure_strategy, worker_group, created_by, warning_type, alert_group, environment,
               coalesce(dry_run, false), task_depend_type, start_tasks, schedule_time, time_zone, schedule_id, parent
        FROM gone
        ON CONFLICT (workflow_instance_id) WHERE type = 'RECOVER_TOLERANCE_FAULT_PROCESS' DO NOTHING
        RETURNING id
    )
    SELECT EXISTS (SELECT FROM gone) AS found, (SELECT id FROM asked) AS id
""")
_DROP = text("DELETE FROM error_command WHERE command_id = :id")

_ID_MAX = 2**63 - 1


async def error_commands(
    connection: AsyncConnection, limit: int, before: CommandId | None = None
) -> list[ErrorCommand]:
    """Up to `limit` refused commands, newest first; `before` is the last id of the previous page."""
    values = {"limit": limit, "before": before or _ID_MAX}
    return [ErrorCommand(*row) for row in (await connection.execute(_LIST, values)).all()]


async def retry_error_command(connection: AsyncConnection, id_: CommandId) -> CommandId:
    """Insert the same command again and return its new id; the error command is deleted in the same transaction.

    Raises:
        NotFound: there is no such error command.
        Refused: it requests a failover that is in progress already.
    """
    row = (await connection.execute(_RETRY, {"id": id_})).one()
    if not row.found:
        raise _not_found(id_)
    if row.id is None:
        raise Refused(f"what error command {id_} asks for waits already as another command; `shoal errors drop {id_}`")
    await changed(connection, Changes(errors=True))
    return CommandId(row.id)


async def drop_error_command(connection: AsyncConnection, id_: CommandId) -> None:
    """Delete a refused command; `command_history` still records it. Raises `NotFound`."""
    if (await connection.execute(_DROP, {"id": id_})).rowcount == 0:
        raise _not_found(id_)
    await changed(connection, Changes(errors=True))


def _not_found(id_: CommandId) -> NotFound:
    return NotFound(f"there is no error command {id_}; `shoal errors` lists those there are")
