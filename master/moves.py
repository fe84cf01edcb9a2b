"""Commands that change an instance: PAUSE, STOP, and those by which one leaves a final state or a wait.

Each is judged by the table in `model/command_moves.py`, with the row of its instance held; what does not fit is refused
with the sentence why, and nothing is touched. Two commands of one batch for one instance see each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dao import ends, instance_moves, serial_line, task_events, task_instances
from dao.children import ASKED_BY
from dao.instance_moves import Locked, Revival
from dao.serial_line import InLine
from master.batch_work import BatchWork
from master.driver import Driver
from master.plan import Plan
from model.choices import ExecutionType
from model.command_moves import COMMAND_MOVES, CommandType, why_not
from model.commands import CommandRow, Move, RecoverSerialWait
from model.errors import NotFound, Refused
from model.ids import Epoch, TaskCode, WorkflowCode, WorkflowInstanceId
from model.instances import TaskAttempt
from model.states import TaskState, WorkflowState

C, T, W = CommandType, TaskState, WorkflowState
_FAILED = (T.FAILURE, T.KILL, T.NEED_FAULT_TOLERANCE)
_SUSPENDED = (T.PAUSE, T.KILL, T.NEED_FAULT_TOLERANCE)
_HALTED = {W.PAUSE: "it was paused before it had begun to run", W.STOP: "it was stopped before it had begun to run"}


class Mover:
    """Changes instances; those that go on become this master's own."""

    def __init__(self, epoch: Epoch, driver: Driver) -> None:
        self._epoch = epoch
        self._driver = driver

    async def handle(self, moves: Sequence[tuple[CommandRow, Move]], work: BatchWork) -> None:
        """Do what these commands ask for, in their order."""
        connection = work.connection
        ids = {move.workflow_instance_id for _, move in moves}
        going_on = {move.workflow_instance_id for _, move in moves if move.type not in (C.PAUSE, C.STOP)}
        # The line before the rows, as whoever starts a run does.
        codes = await instance_moves.serial_codes(connection, going_on) if going_on else set()
        line = await serial_line.lock(connection, codes) if codes else []
        locked = await instance_moves.lock(connection, ids)
        states = {id_: instance.state for id_, instance in locked.items()}
        waits_over: dict[WorkflowInstanceId, tuple[WorkflowState, str]] = {}
        asked: dict[WorkflowInstanceId, WorkflowState] = {}
        rests: list[WorkflowInstanceId] = []
        for row, move in moves:
            id_ = move.workflow_instance_id
            try:
                if id_ not in locked:
                    raise NotFound(f"there is no workflow instance {id_}")
                after = COMMAND_MOVES[move.type].get(states[id_])
                if after is None:
                    raise Refused(why_not(move.type, id_, states[id_]))
                if after in _HALTED:
                    waits_over[id_] = (after, _HALTED[after])
                    await instance_moves.end_waiting(connection, {id_: waits_over[id_]})
                elif move.type in (C.PAUSE, C.STOP):
                    asked[id_] = after
                else:
                    _check_line(locked[id_], line)
                    await self._go_on(locked[id_], move, work)
            except Refused as error:
                work.refuse(row, str(error), id_ if id_ in locked else None)
                # The task above asked for it, and waits: what does not go on, as its line is taken, has ended for it.
                if row.created_by == ASKED_BY and id_ in locked and states[id_].is_final:
                    rests.append(id_)
                continue
            states[id_] = after
            work.done(row, id_)
        await ends.tell(connection, list(waits_over))
        if rests:
            await ends.tell_parents(connection, rests)
        if asked:
            await instance_moves.ask_halt(connection, asked)

    async def next_in_line(self, rows: Sequence[tuple[CommandRow, RecoverSerialWait]], work: BatchWork) -> None:
        """Let the oldest waiting run of each workflow go on, if none is before it."""
        line = await serial_line.lock(work.connection, {command.workflow_code for _, command in rows})
        called: set[WorkflowCode] = set()
        for row, command in rows:
            own = [each for each in line if each.workflow_code == command.workflow_code]
            waiting = [each.id for each in own if each.state is W.SERIAL_WAIT]
            next_one = None
            if waiting and len(waiting) == len(own) and command.workflow_code not in called:
                called.add(command.workflow_code)
                next_one = await self._first_that_waits(waiting, work)
            if next_one is not None:
                try:
                    await self._go_on(next_one, Move(row.id, C.RECOVER_SERIAL_WAIT, next_one.id), work)
                except Refused as error:
                    work.refuse(row, str(error), next_one.id)
                    continue
            work.done(row, next_one.id if next_one else None)

    async def _first_that_waits(self, waiting: Sequence[WorkflowInstanceId], work: BatchWork) -> Locked | None:
        """The oldest that still does, now that its row is held: a pause or stop may have come in between."""
        for id_ in waiting:
            locked = (await instance_moves.lock(work.connection, [id_]))[id_]
            if locked.state is W.SERIAL_WAIT:
                return locked
        return None

    async def _go_on(self, instance: Locked, move: Move, work: BatchWork) -> None:
        """Make an instance run, as our own. Raises `Refused`, having changed nothing."""
        connection, id_ = work.connection, instance.id
        key = (instance.workflow_code, instance.workflow_version)
        plan = (await self._driver.plans.load(connection, [key]))[key]
        if isinstance(plan, Refused):
            raise plan
        attempts = (await task_instances.latest_attempts(connection, [id_]))[id_]
        revival, again, resumes = _revival(move, plan, attempts)
        begun = {attempt.code for attempt in attempts}
        if again & begun:
            await task_instances.invalidate(connection, [(id_, code) for code in sorted(again & begun)])
        await task_events.forget(connection, [id_])
        revived = await instance_moves.revive(connection, [revival], self._epoch)
        work.held += await self._driver.adopt(connection, list(revived.values()), work.writes, {id_: resumes})


