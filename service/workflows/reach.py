"""What a workflow may refer to outside of itself: workflows of other projects, worker groups and tenants."""

from __future__ import annotations

from collections.abc import Iterable

from dao.definitions import definitions
from dao.postgres.engine import AsyncConnection
from model.ids import WorkflowCode
from model.logic.references import references
from model.rights import Right
from model.workflow import WorkflowSpec
from service.call import Call
from service.projects.limits import check_limits


async def check_reach(
    call: Call,
    connection: AsyncConnection,
    project: str,
    spec: WorkflowSpec,
    of_schedules: Iterable[str | None] = (),
) -> None:
    """Let nobody start a workflow of another project by a task, or wait for it, who may not do so directly.

    Args:
        of_schedules: the worker groups that its schedules name.
    Raises:
        Forbidden: the caller lacks a right in another project.
        Refused: the project may not use a worker group or a tenant.
    """
    groups = [spec.worker_group, *(task.worker_group for task in spec.tasks), *of_schedules]
    await check_limits(connection, project, groups, [spec.tenant, *(task.tenant for task in spec.tasks)])
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
