"""The operations that list and find workflow definitions; what shows one is in `content.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dao.definitions import definitions, versions
from model.accounts.rights import Right
from model.choices import ReleaseState
from model.ids import WorkflowCode
from service.call import Call
from service.fields import Answer, Id, Moment
from service.operation import operation
from service.paging import PageOf, page_of
from service.workflows.requests import WorkflowQuery, WorkflowReference

if TYPE_CHECKING:
    from dao.definitions.definitions import Definition
    from dao.postgres.pool import AsyncConnection


class WorkflowAnswer(Answer):
    """A workflow: its current version, and whether it may be started."""

    code: Id
    project: str
    name: str
    version: int
    release_state: ReleaseState


class ListedWorkflow(WorkflowAnswer):
    """A workflow of a list, its tags, and who saved its current version; left out if that version is missing."""

    tags: Sequence[str] = ()
    saved_by: str | None = None
    saved_at: Moment | None = None


@operation("GET", "/workflow-definitions", Right.VIEW, "workflow-definitions")
async def list_workflows(call: Call, query: WorkflowQuery) -> PageOf[ListedWorkflow]:
    """List workflows by their codes."""
    visible = call.visible()
    async with call.reading() as connection:
        wanted = definitions.Wanted(query.project, query.q, query.release_state, query.tag, visible)
        found = await definitions.page(connection, query.limit + 1, wanted, query.after)
        saved = await versions.listed(connection, [(head.code, head.version) for head in found])

    def listed(head: Definition) -> ListedWorkflow:
        by = saved.get(head.code)
        fields = WorkflowAnswer.model_validate(head).model_dump()
        if by is None:
            return ListedWorkflow(**fields)
        return ListedWorkflow(**fields, tags=by.tags, saved_by=by.created_by, saved_at=by.created_at)

    return page_of(found, query.limit, listed, lambda head: head.code)


@operation("GET", "/workflow-definitions:find", Right.VIEW, "workflow-definitions")
async def find_workflow(call: Call, query: WorkflowReference) -> WorkflowAnswer:
    """Find the workflow that a person names."""
    head = await call.read(definitions.find, query.name, query.project, call.visible())
    call.permit(head.project)
    return WorkflowAnswer.model_validate(head)


async def permitted_head(call: Call, connection: AsyncConnection, code: int) -> Definition:
    """The workflow with this code. Raises `NotFound`, and `Forbidden`."""
    head = await definitions.head(connection, WorkflowCode(code))
    call.permit(head.project)
    return head
