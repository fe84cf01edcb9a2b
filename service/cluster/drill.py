"""The operations of the drill: really kill a master, to see that nothing is lost. Only where `shoal up` runs.

`shoal up` gives its API a way to ask for it; an API that was started in any other way has none. It restarts the master
some seconds later, and never kills the last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Protocol

from pydantic import Field

from model.accounts.rights import Right
from model.errors import Refused
from service.call import Call, Subject
from service.fields import Answer, Asked, Text
from service.operation import operation

NOT_HERE = "a drill is possible only where `shoal up` runs all masters on one machine: start one, and open its page"


class Drill(Protocol):
    """Kills masters of this machine by order of the person who started them."""

    async def masters(self) -> Sequence[str]:
        """The names of the masters that run. Raises `Unavailable`."""

    async def kill(self, name: str) -> int:
        """Kill one with SIGKILL, and return its process id.

        Raises:
            Refused: there is no such master, or it is the last one.
            Unavailable: their starter does not answer.
        """


class DrillAnswer(Answer):
    """Whether a master can be killed here; if not, `why_not` says why. `masters` are the names of those that run."""

    is_possible: bool
    why_not: str | None = None
    masters: Sequence[str]


class KillMaster(Asked):
    """Which master is killed."""

    master: Annotated[Text, Field(max_length=200, description="its name, such as m2")]


class KilledAnswer(Answer):
    """The master that was killed, and the id of its process."""

    master: str
    pid: int


@operation("GET", "/drill", Right.ADMINISTER, "cluster")
async def get_drill(call: Call) -> DrillAnswer:
    """Show whether a master can be killed for a drill, which is only so where `shoal up` runs."""
    if call.backend.drill is None:
        return DrillAnswer(is_possible=False, why_not=NOT_HERE, masters=())
    masters = await call.backend.drill.masters()
    if len(masters) < 2:
        why_not = "one master is left: nobody could fail its runs over, and everything would wait for its restart"
        return DrillAnswer(is_possible=False, why_not=why_not, masters=masters)
    return DrillAnswer(is_possible=True, masters=masters)


@operation("POST", "/drill:kill", Right.ADMINISTER, "cluster")
async def kill_master(call: Call, body: KillMaster) -> KilledAnswer:
    """Kill a master of `shoal up` with SIGKILL, to see that nothing is lost; it is restarted some seconds later."""
    async with call.changing(Subject("node", body.master, name=body.master)) as change:
        if call.backend.drill is None:
            raise Refused(NOT_HERE)
        # Within the transaction: a master is killed once for an idempotency key, and never without the audit row.
        change.answer = KilledAnswer(master=body.master, pid=await call.backend.drill.kill(body.master))
        change.after = {"signal": "SIGKILL", "pid": change.answer.pid}
    return change.answered(KilledAnswer)
