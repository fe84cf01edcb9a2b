"""The operation that lists the elements of a task with `each`."""

from __future__ import annotations

from dao.run_lists import element_listings
from dao.run_lists import run_listings as listings
from model.accounts.rights import Right
from model.errors import Refused
from model.ids import WorkflowInstanceId
from model.runs.elements import index_of
from service.call import Call
from service.fields import Id
from service.operation import operation
from service.paging import PageOf, page_of
from service.runs.answers import TaskAnswer
from service.runs.references import find_plan
from service.runs.requests import ElementQuery


@operation("GET", "/workflow-instances/{id}/elements", Right.VIEW, "workflow-instances")
async def list_elements(call: Call, id: Id, query: ElementQuery) -> PageOf[TaskAnswer]:
    """List the elements of a task with `each`, by their index: the last attempt of each that has begun."""
    run = WorkflowInstanceId(id)
    async with call.reading() as connection:
        head = await listings.run_head(connection, run)
        call.permit(head.project)
        plan = await find_plan(connection, head)
        code = None if plan is None else plan.codes.get(query.task)
        if plan is None or code not in plan.mapped:
            raise Refused(f'run {id} has no task "{query.task}" with each; `shoal show {id}` lists its tasks')
        found = await element_listings.page(connection, run, code, query.limit + 1, query.after, query.state)
    return page_of(found, query.limit, TaskAnswer.of, lambda each: index_of(each.code))
