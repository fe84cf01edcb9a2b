"""The operation that shows the duties: what is done once in a while for the whole cluster, by whom, and its result."""

from __future__ import annotations

import re
from dataclasses import replace

from dao.duties import duty_listings as duties
from dao.duties.duty_listings import Duty, DutyDone
from model.accounts.rights import Right
from service.call import Call
from service.fields import Answer
from service.operation import operation
from service.paging import ItemsOf

_COUNTED = re.compile(r"[a-z ]+: \d+(?=;)", re.ASCII)
"""What a check found, in numbers: the names that follow belong to any project."""


class DutyDoneAnswer(Answer, DutyDone):
    """A duty that was done: by which master, from when to when, and what came of it.

    `late`: by another master than the one whose turn it was, since it was overdue. `is_fine` is false if a check found
    something that needs a person; `result` says what: in numbers alone to those who may not see all projects.
    """

    took_s: float

    @classmethod
    def of(cls, done: DutyDone) -> DutyDoneAnswer:
        """The answer for a row of the history."""
        return cls.showing(done, took_s=(done.ended_at - done.began_at).total_seconds())


class DutyAnswer(Answer, Duty, without={"failures"}):
    """What is done every `every_s` seconds for the whole cluster, next at `due_at`.

    `master` is who is at it now, since `began_at`. `error`: why a step failed, of which it has not recovered yet.
    Only those who may see all projects read it. `is_idle`: it is done only while there is something to do, and now
    there is nothing, however long ago `due_at` is.
    """

    last: DutyDoneAnswer | None = None

    @classmethod
    def of(cls, duty: Duty) -> DutyAnswer:
        return cls.showing(
            duty,
            error=duty.error if duty.failures > 0 else None,
            error_at=duty.error_at if duty.failures > 0 else None,
            last=None if duty.last is None else DutyDoneAnswer.of(duty.last),
        )


@operation("GET", "/duties", Right.VIEW_CLUSTER, "cluster")
async def list_duties(call: Call) -> ItemsOf[DutyAnswer]:
    """List what is done once in a while for the whole cluster: when, by which master, and what came of it.

    There are none before the first master has joined.
    """
    found = await call.read(duties.all_of_them)
    if call.caller.projects_with(Right.VIEW) is not None:
        found = [_without_names(each) for each in found]
    return ItemsOf[DutyAnswer](items=[DutyAnswer.of(each) for each in found])


def _without_names(duty: Duty) -> Duty:
    """A duty as any account may see it: findings and errors name tasks and runs of all projects."""
    error = None if duty.error is None else "an admin sees why"
    last = duty.last
    if last is not None and not last.is_fine:
        counted = _COUNTED.match(last.result)
        last = replace(last, result=f"{counted[0] if counted else 'it found something'}; an admin sees what")
    return replace(duty, error=error, last=last)
