"""Which runs of a serial workflow continue: decided with its lines locked, in the order in which a batch handles them.

A line is the queue of the runs of one key of a serial workflow, or of all its runs if it has no key. A batch locks the
workflows of all its commands before it changes anything, and records its own changes here: of two runs that it lets
continue, the second sees the first. A run with a key does not begin while an older command of its key is still in the
table (`master/claim/line_keys.py`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import structlog

from dao.postgres.database import FencedTransaction
from dao.runs import after_end, control, serial_line
from dao.runs.control import Locked
from dao.runs.serial_line import Deadlock, InLine
from dao.runs.workflow_instances import NewInstance
from model.choices import ExecutionType
from model.errors import Refused
from model.ids import CommandId, WorkflowCode, WorkflowInstanceId
from model.runs.serial_lines import Line
from model.runs.states import WorkflowState
from node.life import Life

log = structlog.get_logger()

E, W = ExecutionType, WorkflowState
OVERTAKEN_MAX = 500
"""How many waiting runs of a line one transaction ends because a newer one has priority."""
_OVERTAKEN = (W.STOP, "a newer run of this workflow has priority")
_ASKED = {
    W.READY_PAUSE: (W.PAUSE, "it was paused before it had begun to run"),
    W.READY_STOP: (W.STOP, "it was stopped before it had begun to run"),
}
_DISCARDED = (W.STOP, "another run of this workflow had not ended, and its execution type is SERIAL_DISCARD")
_DISCARDED_OF_KEY = (W.STOP, "another run of its key had not ended, and its execution type is SERIAL_DISCARD")

FindBlocked = Callable[[Mapping[Line, CommandId]], Awaitable[Collection[Line]]]
"""Of the lines in which the run of this command would begin: those in which an older command still waits."""


class Lines:
    """The lines that a transaction has locked: which have a live run, and which have waiting ones."""

    def __init__(self, standing: Iterable[InLine] = ()) -> None:
        self._live: dict[Line, InLine] = {}
        self._next: dict[Line, InLine] = {}
        self.add(standing)

    def add(self, standing: Iterable[InLine]) -> None:
        """These are the heads of lines that were not known yet. What this transaction made live stays."""
        for each in standing:
            if each.state is W.SERIAL_WAIT:
                self._next[each.line] = each
            else:
                self._live.setdefault(each.line, each)

    def read_again(self, line: Line, standing: Iterable[InLine]) -> None:
        """These are its heads now: what waited there may have been halted by this transaction."""
        self._next.pop(line, None)
        self.add(standing)

    def live(self, line: Line) -> InLine | None:
        """A run of that line which has begun and not ended."""
        return self._live.get(line)

    def next(self, line: Line) -> InLine | None:
        """The run that waits at the head of that line, if none is live."""
        return self._next.get(line) if line not in self._live else None

    def is_busy(self, line: Line) -> bool:
        """Whether any run is before a new one."""
        return line in self._live or line in self._next

    def is_first(self, new: NewInstance) -> bool:
        """Whether all that is in the line of a new run with a key are runs that wait, of younger commands."""
        line = Line(new.workflow_code, new.serial_key)
        first = self.next(line)
        return bool(line.key) and first is not None and new.command_id < first.command

    def goes_on(self, id_: WorkflowInstanceId, line: Line) -> None:
        """This transaction made that run live."""
        self._live[line] = InLine(id_, line, W.RUNNING_EXECUTION, CommandId(0))

    def check(self, instance: Locked) -> None:
        """One run at a time also applies to runs that continue after their end. Raises `Refused`."""
        before = self._live.get(instance.line)
        if instance.execution_type is not E.PARALLEL and before is not None and before.id != instance.id:
            of_key = f' for the key "{instance.serial_key}"' if instance.serial_key else ""
            raise Refused(
                f"workflow instance {instance.id} cannot go on: its workflow is {instance.execution_type}{of_key}, and "
                f"instance {before.id} of it is {before.state}; wait for its end"
            )
        first = self._next.get(instance.line)
        if instance.execution_type is not E.PARALLEL and first is not None and _is_before(first, instance):
            line = f'the line of the key "{instance.serial_key}"' if instance.serial_key else "the line of its workflow"
            raise Refused(
                f"workflow instance {instance.id} cannot go on: instance {first.id} is before it in {line}; wait for "
                "its turn, or stop what is before it"
            )


def _is_before(first: InLine, instance: Locked) -> bool:
    """Whether the first of those that wait keeps this run from going on. Without a key the order is that in which runs
    were made, and one that waits may be called before its turn by hand."""
    if instance.state is W.SERIAL_WAIT:
        return bool(instance.serial_key) and first.id != instance.id
    return first.command < instance.command if instance.serial_key else first.id < instance.id


async def hold(connection: FencedTransaction, codes: Collection[WorkflowCode], moved: Collection[Line] = ()) -> Lines:
    """Lock the lines of these workflows until the transaction ends. All that it needs at once, and before any row of a
    run: otherwise two transactions could deadlock. The heads are read of the lines of runs that are `moved`."""
    if not codes:
        return Lines()
    await serial_line.lock(connection, codes)
    return Lines(await serial_line.heads(connection, moved) if moved else ())


async def line_up(
    connection: FencedTransaction, lines: Lines, new: Sequence[NewInstance], find_blocked: FindBlocked
) -> list[NewInstance]:
    """The new instances with their initial states: running, waiting, or over. Runs that must give way are halted.

    A line with a key in which runs wait, but none is live and no older command is left, is called.
    """
    serial = [each for each in new if each.execution_type is not E.PARALLEL]
    lines.add(await serial_line.heads(connection, {_line(each) for each in serial}))
    # With a key the order is that of the commands, else that in which they are handled.
    places = {each.command_id: each.command_id if each.serial_key else place for place, each in enumerate(serial)}
    serial.sort(key=lambda each: places[each.command_id])
    firsts: dict[Line, CommandId] = {}
    for each in serial:
        if each.serial_key and lines.live(_line(each)) is None:
            first = lines.next(_line(each))
            firsts.setdefault(_line(each), min(each.command_id, first.command) if first else each.command_id)
    blocked = await find_blocked(firsts) if firsts else ()
    winners = {_line(each): each.command_id for each in serial if each.execution_type is E.SERIAL_PRIORITY}
    taken: set[Line] = set()
    decided: dict[CommandId, tuple[WorkflowState, str]] = {}
    for each in serial:
        line, state, reason = _line(each), each.state, ""
        is_busy = line in taken or lines.is_busy(line)
        if each.execution_type is E.SERIAL_DISCARD and is_busy and (line in taken or not lines.is_first(each)):
            state, reason = _DISCARDED_OF_KEY if each.serial_key else _DISCARDED
        elif line in winners and places[each.command_id] < places[winners[line]]:
            state, reason = _OVERTAKEN
        elif is_busy or line in blocked:
            state = W.SERIAL_WAIT
        if not state.is_final:
            taken.add(line)
        decided[each.command_id] = state, reason
    for line in sorted(winners):
        await _give_way(connection, line, winners[line])
    if waits := {line.workflow_code for line in firsts if line not in blocked and lines.next(line) is not None}:
        await serial_line.call(connection, waits)
    return [
        replace(each, state=decided[each.command_id][0], reason=decided[each.command_id][1])
        if each.command_id in decided
        else each
        for each in new
    ]


def _line(new: NewInstance) -> Line:
    return Line(new.workflow_code, new.serial_key)


async def _give_way(connection: FencedTransaction, line: Line, command: CommandId) -> None:
    """Make way for a new run that has priority, of this command: live runs are stopped, waiting ones ended; if there
    are many, the rest are ended when the next is called (`next_of`). In a line with a key newer ones stay."""
    live = [run for run in await serial_line.live(connection, line) if not line.key or run.command < command]
    if stops := {run.id: W.READY_STOP for run in live if run.state is not W.READY_STOP}:
        await control.ask_halt(connection, stops)
    waiting = await serial_line.waiting(connection, [line], OVERTAKEN_MAX)
    await _end(connection, [run.id for run in waiting if not line.key or run.command < command])


async def _end(connection: FencedTransaction, overtaken: Sequence[WorkflowInstanceId]) -> None:
    """End those that still wait, now that their rows are locked."""
    if not overtaken:
        return
    locked = await control.lock(connection, overtaken)
    waiting = [id_ for id_, run in locked.items() if not run.state.is_final]
    await control.end_waiting(connection, dict.fromkeys(waiting, _OVERTAKEN))
    await after_end.notify_awaiting(connection, waiting)


async def next_of(
    connection: FencedTransaction, lines: Lines, called: Collection[Line], find_blocked: FindBlocked
) -> list[Locked]:
    """Of each of these lines the next run, with its row locked: the first that waits, if none is live.

    Runs that a newer one with priority has overtaken end first. If those are many, the rest end in another transaction,
    which their ends request; until then there is no next run. Nor is there one while an older command waits.
    """
    if not called:
        return []
    lines.add(await serial_line.heads(connection, called))
    idle = {line for line in called if lines.live(line) is None}
    overtaken = await serial_line.overtaken(connection, idle, OVERTAKEN_MAX) if idle else {}
    await _end(connection, [id_ for ids in overtaken.values() for id_ in ids])
    idle = {line for line in idle if len(overtaken.get(line, ())) < OVERTAKEN_MAX}
    turns: list[Locked] = []
    while idle and (waiting := await serial_line.waiting(connection, idle, 1)):
        blocked = await find_blocked({head.line: head.command for head in waiting})
        locked = await control.lock(connection, [head.id for head in waiting if head.line not in blocked])
        idle = set()
        for run in locked.values():
            if run.state is W.SERIAL_WAIT:
                turns.append(run)
                continue
            if run.state in _ASKED:  # changed by hand: an ordinary request ends it at once
                await control.end_waiting(connection, {run.id: _ASKED[run.state]})
                await after_end.notify_awaiting(connection, [run.id])
            # Else it was paused or stopped in between, and the next query no longer returns it.
            idle.add(run.line)
    return turns


async def unblock_lines(life: Life) -> None:
    """Call lines that wait although no run is live, and end runs that would wait for ever. Raises `ShoalError`."""
    async with life.writing() as connection:
        if called := await serial_line.call_missed(connection):
            log.warning("waiting_runs_called", commands=called, so="those continue that nothing is before")
    async with life.database.reading() as connection:
        deadlocks = await serial_line.deadlocked(connection)
    if deadlocks:
        async with life.writing() as connection:
            await _end_deadlocks(connection, deadlocks)


async def _end_deadlocks(connection: FencedTransaction, found: Sequence[Deadlock]) -> None:
    """End those of these runs that still wait, as STOP; the tasks above them fail with the reason.

    A run that waits for its child does not end before it: a deadlock that was found stays until a run of it is ended.
    """
    await hold(connection, {each.workflow_code for each in found})
    locked = await control.lock(connection, [each.id for each in found])
    reasons = {
        each.id: f"it would wait forever: its turn comes when run {each.live} of this serial workflow has ended, and "
        "that run waits for this one; no task of a serial workflow may run that workflow again, not even through others"
        for each in found
        if each.id in locked and locked[each.id].state is W.SERIAL_WAIT
    }
    if not reasons:
        return
    await control.end_waiting(connection, {id_: (W.STOP, reason) for id_, reason in reasons.items()})
    await after_end.notify_awaiting(connection, list(reasons))
    log.warning("deadlocks_ended", runs=list(reasons), so="these waited for a run that waited for them")
