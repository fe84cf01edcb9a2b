"""Where the log of an attempt is. Reads only."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import text

from dao.postgres.engine import AsyncConnection
from model.errors import NotFound
from model.ids import Epoch, TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.states import TaskState


@dataclass(frozen=True, slots=True)
class LogPlace:
    """An attempt of a task, and its worker. `day` (yyyyMMdd, UTC) is the folder of its log in the log service at `url`.

    `chose_branch`: it is a task that selects a branch, in the master.
    """

    id: TaskInstanceId
    run: WorkflowInstanceId
    workflow_code: WorkflowCode
    project: str | None
    name: str
    type: str
    state: TaskState
    reason: str | None
    chose_branch: bool
    day: str
    worker: Epoch | None
    worker_address: str | None
    url: str | None


_PLACE = text("""
    SELECT t.id, t.workflow_instance_id, i.workflow_code, d.project, t.task_name, t.task_type, t.state, t.reason,
           t.branch IS NOT NULL, to_char(t.queued_at, 'YYYYMMDD'), t.worker_id, n.address, n.log_url
    FROM task_instance t
    JOIN workflow_instance i ON i.id = t.workflow_instance_id
    LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    LEFT JOIN node n ON n.id = t.worker_id
    WHERE t.id = :id
""")


async def log_place(connection: AsyncConnection, id_: TaskInstanceId) -> LogPlace:
    """Where the log of an attempt is. Raises `NotFound`."""
    row = (await connection.execute(_PLACE, {"id": id_})).first()
    if row is None:
        raise NotFound(f"there is no task instance {id_}; `shoal show RUN` lists those of a run")
    id_, run, code, project, name, type_, state, *others = row
    return LogPlace(id_, run, code, project, name, type_, TaskState(state), *others)
