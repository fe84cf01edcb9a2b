"""APPROVAL tasks that wait for a person, and what ends them: an answer, or their timeout.

Between its begin and its end such an attempt is a row, for which nobody asks anything: its timeout is among the times
of the poll that every master makes. Whatever ends it locks its row first, and goes on only if the attempt still waits:
so one of two answers, an answer or the timeout, an answer or a halt of the run. With the end it writes the event for
the owner of the run at that time (`dao/tasks/task_events.py`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from dao.postgres.database import FencedTransaction
from dao.postgres.notify import EVENT, changed, notify
from dao.postgres.pool import AsyncConnection
from dao.postgres.row_arrays import RowArrays
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from model.alerts.alerts import DEFAULT_GROUP, AlertKind, NewAlert, Severity
from model.changes import Changes
from model.errors import NotFound, Refused
from model.ids import TaskCode, TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.logic.approval import ApprovalParams, OnTimeout, Question, question_of
from model.parameters.builtin import task_parameters, with_task_parameters
from model.parameters.parameters import parse_parameters
from model.runs.states import TaskState, WorkflowState
from model.time.intervals import Interval
from model.time.run_time import RunTime

ASKED_MAX = 2_000
"""So much of the text goes into an alert."""


@dataclass(frozen=True, slots=True)
class Approval:
    """An attempt of an APPROVAL task. `schedule_time` to `interval_end` are those of its run; `due_at` is when its
    timeout ends it."""

    id: TaskInstanceId
    task: str
    task_code: TaskCode
    attempt: int
    state: TaskState
    reason: str | None
    run: WorkflowInstanceId
    run_state: WorkflowState
    workflow_code: WorkflowCode
    workflow: str | None
    project: str | None
    started_at: datetime
    due_at: datetime | None
    schedule_time: datetime
    time_zone: str
    interval_start: datetime | None
    interval_end: datetime | None
    alert_group: str | None
    params: str
    values: str

    @property
    def asks(self) -> ApprovalParams:
        """What its definition says. Raises `Refused`."""
        return ApprovalParams.read(json.loads(self.params))

    def question(self) -> Question:
        """What it asks, with the values of its run. Raises `Refused`."""
        own = task_parameters(
            task_instance_id=self.id,
            attempt=self.attempt,
            task_name=self.task,
            task_code=self.task_code,
            workflow_instance_id=self.run,
            workflow_code=self.workflow_code,
        )
        values = with_task_parameters(parse_parameters(self.values, "its parameters"), own)
        time = RunTime(self.schedule_time, self.time_zone, Interval.of(self.interval_start, self.interval_end))
        return question_of(self.asks, values, time)

    def alert(self) -> NewAlert:
        """What those who may answer are to be notified of."""
        asks, workflow = self.asks, self.workflow or str(self.workflow_code)
        facts: dict[str, object] = {
            **{"run": self.run, "workflow": self.workflow, "project": self.project, "task": self.task},
            **{"asks": self.question().text[:ASKED_MAX], "who": asks.answerers, "until": self.due_at},
        }
        return NewAlert(
            AlertKind.APPROVAL,
            Severity.INFO,
            f'task "{self.task}" of run {self.run} of workflow "{workflow}" waits for {asks.answerers}',
            {name: value for name, value in facts.items() if value is not None},
            asks.alert_group or self.alert_group or DEFAULT_GROUP,
            self.project,
            self.workflow,
            self.run,
            self.id,
            f"approval:{self.id}",
        )


@dataclass(frozen=True, slots=True)
class LateEnd:
    """How an attempt that nobody has answered ends."""

    id: TaskInstanceId
    state: TaskState
    reason: str
    outputs: str | None = None


_BEGUN = Sql("""
    SELECT t.id FROM unnest(CAST(:runs AS bigint[]), CAST(:codes AS bigint[]), CAST(:attempts AS integer[]))
         AS n (run, code, attempt)
    JOIN task_instance t ON t.workflow_instance_id = n.run AND t.task_code = n.code AND t.attempt = n.attempt
    ORDER BY t.id                                                                   -- index: task_instance_attempt
