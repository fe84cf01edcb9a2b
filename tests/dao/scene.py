"""What a test of statements wants to be there: nodes, commands, runs and tasks, each in one sentence."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from dao.cluster import fencing, nodes
from dao.cluster.node_rows import NodeRow
from dao.cluster.nodes import Me, NewNode
from dao.postgres.database import Database
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.runs import workflow_instances
from dao.runs.workflow_instances import NewInstance
from dao.tasks import task_claims, task_instances
from dao.tasks.task_claims import ClaimedTask
from dao.tasks.task_instances import NewTask
from model.choices import FailureStrategy, Priority
from model.cluster.nodes import NodeKind, ProcessIdentity
from model.ids import CommandId, Epoch, TaskCode, WorkflowCode, WorkflowInstanceId
from model.runs.instances import TaskAttempt
from model.runs.states import TaskState
from tests.eventually import eventually


class Scene:
    """Writes through `dao` where it can, by SQL where a test needs what `dao` would never write."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._command = 1_000_000

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """One transaction, as everybody writes."""
        async with self.database.writing() as connection:
            yield connection

    async def sql(self, statement: str, **values: Any) -> list[Any]:
        """Run one statement in a transaction of its own; its rows, a lone column without its tuple."""
        async with self.writing() as connection:
            done = await connection.execute(Sql(statement), values)
            rows = [tuple(row) for row in done]
        return [row[0] if len(row) == 1 else row for row in rows]

    async def waits_for_a_lock(self) -> None:
        """Return once a session of this database waits for a lock of another."""
        waiting = (
            "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) "
            "WHERE NOT l.granted AND a.datname = current_database()"
        )

        async def count() -> int:
            return int((await self.sql(waiting))[0])

        await eventually(count)

    async def node(self, kind: NodeKind, address: str = "10.0.0.1:5678") -> Me:
        """A node that has just begun its life."""
        async with self.writing() as connection:
            new = NewNode(kind, address, ProcessIdentity("boot", 17, 4711))
            return await nodes.enlist(connection, uuid4(), new)

    async def master(self) -> Me:
        """A living master."""
        return await self.node(NodeKind.MASTER)

    async def worker(self) -> Me:
        """A living worker."""
        return await self.node(NodeKind.WORKER, "10.0.0.2:1234")

    async def fence(self, dead: Me) -> bool:
        """Fence a node; whether it was us who did."""
        return await fencing.fence(self.database, await self.row_of(dead), "a test", by=None)

    async def row_of(self, wanted: Me) -> NodeRow:
        """A living node as others see it."""
        async with self.database.reading() as connection:
            return next(row for row in await nodes.living(connection) if row.epoch == wanted.epoch)

    async def commands(self, count: int, *, priority: str | None = None, age: str = "0 s") -> list[CommandId]:
        """Waiting START commands, in order."""
        return await self.sql(
            "INSERT INTO command (type, workflow_code, priority, created_at) "
            "SELECT 'START_PROCESS', 1001, :priority, now() - CAST(:age AS interval) FROM generate_series(1, :count) "
            "RETURNING id",
            count=count,
            priority=priority,
            age=age,
        )

    async def instance(
        self,
        master: Me,
        *,
        priority: Priority = Priority.MEDIUM,
        code: int = 1001,
        command: int | None = None,
        **fields: Any,
    ) -> WorkflowInstanceId:
        """An instance, running and that master's, of a new command or that one; see `NewInstance` for the fields."""
        given = {"priority": priority, "code": code, "command": command, **fields}
        return (await self.instances(master, [given]))[0]

    async def instances(self, master: Me, given: Sequence[Mapping[str, Any]]) -> dict[int, WorkflowInstanceId]:
        """Instances of one batch, each as `instance` makes it; those that were made, by their places."""
        new = [self._new_instance(**fields) for fields in given]
        async with self.writing() as connection:
            made = await workflow_instances.insert(connection, new, master.epoch)
        return {place: made[each.command_id][0] for place, each in enumerate(new) if each.command_id in made}

    def _new_instance(
        self,
        priority: Priority = Priority.MEDIUM,
        code: int = 1001,
        command: int | None = None,
        **fields: Any,
    ) -> NewInstance:
        self._command += 1
        id_ = CommandId(self._command if command is None else command)
        return NewInstance(id_, WorkflowCode(code), 1, FailureStrategy.CONTINUE, priority, "default", "{}", **fields)

    async def queue(self, instance: WorkflowInstanceId, *codes: int, master: Me, **fields: Any) -> None:
        """Queue the first attempts of the tasks with these codes; see `new_task` for the fields."""
        async with self.writing() as connection:
            await task_instances.queue(connection, [new_task(instance, code, **fields) for code in codes], master.epoch)

    async def claim(self, worker: Me, limit: int = 100, groups: Sequence[str] = ("default",)) -> list[ClaimedTask]:
        """Have a worker claim tasks."""
        async with self.writing() as connection:
            return await task_claims.claim(connection, groups, limit, worker.epoch)

    async def states(self) -> dict[int, str]:
        """The state of the latest attempt of each task, by code; for scenes with one instance."""
        return dict(await self.sql("SELECT task_code, state FROM task_instance ORDER BY attempt"))


def new_task(
    instance: WorkflowInstanceId,
    code: int,
    *,
    attempt: int = 1,
    write_ahead: bool = True,
    worker_group: str = "default",
    workflow_priority: Priority = Priority.MEDIUM,
    task_priority: Priority = Priority.MEDIUM,
    type_: str = "FAKE",
    **fields: Any,
) -> NewTask:
    """A task to be queued, or after a wait if it has a reason for one; see `NewTask` and `TaskAttempt` for the other
    fields."""
    state = TaskState.DELAY_EXECUTION if "wait_reason" in fields else TaskState.QUEUED
    own = {name: fields.pop(name) for name in TaskAttempt._fields if name in fields}
    return NewTask(
        *(instance, TaskAttempt(TaskCode(code), attempt, **{"state": state, **own})),
        *(f"task {code}", type_, write_ahead, worker_group, workflow_priority, task_priority, "{}"),
        **fields,
    )


NOBODY = Epoch(999_999)
