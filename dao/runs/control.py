"""`workflow_instance` as commands change it: halts, and resumes from a final state.

The handler of a command locks the row first and then checks its state, so that the second of two commands for one run
sees what the first did. A run that is driven gets only a request: its owner changes the state.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from dao.postgres.database import FencedTransaction
from dao.postgres.notify import EVENT, changed
from dao.postgres.pool import AsyncConnection
from dao.postgres.row_arrays import RowArrays
from dao.postgres.rows import Row
from dao.postgres.sql import Sql
from dao.postgres.statements import changing, made_by, notifying, statement
from dao.runs.code_lists import Unreadable, read_codes
from dao.runs.workflow_instances import read_instance
from model.changes import Changes
from model.choices import ExecutionType, FailureStrategy, Priority
from model.ids import CommandId, Epoch, TaskCode, WorkflowCode, WorkflowInstanceId
from model.runs.instances import Parent, WorkflowInstance
from model.runs.serial_lines import Line
from model.runs.states import WorkflowState

NO_COMMAND = CommandId(0)


@dataclass(frozen=True, slots=True)
class Locked:
    """A run whose row this transaction locks. `state` already includes what was requested of its owner; `scope` limits
    it to some tasks, None does not; `above` is its parent run; `command` asked for it. `resumes`: the tasks whose
    children were to go on when its turn comes, which had not come when it was last let go on. `ending_as` is of one
    that cleans up, or did when it was paused; `ending_after` was the newest command when it began to."""

    id: WorkflowInstanceId
    workflow_code: WorkflowCode
    workflow_version: int
    state: WorkflowState
    execution_type: ExecutionType
    scope: frozenset[TaskCode] | None
    above: WorkflowInstanceId | None = None
    serial_key: str = ""
    command: CommandId = NO_COMMAND
    resumes: frozenset[TaskCode] = frozenset()
    ending_as: WorkflowState | None = None
    ending_after: CommandId = NO_COMMAND

    @property
    def line(self) -> Line:
        """Where it waits or runs, if its workflow is serial."""
        return Line(self.workflow_code, self.serial_key)


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A run that has not ended. `state` includes what was requested of its owner."""

    id: WorkflowInstanceId
    workflow: str
    state: WorkflowState


@dataclass(frozen=True, slots=True)
class Revival:
    """How a run leaves its final state. `executing` limits it to some tasks, None does not; with `keeps_executing` the
    limit stays unchanged. With `keeps_ending` one that was paused while it cleaned up goes on with that. `waits`: for
    its turn in its line; nobody owns it until then. `resumes` are the tasks whose children go on then."""

    id: WorkflowInstanceId
    repeats: bool = False
    executing: frozenset[TaskCode] | None = None
    keeps_executing: bool = False
    parent: Parent | None = None
    waits: bool = False
    resumes: frozenset[TaskCode] = frozenset()
    keeps_ending: bool = False


@dataclass(frozen=True, slots=True)
class VersionChange:
    """What another version of its workflow changes in the row of a run that goes on with it."""

    id: WorkflowInstanceId
    version: int
    params: str
    worker_group: str
    environment: str | None
    priority: Priority
    failure_strategy: FailureStrategy