""")
_HOLD = Sql("SELECT FROM task_instance WHERE id = :id FOR NO KEY UPDATE")
_ANSWER = Sql("""
    SELECT answer_approval(:id, :approve, CAST(:results AS jsonb), CAST(:reason AS text), CAST(:by AS text))
""")
# Level-triggered, by any master: timers are rows, whichever run they belong to.
_HOLD_DUE = Sql("""
    SELECT id FROM task_instance
    WHERE state = 'RUNNING_EXECUTION' AND task_type = 'APPROVAL' AND due_at <= now()  -- index: task_instance_approval
      AND id <> ALL(CAST(:without AS bigint[])) AND (CAST(:only AS bigint) IS NULL OR id = CAST(:only AS bigint))
    ORDER BY due_at LIMIT :limit FOR NO KEY UPDATE SKIP LOCKED
""")
_END_LATE = Sql("""
    WITH ended AS (
        UPDATE task_instance t
        SET state = n.state, ended_at = clock_timestamp(), reason = n.reason, outputs = n.outputs
        FROM unnest(CAST(:id AS bigint[]), CAST(:state AS text[]), CAST(:reason AS text[]), CAST(:outputs AS text[]))
             AS n (id, state, reason, outputs)
        WHERE t.id = n.id AND coalesce(t.state = 'RUNNING_EXECUTION', false)
        RETURNING t.id, t.workflow_instance_id, t.task_code, t.attempt, t.state, t.outputs
    ), reported AS (
        INSERT INTO task_event (workflow_instance_id, task_code, attempt, state, outputs)
        SELECT workflow_instance_id, task_code, attempt, state, outputs FROM ended
    )
    SELECT e.workflow_instance_id AS run,
           (SELECT master_id FROM workflow_instance i WHERE i.id = e.workflow_instance_id) AS owner
    FROM ended e
""")
_ENDS = RowArrays(_END_LATE)


# A time outside the calendar, as somebody may write it, counts as that of the begin of the attempt.
@statement("""
    SELECT t.id, t.task_name AS task, t.task_code, t.attempt, t.state, t.reason, i.id AS run, i.state AS run_state,
           i.workflow_code, d.name AS workflow, d.project, t.started_at,
           CASE WHEN isfinite(t.due_at) THEN t.due_at END AS due_at,
           CASE WHEN i.schedule_time BETWEEN '0001-01-03' AND '9999-12-29' THEN i.schedule_time ELSE t.started_at END
               AS schedule_time,
           i.time_zone, i.interval_start, i.interval_end, i.alert_group, t.params, t.parameter_values AS values
    FROM task_instance t                                                            -- index: task_instance_approval
    JOIN workflow_instance i ON i.id = t.workflow_instance_id
    LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    WHERE t.state = 'RUNNING_EXECUTION' AND t.task_type = 'APPROVAL' AND t.id > :after
      AND (CAST(:run AS bigint) IS NULL OR i.id = CAST(:run AS bigint))
      AND (CAST(:project AS text) IS NULL OR d.project = CAST(:project AS text))
      AND (CAST(:visible AS text[]) IS NULL OR d.project = ANY(CAST(:visible AS text[])))
    ORDER BY t.id LIMIT :limit
""")
async def waiting(
    connection: AsyncConnection,
    limit: int,
    *,
    after: int = 0,
    run: WorkflowInstanceId | None = None,
    project: str | None = None,
    visible: Collection[str] | None = None,
) -> list[Approval]:
    """Up to `limit` that wait, the oldest first; only those of a run, a project, or visible projects (None: all)."""


@statement("""
    SELECT t.id, t.task_name AS task, t.task_code, t.attempt, t.state, t.reason, i.id AS run, i.state AS run_state,
           i.workflow_code, d.name AS workflow, d.project, t.started_at,
           CASE WHEN isfinite(t.due_at) THEN t.due_at END AS due_at,
           CASE WHEN i.schedule_time BETWEEN '0001-01-03' AND '9999-12-29' THEN i.schedule_time ELSE t.started_at END
               AS schedule_time,
           i.time_zone, i.interval_start, i.interval_end, i.alert_group, t.params, t.parameter_values AS values
    FROM task_instance t                                                            -- index: task_instance_pkey
    JOIN workflow_instance i ON i.id = t.workflow_instance_id
    LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    WHERE t.id = ANY(CAST(:ids AS bigint[])) AND t.task_type = 'APPROVAL'
    ORDER BY t.id
