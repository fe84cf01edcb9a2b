"""`command`, `command_history`, `error_command`: what was requested, and its outcome.

A command is deleted from its table only in the transaction that records its outcome. The slot merely divides the work;
DELETE under FOR UPDATE SKIP LOCKED guarantees that each row goes to one master.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from dao.postgres.database import FencedTransaction
from dao.postgres.notify import changed
from dao.postgres.pool import AsyncConnection
from dao.postgres.row_arrays import RowArrays
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from model.changes import Changes
from model.choices import FailureStrategy, Priority, TaskDependType, WarningType
from model.cluster.slots import Slot
from model.ids import CommandId, Epoch, WorkflowCode, WorkflowInstanceId
from model.runs.command_moves import CommandType
from model.runs.commands import CommandRow

# For a master without room: commands that need no room come first in the index, so the rest is not read. Without a slot
# (:total is 0) it takes only commands that have waited too long.
_CLAIM_URGENT = Sql("""
    WITH picked AS MATERIALIZED (
        SELECT ctid FROM command                   -- index: command_claim
        WHERE priority_rank = -1 AND type IN ('RECOVER_TOLERANCE_FAULT_PROCESS', 'PAUSE', 'STOP')
          AND deaths = 0 AND id <> ALL(CAST(:without AS bigint[]))
          AND ((id / :id_step) % nullif(:total, 0) = :current
               OR created_at < now() - CAST(:age AS interval) OR created_at > now() + CAST(:age AS interval))
        ORDER BY id
        LIMIT :limit
        FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM command WHERE ctid = ANY(ARRAY(SELECT ctid FROM picked)) RETURNING command.*
    )
    SELECT id, coalesce(type, ''), workflow_code::text, workflow_version::text, workflow_instance_id::text, params,
           priority, failure_strategy, worker_group, created_at::text, created_by, warning_type, alert_group,
           environment, dry_run::text, task_depend_type, start_tasks, schedule_time::text, time_zone, schedule_id::text,
           parent, from_above::text, left(traceparent, 100)
    FROM gone ORDER BY id
""")

# A command whose row in the history was deleted violates the primary key all the same: it is inserted without its id.
# Its id is at or below the floor (`dao/retention/floor.py`). A floor above the newest row was written by hand.
_RECORD = Sql("""
    INSERT INTO command_history
        (command_id, type, outcome, workflow_instance_id, master_id, slot_current, slot_total, created_at, created_by)
    SELECT CASE WHEN EXISTS (SELECT FROM history_floor f
                             WHERE n.command_id % f.step = f.residue AND n.command_id <= f.command_id
                               AND n.command_id <= (SELECT max(command_id) FROM command_history))
                THEN NULL ELSE n.command_id END,
           n.type, n.outcome, n.instance, :master, CAST(:current AS smallint), CAST(:total AS smallint),
           CASE WHEN isfinite(n.created_at) THEN n.created_at ELSE clock_timestamp() END, n.created_by
    FROM unnest(CAST(:row.id AS bigint[]), CAST(:type AS text[]), CAST(:outcome AS text[]), CAST(:instance AS bigint[]),
                CAST(:row.created_at AS timestamptz[]), CAST(:row.created_by AS text[]))
         AS n (command_id, type, outcome, instance, created_at, created_by)
""")
_OUTCOMES = RowArrays(
    _RECORD,
    {
        "type": lambda each: each.row.type[:100],
        "outcome": lambda each: "DONE" if each.reason is None else "ERROR",
    },
)

_REFUSE = Sql("""
    INSERT INTO error_command
        (command_id, type, workflow_code, workflow_version, workflow_instance_id, params, priority, failure_strategy,
         worker_group, created_at, created_by, reason, master_id, warning_type, alert_group, environment, dry_run,
         task_depend_type, start_tasks, schedule_time, time_zone, schedule_id, parent, traceparent)
    VALUES (:id, :type, CAST(:workflow_code AS bigint), CAST(:workflow_version AS integer),
            CAST(:workflow_instance_id AS bigint), :params, :priority, :failure_strategy, :worker_group,
            CAST(:created_at AS timestamptz), :created_by, :reason, :master, :warning_type, :alert_group, :environment,
            CAST(:dry_run AS boolean), :task_depend_type, :start_tasks, CAST(:schedule_time AS timestamptz),
            :time_zone, CAST(:schedule_id AS bigint), :parent, :traceparent)