def _revival(
    move: Move, plan: Plan, attempts: Iterable[TaskAttempt]
) -> tuple[Revival, frozenset[TaskCode], frozenset[TaskCode]]:
    """How the instance changes, which tasks are to run again, and the children of which go on."""
    id_ = move.workflow_instance_id
    valid = {attempt.code: attempt.state for attempt in attempts if attempt.valid and attempt.code in plan.tasks}
    match move.type:
        case C.RECOVER_SUSPENDED_PROCESS:
            again = _in(valid, _SUSPENDED)
            return Revival(id_, keeps_executing=True, parent=move.parent), again, again
        case C.START_FAILURE_TASK_PROCESS:
            failed = _in(valid, _FAILED)
            return Revival(id_, parent=move.parent), plan.graph.with_all_after(failed), failed
        case C.REPEAT_RUNNING:
            return Revival(id_, repeats=True, parent=move.parent), frozenset(valid), frozenset()
        case C.EXECUTE_TASK:
            scope = plan.graph.around(plan.find(move.start_tasks), move.depend_type)
            return Revival(id_, executing=scope, parent=move.parent), scope, frozenset()
        case _:
            return Revival(id_, keeps_executing=True, parent=move.parent), frozenset(), frozenset()


def _in(states: Mapping[TaskCode, TaskState], wanted: Sequence[TaskState]) -> frozenset[TaskCode]:
    return frozenset(code for code, state in states.items() if state in wanted)


def _check_line(instance: Locked, line: Sequence[InLine]) -> None:
    """One run at a time also holds for what goes on. Raises `Refused`."""
    if instance.execution_type is ExecutionType.PARALLEL:
        return
    before = [
        each
        for each in line
        if each.workflow_code == instance.workflow_code and each.id != instance.id and each.state is not W.SERIAL_WAIT
    ]
    if before:
        raise Refused(
            f"workflow instance {instance.id} cannot go on: its workflow is {instance.execution_type}, and instance "
            f"{before[0].id} of it is {before[0].state}; wait for its end"
        )
