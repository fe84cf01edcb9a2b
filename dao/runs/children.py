"""Child runs, under a task of another run: started, resumed and halted by commands, like any other run.

The transaction that starts a child locks the row of the parent run, so a concurrent halt of the parent either finds the
child or is seen by its start.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from dao.postgres.database import FencedTransaction
from dao.postgres.notify import EVENT
from dao.postgres.pool import AsyncConnection
from dao.postgres.row_arrays import RowArrays
from dao.postgres.sql import Sql
from dao.postgres.statements import notifying, statement, unless_empty
from model.choices import Priority
from model.ids import Epoch, TaskCode, WorkflowCode, WorkflowInstanceId
from model.runs.instances import ChildState, Parent
from model.runs.states import TaskState, WorkflowState
from model.time.intervals import Interval

SUB_WORKFLOW = "sub-workflow"
"""`created_by` of the commands that a task sends to its children: a name for display, no more."""


@dataclass(frozen=True, slots=True)
class NewChild:
    """A child to start. `workflow` is a name within `project`, or a code; None for `version` is the current one."""

    parent: Parent
    project: str
    workflow: str | int
    version: int | None
    params: Mapping[str, str]
    priority: Priority
    worker_group: str | None
    environment: str | None
    dry_run: bool
    schedule_time: datetime | None
    time_zone: str


@dataclass(frozen=True, slots=True)
class Unmade:
    """A child that was never created: the state that it counts as, and the reason if that is a failure.

    The parent does not learn the reason if the `workflow` is of another project.
    """

    parent: Parent
    state: WorkflowState
    reason: str | None = None
    workflow: WorkflowCode | None = None


@dataclass(frozen=True, slots=True)
class Above:
    """A parent run of a child to be started: its state, and what the child inherits.

    `attempts` are those of its tasks that have children now, `killed` those of them that are to be killed.
    """

    state: WorkflowState
    params: str
    depth: int
    attempts: Mapping[TaskCode, int]
    killed: frozenset[TaskCode] = frozenset()
    interval: Interval | None = None


_ABOVE = Sql("""
    SELECT id, coalesce(requested_state, state) AS state, params, depth, interval_start, interval_end
    FROM workflow_instance
    WHERE id = ANY(CAST(:ids AS bigint[])) ORDER BY id FOR SHARE
""")
_STANDING = Sql("""
    SELECT workflow_instance_id, task_code, attempt, kill_requested FROM task_instance
    WHERE workflow_instance_id = ANY(CAST(:ids AS bigint[])) AND state = 'RUNNING_EXECUTION' AND worker_id IS NULL
""")
# Returns those whose workflow does not exist: no command is inserted for them.
_START = Sql("""
    WITH wanted AS (
        SELECT coalesce(n.code, (SELECT d.code FROM workflow_definition d
                                 WHERE d.project = n.project AND d.name = n.name)) AS found, n.*
        FROM unnest(CAST(:project AS text[]), CAST(:name AS text[]), CAST(:params AS text[]),
                    CAST(:priority AS text[]), CAST(:worker_group AS text[]), CAST(:environment AS text[]),
                    CAST(:code AS bigint[]), CAST(:version AS integer[]), CAST(:dry_run AS boolean[]),
                    CAST(:schedule_time AS timestamptz[]), CAST(:time_zone AS text[]), CAST(:parent AS text[]))
             WITH ORDINALITY
             AS n (project, name, params, priority, worker_group, environment, code, version, dry_run, schedule_time,
                   time_zone, parent, place)
    ), asked AS (
        INSERT INTO command (type, workflow_code, workflow_version, params, priority, worker_group, environment,
                             dry_run, schedule_time, time_zone, parent, created_by, from_above)
        SELECT 'START_PROCESS', found, version, params, priority, worker_group, environment, dry_run, schedule_time,
               time_zone, parent, :asker, true
        FROM wanted WHERE found IS NOT NULL ORDER BY place
    )
    SELECT place - 1 AS place FROM wanted WHERE found IS NULL
