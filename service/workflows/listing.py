"""The operations that list, find and show workflow definitions."""

from __future__ import annotations

from dao.definitions import definitions
from dao.definitions.definitions import Definition
from model.choices import ReleaseState
from model.rights import Right
from service.call import Call
from service.fields import Answer, Id
from service.operation import operation
from service.workflows.requests import WorkflowReference


class WorkflowAnswer(Answer):
    """A workflow: its current version, and whether it may be started."""

    code: Id
    project: str
    name: str
    version: int
    release_state: ReleaseState

    @classmethod
    def of(cls, head: Definition) -> WorkflowAnswer:
        """The answer for a workflow."""
        return cls.model_validate(head)


@operation("GET", "/workflow-definitions:find", Right.VIEW, "workflow-definitions")
async def find_workflow(call: Call, query: WorkflowReference) -> WorkflowAnswer:
    """Find the workflow that a person names."""
    async with call.reading() as connection:
        head = await definitions.find(connection, query.name, query.project)
    call.permit(head.project)
    return WorkflowAnswer.of(head)
