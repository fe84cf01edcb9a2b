"""`error_command`: commands that could not be handled, for a person to read, retry or drop."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass

from dao.commands import commands
from dao.commands.commands import Outcome
from dao.commands.rows import ErrorCommand
from dao.postgres.database import FencedTransaction
from dao.postgres.notify import changed
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import changing, statement
from model.changes import Changes
from model.choices import FailureStrategy, Priority, TaskDependType
from model.errors import NotFound, Refused
from model.ids import CommandId, Epoch, WorkflowCode
from model.runs.command_moves import CommandType


@dataclass(frozen=True, slots=True)
class Corrections:
    """What a command asks for instead of what was refused; None = as it is. `params` and `start_tasks` are JSON."""

    type: CommandType | None = None
    workflow_code: WorkflowCode | None = None
    workflow_version: int | None = None
    params: str | None = None
    priority: Priority | None = None
    failure_strategy: FailureStrategy | None = None
    worker_group: str | None = None
    environment: str | None = None
    task_depend_type: TaskDependType | None = None
    start_tasks: str | None = None


# With all its values but those that are given instead, and as a new command: a new id, so a new slot, and a new
# creation time, so that nobody steals it as one that has waited too long.
_RETRY = Sql("""
    WITH gone AS (
        DELETE FROM error_command WHERE command_id = :id RETURNING *
    ), asked AS (
        INSERT INTO command (type, workflow_code, workflow_version, workflow_instance_id, params, priority,
                             failure_strategy, worker_group, created_by, warning_type, alert_group, environment,
                             dry_run, task_depend_type, start_tasks, schedule_time, time_zone, schedule_id, parent,
                             traceparent)
        SELECT coalesce(CAST(:type AS text), type), coalesce(CAST(:workflow_code AS bigint), workflow_code),
               coalesce(CAST(:workflow_version AS integer), workflow_version), workflow_instance_id,
               coalesce(CAST(:params AS text), params, '{}'), coalesce(CAST(:priority AS text), priority),
               coalesce(CAST(:failure_strategy AS text), failure_strategy),
               coalesce(CAST(:worker_group AS text), worker_group), coalesce(created_by, session_user), warning_type,
               alert_group,
               coalesce(CAST(:environment AS text), environment), coalesce(dry_run, false),
               coalesce(CAST(:task_depend_type AS text), task_depend_type),
               coalesce(CAST(:start_tasks AS text), start_tasks), schedule_time, time_zone, schedule_id, parent,
               traceparent
        FROM gone
        ON CONFLICT (workflow_instance_id) WHERE type = 'RECOVER_TOLERANCE_FAULT_PROCESS' DO NOTHING
        RETURNING id
    )
    SELECT EXISTS (SELECT FROM gone) AS found, (SELECT id FROM asked) AS id
""")
_TO_SET_ASIDE = Sql("""
    SELECT id, EXISTS (SELECT FROM command_history h WHERE h.command_id = command.id) AS was_handled
    FROM command
    WHERE parent IS NULL AND type IS DISTINCT FROM 'RECOVER_TOLERANCE_FAULT_PROCESS'
      AND NOT EXISTS (SELECT FROM error_command e WHERE e.command_id = command.id)
    ORDER BY id LIMIT :limit FOR UPDATE
""")

SET_ASIDE_AT_ONCE = 1_000
"""A queue may be larger than the memory of who sets it aside."""


# A command that names workflows of two projects is seen by who sees both.
@statement("""
    SELECT e.command_id, coalesce(e.type, ''), e.workflow_code, e.workflow_version, e.workflow_instance_id,
           coalesce(e.params, ''), e.priority, e.failure_strategy, e.worker_group, e.created_at::text, e.created_by,
           e.reason, e.master_id, e.refused_at, e.start_tasks, d.project, r.project
    FROM error_command e
    LEFT JOIN workflow_definition d ON d.code = e.workflow_code
    LEFT JOIN workflow_instance i ON i.id = e.workflow_instance_id
    LEFT JOIN workflow_definition r ON r.code = i.workflow_code
    WHERE e.command_id < coalesce(CAST(:before AS bigint), 9223372036854775807)
      AND (CAST(:ids AS bigint[]) IS NULL OR e.command_id = ANY(CAST(:ids AS bigint[])))
      AND (CAST(:visible AS text[]) IS NULL
           OR coalesce(d.project, r.project) IS NOT NULL
              AND coalesce(d.project, r.project) = ANY(CAST(:visible AS text[]))
              AND coalesce(r.project, d.project) = ANY(CAST(:visible AS text[])))
    ORDER BY e.command_id DESC LIMIT CAST(:limit AS bigint)
""")
async def error_commands(
    connection: AsyncConnection,
    limit: int | None,
    before: int | None = None,
    visible: Collection[str] | None = None,
    ids: Collection[int] | None = None,
) -> list[ErrorCommand]:
    """Up to `limit` refused commands (None = all), newest first; `before` is the last id of the previous page.

    `visible`: only those of workflows of these projects, `ids`: only these; None = all.
    """


async def some_error_commands(connection: AsyncConnection, ids: Collection[int]) -> list[ErrorCommand]:
    """The refused commands with these ids, oldest first. Raises `NotFound` if one of them does not exist."""
    found = (await error_commands(connection, None, ids=ids))[::-1]
    if missing := sorted(set(ids) - {each.id for each in found}):
        raise _not_found(missing[0])
    return found


async def retry_error_command(
    connection: AsyncConnection, id_: CommandId, corrections: Corrections | None = None
) -> CommandId:
    """Insert the same command again and return its new id; the error command is deleted in the same transaction.

    Raises:
        NotFound: there is no such error command.
        Refused: it requests a failover that is in progress already.
    """
    values = {"id": id_, **asdict(corrections or Corrections())}
    row = (await connection.execute(_RETRY, values)).one()
    if not row.found:
        raise _not_found(id_)
    if row.id is None:
        raise Refused(f"what error command {id_} asks for waits already as another command; `shoal queue delete {id_}`")
    await changed(connection, Changes(errors=True))
    return CommandId(row.id)


@changing(lambda: Changes(errors=True))
@statement("DELETE FROM error_command WHERE command_id = ANY(CAST(:ids AS bigint[]))")
async def drop_error_commands(connection: AsyncConnection, ids: Collection[CommandId]) -> int:
    """Delete refused commands, and return how many there were; `command_history` still records them."""


async def set_commands_aside(connection: FencedTransaction, reason: str) -> int:
    """Make error commands of the waiting ones that somebody asked for: they can be retried. Returns how many."""
    count, limit = 0, {"limit": SET_ASIDE_AT_ONCE}
    while was_handled := dict(tuple(row) for row in await connection.execute(_TO_SET_ASIDE, limit)):
        refused = [Outcome(row, None, reason) for row in await commands.take(connection, list(was_handled))]
        await commands.record(connection, [each for each in refused if not was_handled[each.row.id]], Epoch(0), None)
        await commands.record_errors(connection, [each for each in refused if was_handled[each.row.id]], Epoch(0))
        count += len(refused)
    return count


def _not_found(id_: int) -> NotFound:
    return NotFound(f"there is no error command {id_}; `shoal queue errors` lists those there are")