""")
_NEW_CHILDREN = RowArrays(
    _START,
    {
        "code": lambda new: new.workflow if isinstance(new.workflow, int) else None,
        "name": lambda new: str(new.workflow),
        "params": lambda new: json.dumps(dict(new.params), ensure_ascii=False),
        "parent": lambda new: str(new.parent),
    },
)
_ASK = Sql("""
    INSERT INTO command (type, workflow_instance_id, created_by, from_above)
    SELECT a.type, a.instance_id, :asker, true
    FROM unnest(CAST(:types AS text[]), CAST(:ids AS bigint[])) AS a (type, instance_id)
""")
# A child that cleans up ends soon by itself: a stop from above, which may be asked twice, does not stop that.
_HALT = Sql("""
    INSERT INTO command (type, workflow_instance_id, created_by, from_above)
    SELECT h.type, c.id, :asker, true
    FROM unnest(CAST(:instances AS bigint[]), CAST(:types AS text[])) AS h (instance_id, type)
    JOIN workflow_instance c ON c.parent_instance_id = h.instance_id               -- index: workflow_instance_child
    WHERE coalesce(c.ended_at IS NULL AND coalesce(c.requested_state, c.state) <> 'READY_STOP'
                   AND NOT (h.type = 'PAUSE' AND coalesce(c.requested_state, c.state) = 'READY_PAUSE')
                   AND NOT (h.type = 'STOP' AND c.ending_as IS NOT NULL), false)
    RETURNING 1
""")
_HOLD = Sql("""
    SELECT FROM workflow_instance WHERE id = ANY(CAST(:ids AS bigint[])) ORDER BY id FOR NO KEY UPDATE
""")
_ANY_RUNS = Sql("""
    SELECT EXISTS (SELECT FROM workflow_instance
                   WHERE parent_instance_id = ANY(CAST(:ids AS bigint[])) AND ended_at IS NULL)
""")
_RESUMES = {
    WorkflowState.FAILURE: "START_FAILURE_TASK_PROCESS",
    WorkflowState.PAUSE: "RECOVER_SUSPENDED_PROCESS",
    WorkflowState.STOP: "RECOVER_SUSPENDED_PROCESS",
}


async def above(connection: AsyncConnection, ids: Collection[WorkflowInstanceId]) -> dict[WorkflowInstanceId, Above]:
    """The runs under which children are to start, locked until the transaction ends."""
    values = {"ids": sorted(set(ids))}
    rows = (await connection.execute(_ABOVE, values)).all()
    attempts: dict[int, dict[TaskCode, int]] = {row.id: {} for row in rows}
    killed: dict[int, set[TaskCode]] = {row.id: set() for row in rows}
    for instance, code, attempt, is_killed in await connection.execute(_STANDING, values):
        if instance in attempts:
            attempts[instance][TaskCode(code)] = attempt
            if is_killed:
                killed[instance].add(TaskCode(code))
    return {
        WorkflowInstanceId(row.id): Above(
            WorkflowState(row.state),
            row.params,
            row.depth,
            attempts[row.id],
            frozenset(killed[row.id]),
            Interval.of(row.interval_start, row.interval_end),
        )
        for row in rows
    }


# A child with an open resume command from its parent counts as running, though no master has taken the command yet. It
# runs again, or the task learns why not (`report_at_rest`). The parent is not notified of commands from others that are
# refused: for those, the state in the child's row counts. A reason may name tasks, parameters and limits, and who sees
# the run above may not see a child of another project: so a reason goes up within a project only, here and below.
@unless_empty
@statement("""
    SELECT parent_instance_id, parent_task_code, parent_attempt, child_index,
           CASE WHEN EXISTS (SELECT FROM command c                                  -- index: command_resume
                             WHERE c.workflow_instance_id = i.id AND c.from_above
                               AND c.type IN ('RECOVER_SUSPENDED_PROCESS', 'START_FAILURE_TASK_PROCESS'))
                THEN 'RUNNING_EXECUTION' ELSE state END AS state,
           CASE WHEN i.state = 'SUCCESS' THEN i.outputs
                WHEN (SELECT project FROM workflow_definition WHERE code = i.workflow_code) IS NOT DISTINCT FROM
                     (SELECT d.project FROM workflow_instance p JOIN workflow_definition d ON d.code = p.workflow_code
                      WHERE p.id = i.parent_instance_id)
                     THEN i.reason END AS outputs
    FROM workflow_instance i
    WHERE parent_instance_id = ANY(CAST(:parents AS bigint[]))                         -- index: workflow_instance_child
