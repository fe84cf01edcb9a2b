"""The scenes in which two transactions meet: three masters, two workers, and what they are at."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from dao.cluster import nodes
from dao.cluster.nodes import Me, NewNode
from dao.commands import commands, deadly_commands
from dao.commands.commands import NewCommand
from dao.runs import workflow_instances
from dao.runs.workflow_instances import InstanceEnd, NewInstance
from dao.tasks import task_claims, task_instances
from dao.tasks.task_claims import Report
from dao.tasks.task_instances import NewTask
from model.choices import ExecutionType, FailureStrategy, Misfire, Priority
from model.cluster.nodes import NodeKind, ProcessIdentity
from model.cluster.slots import Slot
from model.ids import CommandId, Epoch, TaskCode, TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.runs.command_moves import CommandType
from model.runs.instances import TaskAttempt
from model.runs.states import TaskState, WaitReason, WorkflowState
from tests.bridge.people import ask_in_model, save
from tests.bridge.two_stores import TwoStores
from tests.simulation.statements.definitions import schedules as model_schedules

C, T, W = CommandType, TaskState, WorkflowState
ALL = Slot(0, 1)
RUN = WorkflowInstanceId(1)
CODE = WorkflowCode(1)
PROCESS = ProcessIdentity("boot", 17, 4711)


def _me(epoch: int, kind: NodeKind) -> Me:
    return Me(Epoch(epoch), UUID(int=epoch), kind, f"10.0.0.{epoch}:5678")


M1, M2, M3 = (_me(epoch, NodeKind.MASTER) for epoch in (1, 2, 3))
W1, W2 = (_me(epoch, NodeKind.WORKER) for epoch in (4, 5))


# ----------------------------------------------------------------------------------------------- what is there


async def lives(s: TwoStores) -> None:
    async with s.transaction():
        for me in (M1, M2, M3, W1, W2):
            await s.call(nodes.enlist, me.incarnation, NewNode(me.kind, me.address, PROCESS))


async def three_commands(s: TwoStores) -> None:
    await lives(s)
    async with s.transaction():
        for _ in range(3):
            new = NewCommand(C.START_PROCESS, CODE, created_by="client")
            await s.both("dao.commands.commands.insert", commands.insert, ask_in_model, new)
    await s.hours_pass(2)


def new_run(command: int, state: WorkflowState = W.RUNNING_EXECUTION, *, is_serial: bool = False) -> NewInstance:
    execution = ExecutionType.SERIAL_WAIT if is_serial else ExecutionType.PARALLEL
    new = NewInstance(CommandId(command), CODE, 1, FailureStrategy.CONTINUE, Priority.MEDIUM, "default", "{}")
    return replace(new, state=state, execution_type=execution)


async def a_run(s: TwoStores, *, is_serial: bool = False) -> None:
    """A run of M1."""
    await lives(s)
    async with s.transaction():
        await s.call(workflow_instances.insert, [new_run(1000, is_serial=is_serial)], M1.epoch)


async def a_serial_run(s: TwoStores) -> None:
    await a_run(s, is_serial=True)


def task(code: int, *, write_ahead: bool = True, wait: WaitReason | None = None) -> NewTask:
    attempt = TaskAttempt(
        TaskCode(code), 1, TaskState.QUEUED if wait is None else TaskState.DELAY_EXECUTION, wait_reason=wait
    )
    return NewTask(
        RUN, attempt, f"task {code}", "SHELL", write_ahead, "default", Priority.MEDIUM, Priority.MEDIUM, "{}"
    )


async def a_queue(s: TwoStores) -> None:
    await a_run(s)
    async with s.transaction():
        await s.call(task_instances.queue, [task(1), task(2), task(3, write_ahead=False)], M1.epoch)


async def tasks_that_run(s: TwoStores) -> None:
    """On W1, tasks 1 and 2 run; 3 is not known to have begun."""
    await a_queue(s)
    async with s.transaction():
        await s.call(task_claims.claim, ("default",), 10, W1.epoch)


async def an_end(s: TwoStores) -> None:
    """The end of task 1; 2 runs, 3 may run."""
    await tasks_that_run(s)
    async with s.transaction():
        await s.call(task_claims.report, [report_of(1)], W1.epoch)


async def a_dead_worker(s: TwoStores) -> None:
    """W1, with its three tasks."""
    await tasks_that_run(s)
    async with s.transaction():
        await s.call(nodes.set_left, W1, broke=True)


async def a_timer(s: TwoStores) -> None:
    """A timer that is due."""
    await a_run(s)
    async with s.transaction():
        await s.call(task_instances.queue, [task(1, wait=WaitReason.DELAY)], M1.epoch)


async def a_dead_master(s: TwoStores) -> None:
    """M1, with its run."""
    await a_run(s)
    async with s.transaction():
        await s.call(nodes.set_left, M1, broke=True)


async def a_run_that_failed(s: TwoStores) -> None:
    await a_run(s)
    async with s.transaction():
        await s.call(workflow_instances.finish, [InstanceEnd(RUN, W.FAILURE, "it failed")], M1.epoch)


async def suspect(s: TwoStores) -> None:
    """Three commands that were marked as suspect."""
    await three_commands(s)
    async with s.transaction():
        await s.call(deadly_commands.mark_suspects, M3.epoch, ALL)


def report_of(id_: int, state: TaskState = T.SUCCESS) -> Report:
    return Report(TaskInstanceId(id_), 1, state, "", 0, None)


async def a_due_schedule(s: TwoStores) -> None:
    await lives(s)
    async with s.transaction():
        await s.both(
            "dao.definitions.schedules.insert", save, model_schedules.save, CODE, "0 0 * * * ?", Misfire.SKIP.value
        )
