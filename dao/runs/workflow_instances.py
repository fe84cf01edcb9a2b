"""`workflow_instance`: the runs, each written by its owner alone.

Every write names the owner and counts its rows. Fewer rows than expected means that memory and rows differ, or that a
row was changed by hand: `OwnershipLost` names the runs that were missed, and only those are read again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from dao.alerts.rules import note_ends
from dao.postgres.database import FencedTransaction
from dao.postgres.errors import BadData
from dao.postgres.notify import changed
from dao.postgres.pool import AsyncConnection
from dao.postgres.row_arrays import RowArrays
from dao.postgres.rows import Row
from dao.postgres.sql import Sql
from dao.postgres.statements import changing, made_by, statement
from dao.runs.code_lists import read_codes
from model.changes import Changes
from model.choices import ExecutionType, FailureStrategy, Priority, WarningType
from model.ids import CommandId, Epoch, ScheduleId, TaskCode, WorkflowCode, WorkflowInstanceId
from model.runs.instances import Parent, Source, WorkflowInstance
from model.runs.states import WorkflowState
from model.time.intervals import Interval


class OwnershipLost(BadData):
    """A write missed rows of the runs `ids`: their state in their master's memory differs from their rows.

    The caller rolls back its transaction and handles those runs separately; the others are correct.
    """

    def __init__(self, ids: Collection[WorkflowInstanceId], sentence: str) -> None:
        super().__init__(sentence)
        self.ids = frozenset(ids)


@dataclass(frozen=True, slots=True)
class NewInstance:
    """The run that a START command creates.

    `params`, `startup_names`, `scope` and `backfill` are JSON text. `schedule_time` None means the time of its start.
    `interval` is that of its schedule. `parent` waits for it, `started_by` does not, `source` is the event that started
    it. `state` is RUNNING_EXECUTION, SERIAL_WAIT, or for a run that does not start a final state with its `reason`.
    """

    command_id: CommandId
    workflow_code: WorkflowCode
    workflow_version: int
    failure_strategy: FailureStrategy
    priority: Priority
    worker_group: str
    params: str
    state: WorkflowState = WorkflowState.RUNNING_EXECUTION
    reason: str = ""
    command_type: str = "START_PROCESS"
    execution_type: ExecutionType = ExecutionType.PARALLEL
    startup_names: str = "[]"
    schedule_time: datetime | None = None
    time_zone: str = "UTC"
    schedule_id: ScheduleId | None = None
    dry_run: bool = False
    environment: str | None = None
    warning_type: WarningType = WarningType.NONE
    alert_group: str | None = None
    scope: str | None = None
    backfill: str | None = None
    depth: int = 0
    parent: Parent | None = None
    started_by: Parent | None = None
    source: Source | None = None
    serial_key: str = ""
    traceparent: str | None = None
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class InstanceEnd:
    """How a run ended; `reason` is empty for a success; `outputs` is JSON text or None. `is_whole`: of a success, also
    the tasks to which it was not limited have done their part."""

    id: WorkflowInstanceId
    state: WorkflowState
    reason: str
    outputs: str | None = None
    is_whole: bool = False


# A run that is not driven has no owner, so there is no failover for it.
_NEW = """
    INSERT INTO workflow_instance
        (command_id, workflow_code, workflow_version, schedule_id, state, failure_strategy, priority, worker_group,
         params, reason, command_type, execution_type, startup_names, time_zone, environment, warning_type, alert_group,
         scope, backfill, serial_key, traceparent, started_by, schedule_time, interval_start, interval_end,
         dry_run, depth, parent_instance_id, parent_task_code, parent_attempt, child_index, master_id, ended_at)
    SELECT n.command_id, n.workflow_code, n.workflow_version, n.schedule_id, n.state, n.failure_strategy,
           n.priority::priority_level, n.worker_group, n.params, nullif(n.reason, ''), n.command_type, n.execution_type,
           n.startup_names, n.time_zone, n.environment, n.warning_type, n.alert_group, n.scope, n.backfill,
           n.serial_key, n.traceparent, n.started_by, coalesce(n.schedule_time, clock_timestamp()),
           n.interval_start, n.interval_end, n.dry_run, n.depth, n.parent_instance_id, n.parent_task_code,
           n.parent_attempt, n.child_index,
           CASE WHEN n.state = 'RUNNING_EXECUTION' THEN :master ELSE 0 END,
           CASE WHEN n.state IN ('PAUSE', 'STOP') THEN clock_timestamp() END
    FROM unnest(CAST(:command_id AS bigint[]), CAST(:workflow_code AS bigint[]), CAST(:workflow_version AS integer[]),
                CAST(:schedule_id AS bigint[]), CAST(:state AS text[]), CAST(:failure_strategy AS text[]),
                CAST(:priority AS text[]), CAST(:worker_group AS text[]), CAST(:params AS text[]),
                CAST(:reason AS text[]), CAST(:command_type AS text[]), CAST(:execution_type AS text[]),
                CAST(:startup_names AS text[]), CAST(:time_zone AS text[]), CAST(:environment AS text[]),
                CAST(:warning_type AS text[]), CAST(:alert_group AS text[]), CAST(:scope AS text[]),
                CAST(:backfill AS text[]), CAST(:serial_key AS text[]), CAST(:traceparent AS text[]),
                CAST(:started_by AS text[]), CAST(:schedule_time AS timestamptz[]),
                CAST(:interval_start AS timestamptz[]), CAST(:interval_end AS timestamptz[]),
                CAST(:dry_run AS boolean[]), CAST(:depth AS smallint[]),
                CAST(:parent_instance_id AS bigint[]), CAST(:parent_task_code AS bigint[]),
                CAST(:parent_attempt AS smallint[]), CAST(:child_index AS integer[]))
         AS n (command_id, workflow_code, workflow_version, schedule_id, state, failure_strategy, priority,
               worker_group, params, reason, command_type, execution_type, startup_names, time_zone, environment,
               warning_type, alert_group, scope, backfill, serial_key, traceparent, started_by, schedule_time,
               interval_start, interval_end, dry_run, depth, parent_instance_id, parent_task_code,
               parent_attempt, child_index)