""")
async def of(
    connection: AsyncConnection, parents: Collection[WorkflowInstanceId]
) -> dict[WorkflowInstanceId, list[ChildState]]:
    """All children of these runs, whatever their state."""


@statement("""
    SELECT c.parent_instance_id, c.parent_task_code, c.parent_attempt, c.child_index, true, c.id
    FROM unnest(CAST(:parents.instance AS bigint[]), CAST(:parents.code AS bigint[]),
                CAST(:parents.attempt AS smallint[]), CAST(:parents.index AS integer[]))
         AS w (instance_id, code, attempt, child_index)
    JOIN workflow_instance c ON c.parent_instance_id = w.instance_id AND c.parent_task_code = w.code
                            AND c.parent_attempt = w.attempt AND c.child_index = w.child_index
""")
async def existing(connection: AsyncConnection, parents: Sequence[Parent]) -> dict[Parent, WorkflowInstanceId]:
    """Those of these children that were started before."""


async def start(connection: FencedTransaction, new: Sequence[NewChild]) -> None:
    """Request the start of these children. If a workflow does not exist, the parent run is notified at once."""
    missing = await connection.execute(_START, {**_NEW_CHILDREN.values(new), "asker": SUB_WORKFLOW})
    if unknown := [new[place] for (place,) in missing.all()]:
        why = 'there is no workflow "{0.workflow}" in project "{0.project}"; save it, or name another'
        unmade = [Unmade(each.parent, WorkflowState.FAILURE, why.format(each)) for each in unknown]
        await report_unmade(connection, unmade)


# For a child that succeeded only the link changes; the others are resumed, each by the command for its state.
@statement("""
    UPDATE workflow_instance c SET parent_attempt = r.attempt
    FROM unnest(CAST(:links.0.instance AS bigint[]), CAST(:links.0.code AS bigint[]),
                CAST(:links.0.attempt AS smallint[]), CAST(:links.0.index AS integer[]), CAST(:links.1 AS smallint[]))
         AS r (instance_id, code, before, child_index, attempt)
    WHERE c.parent_instance_id = r.instance_id AND c.parent_task_code = r.code AND c.parent_attempt = r.before
      AND c.child_index = r.child_index
    RETURNING c.id, c.state
