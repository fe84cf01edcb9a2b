"""Which other projects a workflow may refer to: whoever saves it needs a right there too."""

from __future__ import annotations

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.definitions import definitions
from model.ids import WorkflowCode
from model.logic.references import references
from model.rights import Right
from model.workflow import WorkflowSpec
from service.call import Call


async def check_reach(call: Call, connection: AsyncConnection, project: str, spec: WorkflowSpec) -> None:
    """Let nobody start a workflow of another project by a task, or wait for it, who may not do so directly.

    Raises `Forbidden`.
    """
    named = list(references(spec.tasks))
    codes = [WorkflowCode(each.workflow) for each in named if isinstance(each.workflow, int)]
    heads = await definitions.heads(connection, codes) if codes else {}
    for reference in named:
        there = reference.project or project
        if isinstance(reference.workflow, int):
            head = heads.get(WorkflowCode(reference.workflow))
            there = project if head is None else head.project
        if there == project or (reference.runs and call.caller.may(Right.EDIT, there)):
            continue
        call.caller.need(Right.OPERATE if reference.runs else Right.VIEW, there)