"""
_INSERT = Sql(f"{_NEW} RETURNING id, command_id, schedule_time")
# An existing run is not created again: a second START by one task, or a second fire of one time of a schedule.
_INSERT_ONCE = Sql(f"{_NEW} ON CONFLICT DO NOTHING RETURNING id, command_id, schedule_time")
_INSTANCES = RowArrays(
    _INSERT,
    {
        "parent_instance_id": lambda new: new.parent and new.parent.instance,
        "parent_task_code": lambda new: new.parent and new.parent.code,
        "parent_attempt": lambda new: new.parent and new.parent.attempt,
        "child_index": lambda new: new.parent and new.parent.index,
        "started_by": lambda new: (
            new.source.place(new.command_id) if new.source else new.started_by and new.started_by.place
        ),
        "interval_start": lambda new: new.interval and new.interval.start,
        "interval_end": lambda new: new.interval and new.interval.end,
    },
)
_ENTER = Sql("""
    UPDATE workflow_instance i SET state = e.state
    FROM unnest(CAST(:ids AS bigint[]), CAST(:states AS text[])) AS e (id, state)
    WHERE i.id = e.id
      AND coalesce(i.master_id = :master AND i.state IN ('RUNNING_EXECUTION', 'READY_PAUSE'), false)
    RETURNING i.id
""")
# What was requested of it before is over with that: see `Writes`. So is a command that is in its table.
_CLOSE = Sql("""
    UPDATE workflow_instance i
    SET state = 'RUNNING_EXECUTION', requested_state = NULL, ending_as = n.state, ending_reason = nullif(n.reason, ''),
        ending_after = coalesce(pg_sequence_last_value(pg_get_serial_sequence('command', 'id')::regclass), 0)
    FROM unnest(CAST(:ids AS bigint[]), CAST(:states AS text[]), CAST(:reasons AS text[])) AS n (id, state, reason)
    WHERE i.id = n.id
      AND coalesce(i.master_id = :master AND i.state IN ('RUNNING_EXECUTION', 'READY_PAUSE', 'READY_STOP'), false)
      AND i.ending_as IS NULL
    RETURNING i.id
