"""`workflow_instance`: the runs, each written by its owner alone.

Every write names the owner and counts its rows. Fewer rows than expected means that memory and rows differ, or that a
row was changed by hand: `OwnershipLost` names the runs that were missed, and only those are read again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection

from dao.cluster.lost_owners import DRIVEN_OR_FAILED_OVER, GONE_MASTERS
from dao.postgres.database import FencedTransaction
from dao.postgres.errors import BadData
from dao.runs.code_lists import read_codes
from model.choices import ExecutionType, FailureStrategy, Priority, WarningType
from model.ids import CommandId, Epoch, ScheduleId, TaskCode, WorkflowCode, WorkflowInstanceId
from model.instances import Parent, WorkflowInstance
from model.states import WorkflowState

TAKEOVERS_MAX = 3
"""A run ends as FAILURE after this many owners were fenced, each soon after it began to drive the run: the run may be
what kills them."""
SOON_MIN, SOON_MAX, SOON_PART = timedelta(minutes=2), timedelta(minutes=20), 20
"""Soon: within a `SOON_PART`-th of the run's age, but within these bounds. An older run may kill more slowly, and may
lose more masters for other reasons."""


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
    `state` is RUNNING_EXECUTION, SERIAL_WAIT, or for a run that does not start a final state with its `reason`.
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


@dataclass(frozen=True, slots=True)
class InstanceEnd:
    """How a run ended; `reason` is empty for a success; `outputs` is JSON text or None."""

    id: WorkflowInstanceId
    state: WorkflowState
    reason: str
    outputs: str | None = None


# A run that is not driven has no owner, so there is no failover for it.
_NEW = """
    INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                   priority, worker_group, params, ended_at, reason, command_type, execution_type,
                                   startup_names, schedule_time, time_zone, schedule_id, dry_run, environment,
                                   warning_type, alert_group, scope, backfill, depth, parent_instance_id,
                                   parent_task_code, parent_attempt, child_index)
    SELECT n.command_id, n.code, n.version, n.state, CASE WHEN n.state = 'RUNNING_EXECUTION' THEN :master ELSE 0 END,
           n.failure_strategy, n.priority::priority_level, n.worker_group, n.params,
           CASE WHEN n.state IN ('PAUSE', 'STOP') THEN clock_timestamp() END, nullif(n.reason, ''), n.command_type,
           n.execution_type, n.startup_names, coalesce(n.schedule_time, clock_timestamp()), n.time_zone, n.schedule_id,
           n.dry_run, n.environment, n.warning_type, n.alert_group, n.scope, n.backfill, n.depth, n.parent_instance,
           n.parent_code, n.parent_attempt, n.child_index
    FROM unnest(CAST(:command_ids AS bigint[]), CAST(:codes AS bigint[]), CAST(:versions AS integer[]),
                CAST(:states AS text[]), CAST(:failure_strategies AS text[]), CAST(:priorities AS text[]),
                CAST(:worker_groups AS text[]), CAST(:params AS text[]), CAST(:reasons AS text[]),
                CAST(:command_types AS text[]), CAST(:execution_types AS text[]), CAST(:startup_names AS text[]),
                CAST(:schedule_times AS timestamptz[]), CAST(:time_zones AS text[]), CAST(:schedule_ids AS bigint[]),
                CAST(:dry_runs AS boolean[]), CAST(:environments AS text[]), CAST(:warning_types AS text[]),
                CAST(:alert_groups AS text[]), CAST(:scopes AS text[]), CAST(:backfills AS text[]),
                CAST(:depths AS smallint[]), CAST(:parent_instances AS bigint[]), CAST(:parent_codes AS integer[]),
                CAST(:parent_attempts AS smallint[]), CAST(:child_indexes AS integer[]))
         AS n (command_id, code, version, state, failure_strategy, priority, worker_group, params, reason,
               command_type, execution_type, startup_names, schedule_time, time_zone, schedule_id, dry_run,
               environment, warning_type, alert_group, scope, backfill, depth, parent_instance, parent_code,
               parent_attempt, child_index)
