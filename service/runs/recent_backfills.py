"""The operations that show which backfills were asked for: the last ones, and one with its dates."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dao.definitions import definitions
from dao.runs import backfills
from model.accounts.rights import Right
from model.errors import NotFound
from model.ids import CommandId, WorkflowCode
from service.call import Call
from service.fields import Answer, Asked, Id
from service.operation import operation
from service.paging import ItemsOf
from service.runs.backfills import BackfillAnswer, read_dates
from service.runs.requests import Project, StartBackfill

LIMIT_MAX = 100


class RecentQuery(Asked):
    """Which backfills."""

    project: Project = None
    limit: Annotated[int, Field(ge=1, le=LIMIT_MAX, description="at most this many")] = 10


class RecentBackfill(Answer, backfills.AskedBackfill, without={"request"}):
    """A backfill that was asked for, when and by whom, with the number of its dates in each of its workflows."""


@operation("GET", "/backfills", Right.VIEW, "backfills")
async def list_backfills(call: Call, query: RecentQuery) -> ItemsOf[RecentBackfill]:
    """List the last backfills that were asked for, newest first."""
    visible = call.visible()
    if query.project is not None:
        visible = {query.project} if visible is None else {query.project} & set(visible)
    found = await call.read(backfills.asked_for, query.limit, visible)
    return ItemsOf[RecentBackfill](items=[RecentBackfill.model_validate(each) for each in found])


@operation("GET", "/backfills/{id}", Right.VIEW, "backfills")
async def get_backfill(call: Call, id: Id) -> BackfillAnswer:
    """Show a backfill as it was asked for: its dates in chains, and its workflows."""
    async with call.reading() as connection:
        found = await backfills.asked_for(connection, 1, command=CommandId(id))
        if not found:
            call.permit(None)
            raise NotFound(f"command {id} is no backfill that was asked for")
        call.permit(found[0].project)
        head = await definitions.head(connection, WorkflowCode(found[0].workflow_code))
        request = {name: value for name, value in found[0].request.items() if name != "mode"}
        dates = await read_dates(connection, head, StartBackfill.model_validate(request))
    return BackfillAnswer.of(head, dates).model_copy(update={"command_id": id})
