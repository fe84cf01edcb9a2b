"""The operations about the versions of a workflow: list, compare and export them, and go back to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import Field

from dao.definitions.definitions import Definition
from dao.definitions.versions import Version, versions_of
from model.accounts.rights import Right
from model.errors import Refused
from model.parameters.secret_values import without_sealed
from service.call import Call
from service.fields import Answer, Id
from service.operation import operation
from service.paging import PageOf, PageQuery, page_of
from service.workflows.listing import permitted_head
from service.workflows.requests import DiffQuery, ExportQuery
from service.workflows.saved_workflow import exported, versions_differ


class VersionAnswer(Answer, Version):
    """A version. `unfinished` of its `runs` have not ended."""

    is_current: bool

    @classmethod
    def of(cls, version: Version, head: Definition) -> VersionAnswer:
        """The answer for a version of a workflow."""
        return cls.showing(version, is_current=version.version == head.version)


class DiffAnswer(Answer):
    """The lines of a unified diff, none if there is no difference; of SECRET parameters asterisks."""

    workflow: str
    diff: Sequence[str]

    @classmethod
    def of(cls, head: Definition, lines: Sequence[str]) -> Self:
        """The answer for a difference in a workflow."""
        return cls(workflow=head.name, diff=[without_sealed(line) for line in lines])


class ExportAnswer(Answer):
    """A workflow and its schedules as a file."""

    name: str
    version: int
    yaml: Annotated[str, Field(description="of SECRET parameters asterisks")]
    is_as_written: Annotated[
        bool, Field(description="it is the text that was saved, with its comments, not one made from the definition")
    ]


@operation("GET", "/workflow-definitions/{code}/versions", Right.VIEW, "workflow-definitions")
async def list_workflow_versions(call: Call, code: Id, query: PageQuery) -> PageOf[VersionAnswer]:
    """List the versions of a workflow, the newest first, and how many runs use each."""
    async with call.reading() as connection:
        head = await permitted_head(call, connection, code)
        found = await versions_of(connection, head.code, query.limit + 1, query.after)
    return page_of(found, query.limit, lambda each: VersionAnswer.of(each, head), lambda each: each.version)


@operation("GET", "/workflow-definitions/{code}/diff", Right.VIEW, "workflow-definitions")
async def diff_workflow_versions(call: Call, code: Id, query: DiffQuery) -> DiffAnswer:
    """Show what changed from one version to another, as the lines of a unified diff."""
    async with call.reading() as connection:
        head = await permitted_head(call, connection, code)
        newer = query.newer or head.version
        if query.older is None and newer == 1:
            raise Refused(f'workflow "{head.name}" has no version before 1; name a file to compare it with')
        lines = await versions_differ(connection, head, query.older or newer - 1, newer)
    return DiffAnswer.of(head, lines)


@operation("GET", "/workflow-definitions/{code}/export", Right.VIEW, "workflow-definitions")
async def export_workflow(call: Call, code: Id, query: ExportQuery) -> ExportAnswer:
    """Export a workflow and its schedules as a YAML file, which can be applied as the same definition."""
    async with call.reading() as connection:
        head = await permitted_head(call, connection, code)
        found = await exported(connection, head, query.version, layout=query.layout, canonical=query.canonical)
    return ExportAnswer(
        name=head.name,
        version=query.version or head.version,
        yaml=found.yaml,
        is_as_written=found.is_as_written,
    )
