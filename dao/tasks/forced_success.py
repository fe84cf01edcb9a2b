"""Forced success: a person declares a failed attempt a success after its end.

The row of its run is locked first, as when a run is resumed, so that no master resumes the run meanwhile. Corresponds
to FORCED_SUCCESS of Apache DolphinScheduler.
"""

from __future__ import annotations

from dao.postgres.notify import changed
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from model.changes import Changes
from model.errors import NotFound, Refused
from model.ids import TaskInstanceId, WorkflowInstanceId
from model.runs.states import TASK_TRANSITIONS, TaskState, WorkflowState

_HOLD = Sql("""
    SELECT i.id, i.state FROM workflow_instance i
    WHERE i.id = (SELECT workflow_instance_id FROM task_instance WHERE id = :id) FOR UPDATE
""")
_ATTEMPT = Sql("""
    SELECT t.task_name, t.state, t.flag,
           (SELECT max(l.id) FROM task_instance l
            WHERE l.workflow_instance_id = t.workflow_instance_id AND l.task_code = t.task_code
              AND l.attempt = (SELECT max(m.attempt) FROM task_instance m
                               WHERE m.workflow_instance_id = t.workflow_instance_id AND m.task_code = t.task_code)
           ) AS latest
    FROM task_instance t WHERE t.id = :id
""")
_FORCE = Sql("""
    UPDATE task_instance
    SET state = 'FORCED_SUCCESS', reason = concat_ws(': ', 'declared a success after its ' || state, nullif(reason, ''))
    WHERE id = :id AND state IN ('FAILURE', 'KILL', 'NEED_FAULT_TOLERANCE')
""")


async def force_success(connection: AsyncConnection, id_: TaskInstanceId) -> WorkflowInstanceId:
    """Set a failed attempt to FORCED_SUCCESS; returns its run, whose state does not change.

    Raises:
        NotFound: there is no such attempt.
        Refused: its run has not ended, it did not fail, or another attempt counts.
    """
    run = (await connection.execute(_HOLD, {"id": id_})).first()
    if run is None:
        raise NotFound(f"there is no task instance {id_}; `shoal show RUN` lists those of a run")
    attempt = (await connection.execute(_ATTEMPT, {"id": id_})).one()
    task = f'task "{attempt.task_name}" ({id_}) of run {run.id}'
    if not WorkflowState(run.state).is_final:
        raise Refused(
            f"{task} cannot be declared a success while its run is {run.state}; "
            f"wait for its end, or `shoal stop {run.id}`"
        )
    if attempt.latest != id_:
        raise Refused(f"{task} is not its last attempt; declare {attempt.latest} a success instead")
    state = TaskState(attempt.state)
    if state is TaskState.FORCED_SUCCESS:
        raise Refused(f"{task} is declared a success already")
    if TaskState.FORCED_SUCCESS not in TASK_TRANSITIONS[state]:
        failed = ", ".join(each for each, after in TASK_TRANSITIONS.items() if TaskState.FORCED_SUCCESS in after)
        raise Refused(f"{task} is {state}; only one that ended as {failed} can be declared a success")
    if attempt.flag != "YES":
        raise Refused(f"{task} no longer counts, since it is to run again; resume its run: `shoal resume {run.id}`")
    await connection.execute(_FORCE, {"id": id_})
    await changed(connection, Changes(tasks={run.id}))
    return WorkflowInstanceId(run.id)
