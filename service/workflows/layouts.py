"""The layout of a version, and its operations: read, and replaced without a new version.

Two people who move tasks at once lose nothing that means anything, so the last one who saves wins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dao.definitions import definitions, versions
from dao.definitions.definitions import Definition
from dao.postgres.pool import AsyncConnection
from model.accounts.rights import Right
from model.definitions.layout import Layout, Note, Place
from model.errors import NotFound, Refused
from model.ids import WorkflowCode
from service.call import Call, Subject
from service.fields import Answer, Id
from service.operation import operation
from service.workflows.listing import permitted_head
from service.workflows.requests import VersionQuery
from service.workflows.saved_workflow import read_version

NAMED_MAX = 5


class LayoutAnswer(Answer):
    """Where the tasks and notes of a version stand on a canvas. A task without a place is placed by the page."""

    version: int
    tasks: Mapping[str, Place]
    notes: Sequence[Note]

    @classmethod
    def of(cls, version: int, layout: Layout) -> LayoutAnswer:
        """The answer for the layout of a version."""
        return cls(version=version, tasks=layout.tasks, notes=layout.notes)


@operation("GET", "/workflow-definitions/{code}/layout", Right.VIEW, "workflow-definitions")
async def get_layout(call: Call, code: Id, query: VersionQuery) -> LayoutAnswer:
    """Show where the tasks and notes of a workflow stand on a canvas; empty if nobody placed them."""
    async with call.reading() as connection:
        head = await permitted_head(call, connection, code)
        version = query.version or head.version
        await _check_version(connection, head, version)
        return LayoutAnswer.of(version, await read_layout(connection, head, version))


@operation("PUT", "/workflow-definitions/{code}/layout", Right.EDIT, "workflow-definitions")
async def put_layout(call: Call, code: Id, query: VersionQuery, body: Layout) -> LayoutAnswer:
    """Replace where the tasks and notes of a workflow stand on a canvas. It makes no version, and the last one wins."""
    seen = await call.read(definitions.head, WorkflowCode(code))
    async with call.changing(Subject("workflow-definition", seen.code, seen.project, seen.name)) as change:
        head = await definitions.head(change.connection, seen.code)
        version = query.version or head.version
        await save_layout(change.connection, head, body, version)
        change.after = {"version": version, "tasks": len(body.tasks), "notes": len(body.notes)}
        change.answer = LayoutAnswer.of(version, body)
    return change.answered(LayoutAnswer)


async def read_layout(connection: AsyncConnection, head: Definition, version: int | None = None) -> Layout:
    """The layout of a version, by default of the current one; empty without one."""
    return await versions.read_layout(connection, head.code, version or head.version)


async def save_layout(
    connection: AsyncConnection, head: Definition, layout: Layout, version: int | None = None
) -> None:
    """Replace the layout of a version, by default of the current one. The last one who saves wins.

    Raises:
        NotFound: there is no such version.
        Refused: it has places of tasks that the version does not have, or the version cannot be read.
    """
    version = version or head.version
    spec = await read_version(connection, head, version)
    if strangers := layout.strangers([task.name for task in spec.tasks]):
        named = ", ".join(f'"{name}"' for name in strangers[:NAMED_MAX])
        raise Refused(f'version {version} of workflow "{head.name}" has no task {named}; leave it out of the layout')
    await versions.write_layout(connection, head.code, version, layout)


async def _check_version(connection: AsyncConnection, head: Definition, version: int) -> None:
    if await versions.authorship(connection, head.code, version) is None:
        raise NotFound(f'workflow "{head.name}" has no version {version}')