"""
_INSERT = text(f"{_NEW} RETURNING id, command_id, schedule_time")
# An existing run is not created again: a second START of one child, or a second fire of one time of a schedule.
_INSERT_ONCE = text(f"{_NEW} ON CONFLICT DO NOTHING RETURNING id, command_id, schedule_time")
_ENTER = text("""
    UPDATE workflow_instance i SET state = e.state
    FROM unnest(CAST(:ids AS bigint[]), CAST(:states AS text[])) AS e (id, state)
    WHERE i.id = e.id
      AND coalesce(i.master_id = :master AND i.state IN ('RUNNING_EXECUTION', 'READY_PAUSE'), false)
    RETURNING i.id
""")
# Checks the state, not `ended_at`: see `dao.tasks.task_instances`, queue.
_FINISH = text("""
    WITH ended AS (
        UPDATE workflow_instance i
        SET state = f.state, reason = nullif(f.reason, ''), ended_at = clock_timestamp(), outputs = f.outputs,
            requested_state = NULL
        FROM unnest(CAST(:ids AS bigint[]), CAST(:states AS text[]), CAST(:reasons AS text[]),
                    CAST(:outputs AS text[])) AS f (id, state, reason, outputs)
        WHERE i.id = f.id
          AND coalesce(i.master_id = :master AND i.state IN ('RUNNING_EXECUTION', 'READY_PAUSE', 'READY_STOP'), false)
        RETURNING i.id, i.parent_instance_id IS NOT NULL OR i.execution_type <> 'PARALLEL' OR i.backfill IS NOT NULL
                  AS is_awaited
    )
    SELECT array_agg(id) AS ended, array_agg(id) FILTER (WHERE is_awaited) AS awaited FROM ended
""")
INSTANCE_COLUMNS = """id, workflow_code, workflow_version, failure_strategy, priority::text, worker_group, params,
              state, requested_state, startup_names,
              -- Within what Python has years for: one row must not fail the fetch of all.
              least(greatest(schedule_time, '0100-01-01 00:00Z'), '9900-01-01 00:00Z') AS schedule_time,
              time_zone, dry_run, environment,
              coalesce(executing, scope) AS scope, depth, parent_instance_id, parent_task_code, parent_attempt,
              child_index, CASE WHEN isfinite(coalesce(running_since, started_at))
                                THEN extract(epoch FROM clock_timestamp() - coalesce(running_since, started_at))
                                ELSE 0 END::float8 AS ran_s"""
# A time written by hand may be infinite, and has no age.
_SOON = f"""
    least(interval '{SOON_MAX.total_seconds()} s', greatest(interval '{SOON_MIN.total_seconds()} s',
          CASE WHEN isfinite(i.started_at) THEN (clock_timestamp() - i.started_at) / {SOON_PART} END))
"""
# `takeovers` counts owners that were fenced, not those that left: a rolling restart must not fail a long run. An owner
# that had driven the run for long did not die of it, so the count starts again. The time of its last beat counts, not
# the time of the fence: it may take hours until a master is restarted and fences the old one.
_CLAIM_FAILOVER = text(f"""
    UPDATE workflow_instance i
    SET master_id = :master,
        state = CASE WHEN i.state = 'READY_STOP' THEN i.state  -- a stop is not overruled by a pause
                     WHEN i.requested_state IS NOT NULL THEN i.requested_state
                     WHEN i.state = 'FAILOVER' THEN 'RUNNING_EXECUTION' ELSE i.state END,
        takeovers = CASE WHEN node_state IS DISTINCT FROM 'FENCED' THEN i.takeovers
                         WHEN last_seen > coalesce(i.owned_since, i.started_at) + {_SOON} THEN 1
                         ELSE least(i.takeovers, {TAKEOVERS_MAX}) + 1 END,
        owned_since = clock_timestamp()
    FROM (SELECT id AS locked_id FROM workflow_instance WHERE id = ANY(CAST(:ids AS bigint[])) ORDER BY id FOR UPDATE)
         AS locked,
         (SELECT DISTINCT w.master_id AS owner_id, n.state AS node_state,
                 coalesce(b.beaten_at, n.ended_at) AS last_seen
          FROM workflow_instance w LEFT JOIN node n ON n.id = w.master_id AND n.kind = 'MASTER'
          LEFT JOIN node_beat b ON b.node_id = n.id
          WHERE w.id = ANY(CAST(:ids AS bigint[]))) AS owners
    WHERE i.id = locked_id
      AND coalesce(owner_id = i.master_id AND coalesce(node_state, 'LEFT') IN ('FENCED', 'LEFT')
                   AND i.state IN {DRIVEN_OR_FAILED_OVER}, false)
    RETURNING {INSTANCE_COLUMNS}, takeovers