""")
# An EXECUTE_TASK that left nothing to do leaves no limit either: all see a whole success.
# Checks the state, not `ended_at`: see `dao.tasks.task_instances`, queue.
_FINISH = Sql("""
    WITH ended AS (
        UPDATE workflow_instance i
        SET state = n.state, reason = nullif(n.reason, ''), ended_at = clock_timestamp(), outputs = n.outputs,
            requested_state = NULL,
            ending_as = CASE WHEN n.state = 'PAUSE' THEN i.ending_as END,
            ending_reason = CASE WHEN n.state = 'PAUSE' THEN i.ending_reason END,
            executing = CASE WHEN NOT (n.state = 'SUCCESS' AND n.is_whole) THEN i.executing END
        FROM unnest(CAST(:id AS bigint[]), CAST(:state AS text[]), CAST(:reason AS text[]), CAST(:outputs AS text[]),
                    CAST(:is_whole AS boolean[]))
             AS n (id, state, reason, outputs, is_whole)
        WHERE i.id = n.id
          AND coalesce(i.master_id = :master AND i.state IN ('RUNNING_EXECUTION', 'READY_PAUSE', 'READY_STOP'), false)
        RETURNING i.id, i.parent_instance_id IS NOT NULL OR i.execution_type <> 'PARALLEL' OR i.backfill IS NOT NULL
                  OR EXISTS (SELECT FROM workflow_version                   -- index: workflow_version_triggered
                             WHERE triggers <> '[]') AS is_awaited
    )
    SELECT array_agg(id) AS ended, array_agg(id) FILTER (WHERE is_awaited) AS awaited,
           EXISTS (SELECT FROM alert_rule WHERE enabled) AS has_rules
    FROM ended
""")
_ENDS = RowArrays(_FINISH)


def read_instance(row: Row) -> WorkflowInstance:
    """A run from a row with the columns of `_READ_OWNED`.

    They bring its schedule time within what Python has years for: one row must not fail the fetch of all.
    """
    parent = None
    if row.parent_instance_id is not None:
        parent = Parent(
            WorkflowInstanceId(row.parent_instance_id),
            TaskCode(row.parent_task_code),
            row.parent_attempt,
            row.child_index,
        )
    return WorkflowInstance(
        WorkflowInstanceId(row.id),
        WorkflowCode(row.workflow_code),
        row.workflow_version,
        FailureStrategy(row.failure_strategy),
        Priority(row.priority),
        row.worker_group,
        row.params,
        WorkflowState(row.state),
        None if row.requested_state is None else WorkflowState(row.requested_state),
        row.startup_names,
        row.schedule_time,
        row.time_zone,
        row.dry_run,
        row.environment,
        read_codes(row.scope, f"the scope of workflow instance {row.id}"),
        row.depth,
        parent,
        row.ran_s,
        Interval.of(row.interval_start, row.interval_end),
        None if row.ending_as is None else WorkflowState(row.ending_as),
        row.ending_reason or "",
    )


async def insert(
    connection: FencedTransaction, new: Sequence[NewInstance], master: Epoch
) -> dict[CommandId, tuple[WorkflowInstanceId, datetime]]:
    """Create the runs, owned by `master` if they run; id and schedule time by the command that requested them.

    A command missing in the result has its run already, as another's child, start or fire.
    """
    may_be_there = any(each.parent or each.started_by or each.schedule_id is not None for each in new)
    rows = await connection.execute(
        _INSERT_ONCE if may_be_there else _INSERT,
        {**_INSTANCES.values(new), "master": master},
    )
    made = {
        CommandId(command_id): (WorkflowInstanceId(id_), schedule_time) for id_, command_id, schedule_time in rows.all()
    }
    await changed(connection, Changes(runs={id_ for id_, _ in made.values()}))
    return made


async def enter(
    connection: FencedTransaction, states: Mapping[WorkflowInstanceId, WorkflowState], master: Epoch
) -> None:
    """Set own runs to a halted state. Raises `OwnershipLost`."""
    await changed(connection, Changes(runs=set(states)))
    values = {"ids": list(states), "states": list(states.values()), "master": master}
    entered = {id_ for (id_,) in await connection.execute(_ENTER, values)}
    if missed := states.keys() - entered:
        raise OwnershipLost(missed, f"{named(missed)} of {len(states)} runs to halt are not driven by master {master}")


async def close(connection: FencedTransaction, ends: Sequence[InstanceEnd], master: Epoch) -> None:
    """Let own runs clean up, of which all else is over; how they end after that is kept. Raises `OwnershipLost`."""
    ids = [end.id for end in ends]
    await changed(connection, Changes(runs=set(ids)))
    values = {"ids": ids, "states": [end.state for end in ends], "reasons": [end.reason for end in ends]}
    closed = {id_ for (id_,) in await connection.execute(_CLOSE, {**values, "master": master})}
    if missed := set(ids) - closed:
        raise OwnershipLost(missed, f"{named(missed)} of {len(ids)} runs to clean up are not driven by master {master}")


async def finish(connection: FencedTransaction, ends: Sequence[InstanceEnd], master: Epoch) -> list[WorkflowInstanceId]:
    """Write the ends of own runs; returns those that others wait for (`dao/runs/after_end.py`).

    Raises `OwnershipLost`.
    """
    await changed(connection, Changes(runs={end.id for end in ends}))
    ended, awaited, has_rules = (await connection.execute(_FINISH, {**_ENDS.values(ends), "master": master})).one()
    if missed := {end.id for end in ends} - set(ended or ()):
        raise OwnershipLost(missed, f"{named(missed)} of {len(ends)} runs to finish are not driven by master {master}")
    if has_rules:
        await note_ends(connection, ended)
    return [WorkflowInstanceId(id_) for id_ in awaited or ()]


async def ran_s(
    connection: AsyncConnection, ids: Sequence[WorkflowInstanceId], master: Epoch
) -> dict[WorkflowInstanceId, float]:
    """How many seconds each of these has run, by the database's clock; only unfinished runs of this master."""
    return {each.id: each.ran_s for each in await read_owned(connection, ids, master)}