_LOCK = Sql("""
    SELECT id, workflow_code, workflow_version, coalesce(requested_state, state) AS state, execution_type,
           coalesce(executing, scope) AS scope, ended_at IS NOT NULL AS has_ended, parent_instance_id,
           serial_key, command_id, ARRAY(SELECT unnest(resumes)) AS resumes, ending_as,
           ending_after
    FROM workflow_instance WHERE id = ANY(CAST(:ids AS bigint[])) ORDER BY id FOR UPDATE
""")
_REVIVE = Sql("""
    UPDATE workflow_instance i
    SET state = CASE WHEN r.waits THEN 'SERIAL_WAIT' ELSE 'RUNNING_EXECUTION' END,
        master_id = CASE WHEN r.waits THEN 0 ELSE CAST(:master AS bigint) END,
        ended_at = NULL, reason = NULL, requested_state = NULL,
        ended_before = CASE WHEN i.state IN ('SUCCESS', 'FAILURE') THEN i.ended_at ELSE i.ended_before END,
        succeeded_before = CASE WHEN i.state = 'SUCCESS' AND i.executing IS NULL THEN i.ended_at
                                ELSE i.succeeded_before END,
        takeovers = 0, owned_since = clock_timestamp(), running_since = clock_timestamp(), outputs = NULL,
        run_times = i.run_times + CASE WHEN r.repeats THEN 1 ELSE 0 END,
        executing = CASE WHEN r.keeps_executing THEN i.executing ELSE r.new_executing END,
        parent_attempt = coalesce(r.new_attempt, i.parent_attempt),
        resumes = CAST(r.new_resumes AS bigint[]),
        ending_as = CASE WHEN r.keeps_ending THEN i.ending_as END,
        ending_reason = CASE WHEN r.keeps_ending THEN i.ending_reason END
    FROM unnest(CAST(:id AS bigint[]), CAST(:repeats AS boolean[]), CAST(:executing AS text[]),
                CAST(:keeps_executing AS boolean[]), CAST(:attempt AS smallint[]), CAST(:waits AS boolean[]),
                CAST(:resumes AS text[]), CAST(:keeps_ending AS boolean[]))
         AS r (revived_id, repeats, new_executing, keeps_executing, new_attempt, waits, new_resumes, keeps_ending)
    WHERE i.id = r.revived_id
    RETURNING id, workflow_code, workflow_version, failure_strategy, priority::text, worker_group, params, state,
              requested_state, startup_names,
              least(greatest(schedule_time, '0100-01-01 00:00Z'), '9900-01-01 00:00Z') AS schedule_time, time_zone,
              interval_start, interval_end, dry_run, environment, coalesce(executing, scope) AS scope, depth,
              parent_instance_id, parent_task_code, parent_attempt, child_index,
              CASE WHEN isfinite(coalesce(running_since, started_at))
                   THEN greatest(0, extract(epoch FROM clock_timestamp() - coalesce(running_since, started_at)))
                   ELSE 0 END::float8 AS ran_s, ending_as, ending_reason
""")


def _array(codes: Collection[TaskCode]) -> str:
    """A bigint[] as PostgreSQL reads it from a text: a parameter of arrays of several lengths does not exist."""
    return "{" + ",".join(str(code) for code in sorted(codes)) + "}"


_REVIVALS = RowArrays(
    _REVIVE,
    {
        "executing": lambda each: None if each.executing is None else json.dumps(sorted(each.executing)),
        "attempt": lambda each: each.parent and each.parent.attempt,
        "resumes": lambda each: _array(each.resumes) if each.waits else None,
    },
)


async def lock(connection: AsyncConnection, ids: Collection[WorkflowInstanceId]) -> dict[WorkflowInstanceId, Locked]:
    """Lock the rows of these runs until the transaction ends; those that do not exist are missing."""
    rows = (await connection.execute(_LOCK, {"ids": sorted(set(ids))})).all()
    return {
        WorkflowInstanceId(row.id): Locked(
            WorkflowInstanceId(row.id),
            WorkflowCode(row.workflow_code),
            row.workflow_version,
            WorkflowState(row.state),
            ExecutionType(row.execution_type),
            _scope(row),
            None if row.parent_instance_id is None else WorkflowInstanceId(row.parent_instance_id),
            row.serial_key,
            CommandId(row.command_id),
            frozenset(TaskCode(code) for code in row.resumes or () if code is not None),
            None if row.ending_as is None else WorkflowState(row.ending_as),
            CommandId(row.ending_after or 0),
        )
        for row in rows
    }


