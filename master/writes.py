"""The effects of many runnables, collected and written together: group commit.

One transaction for a batch of workflows, each statement for a whole set. This is where the speed comes from.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy.ext.asyncio import AsyncConnection

from dao import task_instances, workflow_instances
from dao.notify import KILL, TASK, notify
from dao.task_instances import NewTask
from dao.workflow_instances import InstanceEnd
from master.runnable import Effect, Finish, KillTasks, QueueTask, TaskFinished, WorkflowRunnable
from model.choices import OnWorkerLoss
from model.ids import Epoch, WorkflowInstanceId
from model.states import WorkflowState


class Writes:
    """What one transaction has to write. Collect with `add`, then `flush` once, last in the transaction."""

    def __init__(self) -> None:
        self.ends: list[InstanceEnd] = []
        self._tasks: list[NewTask] = []
        self._kills: dict[WorkflowInstanceId, WorkflowRunnable | None] = {}

    @property
    def has_waits(self) -> bool:
        """Whether an attempt among them is queued later, when its time has come."""
        return any(task.wait_reason is not None for task in self._tasks)

    def add(self, runnable: WorkflowRunnable, effects: Iterable[Effect]) -> None:
        """Take in the effects of one runnable."""
        for effect in effects:
            match effect:
                case QueueTask():
                    self._tasks.append(_new_task(runnable, effect))
                case KillTasks():
                    self._kills[runnable.instance.id] = runnable
                case Finish(state, reason):
                    self.ends.append(InstanceEnd(runnable.instance.id, state, reason))

    def give_up(self, id_: WorkflowInstanceId, reason: str) -> None:
        """End an instance that cannot be driven as FAILURE, and with it whatever of it is queued or runs."""
        self._kills[id_] = None
        self._tasks = [task for task in self._tasks if task.workflow_instance_id != id_]
        self.ends = [*(end for end in self.ends if end.id != id_), InstanceEnd(id_, WorkflowState.FAILURE, reason)]

    async def flush(self, connection: AsyncConnection, master: Epoch) -> None:
        """Write all of it and wake whom it concerns. Raises `OwnershipLost`."""
        if self._tasks:
            await task_instances.queue(connection, self._tasks, master)
        if self._kills:
            for end in await task_instances.kill(connection, list(self._kills), master):
                runnable = self._kills[end.workflow_instance_id]
                if runnable is not None:
                    self.add(runnable, runnable.handle(TaskFinished(end.code, end.attempt, end.state)))
        if self.ends:
            await workflow_instances.finish(connection, self.ends, master)
        if self._kills:
            await notify(connection, KILL)
        if self._tasks:
            await notify(connection, TASK, {task.worker_group for task in self._tasks})


def _new_task(runnable: WorkflowRunnable, effect: QueueTask) -> NewTask:
    task, instance = runnable.plan.tasks[effect.code], runnable.instance
    return NewTask(
        instance.id,
        task.code,
        effect.attempt,
        task.name,
        task.type,
        task.on_worker_loss is OnWorkerLoss.RETRY,
        task.worker_group or instance.worker_group,
        instance.priority,
        task.priority,
        task.params,
        instance.params,
        effect.retries,
        effect.wait.reason if effect.wait else None,
        effect.wait.minutes if effect.wait else 0,
        task.timeout * 60 or None,
        task.timeout_strategy if task.timeout else None,
    )
