"""The operations that show the content of a workflow."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dao.definitions import versions
from dao.definitions.definitions import Definition
from dao.postgres.pool import AsyncConnection
from model.accounts.rights import Right
from model.definitions.workflow import TaskSpec, WorkflowSpec
from model.errors import NotFound
from service.call import Call
from service.fields import Id, Moment
from service.operation import operation
from service.workflows.listing import WorkflowAnswer, permitted_head
from service.workflows.requests import VERSION_MAX
from service.workflows.saved_workflow import read_version
from service.workflows.sealing import masked


class ShownTask(TaskSpec):
    """A task of a workflow, with the fields of the YAML. Its `code` is an id, so a text, which a save takes as well."""

    code: Id | None = None


class ShownSpec(WorkflowSpec):
    """The content of a version, with the fields of the YAML."""

    tasks: tuple[ShownTask, ...]


class WorkflowContentAnswer(WorkflowAnswer, etag="version"):
    """A version of a workflow; of SECRET parameters asterisks, which a save understands as what is there."""

    is_current: bool
    created_at: Moment
    created_by: Annotated[str, Field(description="who saved it")]
    spec: ShownSpec


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


async def _content(connection: AsyncConnection, head: Definition, version: int) -> WorkflowContentAnswer:
    spec = await read_version(connection, head, version)
    saved = await versions.authorship(connection, head.code, version)
    assert saved is not None
    return WorkflowContentAnswer.showing(
        head,
        version=version,
        is_current=version == head.version,
        created_at=saved.created_at,
        created_by=saved.created_by,
        spec=masked(spec, ShownSpec),
    )