""")
_BEFORE = Sql("""
    SELECT outcome, date_trunc('second', handled_at)::text AS at, workflow_instance_id
    FROM command_history WHERE command_id = :id
    UNION ALL
    SELECT 'DELETED', 'a time that is no longer on record', NULL
    WHERE EXISTS (SELECT FROM history_floor f
                  WHERE :id % f.step = f.residue AND :id <= f.command_id
                    AND :id <= (SELECT max(command_id) FROM command_history))
    LIMIT 1
""")


@dataclass(frozen=True, slots=True)
class NewCommand:
    """A command to be inserted. None = the value of the definition or the table applies.

    Args:
        type: see `model/runs/command_moves.py`.
        workflow_code: of the definition to start.
        workflow_instance_id: of the run to change.
        params: JSON object as text; values for the run.
        start_tasks: names or codes, a JSON list or separated by commas.
        schedule_time: aware; the time that the run is for.
        traceparent: the trace that the run joins (`model/runs/traces.py`).
        created_by: who requests it; None = the database's user.
    """

    type: CommandType
    workflow_code: WorkflowCode | None = None
    workflow_instance_id: WorkflowInstanceId | None = None
    workflow_version: int | None = None
    params: str = "{}"
    priority: Priority | None = None
    failure_strategy: FailureStrategy | None = None
    worker_group: str | None = None
    warning_type: WarningType | None = None
    alert_group: str | None = None
    environment: str | None = None
    dry_run: bool = False
    task_depend_type: TaskDependType | None = None
    start_tasks: str | None = None
    schedule_time: datetime | None = None
    time_zone: str | None = None
    traceparent: str | None = None
    created_by: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a command: the run that it created or changed, or the reason why it was refused."""

    row: CommandRow
    instance: WorkflowInstanceId | None
    reason: str | None = None


async def insert(connection: AsyncConnection, new: NewCommand) -> CommandId:
    """Insert a command and return its id. The master that takes it checks whether it is valid."""
    return (await insert_many(connection, [new]))[0]


# null = the value of the table or the definition applies.
@statement("""
    INSERT INTO command
        (type, workflow_code, workflow_version, workflow_instance_id, params, priority, failure_strategy, worker_group,
         warning_type, alert_group, environment, dry_run, task_depend_type, start_tasks, schedule_time, time_zone,
         traceparent, created_by)
    SELECT n.type, n.workflow_code, n.workflow_version, n.workflow_instance_id, n.params, n.priority,
           n.failure_strategy, n.worker_group, n.warning_type, n.alert_group, n.environment, n.dry_run,
           n.task_depend_type, n.start_tasks, n.schedule_time, n.time_zone, n.traceparent,
           coalesce(n.created_by, session_user)
    FROM unnest(CAST(:new.type AS text[]), CAST(:new.workflow_code AS bigint[]),
                CAST(:new.workflow_version AS integer[]), CAST(:new.workflow_instance_id AS bigint[]),
                CAST(:new.params AS text[]), CAST(:new.priority AS text[]), CAST(:new.failure_strategy AS text[]),
                CAST(:new.worker_group AS text[]), CAST(:new.warning_type AS text[]),
                CAST(:new.alert_group AS text[]), CAST(:new.environment AS text[]), CAST(:new.dry_run AS boolean[]),
                CAST(:new.task_depend_type AS text[]), CAST(:new.start_tasks AS text[]),
                CAST(:new.schedule_time AS timestamptz[]), CAST(:new.time_zone AS text[]),
                CAST(:new.traceparent AS text[]), CAST(:new.created_by AS text[]))
         AS n (type, workflow_code, workflow_version, workflow_instance_id, params, priority, failure_strategy,
               worker_group, warning_type, alert_group, environment, dry_run, task_depend_type, start_tasks,
               schedule_time, time_zone, traceparent, created_by)
    RETURNING id
""")
async def insert_many(connection: AsyncConnection, new: Sequence[NewCommand]) -> list[CommandId]:
    """Insert all of these commands by one statement, and return their ids in the same order."""


