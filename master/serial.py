"""Which runs of a serial workflow go on: decided with its line held, in the order in which a batch handles them.

A batch takes the lines of all its commands before it changes anything, and notes here what it does itself: of two runs
that it lets go on the second sees the first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncConnection

from dao import ends, instance_moves, serial_line
from dao.instance_moves import Locked
from dao.serial_line import InLine
from dao.workflow_instances import NewInstance
from model.choices import ExecutionType
from model.errors import Refused
from model.ids import WorkflowCode, WorkflowInstanceId
from model.states import WorkflowState

E, W = ExecutionType, WorkflowState
OVERTAKEN_MAX = 500
"""How many of those that wait one transaction ends, since a newer one has priority."""
_OVERTAKEN = (W.STOP, "a newer run of this workflow has priority")
_ASKED = {
    W.READY_PAUSE: (W.PAUSE, "it was paused before it had begun to run"),
    W.READY_STOP: (W.STOP, "it was stopped before it had begun to run"),
}
_DISCARDED = (W.STOP, "another run of this workflow had not ended, and its execution type is SERIAL_DISCARD")


class Lines:
    """The lines that a transaction holds: in which somebody is live, and in which anybody waits."""

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
        """Whether a new run has any before it."""
        return code in self._live or code in self._waits

    def goes_on(self, id_: WorkflowInstanceId, code: WorkflowCode) -> None:
        """This transaction made that run live."""
        self._live[code] = InLine(id_, code, W.RUNNING_EXECUTION)

    def check(self, instance: Locked) -> None:
        """One run at a time also holds for what goes on after its end. Raises `Refused`."""
        before = self._live.get(instance.workflow_code)
        if instance.execution_type is not E.PARALLEL and before is not None and before.id != instance.id:
            raise Refused(
                f"workflow instance {instance.id} cannot go on: its workflow is {instance.execution_type}, and "
                f"instance {before.id} of it is {before.state}; wait for its end"
            )


async def hold(connection: AsyncConnection, codes: Collection[WorkflowCode]) -> Lines:
    """The lines of these workflows, until the transaction ends. All that it needs, at once and before any row of a run:
    else two transactions could wait for each other."""
    return Lines(await serial_line.lock(connection, codes)) if codes else Lines()


async def line_up(connection: AsyncConnection, lines: Lines, new: Sequence[NewInstance]) -> list[NewInstance]:
    """The same with the states in which they begin: running, waiting, or over. What has to give way is halted."""
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


async def _give_way(connection: AsyncConnection, code: WorkflowCode) -> None:
    """For a new run that has priority: what is live is stopped, what waits is ended; of many the rest when the next is
    called (`next_of`)."""
    live = await serial_line.live(connection, code)
    if stops := {run.id: W.READY_STOP for run in live if run.state is not W.READY_STOP}:
        await instance_moves.ask_halt(connection, stops)
    await _end(connection, await serial_line.waiting(connection, code, OVERTAKEN_MAX))


async def _end(connection: AsyncConnection, overtaken: Sequence[WorkflowInstanceId]) -> None:
    """End those of these that still wait, now that their rows are held."""
    if not overtaken:
        return
    locked = await instance_moves.lock(connection, overtaken)
    waiting = [id_ for id_, run in locked.items() if not run.state.is_final]
    await instance_moves.end_waiting(connection, dict.fromkeys(waiting, _OVERTAKEN))
    await ends.tell(connection, waiting)


async def next_of(connection: AsyncConnection, lines: Lines, code: WorkflowCode) -> Locked | None:
    """Whose turn it is in a line, with its row held: the oldest that waits, when nobody is live.

    First those end that a newer one with priority has overtaken. When those are many the next ones end in another
    transaction, for which their ends ask; until then it is nobody's turn.
    """
    if lines.live(code) is not None:
        return None
    overtaken = await serial_line.overtaken(connection, code, OVERTAKEN_MAX)
    await _end(connection, overtaken)
    if len(overtaken) == OVERTAKEN_MAX:
        return None
    while waiting := await serial_line.waiting(connection, code, 1):
        locked = await instance_moves.lock(connection, waiting)
        for run in locked.values():
            if run.state is W.SERIAL_WAIT:
                return run
            if run.state in _ASKED:  # by hand: whoever is asked in the ordinary way ends at once
                await instance_moves.end_waiting(connection, {run.id: _ASKED[run.state]})
                await ends.tell(connection, [run.id])
        # Else a pause or stop of it came in between, and the next look does not find it any more.
    return None
