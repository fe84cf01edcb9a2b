"""Where the log of an attempt is, and the keys that sign requests for it.

`log_key` has the key of each worker's life. Masters have no right to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dao.postgres.database import FencedTransaction
from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import missing, statement
from model.cluster.nodes import NodeState
from model.ids import Epoch, TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.logs.name import LogName
from model.runs.states import TaskState


@dataclass(frozen=True, slots=True)
class LogPlace:
    """An attempt of a task, and its worker. `day` (yyyyMMdd, UTC) is the folder of its log in the log service at `url`.

    `chose_branch`: it is a task that selects a branch, in the master. `stored_at`: since when the log store has a copy;
    None: only its worker has it. `stored_size` is where the log ends (None: it wrote none), `stored_first` where
    what is left of it begins.
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
    worker_state: NodeState | None = None
    worker_ended_at: datetime | None = None
    worker_ended_why: str | None = None
    stored_at: datetime | None = None
    stored_size: int | None = None
    stored_first: int = 0

    @property
    def name_of_log(self) -> LogName:
        """Under which its worker and the log store have it."""
        return LogName(self.day, self.workflow_code, self.run, self.id)

    @property
    def worker_lives(self) -> bool:
        """Whether its worker may still be asked."""
        return self.url is not None and self.worker_state in (NodeState.ALIVE, NodeState.LEAVING)


@missing("there is no task instance {id_}; `shoal show RUN` lists those of a run")
@statement("""
    SELECT t.id, t.workflow_instance_id, i.workflow_code, d.project, t.task_name, t.task_type, t.state, t.reason,
           t.branch IS NOT NULL, to_char(t.queued_at, 'YYYYMMDD'), ran.worker, n.address, n.log_url,
           n.state, n.ended_at, n.ended_why, s.stored_at, s.size, coalesce(s.first_byte, 0)
    FROM task_instance t
    JOIN workflow_instance i ON i.id = t.workflow_instance_id
    LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    CROSS JOIN LATERAL (SELECT coalesce(t.worker_id, (t.looks ->> 'worker')::bigint) AS worker) AS ran
    LEFT JOIN node n ON n.id = ran.worker
    LEFT JOIN stored_log s ON s.task_instance_id = t.id
    WHERE t.id = :id_
""")
async def log_place(connection: AsyncConnection, id_: TaskInstanceId) -> LogPlace:
    """Where the log of an attempt is. Raises `NotFound`."""


@statement("INSERT INTO log_key (node_id, key) VALUES (:worker, :key) ON CONFLICT (node_id) DO NOTHING")
async def publish_key(connection: FencedTransaction, worker: Epoch, key: str) -> None:
    """Publish the key of a worker's life; it is gone with the row of that."""


@statement("SELECT key FROM log_key WHERE node_id = :worker")
async def key_of(connection: AsyncConnection, worker: Epoch) -> str | None:
    """The key of that life, if it published one."""