# The columns are those of a `CommandRow`, in its order. The slot is that of `Slot.owns`: where `total` is 0 there is no
# slot and no command of it.
#
# DELETE by ctid, not by id: once ANALYZE has seen the table empty, the planner expects one row however many come. By id
# it then compares every row with every picked one (a join), or reads a whole index for each (ANY). A picked row is
# locked, so its ctid stays the same; a row that was changed just before is not found at its new ctid, and is taken next
# time.
#
# MATERIALIZED, and picked separately from the DELETE: the planner may run a subquery once for each row, and its LIMIT
# would then allow more deletions. FOR UPDATE SKIP LOCKED: two masters may believe that they have the same slot; each
# row goes to one of them.
@statement("""
    WITH picked AS MATERIALIZED (
        SELECT ctid FROM command                   -- index: command_claim
        WHERE (id / :id_step) % nullif(:slot.total, 0) = :slot.current AND deaths = 0
          AND id <> ALL(CAST(:without AS bigint[]))
        ORDER BY priority_rank, id
        LIMIT :limit
        FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM command WHERE ctid = ANY(ARRAY(SELECT ctid FROM picked)) RETURNING command.*
    )
    SELECT id, coalesce(type, ''), workflow_code::text, workflow_version::text, workflow_instance_id::text, params,
           priority, failure_strategy, worker_group, created_at::text, created_by, warning_type, alert_group,
           environment, dry_run::text, task_depend_type, start_tasks, schedule_time::text, time_zone, schedule_id::text,
           parent, from_above::text, left(traceparent, 100)
    FROM gone ORDER BY priority_rank, id
""")
async def claim(
    connection: FencedTransaction, slot: Slot, limit: int, id_step: int, without: Sequence[CommandId] = ()
) -> list[CommandRow]:
    """Take up to `limit` commands of a slot out of the table, most urgent first, without those in `without`.

    The same transaction must record them.
    """


async def claim_urgent(
    connection: FencedTransaction,
    slot: Slot | None,
    older_than: timedelta,
    limit: int,
    id_step: int,
    without: Sequence[CommandId] = (),
) -> list[CommandRow]:
    """Like `claim`, for what needs no room: PAUSE, STOP and failovers; of any slot if they have waited too long."""
    values = {
        "current": slot.current if slot else 0,
        "total": slot.total if slot else 0,
        "age": older_than,
        "limit": limit,
        "id_step": id_step,
        "without": list(without),
    }
    return [CommandRow(*row) for row in await connection.execute(_CLAIM_URGENT, values)]


