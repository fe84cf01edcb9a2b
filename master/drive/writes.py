"""The effects of many runnables, collected and written together: group commit.

One transaction for a batch of workflows, each statement for a whole set. This is where the speed comes from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from dao.alerts import alerts
from dao.postgres.database import FencedTransaction
from dao.postgres.errors import BadData
from dao.postgres.notify import KILL, POOL, TASK, notify
from dao.runs import after_end, children, triggers, workflow_instances
from dao.runs.children import NewChild
from dao.runs.triggers import DatasetUpdate
from dao.runs.workflow_instances import InstanceEnd
from dao.streams import stream_ends
from dao.tasks import approvals, task_events, task_instances
from dao.tasks.task_instances import NewTask
from master.drive.events import (
    Close,
    Closes,
    Effect,
    Enter,
    Finish,
    HoldTasks,
    KillTasks,
    ResumeChild,
    StartChild,
)
from master.drive.plans import Fetched
from master.drive.run_limit import Delay
from master.drive.runnable import WorkflowRunnable
from model.choices import OnWorkerLoss
from model.definitions.plan import PlannedTask
from model.ids import Epoch, TaskCode, WorkflowInstanceId
from model.logic.approval import APPROVAL
from model.runs.elements import element_name, index_of, is_element
from model.runs.instances import AttemptEnd, Parent, TaskAttempt, WorkflowInstance
from model.runs.queue_places import Queued, QueuedAttempt
from model.runs.states import TaskState, WorkflowState
from model.streams.streams import ATTEMPTS_KEPT

SIZE_MAX = 128_000_000
"""The approximate limit, in characters, of what one transaction writes for several runs. A batch grows while runs are
small, and may then meet large ones: 500 runs of 10,000 tasks fit neither into memory nor into a statement."""
ROWS_AT_ONCE = 1_000
"""How many tasks a statement has at most: encoding more would hold up the event loop for too long."""
ROW_SIZE = 500
"""The size of a row besides its texts."""


class Writes:
    """What one transaction must write: collected with `add`, written by `flush` and `finish`."""

    def __init__(self, plans: Fetched | None = None) -> None:
        self.plans: Fetched = plans or {}
        """What was fetched for this transaction."""
        self.ends: list[InstanceEnd] = []
        self.touched: set[WorkflowInstanceId] = set()
        """The runs that got an event, even without anything to write."""
        self.delays: list[Delay] = []
        """Attempts that are queued later, when their time has come."""
        self.dependents: set[WorkflowInstanceId] = set()
        """Runs whose DEPENDENT tasks may begin to wait."""
        self.succeeded: list[tuple[WorkflowInstance, str]] = []
        """The tasks that succeeded, by name."""
        self.progressed: set[WorkflowInstanceId] = set()
        """Failed-over runs whose count of lost owners is reset."""
        self.known = 0
        """How many tasks were over at once, so that they have events. Known after `flush`."""
        self._asking: list[tuple[WorkflowInstanceId, TaskCode, int]] = []
        """The attempts that begin to wait for a person."""
        self._updates: list[DatasetUpdate] = []
        self._tasks: list[NewTask] = []
        self._task_ends: list[tuple[WorkflowInstanceId, AttemptEnd]] = []
        self._children: list[NewChild] = []
        self._links: list[tuple[Parent, int]] = []
        self._entered: dict[WorkflowInstanceId, WorkflowState] = {}
        self._closes: dict[WorkflowInstanceId, tuple[WorkflowRunnable, InstanceEnd]] = {}
        self._halts: dict[WorkflowInstanceId, tuple[TaskState, str]] = {}
        self._halting: dict[WorkflowInstanceId, WorkflowRunnable | None] = {}
        self._pool_groups: set[str] = set()
        self._queued = Queued()
        self._kills = False
        self._size = 0

    def add(self, runnable: WorkflowRunnable, effects: Iterable[Effect]) -> None:
        """Collect the effects of one runnable.

        Raises `BadData` if they are too much for one transaction: the batch must be split. A single run never is; it
        has at most `TASKS_MAX` tasks.
        """
        id_ = runnable.instance.id
        self.touched.add(id_)
        for effect in effects:
            match effect:
                case Enter(state):
                    self._entered[id_] = state
                case TaskAttempt():
                    if effect.due_in_minutes:
                        self.delays.append(Delay(id_, effect.code, effect.attempt, effect.due_in_minutes))
                    self._tasks.append(task := _new_task(runnable, effect))
                    self._grow(len(task.params) + len(effect.values))
                    if task.type == "DEPENDENT":
                        self.dependents.add(id_)
                    if task.type == APPROVAL and effect.state is TaskState.RUNNING_EXECUTION:
                        self._asking.append((id_, effect.code, effect.attempt))
                    if effect.state is TaskState.SUCCESS:
                        self.note_success(runnable, effect)
                case AttemptEnd():
                    self._task_ends.append((id_, effect))
                    if effect.state is TaskState.SUCCESS:
                        self.note_success(runnable, effect)
                case StartChild():
                    self._children.append(_new_child(runnable, effect))
                    self._grow(sum(map(len, self._children[-1].params.values())))
                case ResumeChild(code, attempt, index, before):
                    self._links.append((Parent(id_, code, before, index), attempt))
                case HoldTasks():
                    self._halts[id_] = (TaskState.PAUSE, "it was held back by a pause")
                    self._halting[id_] = runnable
                case KillTasks(reason):
                    self._halts[id_] = (TaskState.KILL, reason)
                    self._halting[id_] = runnable
                case Close(end, reason):
                    self._closes[id_] = runnable, InstanceEnd(id_, end, reason)
                case Finish(end, reason, outputs, is_whole):
                    self.ends.append(InstanceEnd(id_, end, reason, outputs, is_whole))

    def note_success(self, runnable: WorkflowRunnable, attempt: TaskAttempt | AttemptEnd) -> None:
        """Record a successful attempt; ignored if the definition does not know its task."""
        if task := runnable.plan.tasks.get(attempt.code):
            self.succeeded.append((runnable.instance, task.name))
            if task.updates:
                self.note_updates(runnable, attempt)

    def note_updates(self, runnable: WorkflowRunnable, attempt: TaskAttempt | AttemptEnd) -> None:
        """Record its dataset updates, which may have been announced before."""
        task = runnable.plan.tasks.get(attempt.code)
        if task is not None and task.updates and not runnable.instance.dry_run:
            self._updates.append(DatasetUpdate(runnable.instance.id, attempt.code, attempt.attempt, task.updates))

    def _grow(self, characters: int) -> None:
        self._size += ROW_SIZE + characters
        if self._size > SIZE_MAX and len(self.touched) > 1:
            raise BadData(f"{len(self.touched)} runs at once would have more to write than {SIZE_MAX} characters")

    def fail(self, id_: WorkflowInstanceId, reason: str) -> None:
        """End a run that cannot be driven as FAILURE, including everything of it that is queued or runs."""
        self._halts[id_] = (TaskState.KILL, "its workflow cannot be driven")
        self._halting[id_] = None
        self._entered.pop(id_, None)
        self._closes.pop(id_, None)
        self._tasks = [task for task in self._tasks if task.workflow_instance_id != id_]
        self._asking = [each for each in self._asking if each[0] != id_]
        self._task_ends = [end for end in self._task_ends if end[0] != id_]
        self._children = [child for child in self._children if child.parent.instance != id_]
        self._links = [link for link in self._links if link[0].instance != id_]
        self.ends = [*(end for end in self.ends if end.id != id_), InstanceEnd(id_, WorkflowState.FAILURE, reason)]

    async def flush(
        self, connection: FencedTransaction, master: Epoch
    ) -> list[tuple[WorkflowRunnable, AttemptEnd | Closes]]:
        """Write the tasks. Returns the attempts that this has ended, and `Closes` for runs that now clean up: feed
        these to their runnables, and flush again, until there are none. Raises `OwnershipLost`."""
        if self._entered:
            entered, self._entered = self._entered, {}
            await workflow_instances.enter(connection, entered, master)
        if self._tasks:
            tasks, self._tasks = self._tasks, []
            for part in range(0, len(tasks), ROWS_AT_ONCE):
                self.known += await task_instances.queue(connection, tasks[part : part + ROWS_AT_ONCE], master)
            queued = [task for task in tasks if task.attempt.state is TaskState.QUEUED]
            self._pool_groups |= {task.worker_group for task in queued if task.resources is not None}
            self._queued.add(
                QueuedAttempt(
                    task.workflow_priority, task.worker_group, task.workflow_instance_id, task.stream is not None
                )
                for task in queued
                if task.resources is None
            )
            await self._delete_old(connection, tasks, master)
        if self._task_ends:
            task_ends, self._task_ends = self._task_ends, []
            await task_instances.end_in_master(connection, task_ends, master)
        closed = await self._close(connection, master) if self._closes else []
        if not self._halts:
            return closed
        halts, self._halts = self._halts, {}
        return [*closed, *await self._halt(connection, halts, master)]

    async def _close(
        self, connection: FencedTransaction, master: Epoch
    ) -> list[tuple[WorkflowRunnable, AttemptEnd | Closes]]:
        """Write that runs clean up. This cancels earlier requests to halt, which must not halt the cleanup."""
        closes, self._closes = self._closes, {}
        await workflow_instances.close(connection, [end for _, end in closes.values()], master)
        await task_events.delete_of(connection, list(closes))
        return [(runnable, Closes()) for runnable, _ in closes.values()]

    async def _delete_old(self, connection: FencedTransaction, tasks: list[NewTask], master: Epoch) -> None:
        """Delete the oldest attempts of streams, which may restart forever."""
        old = [
            (task.workflow_instance_id, task.attempt.code, task.attempt.attempt - ATTEMPTS_KEPT)
            for task in tasks
            if task.stream is not None and task.attempt.attempt > ATTEMPTS_KEPT
        ]
        if old:
            await stream_ends.delete_old(connection, old, master)

    async def finish(self, connection: FencedTransaction, master: Epoch) -> None:
        """Write the rest, and notify; once, last in the transaction. Raises `OwnershipLost`."""
        if self._asking:
            asking = await approvals.begun(connection, self._asking)
            await alerts.insert(connection, [each.alert() for each in asking])
        if self._links:
            await children.resume(connection, self._links)
        if self._children:
            await children.start(connection, self._children)
        if self._updates:
            await triggers.after_updates(connection, self._updates, master)
        if self.ends:
            await after_end.notify_awaiting(connection, await workflow_instances.finish(connection, self.ends, master))
        if self._kills:
            await notify(connection, KILL)
        if hints := self._queued.hints:
            await notify(connection, TASK, hints)
        if self._pool_groups:
            await notify(connection, POOL, self._pool_groups)

    async def _halt(
        self, connection: FencedTransaction, halts: dict[WorkflowInstanceId, tuple[TaskState, str]], master: Epoch
    ) -> list[tuple[WorkflowRunnable, AttemptEnd | Closes]]:
        """End what waits, and ask workers to end what runs. Returns the ended attempts of runs that can be driven."""
        undriven = {id_ for id_ in halts if self._halting[id_] is None}
        ended: list[tuple[WorkflowRunnable, AttemptEnd | Closes]] = [
            (runnable, end)
            for id_, end in await task_instances.halt(connection, halts, undriven, master)
            if (runnable := self._halting[id_]) is not None
        ]
        await children.halt(connection, {id_: state for id_, (state, _) in halts.items()})
        killed = [id_ for id_, (state, _) in halts.items() if state is TaskState.KILL]
        if killed:
            await task_instances.ask_kill(connection, killed, master)
            self._kills = True
        paused = [id_ for id_ in halts if id_ not in killed and has_streams(self._halting[id_])]
        if paused:
            await task_instances.hand_over_streams(connection, paused, master)
            self._kills = True
        return ended


def has_streams(runnable: WorkflowRunnable | None) -> bool:
    """Whether one of the tasks of a run is a stream."""
    return runnable is not None and runnable.plan.has_streams


def _new_task(runnable: WorkflowRunnable, attempt: TaskAttempt) -> NewTask:
    task, instance = runnable.plan.task(attempt.code), runnable.instance
    begins = attempt.state in (TaskState.QUEUED, TaskState.DELAY_EXECUTION)
    is_whole = task.each is not None and not is_element(attempt.code)
    return NewTask(
        instance.id,
        attempt,
        element_name(task.name, index_of(attempt.code)) if is_element(attempt.code) else task.name,
        task.type,
        task.on_worker_loss is OnWorkerLoss.RETRY,
        task.worker_group or instance.worker_group,
        instance.priority,
        task.priority,
        task.params,
        task.timeout * 60 or None,
        task.timeout_strategy if task.timeout else None,
        _cache_key(runnable, task, attempt.values) if begins and task.cache and not instance.dry_run else None,
        instance.dry_run,
        task.environment or instance.environment,
        task.tenant,
        task.types_with(attempt.json_names),
        task.dispatch_timeout * 60 or None,
        None if instance.dry_run or is_whole else task.resources,
        _stream_of(task),
    )


def _stream_of(task: PlannedTask) -> str | None:
    if task.stream is None:
        return None
    readiness = task.stream.readiness
    return json.dumps({} if readiness is None else {"readiness": readiness.model_dump(exclude_none=True)})


def _cache_key(runnable: WorkflowRunnable, task: PlannedTask, values: str) -> str:
    """Everything that a task's outputs depend on: the version of its definition and its parameters."""
    plan = runnable.plan
    known = json.dumps([plan.workflow_code, plan.version, task.code, task.params, json.loads(values)], sort_keys=True)
    return hashlib.sha256(known.encode()).hexdigest()


def _new_child(runnable: WorkflowRunnable, effect: StartChild) -> NewChild:
    """The start of a child. Options of this run's start apply to it too; those of its definition do not."""
    task, instance, spec = runnable.plan.tasks[effect.code], runnable.instance, runnable.plan.spec
    asked_group = None if instance.worker_group == spec.worker_group else instance.worker_group
    asked_environment = None if instance.environment == spec.environment else instance.environment
    return NewChild(
        Parent(instance.id, effect.code, effect.attempt, effect.index, effect.waits),
        effect.project,
        effect.workflow,
        effect.version,
        effect.params,
        instance.priority,
        task.worker_group or asked_group,
        task.environment or asked_environment,
        instance.dry_run,
        instance.schedule_time,
        instance.time_zone,
    )