""")  # noqa: S608 - the columns are a constant of this module
_SETTLE = text("""
    UPDATE workflow_instance SET takeovers = 0
    WHERE id = ANY(CAST(:ids AS bigint[])) AND master_id = :master AND takeovers > 0
""")
# A run in a serial line has no owner, whatever its row says: a command starts it when its turn has come.
_OWNED = text("""
    SELECT id FROM workflow_instance
    WHERE master_id = :master AND ended_at IS NULL AND coalesce(state <> 'SERIAL_WAIT', false)
""")
_OWN = "id = ANY(CAST(:ids AS bigint[])) AND master_id = :master AND ended_at IS NULL"
_READ_OWNED = text(f"""
    SELECT {INSTANCE_COLUMNS} FROM workflow_instance
    WHERE {_OWN} AND coalesce(state <> 'SERIAL_WAIT', false)
""")  # noqa: S608 - the parts are constants of this module
_STILL_OWNED = text(f"SELECT id FROM workflow_instance WHERE {_OWN} AND coalesce(state <> 'SERIAL_WAIT', false)")  # noqa: S608
# FAILOVER is written for a master that is gone. For a master that lives it was written by hand.
_TAKE_BACK = text(f"""
    UPDATE workflow_instance SET state = coalesce(requested_state, 'RUNNING_EXECUTION')
    WHERE {_OWN} AND coalesce(state = 'FAILOVER', false)
""")  # noqa: S608 - the condition is a constant of this module
# Level-triggered: any caller finds all runs of owners that are gone or never existed. Runs with an open RECOVER command
# are left out, so a second execution finds only the rest; a unique index protects against two at once.
_LEFT_BEHIND = f"""
        SELECT i.id, i.workflow_code, i.priority
        FROM gone_master g
        JOIN workflow_instance i ON i.master_id = g.id AND i.ended_at IS NULL     -- index: workflow_instance_unfinished
        WHERE i.state IN {DRIVEN_OR_FAILED_OVER} AND i.id <> ALL(CAST(:aside AS bigint[]))
          AND (CAST(:only AS bigint) IS NULL OR i.id = CAST(:only AS bigint))
          AND NOT EXISTS (SELECT FROM command c                                   -- index: command_one_recover
                          WHERE c.type = 'RECOVER_TOLERANCE_FAULT_PROCESS' AND c.workflow_instance_id = i.id)
        LIMIT :limit FOR UPDATE OF i SKIP LOCKED   -- ORDER BY could make it walk all history by primary key
"""  # noqa: S608 - the states are a constant
_FIND_LEFT_BEHIND = text(f"WITH RECURSIVE {GONE_MASTERS}, left_behind AS ({_LEFT_BEHIND}) SELECT id FROM left_behind")  # noqa: S608
_FAIL_OVER = text(f"""
    WITH RECURSIVE {GONE_MASTERS}, left_behind AS ({_LEFT_BEHIND}
    ), handed AS (
        UPDATE workflow_instance i   -- a halt is kept, even one that somebody wrote into the state alone
        SET state = 'FAILOVER', requested_state = CASE WHEN i.state IN ('READY_PAUSE', 'READY_STOP')
                                                            AND i.requested_state IS DISTINCT FROM 'READY_STOP'
                                                       THEN i.state ELSE i.requested_state END
        FROM left_behind l WHERE i.id = l.id RETURNING i.id
    ), asked AS (
        INSERT INTO command (type, workflow_code, workflow_instance_id, priority, created_by)
        SELECT 'RECOVER_TOLERANCE_FAULT_PROCESS', l.workflow_code, l.id, l.priority::text, 'failover'
        FROM left_behind l JOIN handed h ON h.id = l.id ORDER BY l.id
        ON CONFLICT (workflow_instance_id) WHERE type = 'RECOVER_TOLERANCE_FAULT_PROCESS' DO NOTHING
    )
    SELECT count(*) FROM handed