def _scope(row: Row) -> frozenset[TaskCode] | None:
    """Raises `Unreadable` for a run that has ended. One that has not is halted, or called to its turn, without it."""
    try:
        return read_codes(row.scope, f"the scope of workflow instance {row.id}")
    except Unreadable:
        if row.has_ended:
            raise
        return None


@statement("""
    SELECT DISTINCT workflow_code, serial_key FROM workflow_instance
    WHERE id = ANY(CAST(:ids AS bigint[])) AND execution_type <> 'PARALLEL'
""")
async def serial_lines(connection: AsyncConnection, ids: Collection[WorkflowInstanceId]) -> set[Line]:
    """The lines of those of these runs whose workflows are not PARALLEL."""


@statement("""
    SELECT i.id, coalesce(d.name, i.workflow_code::text), coalesce(i.requested_state, i.state)
    FROM workflow_instance i LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    WHERE i.ended_at IS NULL ORDER BY i.id                                    -- index: workflow_instance_unfinished
""")
async def unfinished(connection: AsyncConnection) -> list[Unfinished]:
    """All runs that have not ended, by id."""


@notifying(EVENT, named=True)
@changing(lambda states: Changes(runs=set(states)))
@statement("""
    WITH asked AS (
        UPDATE workflow_instance i SET requested_state = a.state
        FROM unnest(CAST(:states AS bigint[]), CAST(:states.values AS text[])) AS a (id, state) WHERE i.id = a.id
        RETURNING i.id, i.requested_state, i.master_id
    ), reported AS (
        INSERT INTO task_event (workflow_instance_id, task_code, attempt, state)
        SELECT id, 0, 0, requested_state FROM asked
    )
    SELECT DISTINCT master_id FROM asked
""")
async def ask_halt(connection: FencedTransaction, states: Mapping[WorkflowInstanceId, WorkflowState]) -> set[Epoch]:
    """Ask the owners to pause (READY_PAUSE) or stop (READY_STOP) these runs. In the row, so it survives them."""


@changing(lambda ends: Changes(runs=set(ends)))
@statement("""
    UPDATE workflow_instance i
    SET state = e.state, ended_at = clock_timestamp(), reason = e.reason,
        ending_as = CASE WHEN e.state = 'PAUSE' THEN i.ending_as END,
        ending_reason = CASE WHEN e.state = 'PAUSE' THEN i.ending_reason END
    FROM unnest(CAST(:ends AS bigint[]), CAST(:ends.values.0 AS text[]), CAST(:ends.values.1 AS text[]))
         AS e (id, state, reason)
    WHERE i.id = e.id AND coalesce(i.state = 'SERIAL_WAIT', false)
""")
async def end_waiting(
    connection: FencedTransaction, ends: Mapping[WorkflowInstanceId, tuple[WorkflowState, str]]
) -> None:
    """End waiting runs that nobody drives: as PAUSE or STOP, with the reason. Those that wait no longer stay."""


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
    FROM workflow_instance WHERE id = :id_
""")
async def read(connection: AsyncConnection, id_: WorkflowInstanceId) -> WorkflowInstance:
    """A run whose row this transaction locks."""


@statement("""
    UPDATE workflow_instance SET workflow_version = :change.version, params = :change.params,
        worker_group = :change.worker_group,
        environment = :change.environment, priority = CAST(:change.priority AS priority_level),
        failure_strategy = :change.failure_strategy
    WHERE id = :change.id
""")
async def change_version(connection: FencedTransaction, change: VersionChange) -> None:
    """Let a run that has ended, whose row this transaction locks, go on with another version of its workflow."""


async def revive(
    connection: FencedTransaction, revivals: Sequence[Revival], master: Epoch
) -> dict[WorkflowInstanceId, WorkflowInstance]:
    """Resume runs that have ended or wait, owned by this master."""
    rows = (await connection.execute(_REVIVE, {**_REVIVALS.values(revivals), "master": master})).all()
    await changed(connection, Changes(runs={each.id for each in revivals}))
    return {WorkflowInstanceId(row.id): read_instance(row) for row in rows}