""")
async def _relink(
    connection: FencedTransaction, links: Sequence[tuple[Parent, int]]
) -> dict[WorkflowInstanceId, WorkflowState]:
    """Returns the states of these children."""


async def resume(connection: FencedTransaction, links: Sequence[tuple[Parent, int]]) -> None:
    """Resume children of one attempt under another: (their current link, the new attempt) each."""
    states = await _relink(connection, links)
    asked = [(_RESUMES[state], id_) for id_, state in states.items() if state in _RESUMES]
    # A child that somebody else resumed may have succeeded since its row was read, and notified the old attempt.
    if done := [id_ for id_, state in states.items() if state is WorkflowState.SUCCESS]:
        await report_at_rest(connection, dict.fromkeys(done))
    if asked:
        values = {"types": [type_ for type_, _ in asked], "ids": [id_ for _, id_ in asked], "asker": SUB_WORKFLOW}
        await connection.execute(_ASK, values)


async def halt(connection: FencedTransaction, halts: Mapping[WorkflowInstanceId, TaskState]) -> None:
    """Request a pause (PAUSE) or a stop (KILL) of the unfinished children of these runs.

    Locks the rows of the runs first. The start of a child locks them too, so either the child is seen here or the halt
    there.
    """
    await connection.execute(_HOLD, {"ids": sorted(halts)})
    if not (await connection.execute(_ANY_RUNS, {"ids": list(halts)})).scalar_one():
        return
    types = ["PAUSE" if state is TaskState.PAUSE else "STOP" for state in halts.values()]
    await connection.execute(_HALT, {"instances": list(halts), "types": types, "asker": SUB_WORKFLOW})


@notifying(EVENT, named=True)
@statement("""
    WITH notified AS (
        INSERT INTO task_event (workflow_instance_id, task_code, attempt, child_index, state, outputs)
        SELECT instance, task_code, attempt, child_index, state,
               CASE WHEN (SELECT code FROM workflow_definition WHERE code = u.workflow) IS NULL
                      OR (SELECT project FROM workflow_definition WHERE code = u.workflow) IS NOT DISTINCT FROM
                         (SELECT d.project FROM workflow_instance p
                          JOIN workflow_definition d ON d.code = p.workflow_code
                          WHERE p.id = u.instance)
                    THEN reason END
        FROM unnest(CAST(:unmade.parent.instance AS bigint[]), CAST(:unmade.parent.code AS bigint[]),
                    CAST(:unmade.parent.attempt AS smallint[]), CAST(:unmade.parent.index AS integer[]),
                    CAST(:unmade.state AS text[]), CAST(:unmade.reason AS text[]), CAST(:unmade.workflow AS bigint[]))
             AS u (instance, task_code, attempt, child_index, state, reason, workflow)
        RETURNING workflow_instance_id
    )
    SELECT DISTINCT p.master_id FROM notified JOIN workflow_instance p ON p.id = notified.workflow_instance_id
""")
async def report_unmade(connection: AsyncConnection, unmade: Sequence[Unmade]) -> set[Epoch]:
    """Notify the parent runs of children that were never created."""


# A child that was already resumed in another way will report its end itself. For a halted one the parent would wait
# forever, so it counts as a failure if there is a reason.
@notifying(EVENT, named=True)
@statement("""
    WITH notified AS (
        INSERT INTO task_event (workflow_instance_id, task_code, attempt, child_index, state, outputs)
        SELECT c.parent_instance_id, c.parent_task_code, c.parent_attempt, c.child_index,
               CASE WHEN c.state = 'PAUSE' AND r.reason IS NOT NULL THEN 'FAILURE' ELSE c.state END,
               CASE WHEN c.state = 'SUCCESS' THEN c.outputs
                    WHEN (SELECT project FROM workflow_definition WHERE code = c.workflow_code) IS NOT DISTINCT FROM
                         (SELECT d.project FROM workflow_instance p
                          JOIN workflow_definition d ON d.code = p.workflow_code
                          WHERE p.id = c.parent_instance_id)
                         THEN coalesce(r.reason, c.reason) END
        FROM unnest(CAST(:reasons AS bigint[]), CAST(:reasons.values AS text[])) AS r (child_id, reason)
        JOIN workflow_instance c ON c.id = r.child_id
                                AND coalesce(c.parent_instance_id IS NOT NULL AND c.ended_at IS NOT NULL, false)
        WHERE (SELECT p.id FROM workflow_instance p WHERE p.id = c.parent_instance_id) IS NOT NULL
        RETURNING workflow_instance_id
    )
    SELECT DISTINCT p.master_id FROM notified JOIN workflow_instance p ON p.id = notified.workflow_instance_id
""")
async def report_at_rest(connection: AsyncConnection, reasons: Mapping[WorkflowInstanceId, str | None]) -> set[Epoch]:
    """Notify the parent runs that these children, whose resume they requested, do not run.

    With the reason, or without one if the children are being halted themselves.
    """