""")  # noqa: S608 - the parts are constants
_FIND_ONE = text("SELECT state, ended_at IS NOT NULL AS ended, master_id FROM workflow_instance WHERE id = :id")


async def insert(
    connection: FencedTransaction, new: Sequence[NewInstance], master: Epoch
) -> dict[CommandId, tuple[WorkflowInstanceId, datetime]]:
    """Create the runs, owned by `master` if they run; id and schedule time by the command that requested them.

    A command missing in the result has its run already, as another's child or fire.
    """
    may_be_there = any(each.parent is not None or each.schedule_id is not None for each in new)
    rows = await connection.execute(
        _INSERT_ONCE if may_be_there else _INSERT,
        {
            "master": master,
            "command_ids": [each.command_id for each in new],
            "codes": [each.workflow_code for each in new],
            "versions": [each.workflow_version for each in new],
            "states": [each.state for each in new],
            "failure_strategies": [each.failure_strategy for each in new],
            "priorities": [each.priority for each in new],
            "worker_groups": [each.worker_group for each in new],
            "params": [each.params for each in new],
            "reasons": [each.reason for each in new],
            "command_types": [each.command_type for each in new],
            "execution_types": [each.execution_type for each in new],
            "startup_names": [each.startup_names for each in new],
            "schedule_times": [each.schedule_time for each in new],
            "time_zones": [each.time_zone for each in new],
            "schedule_ids": [each.schedule_id for each in new],
            "dry_runs": [each.dry_run for each in new],
            "environments": [each.environment for each in new],
            "warning_types": [each.warning_type for each in new],
            "alert_groups": [each.alert_group for each in new],
            "scopes": [each.scope for each in new],
            "backfills": [each.backfill for each in new],
            "depths": [each.depth for each in new],
            "parent_instances": [each.parent.instance if each.parent else None for each in new],
            "parent_codes": [each.parent.code if each.parent else None for each in new],
            "parent_attempts": [each.parent.attempt if each.parent else None for each in new],
            "child_indexes": [each.parent.index if each.parent else None for each in new],
        },
    )
    return {
        CommandId(command_id): (WorkflowInstanceId(id_), schedule_time) for id_, command_id, schedule_time in rows.all()
    }


async def enter(
    connection: FencedTransaction, states: Mapping[WorkflowInstanceId, WorkflowState], master: Epoch
) -> None:
    """Set own runs to a halted state. Raises `OwnershipLost`."""
    values = {"ids": list(states), "states": list(states.values()), "master": master}
    entered = {id_ for (id_,) in (await connection.execute(_ENTER, values)).all()}
    if missed := states.keys() - entered:
        raise OwnershipLost(missed, f"{named(missed)} of {len(states)} runs to halt are not driven by master {master}")


async def finish(connection: FencedTransaction, ends: Sequence[InstanceEnd], master: Epoch) -> list[WorkflowInstanceId]:
    """Write the ends of own runs; returns those that others wait for (`dao/runs/completion.py`).

    Raises `OwnershipLost`.
    """
    ended, awaited = (
        await connection.execute(
            _FINISH,
            {
                "master": master,
                "ids": [end.id for end in ends],
                "states": [end.state for end in ends],
                "reasons": [end.reason for end in ends],
                "outputs": [end.outputs for end in ends],
            },
        )
    ).one()
    if missed := {end.id for end in ends} - set(ended or ()):
        raise OwnershipLost(missed, f"{named(missed)} of {len(ends)} runs to finish are not driven by master {master}")
    return [WorkflowInstanceId(id_) for id_ in awaited or ()]


async def claim_failover(
    connection: FencedTransaction, ids: Sequence[WorkflowInstanceId], master: Epoch
) -> dict[WorkflowInstanceId, tuple[WorkflowInstance, int]]:
    """Take ownership of unfinished runs whose masters are gone; returns each with its number of takeovers."""
    rows = (await connection.execute(_CLAIM_FAILOVER, {"master": master, "ids": list(ids)})).all()
    return {WorkflowInstanceId(row.id): (read_instance(row), row.takeovers) for row in rows}


async def ran_s(
    connection: AsyncConnection, ids: Sequence[WorkflowInstanceId], master: Epoch
) -> dict[WorkflowInstanceId, float]:
    """How many seconds each of these has run, by the database's clock; only unfinished runs of this master."""
    return {each.id: each.ran_s for each in await read_owned(connection, ids, master)}


