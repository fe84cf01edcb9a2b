"""Which runs of a serial workflow continue: decided with its line locked, in the order in which a batch handles them.

A line is the queue of a serial workflow's runs. A batch locks the lines of all its commands before it changes anything,
and records its own changes here: of two runs that it lets continue, the second sees the first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import structlog

from dao.postgres.database import FencedTransaction
from dao.runs import completion, control, serial_line
from dao.runs.control import Locked
from dao.runs.serial_line import Deadlock, InLine
from dao.runs.workflow_instances import NewInstance
from model.choices import ExecutionType
from model.errors import Refused
from model.ids import WorkflowCode, WorkflowInstanceId
from model.states import WorkflowState
from node.life import Life

log = structlog.get_logger()

E, W = ExecutionType, WorkflowState
OVERTAKEN_MAX = 500
"""How many waiting runs one transaction ends because a newer one has priority."""
_OVERTAKEN = (W.STOP, "a newer run of this workflow has priority")
_ASKED = {
    W.READY_PAUSE: (W.PAUSE, "it was paused before it had begun to run"),
    W.READY_STOP: (W.STOP, "it was stopped before it had begun to run"),
}
_DISCARDED = (W.STOP, "another run of this workflow had not ended, and its execution type is SERIAL_DISCARD")


class Lines:
    """The lines that a transaction has locked: which have a live run, and which have waiting ones."""

    def __init__(self, standing: Iterable[InLine] = ()) -> None:
        self._live: dict[WorkflowCode, InLine] = {}
        self._waits: set[WorkflowCode] = set()
        for each in standing:
            if each.state is W.SERIAL_WAIT:
                self._waits.add(each.workflow_code)
            else:
                self._live[each.workflow_code] = each

    def live(self, code: WorkflowCode) -> InLine | None:
        """A run of that workflow which has begun and not ended."""
        return self._live.get(code)

    def is_busy(self, code: WorkflowCode) -> bool:
        """Whether any run is before a new one."""
        return code in self._live or code in self._waits

    def goes_on(self, id_: WorkflowInstanceId, code: WorkflowCode) -> None:
        """This transaction made that run live."""
        self._live[code] = InLine(id_, code, W.RUNNING_EXECUTION)

    def check(self, instance: Locked) -> None:
        """One run at a time also applies to runs that continue after their end. Raises `Refused`."""
        before = self._live.get(instance.workflow_code)
        if instance.execution_type is not E.PARALLEL and before is not None and before.id != instance.id:
            raise Refused(
                f"workflow instance {instance.id} cannot go on: its workflow is {instance.execution_type}, and "
                f"instance {before.id} of it is {before.state}; wait for its end"
            )


async def hold(connection: FencedTransaction, codes: Collection[WorkflowCode]) -> Lines:
    """Lock the lines of these workflows until the transaction ends. All that it needs at once, and before any row of a
    run: otherwise two transactions could deadlock."""
    return Lines(await serial_line.lock(connection, codes)) if codes else Lines()


async def line_up(connection: FencedTransaction, lines: Lines, new: Sequence[NewInstance]) -> list[NewInstance]:
    """The new instances with their initial states: running, waiting, or over. Runs that must give way are halted."""
    winners = {each.workflow_code: place for place, each in enumerate(new) if each.execution_type is E.SERIAL_PRIORITY}
    taken: set[WorkflowCode] = set()
    lined_up = []
    for place, each in enumerate(new):
        code = each.workflow_code
        state, reason = each.state, ""
        if each.execution_type is not E.PARALLEL:
            is_busy = code in taken or lines.is_busy(code)
            if each.execution_type is E.SERIAL_DISCARD and is_busy:
                state, reason = _DISCARDED
            elif place < winners.get(code, place):
                state, reason = _OVERTAKEN
            elif is_busy:
                state = W.SERIAL_WAIT
        if not state.is_final:
            taken.add(code)
        lined_up.append(replace(each, state=state, reason=reason))
    for code in sorted(winners):
        await _give_way(connection, code)
    return lined_up


async def _give_way(connection: FencedTransaction, code: WorkflowCode) -> None:
    """Make way for a new run that has priority: live runs are stopped, waiting ones ended; if there are many, the rest
    are ended when the next is called (`next_of`)."""
    live = await serial_line.live(connection, code)
    if stops := {run.id: W.READY_STOP for run in live if run.state is not W.READY_STOP}:
        await control.ask_halt(connection, stops)
    await _end(connection, await serial_line.waiting(connection, code, OVERTAKEN_MAX))


async def _end(connection: FencedTransaction, overtaken: Sequence[WorkflowInstanceId]) -> None:
    """End those that still wait, now that their rows are locked."""
    if not overtaken:
        return
    locked = await control.lock(connection, overtaken)
    waiting = [id_ for id_, run in locked.items() if not run.state.is_final]
    await control.end_waiting(connection, dict.fromkeys(waiting, _OVERTAKEN))
    await completion.notify_awaiting(connection, waiting)


async def next_of(connection: FencedTransaction, lines: Lines, code: WorkflowCode) -> Locked | None:
    """The next run of a line, with its row locked: the oldest that waits, if none is live.

    Runs that a newer one with priority has overtaken end first. If those are many, the rest end in another transaction,
    which their ends request; until then there is no next run.
    """
    if lines.live(code) is not None:
        return None
    overtaken = await serial_line.overtaken(connection, code, OVERTAKEN_MAX)
    await _end(connection, overtaken)
    if len(overtaken) == OVERTAKEN_MAX:
        return None
    while waiting := await serial_line.waiting(connection, code, 1):
        locked = await control.lock(connection, waiting)
        for run in locked.values():
            if run.state is W.SERIAL_WAIT:
                return run
            if run.state in _ASKED:  # changed by hand: an ordinary request ends it at once
                await control.end_waiting(connection, {run.id: _ASKED[run.state]})
                await completion.notify_awaiting(connection, [run.id])
        # Else it was paused or stopped in between, and the next query does not return it any more.
    return None


async def unblock_lines(life: Life) -> None:
    """Call lines that wait although no run is live, and end runs that would wait for ever. Raises `ShoalError`."""
    async with life.writing() as connection:
        if called := await serial_line.call_missed(connection):
            log.warning("waiting_runs_called", commands=called, so="they continue; a notification was missing")
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
        each.id: f"it waited for ever: its turn comes when run {each.live} of this serial workflow has ended, and that "
        "run waits for this one; no task of a serial workflow may run that workflow again, not through others either"
        for each in found
        if each.id in locked and locked[each.id].state is W.SERIAL_WAIT
    }
    if not reasons:
        return
    await control.end_waiting(connection, {id_: (W.STOP, reason) for id_, reason in reasons.items()})
    await completion.notify_awaiting(connection, list(reasons))
    log.warning("deadlocks_ended", runs=list(reasons), so="these waited for a run that waited for them")
