"""Which runs of a serial workflow continue: decided with its lines locked, in the order in which a batch handles them.

A line is the queue of the runs of one key of a serial workflow, or of all its runs if it has no key. A batch locks the
workflows of all its commands before it changes anything, and records its own changes here: of two runs that it lets
continue, the second sees the first. A run with a key does not begin while an older command of its key is still in the
table (`master/claim/line_keys.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import structlog

from dao.postgres.database import FencedTransaction
from dao.runs import after_end, control, serial_line
from dao.runs.control import Locked
from dao.runs.serial_line import Deadlock, InLine, Standing
from dao.runs.workflow_instances import NewInstance
from model.choices import ExecutionType
from model.errors import Refused
from model.ids import CommandId, WorkflowCode, WorkflowInstanceId
from model.runs.serial_lines import Line, giving_way
from model.runs.states import WorkflowState
from node.life import Life

log = structlog.get_logger()

E, W = ExecutionType, WorkflowState
OVERTAKEN_MAX = 500
"""How many waiting runs of a line one transaction ends because a newer one has priority."""
TURNS_MAX = 100
"""How many waiting runs begin in one transaction, if several of one line may; each called line may begin one."""
_OVERTAKEN = (W.STOP, "a newer run of this workflow has priority")
_ASKED = {
    W.READY_PAUSE: (W.PAUSE, "it was paused before it had begun to run"),
    W.READY_STOP: (W.STOP, "it was stopped before it had begun to run"),
}
_DISCARDED = (W.STOP, "another run of this workflow had not ended, and its execution type is SERIAL_DISCARD")
_DISCARDED_OF_KEY = (W.STOP, "another run of its key had not ended, and its execution type is SERIAL_DISCARD")

FindOlder = Callable[[Mapping[Line, CommandId]], Awaitable[Mapping[Line, CommandId]]]
"""For lines in which the run of this command would begin: the oldest command before it that still waits."""


class Lines:
    """The lines that a transaction has locked: which runs are live, how many may be, and which wait."""

    def __init__(self, standing: Iterable[Standing] = ()) -> None:
        self._max_active: dict[Line, int] = {}
        self._live: dict[Line, dict[WorkflowInstanceId, InLine]] = {}
        self._next: dict[Line, InLine] = {}
        self.add(standing)

    def add(self, standing: Iterable[Standing]) -> None:
        """Set the state of these lines. Runs that this transaction made live stay."""
        for each in standing:
            self._max_active[each.line] = each.max_active
            known = self._live.setdefault(each.line, {})
            self._live[each.line] = {run.id: run for run in each.live} | known
            self._next.pop(each.line, None)
            if each.next is not None:
                self._next[each.line] = each.next

    def max_active(self, line: Line) -> int:
        """How many runs of that line may be live at once."""
        return self._max_active.get(line, 1)

    def room(self, line: Line) -> int:
        """How many more may begin."""
        return max(0, self.max_active(line) - len(self._live.get(line, ())))

    def next(self, line: Line) -> InLine | None:
        """The run that waits at the head of that line, if there is room for it."""
        return self._next.get(line) if self.room(line) else None

    def is_first(self, new: NewInstance) -> bool:
        """Whether everything before a new run with a key is waiting runs of younger commands."""
        line = Line(new.workflow_code, new.serial_key)
        first = self.next(line)
        return bool(line.key) and first is not None and new.command_id < first.command

    def goes_on(self, id_: WorkflowInstanceId, line: Line) -> None:
        """Record that this transaction made the run live."""
        self._live.setdefault(line, {})[id_] = InLine(id_, line, W.RUNNING_EXECUTION, CommandId(0))

    def check(self, instance: Locked) -> None:
        """Apply the limit of live runs to one that continues after its end. Raises `Refused`."""
        if instance.execution_type is E.PARALLEL:
            return
        live = [run for run in self._live.get(instance.line, {}).values() if run.id != instance.id]
        of_key = f' for the key "{instance.serial_key}"' if instance.serial_key else ""
        if len(live) >= self.max_active(instance.line) > 1:
            raise Refused(
                f"workflow instance {instance.id} cannot go on: at most {self.max_active(instance.line)} runs of its "
                f"workflow go on at once{of_key}, and so many do; wait for the end of one"
            )
        if len(live) >= self.max_active(instance.line):
            raise Refused(
                f"workflow instance {instance.id} cannot go on: its workflow is {instance.execution_type}{of_key}, and "
                f"instance {live[0].id} of it is {live[0].state}; wait for its end"
            )
        first = self._next.get(instance.line)
        if first is not None and _is_before(first, instance):
            line = f'the line of the key "{instance.serial_key}"' if instance.serial_key else "the line of its workflow"
            raise Refused(
                f"workflow instance {instance.id} cannot go on: instance {first.id} is before it in {line}; wait for "
                "its turn, or stop what is before it"
            )


def _is_before(first: InLine, instance: Locked) -> bool:
    """Whether the first waiting run blocks this one. Without a key runs are ordered by creation, and a waiting one may
    be called early by hand."""
    if instance.state is W.SERIAL_WAIT:
        return bool(instance.serial_key) and first.id != instance.id
    return first.command < instance.command if instance.serial_key else first.id < instance.id


async def hold(connection: FencedTransaction, codes: Collection[WorkflowCode], moved: Collection[Line] = ()) -> Lines:
    """Lock the lines of these workflows until the transaction ends: all at once, and before any row of a run, otherwise
    two transactions could deadlock. The lines of `moved` runs are read."""
    if not codes:
        return Lines()
    await serial_line.lock(connection, codes)
    return Lines(await serial_line.standing(connection, moved) if moved else ())


async def line_up(
    connection: FencedTransaction, lines: Lines, new: Sequence[NewInstance], find_older: FindOlder
) -> list[NewInstance]:
    """The new runs with their initial states: running, waiting, or over. Halts runs that must give way.

    Calls a line with a key if runs wait in it, there is room, and no older command is left.
    """
    serial = [each for each in new if each.execution_type is not E.PARALLEL]
    lines.add(await serial_line.standing(connection, {_line(each) for each in serial}))
    # With a key the order is that of the commands, else that in which they are handled.
    places = {each.command_id: each.command_id if each.serial_key else place for place, each in enumerate(serial)}
    serial.sort(key=lambda each: places[each.command_id])
    firsts, lasts = _would_begin(lines, serial)
    older = await find_older(lasts) if lasts else {}
    winners = {_line(each): each for each in serial if each.execution_type is E.SERIAL_PRIORITY}
    overtaken: set[CommandId] = set()
    for line, winner in sorted(winners.items(), key=lambda each: each[0]):
        of_line = [each for each in serial if _line(each) == line]
        before = of_line[: of_line.index(winner)]
        overtaken |= await _give_way(connection, line, winner.command_id, before, lines.max_active(line))
    begun: Counter[Line] = Counter()
    behind: set[Line] = set()
    decided: dict[CommandId, tuple[WorkflowState, str]] = {}
    for each in serial:
        line, state, reason = _line(each), each.state, ""
        is_full = line in behind or begun[line] >= lines.room(line)
        is_behind = is_full or lines.next(line) is not None
        if each.execution_type is E.SERIAL_DISCARD and is_behind and (is_full or not lines.is_first(each)):
            state, reason = _DISCARDED_OF_KEY if each.serial_key else _DISCARDED
        elif each.command_id in overtaken:
            state, reason = _OVERTAKEN
        elif is_behind or older.get(line, each.command_id) < each.command_id:
            state = W.SERIAL_WAIT
            behind.add(line)
        else:
            begun[line] += 1
        decided[each.command_id] = state, reason
    if waits := {
        line.workflow_code
        for line, first in firsts.items()
        if older.get(line, first) >= first and lines.next(line) is not None
    }:
        await serial_line.call(connection, waits)
    return [
        replace(each, state=decided[each.command_id][0], reason=decided[each.command_id][1])
        if each.command_id in decided
        else each
        for each in new
    ]


def _line(new: NewInstance) -> Line:
    return Line(new.workflow_code, new.serial_key)


def _would_begin(lines: Lines, serial: Sequence[NewInstance]) -> tuple[dict[Line, CommandId], dict[Line, CommandId]]:
    """For each line with a key and room: the first and last run in it that older commands may delay."""
    firsts: dict[Line, CommandId] = {}
    lasts: dict[Line, CommandId] = {}
    for each in serial:
        line = _line(each)
        if line.key and lines.room(line):
            next_ = lines.next(line)
            standing = (each.command_id, next_.command) if next_ else (each.command_id,)
            firsts[line] = min(*standing, firsts.get(line, each.command_id))
            lasts[line] = max(*standing, lasts.get(line, each.command_id))
    return firsts, lasts


async def _give_way(
    connection: FencedTransaction, line: Line, winner: CommandId, new: Sequence[NewInstance], max_active: int
) -> set[CommandId]:
    """Make way for the new run of this command, which has priority: runs older than the newest `max_active` give way.
    Live runs are stopped, waiting ones ended; if there are many, the next call of the line ends the rest (`next_of`).
    In a line with a key younger runs stay. Returns which of the `new` runs give way."""
    live = [run for run in await serial_line.live(connection, line) if run.state is not W.READY_STOP]
    waiting = await serial_line.waiting(connection, {line: OVERTAKEN_MAX + max_active})
    older: list[tuple[tuple[int, int], InLine | CommandId]] = [
        ((0, run.command if line.key else run.id), run)
        for run in (*live, *waiting)
        if not line.key or run.command < winner
    ]
    older += [((0, each.command_id) if line.key else (1, place), each.command_id) for place, each in enumerate(new)]
    older.sort(key=lambda each: each[0])
    leaving = [each for _, each in giving_way(older, max_active)]
    runs = [each for each in leaving if isinstance(each, InLine)]
    if stops := {run.id: W.READY_STOP for run in runs if run.state is not W.SERIAL_WAIT}:
        await control.ask_halt(connection, stops)
    await _end(connection, [run.id for run in runs if run.state is W.SERIAL_WAIT][:OVERTAKEN_MAX])
    return {each for each in leaving if not isinstance(each, InLine)}


async def _end(connection: FencedTransaction, overtaken: Sequence[WorkflowInstanceId]) -> None:
    """End those that still wait, now that their rows are locked."""
    if not overtaken:
        return
    locked = await control.lock(connection, overtaken)
    waiting = [id_ for id_, run in locked.items() if not run.state.is_final]
    await control.end_waiting(connection, dict.fromkeys(waiting, _OVERTAKEN))
    await after_end.notify_awaiting(connection, waiting)


async def next_of(
    connection: FencedTransaction, lines: Lines, called: Collection[Line], find_older: FindOlder
) -> list[Locked]:
    """The next runs of each line, with their rows locked: the first that wait, as many as there is room for.

    Runs that a newer one with priority has overtaken end first. If those are many, the rest end in another transaction,
    which their ends request; until then there is no next run. None begins while an older command waits. A line in which
    more may begin than fit into one transaction is called again.
    """
    if not called:
        return []
    lines.add(await serial_line.standing(connection, called))
    room = {line: count for line in called if (count := lines.room(line))}
    stay = {line: lines.max_active(line) for line in room}
    overtaken = await serial_line.overtaken(connection, stay, OVERTAKEN_MAX) if room else {}
    await _end(connection, [id_ for ids in overtaken.values() for id_ in ids])
    share = max(1, TURNS_MAX // max(1, len(room)))
    asked = {line: min(n, share) for line, n in room.items() if len(overtaken.get(line, ())) < OVERTAKEN_MAX}
    turns: dict[WorkflowInstanceId, Locked] = {}
    while asked:
        waiting = [head for head in await serial_line.waiting(connection, asked) if head.id not in turns]
        if not waiting:
            break
        older = await find_older({head.line: head.command for head in waiting})  # the last of each line
        first = [head.id for head in waiting if head.command <= older.get(head.line, head.command)]
        locked = await control.lock(connection, first)
        begun = Counter(run.line for run in turns.values())
        asked = {}
        for run in (locked[id_] for id_ in first if id_ in locked):
            if run.state is W.SERIAL_WAIT:
                turns[run.id] = run
                begun[run.line] += 1
                continue
            if run.state in _ASKED:  # changed by hand: an ordinary request ends it at once
                await control.end_waiting(connection, {run.id: _ASKED[run.state]})
                await after_end.notify_awaiting(connection, [run.id])
            # Else it was paused or stopped in between, and the next query no longer returns it.
            asked[run.line] = min(room[run.line], share)
        asked = {line: n for line, n in asked.items() if begun[line] < n}
    begun = Counter(run.line for run in turns.values())
    if cut := {line.workflow_code for line, n in begun.items() if n == share < room[line]}:
        await serial_line.call(connection, cut)
    return list(turns.values())


async def unblock_lines(life: Life) -> None:
    """Call lines that wait although there is room, and end runs that would wait forever. Raises `ShoalError`."""
    async with life.writing() as connection:
        if called := await serial_line.call_missed(connection):
            log.warning("waiting_runs_called", commands=called, so="those continue that nothing is before")
    deadlocks = await life.database.read(serial_line.deadlocked)
    if deadlocks:
        await life.write(_end_deadlocks, deadlocks)


async def _end_deadlocks(connection: FencedTransaction, found: Sequence[Deadlock]) -> None:
    """End the deadlocked runs that still wait, as STOP; the tasks above them fail with the reason.

    A run that waits for its child does not end before it, so a deadlock lasts until one of its runs is ended.
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