async def settle(connection: FencedTransaction, ids: Sequence[WorkflowInstanceId], master: Epoch) -> None:
    """Reset the takeovers of own runs that have made progress since: these runs do not kill masters."""
    await connection.execute(_SETTLE, {"ids": list(ids), "master": master})


async def owned(connection: AsyncConnection, master: Epoch) -> set[WorkflowInstanceId]:
    """All unfinished runs of a master."""
    return {WorkflowInstanceId(id_) for (id_,) in (await connection.execute(_OWNED, {"master": master})).all()}


async def still_owned(
    connection: AsyncConnection, ids: Sequence[WorkflowInstanceId], master: Epoch
) -> list[WorkflowInstanceId]:
    """Those of `ids` that are unfinished runs of this master, whether or not their rows can be parsed."""
    rows = await connection.execute(_STILL_OWNED, {"ids": list(ids), "master": master})
    return [WorkflowInstanceId(id_) for (id_,) in rows.all()]


async def take_back(connection: FencedTransaction, ids: Sequence[WorkflowInstanceId], master: Epoch) -> None:
    """Resume own runs that were set to FAILOVER by hand, in the requested state if there is one."""
    await connection.execute(_TAKE_BACK, {"ids": list(ids), "master": master})


async def read_owned(
    connection: AsyncConnection, ids: Sequence[WorkflowInstanceId], master: Epoch
) -> list[WorkflowInstance]:
    """Those of `ids` that are unfinished runs of this master."""
    rows = (await connection.execute(_READ_OWNED, {"ids": list(ids), "master": master})).all()
    return [read_instance(row) for row in rows]


async def fail_over(
    connection: AsyncConnection,
    limit: int,
    *,
    aside: Sequence[WorkflowInstanceId] = (),
    only: WorkflowInstanceId | None = None,
) -> int:
    """Request the failover of up to `limit` runs whose masters are gone, by RECOVER commands. Returns how many.

    Without the runs in `aside`, or only the run `only`.
    """
    values = {"limit": limit, "aside": list(aside), "only": only}
    return int((await connection.execute(_FAIL_OVER, values)).scalar_one())


async def left_behind(
    connection: AsyncConnection, limit: int, aside: Sequence[WorkflowInstanceId] = ()
) -> list[WorkflowInstanceId]:
    """The runs for which `fail_over` would request a failover."""
    values = {"limit": limit, "aside": list(aside), "only": None}
    return [WorkflowInstanceId(id_) for (id_,) in (await connection.execute(_FIND_LEFT_BEHIND, values)).all()]


async def why_not_recovered(connection: AsyncConnection, id_: WorkflowInstanceId) -> str:
    """A message that says why a run could not be failed over."""
    row = (await connection.execute(_FIND_ONE, {"id": id_})).first()
    if row is None:
        return f"there is no workflow instance {id_}"
    if row.ended:
        return f"workflow instance {id_} has already ended as {row.state}; there is nothing to fail over"
    if row.state == WorkflowState.SERIAL_WAIT:
        return f"workflow instance {id_} waits for its turn, and no master drives it; there is nothing to fail over"
    return f"workflow instance {id_} belongs to master {row.master_id}, which lives; it is not taken away"


def named(ids: Collection[int]) -> str:
    """Up to five ids, for a message."""
    return ", ".join(map(str, sorted(ids)[:5])) + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")


def read_instance(row: Row[Any]) -> WorkflowInstance:
    """A run from a row with the columns of `INSTANCE_COLUMNS`."""
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
    )
