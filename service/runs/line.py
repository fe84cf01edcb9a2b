"""The operation that shows the line in which a run of a serial workflow stands."""

from __future__ import annotations

from collections.abc import Sequence

from dao.commands.older_starts import first_older
from dao.run_lists import run_listings as listings
from dao.runs import relations
from model.accounts.rights import Right
from model.ids import WorkflowInstanceId
from model.runs.states import WorkflowState
from service.call import Call
from service.fields import Answer, Id
from service.operation import operation

SHOWN_MAX = 20


class BeforeAnswer(Answer):
    """A run that is before another one in its line."""

    id: Id
    state: WorkflowState


class LineAnswer(Answer):
    """What is before a run in its line.

    `max_active` runs of the line go on at once; `place` counts from 1 = the next one. Both are left out for a run that
    does not wait. `before` are the first runs before it, in the order of the line, those that run first.
    `older_command_id` is the oldest start of the workflow that was asked for before this run and is not handled yet: a
    run with a key waits while one of its key is left.
    """

    serial_key: str | None = None
    max_active: int | None = None
    place: int | None = None
    before: Sequence[BeforeAnswer] = ()
    older_command_id: Id | None = None


@operation("GET", "/workflow-instances/{id}/line", Right.VIEW, "workflow-instances")
async def get_line(call: Call, id: Id) -> LineAnswer:
    """Show what a run of a serial workflow waits for: the runs before it in its line."""
    run_id = WorkflowInstanceId(id)
    async with call.reading() as connection:
        run = (await listings.heads(connection, {run_id}))[run_id]
        call.permit(run.project)
        if run.state is not WorkflowState.SERIAL_WAIT:
            return LineAnswer(serial_key=run.serial_key)
        before = (await relations.before(connection, [run_id]))[run_id]
        older = (await first_older(connection, [run_id])).get(run_id)
        max_active = (await relations.max_active(connection, [run_id]))[run_id]
    waiting = [each for each in before if each[1] is WorkflowState.SERIAL_WAIT]
    return LineAnswer(
        serial_key=run.serial_key,
        max_active=max_active,
        place=len(waiting) + 1,
        before=[BeforeAnswer(id=each, state=state) for each, state in before[:SHOWN_MAX]],
        older_command_id=older,
    )
