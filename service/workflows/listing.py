"""The operations that list, find and show workflow definitions."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field
from sqlalchemy.ext.asyncio import AsyncConnection

from dao.definitions import definitions, versions
from dao.definitions.definitions import Definition
from model.choices import ReleaseState
from model.errors import NotFound
from model.ids import WorkflowCode
from model.rights import Right
from model.workflow import WorkflowSpec
from service.call import Call
from service.fields import Answer, Id, Moment
from service.operation import operation
from service.pages import PageOf, page_of
from service.workflows.requests import VERSION_MAX, WorkflowQuery, WorkflowReference
from service.workflows.saved_workflow import read_version
from service.workflows.sealing import masked


class WorkflowAnswer(Answer):
    """A workflow: its current version, and whether it may be started."""

    code: Id
    project: str
    name: str
    version: int
    release_state: ReleaseState

    @classmethod
    def of(cls, head: Definition) -> Self:
        """The answer for a workflow."""
        return cls.model_validate(head)


class WorkflowContentAnswer(WorkflowAnswer):
    """A version of a workflow; of SECRET parameters asterisks, which a save understands as what is there."""

    is_current: bool
    created_at: Moment
    created_by: Annotated[str, Field(description="who saved it")]
    spec: WorkflowSpec

    @property
    def etag(self) -> str:
        """The version."""
        return str(self.version)


@operation("GET", "/workflow-definitions", Right.VIEW, "workflow-definitions")
async def list_workflows(call: Call, query: WorkflowQuery) -> PageOf[WorkflowAnswer]:
    """List workflows by their codes."""
    visible = call.visible()
    async with call.reading() as connection:
        found = await definitions.page(
            connection,
            query.limit + 1,
            after=query.after,
            project=query.project,
            part=query.q,
            state=query.release_state,
            visible=visible,
        )
    return page_of(found, query.limit, WorkflowAnswer.of, lambda head: head.code)


@operation("GET", "/workflow-definitions:find", Right.VIEW, "workflow-definitions")
async def find_workflow(call: Call, query: WorkflowReference) -> WorkflowAnswer:
    """Find the workflow that a person names."""
    async with call.reading() as connection:
        head = await definitions.find(connection, query.name, query.project, call.visible())
    call.permit(head.project)
    return WorkflowAnswer.of(head)


@operation("GET", "/workflow-definitions/{code}", Right.VIEW, "workflow-definitions")
async def get_workflow(call: Call, code: Id) -> WorkflowContentAnswer:
    """Show a workflow in its current version; the ETag is the version."""
    async with call.reading() as connection:
        head = await permitted_head(call, connection, code)
        return await _content(connection, head, head.version)


@operation("GET", "/workflow-definitions/{code}/versions/{version}", Right.VIEW, "workflow-definitions")
async def get_workflow_version(call: Call, code: Id, version: Id) -> WorkflowContentAnswer:
    """Show a version of a workflow."""
    async with call.reading() as connection:
        head = await permitted_head(call, connection, code)
        if not 0 < version <= VERSION_MAX:
            raise NotFound(f'workflow "{head.name}" has no version {version}')
        return await _content(connection, head, version)


async def permitted_head(call: Call, connection: AsyncConnection, code: int) -> Definition:
    """The workflow with this code. Raises `NotFound`, and `Forbidden`."""
    head = await definitions.head(connection, WorkflowCode(code))
    call.permit(head.project)
    return head


async def _content(connection: AsyncConnection, head: Definition, version: int) -> WorkflowContentAnswer:
    spec = await read_version(connection, head, version)
    saved = await versions.authorship(connection, head.code, version)
    assert saved is not None
    return WorkflowContentAnswer(
        code=head.code,
        project=head.project,
        name=head.name,
        version=version,
        release_state=head.release_state,
        is_current=version == head.version,
        created_at=saved.created_at,
        created_by=saved.created_by,
        spec=masked(spec),
    )