# What lies ahead by as much has the time of a clock that was set back since; nobody knows how long it has waited.
@statement("""
    WITH aged AS MATERIALIZED (
        SELECT ctid FROM command                   -- index: command_age
        WHERE created_at < now() - CAST(:older_than AS interval) AND deaths = 0
          AND id <> ALL(CAST(:without AS bigint[]))
        ORDER BY created_at
        LIMIT :limit
        FOR UPDATE SKIP LOCKED
    ), ahead AS MATERIALIZED (
        SELECT ctid FROM command                   -- index: command_age
        WHERE created_at > now() + CAST(:older_than AS interval) AND deaths = 0
          AND id <> ALL(CAST(:without AS bigint[]))
        ORDER BY created_at
        LIMIT :limit - (SELECT count(*) FROM aged)
        FOR UPDATE SKIP LOCKED
    ), picked AS (
        SELECT ctid FROM aged UNION ALL SELECT ctid FROM ahead
    ), gone AS (
        DELETE FROM command WHERE ctid = ANY(ARRAY(SELECT ctid FROM picked)) RETURNING command.*
    )
    SELECT id, coalesce(type, ''), workflow_code::text, workflow_version::text, workflow_instance_id::text, params,
           priority, failure_strategy, worker_group, created_at::text, created_by, warning_type, alert_group,
           environment, dry_run::text, task_depend_type, start_tasks, schedule_time::text, time_zone, schedule_id::text,
           parent, from_above::text, left(traceparent, 100)
    FROM gone ORDER BY priority_rank, id
""")
async def steal(
    connection: FencedTransaction, older_than: timedelta, limit: int, without: Sequence[CommandId] = ()
) -> list[CommandRow]:
    """Take up to `limit` commands of any slot that have waited too long, oldest first, without those in `without`."""


@statement("""
    WITH picked AS MATERIALIZED (
        SELECT ctid FROM command WHERE id = ANY(CAST(:ids AS bigint[])) ORDER BY id FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM command WHERE ctid = ANY(ARRAY(SELECT ctid FROM picked)) RETURNING command.*
    )
    SELECT id, coalesce(type, ''), workflow_code::text, workflow_version::text, workflow_instance_id::text, params,
           priority, failure_strategy, worker_group, created_at::text, created_by, warning_type, alert_group,
           environment, dry_run::text, task_depend_type, start_tasks, schedule_time::text, time_zone, schedule_id::text,
           parent, from_above::text, left(traceparent, 100)
    FROM gone ORDER BY priority_rank, id
""")
async def take(connection: FencedTransaction, ids: Sequence[CommandId]) -> list[CommandRow]:
    """Take these commands out of the table, except those that are gone or locked by others."""


async def record(connection: FencedTransaction, outcomes: Sequence[Outcome], master: Epoch, slot: Slot | None) -> None:
    """Write the outcome of each command, in the transaction that took it."""
    slots = {"current": slot.current if slot else None, "total": slot.total if slot else None}
    await connection.execute(_RECORD, {**_OUTCOMES.values(outcomes), **slots, "master": master})
    await changed(connection, Changes(queue=True))
    await record_errors(connection, [outcome for outcome in outcomes if outcome.reason is not None], master)


async def record_errors(connection: FencedTransaction, refused: Sequence[Outcome], master: Epoch) -> None:
    """Write these to the error table only: the history has a row with their id, or gets one in this transaction."""
    if refused:
        await connection.execute(_REFUSE, [_refusal(outcome, master) for outcome in refused])
        await changed(connection, Changes(queue=True, errors=True))


async def handled_before(connection: AsyncConnection, id_: CommandId) -> str | None:
    """The outcome of an earlier command with this id, in words; None if there was none."""
    row = (await connection.execute(_BEFORE, {"id": id_})).first()
    if row is None:
        return None
    run = f", run {row.workflow_instance_id}" if row.workflow_instance_id is not None else ""
    return f"{row.outcome} at {row.at}{run}"


@statement("SELECT EXISTS (SELECT FROM command WHERE id <> :id_)")
async def any_but(connection: AsyncConnection, id_: CommandId) -> bool: ...


def _refusal(outcome: Outcome, master: Epoch) -> dict[str, object]:
    return {**asdict(outcome.row), "reason": outcome.reason, "master": master}


@statement("""
    SELECT seqincrement FROM pg_sequence WHERE seqrelid = pg_get_serial_sequence('command', 'id')::regclass
""")
async def id_increment(connection: AsyncConnection) -> int:
    """The increment of the database's sequence of command ids."""
