"""The time of the database, to which all times of answers belong."""

from __future__ import annotations

from dao.postgres import database
from model.accounts.rights import Right
from service.call import Call
from service.fields import Answer, Moment
from service.operation import operation


class Clock(Answer):
    """The present time."""

    now: Moment


@operation("GET", "/clock", Right.VIEW_CLUSTER, "cluster")
async def read_clock(call: Call) -> Clock:
    """Show the database's time, from which ages are counted."""
    return Clock(now=await call.read(database.database_time))
