"""What a workflow may refer to outside of itself: workflows and datasets of others, and what its project may use."""

from __future__ import annotations

from collections.abc import Iterable

from dao.definitions import definitions
from dao.postgres.pool import AsyncConnection
from model.accounts.project_limits import StartOptions
from model.accounts.rights import Right
from model.definitions.workflow import WorkflowSpec
from model.errors import Hidden
from model.ids import WorkflowCode
from model.logic.references import references
from service.call import Call
from service.projects.limits import check_limits


async def check_reach(
    call: Call,
    connection: AsyncConnection,
    project: str,
    spec: WorkflowSpec,
    schedules: Iterable[StartOptions] = (),
) -> None:
    """Let nobody start a workflow of another project by a task, or wait for it or its datasets, who may not see it.

    Args:
        schedules: those that are saved with it.
    Raises:
        Hidden: it names a workflow of a project that the caller may not see.
        Forbidden: the caller lacks a right in another project.
        Refused: the project may not use something that it names.
    """
    await check_limits(connection, project, spec, schedules)
    for trigger in spec.triggers:
        if trigger.project not in (None, project) and not call.caller.may(Right.VIEW, trigger.project):
            raise Hidden(
                f"triggers: there is no {trigger.words} that {call.caller.name} may see; ask an owner of its project "
                "for a role"
            )
    named = list(references(spec.tasks))
    codes = [WorkflowCode(each.workflow) for each in named if isinstance(each.workflow, int)]
    heads = await definitions.heads(connection, codes) if codes else {}
    for reference in named:
        there = reference.project or project
        if isinstance(reference.workflow, int):
            head = heads.get(WorkflowCode(reference.workflow))
            there = project if head is None else head.project
        if there != project and not call.caller.may(Right.VIEW, there):
            whose = f' of project "{reference.project}"' if reference.project else ""
            raise Hidden(
                f'task "{reference.task}": there is no workflow "{reference.workflow}"{whose} that {call.caller.name} '
                "may see; ask an owner of its project for a role"
            )
        if there == project or (reference.runs and call.caller.may(Right.EDIT, there)):
            continue
        call.caller.need(Right.OPERATE if reference.runs else Right.VIEW, there)
