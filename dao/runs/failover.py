"""Runs whose masters are gone: the RECOVER command for each, and the master that takes it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from dao.postgres.database import FencedTransaction
from dao.postgres.notify import changed
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import changing, made_by, statement
from dao.runs.workflow_instances import read_instance
from model.changes import Changes
from model.ids import Epoch, WorkflowInstanceId
from model.runs.instances import WorkflowInstance
from model.runs.states import WorkflowState

TAKEOVERS_MAX = 3
"""A run ends as FAILURE after this many owners were fenced, each soon after it began to drive the run: the run may be
what kills them."""
SOON_MIN, SOON_MAX, SOON_PART = timedelta(minutes=2), timedelta(minutes=20), 20
"""Soon: within a `SOON_PART`-th of the run's age, but within these bounds. An older run may kill more slowly, and may
lose more masters for other reasons. `_CLAIM_FAILOVER` has these numbers too."""
_FAIL_OVER = Sql("""
    WITH left_behind AS (   -- as above
        SELECT i.id, i.workflow_code, i.priority
        FROM gone_masters() AS g
        JOIN workflow_instance i ON i.master_id = g.id AND i.ended_at IS NULL     -- index: workflow_instance_unfinished
        WHERE i.state IN ('RUNNING_EXECUTION', 'READY_PAUSE', 'READY_STOP', 'FAILOVER')
          AND i.id <> ALL(CAST(:without AS bigint[]))
          AND (CAST(:only AS bigint) IS NULL OR i.id = CAST(:only AS bigint))
          AND NOT EXISTS (SELECT FROM command c                                   -- index: command_one_recover
                          WHERE c.type = 'RECOVER_TOLERANCE_FAULT_PROCESS' AND c.workflow_instance_id = i.id)
        LIMIT :limit FOR UPDATE OF i SKIP LOCKED   -- ORDER BY could make it walk all history by primary key
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
    SELECT id FROM handed
""")
_FIND_ONE = Sql("SELECT state, ended_at IS NOT NULL AS ended, master_id FROM workflow_instance WHERE id = :id")


# `takeovers` counts owners that were fenced, not those that left: a rolling restart must not fail a long run. An owner
# that had driven the run for long did not die of it, so the count starts again. The time of its last beat counts, not
# the time of the fence: it may take hours until a master is restarted and fences the old one. A time written by hand
# may be infinite, and has no age.
@changing(lambda ids: Changes(runs=set(ids)))
@made_by(lambda row: (read_instance(row), row.takeovers))
@statement("""
    UPDATE workflow_instance i
    SET master_id = :master,
        state = CASE WHEN i.state = 'READY_STOP' THEN i.state  -- a stop is not overruled by a pause
                     WHEN i.requested_state IS NOT NULL THEN i.requested_state
                     WHEN i.state = 'FAILOVER' THEN 'RUNNING_EXECUTION' ELSE i.state END,
        takeovers = CASE WHEN node_state IS DISTINCT FROM 'FENCED' THEN i.takeovers
                         WHEN last_seen > coalesce(i.owned_since, i.started_at)
                              + least(interval '1200.0 s', greatest(interval '120.0 s',
                                      CASE WHEN isfinite(i.started_at)
                                           THEN (clock_timestamp() - i.started_at) / 20 END))
                              THEN 1
                         ELSE least(i.takeovers, 3) + 1 END,   -- TAKEOVERS_MAX
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
                   AND i.state IN ('RUNNING_EXECUTION', 'READY_PAUSE', 'READY_STOP', 'FAILOVER'), false)
    RETURNING id, workflow_code, workflow_version, failure_strategy, priority::text, worker_group, params, state,
              requested_state, startup_names,
              least(greatest(schedule_time, '0100-01-01 00:00Z'), '9900-01-01 00:00Z') AS schedule_time, time_zone,
              interval_start, interval_end, dry_run, environment, coalesce(executing, scope) AS scope, depth,
              parent_instance_id, parent_task_code, parent_attempt, child_index,
              CASE WHEN isfinite(coalesce(running_since, started_at))
                   THEN greatest(0, extract(epoch FROM clock_timestamp() - coalesce(running_since, started_at)))
                   ELSE 0 END::float8 AS ran_s,
              ending_as, ending_reason, takeovers
""")
async def claim_failover(
    connection: FencedTransaction, ids: Sequence[WorkflowInstanceId], master: Epoch
) -> dict[WorkflowInstanceId, tuple[WorkflowInstance, int]]:
    """Take ownership of unfinished runs whose masters are gone; returns each with its number of takeovers."""


async def fail_over(
    connection: AsyncConnection,
    limit: int,
    without: Sequence[WorkflowInstanceId] = (),
    only: WorkflowInstanceId | None = None,
) -> int:
    """Request the failover of up to `limit` runs whose masters are gone, by RECOVER commands. Returns how many.

    Leaves out the runs in `without`; or only the run `only`.
    """
    values = {"limit": limit, "without": list(without), "only": only}
    ids = (await connection.execute(_FAIL_OVER, values)).scalars()
    await changed(connection, Changes(runs=set(ids)))
    return len(ids)


# Level-triggered: any caller finds all runs of owners that are gone or never existed. Runs with an open RECOVER command
# are left out, so a second execution finds only the rest; a unique index protects against two at once.
@statement("""
    WITH left_behind AS (
        SELECT i.id, i.workflow_code, i.priority
        FROM gone_masters() AS g
        JOIN workflow_instance i ON i.master_id = g.id AND i.ended_at IS NULL     -- index: workflow_instance_unfinished
        WHERE i.state IN ('RUNNING_EXECUTION', 'READY_PAUSE', 'READY_STOP', 'FAILOVER')
          AND i.id <> ALL(CAST(:without AS bigint[]))
          AND NOT EXISTS (SELECT FROM command c                                   -- index: command_one_recover
                          WHERE c.type = 'RECOVER_TOLERANCE_FAULT_PROCESS' AND c.workflow_instance_id = i.id)
        LIMIT :limit FOR UPDATE OF i SKIP LOCKED   -- ORDER BY could make it walk all history by primary key
    )
    SELECT id FROM left_behind
""")
async def left_behind(
    connection: AsyncConnection, limit: int, without: Sequence[WorkflowInstanceId] = ()
) -> list[WorkflowInstanceId]:
    """The runs for which `fail_over` would request a failover."""


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