""")
async def these(connection: AsyncConnection, ids: Sequence[TaskInstanceId]) -> list[Approval]:
    """Those of these attempts that are of an APPROVAL task, whether they wait or not."""


async def begun(
    connection: AsyncConnection, attempts: Sequence[tuple[WorkflowInstanceId, TaskCode, int]]
) -> list[Approval]:
    """The attempts of these runs, tasks and numbers."""
    runs, codes, numbers = zip(*attempts, strict=True)
    values = {"runs": list(runs), "codes": list(codes), "attempts": list(numbers)}
    return await these(connection, (await connection.execute(_BEGUN, values)).scalars())


async def held(connection: AsyncConnection, id_: TaskInstanceId) -> Approval:
    """One that waits, locked: nothing else ends it before the end of the transaction.

    Raises:
        NotFound: it is no attempt of an APPROVAL task.
        Refused: it has ended.
    """
    await connection.execute(_HOLD, {"id": id_})
    found = await these(connection, [id_])
    if not found:
        raise NotFound(f"there is no approval {id_}; `shoal task approvals` lists those that wait")
    if found[0].state is not TaskState.RUNNING_EXECUTION:
        how = f"it was {found[0].reason}" if found[0].reason else f"it is {found[0].state}"
        raise Refused(f'task "{found[0].task}" ({id_}) of run {found[0].run} no longer waits for an answer: {how}')
    return found[0]


async def answer(
    connection: AsyncConnection, approval: Approval, by: str, results: Mapping[str, str] | None, reason: str
) -> None:
    """End one that is held: approved with these results, or rejected (None)."""
    values = {
        "id": approval.id,
        "approve": results is not None,
        "results": json.dumps(dict(results or {}), ensure_ascii=False),
        "reason": reason or None,
        "by": by,
    }
    await connection.execute(_ANSWER, values)
    await changed(connection, Changes(tasks={approval.run}))


@statement("""
    SELECT id FROM task_instance
    WHERE state = 'RUNNING_EXECUTION' AND task_type = 'APPROVAL' AND due_at <= now()
      AND id <> ALL(CAST(:without AS bigint[]))
    ORDER BY due_at LIMIT :limit                                                    -- index: task_instance_approval
""")
async def due(connection: AsyncConnection, limit: int, without: Sequence[TaskInstanceId]) -> list[TaskInstanceId]:
    """Up to `limit` whose timeout has passed, except these."""


async def end_late(
    connection: FencedTransaction,
    limit: int,
    without: Sequence[TaskInstanceId] = (),
    only: TaskInstanceId | None = None,
) -> int:
    """End up to `limit` whose timeout has passed, as their definitions say; notifies owners. Returns how many."""
    rows = await connection.execute(_HOLD_DUE, {"limit": limit, "without": list(without), "only": only})
    ids = [TaskInstanceId(id_) for (id_,) in rows.all()]
    if not ids:
        return 0
    ends = [_late_end(approval) for approval in await these(connection, ids)]
    ended = (await connection.execute(_END_LATE, _ENDS.values(ends))).all()
    await changed(connection, Changes(tasks={row.run for row in ended}))
    await notify(connection, EVENT, {row.owner for row in ended if row.owner is not None})
    return len(ended)


def _late_end(approval: Approval) -> LateEnd:
    """How one ends; as a failure if its rows cannot be read, or if a default of its form does not fit."""
    try:
        asks = approval.asks
        late = f"nobody answered within its timeout of {asks.timeout:g} min"
        match asks.on_timeout:
            case OnTimeout.SKIP:
                return LateEnd(approval.id, TaskState.SKIPPED, late)
            case OnTimeout.APPROVE:
                results = json.dumps(approval.question().results({}), ensure_ascii=False)
                return LateEnd(approval.id, TaskState.SUCCESS, f"approved by its timeout: {late}", results)
        return LateEnd(approval.id, TaskState.FAILURE, f"{late}; it waited for {asks.answerers}")
    except (Refused, ValueError) as error:
        return LateEnd(approval.id, TaskState.FAILURE, f"its timeout is over, and it cannot be approved: {error}")