@statement("""
    UPDATE workflow_instance SET takeovers = 0
    WHERE id = ANY(CAST(:ids AS bigint[])) AND master_id = :master AND takeovers > 0
""")
async def reset_takeovers(connection: FencedTransaction, ids: Sequence[WorkflowInstanceId], master: Epoch) -> None:
    """Reset the takeovers of own runs that have made progress since: these runs do not kill masters."""


# A run in a serial line has no owner, whatever its row says: a command starts it when its turn has come.
@statement("""
    SELECT id FROM workflow_instance
    WHERE master_id = :master AND ended_at IS NULL AND coalesce(state <> 'SERIAL_WAIT', false)
""")
async def owned(connection: AsyncConnection, master: Epoch) -> set[WorkflowInstanceId]:
    """All unfinished runs of a master."""


@statement("""
    SELECT id FROM workflow_instance
    WHERE id = ANY(CAST(:ids AS bigint[])) AND master_id = :master AND ended_at IS NULL
      AND coalesce(state <> 'SERIAL_WAIT', false)
""")
async def still_owned(
    connection: AsyncConnection, ids: Sequence[WorkflowInstanceId], master: Epoch
) -> list[WorkflowInstanceId]:
    """Those of `ids` that are unfinished runs of this master, whether or not their rows can be parsed."""


# FAILOVER is written for a master that is gone. For a master that lives it was written by hand.
@changing(lambda ids: Changes(runs=set(ids)))
@statement("""
    UPDATE workflow_instance SET state = coalesce(requested_state, 'RUNNING_EXECUTION')
    WHERE id = ANY(CAST(:ids AS bigint[])) AND master_id = :master AND ended_at IS NULL
      AND coalesce(state = 'FAILOVER', false)
""")
async def take_back(connection: FencedTransaction, ids: Sequence[WorkflowInstanceId], master: Epoch) -> None:
    """Resume own runs that were set to FAILOVER by hand, in the requested state if there is one."""


@made_by(read_instance)
@statement("""
    SELECT id, workflow_code, workflow_version, failure_strategy, priority::text, worker_group, params, state,
           requested_state, startup_names,
           least(greatest(schedule_time, '0100-01-01 00:00Z'), '9900-01-01 00:00Z') AS schedule_time, time_zone,
           interval_start, interval_end, dry_run, environment, coalesce(executing, scope) AS scope, depth,
           parent_instance_id, parent_task_code, parent_attempt, child_index,
           CASE WHEN isfinite(coalesce(running_since, started_at))
                THEN greatest(0, extract(epoch FROM clock_timestamp() - coalesce(running_since, started_at)))
                ELSE 0 END::float8 AS ran_s, ending_as, ending_reason
    FROM workflow_instance
    WHERE id = ANY(CAST(:ids AS bigint[])) AND master_id = :master AND ended_at IS NULL
      AND coalesce(state <> 'SERIAL_WAIT', false)
""")
async def read_owned(
    connection: AsyncConnection, ids: Sequence[WorkflowInstanceId], master: Epoch
) -> list[WorkflowInstance]:
    """Those of `ids` that are unfinished runs of this master."""


def named(ids: Collection[int]) -> str:
    """Up to five ids, for a message."""
    return ", ".join(map(str, sorted(ids)[:5])) + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")
