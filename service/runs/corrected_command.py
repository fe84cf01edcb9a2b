"""An error command that is asked for again, corrected: what may be corrected, and what is checked then."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from dao.commands import error_commands
from dao.definitions import definitions
from model.choices import FailureStrategy, Priority, TaskDependType
from model.errors import Hidden, NotFound, Refused
from model.ids import WorkflowCode, WorkflowInstanceId
from model.parameters.text import as_text
from model.runs.command_moves import REVIVING, STARTING, CommandType
from model.runs.commands import BACKFILL
from service.call import Call
from service.dependents import check_dependents
from service.fields import Asked, Id, Text
from service.projects.limits import check_limits_of_reruns
from service.runs import retry_check
from service.runs.requests import Name
from service.runs.start_check import check_all_values, check_start
from service.workflows.sealing import sealed_for_start

if TYPE_CHECKING:
    from dao.commands.error_commands import Corrections
    from dao.commands.rows import ErrorCommand
    from dao.postgres.pool import AsyncConnection


class CorrectedCommand(Asked):
    """What the new command asks for instead; what is left out is as it was."""

    type: Annotated[CommandType | None, Field(description="one that people ask for")] = None
    workflow_code: Id | None = None
    version: Annotated[int | None, Field(ge=1, le=2**31 - 1, description="of the workflow")] = None
    params: Annotated[
        dict[Text, Text | None],
        Field(max_length=1000, default_factory=dict, description="values to set; null takes one away"),
    ]
    priority: Priority | None = None
    failure_strategy: FailureStrategy | None = None
    worker_group: Name | None = None
    environment: Name | None = None
    tasks: Annotated[Sequence[Name], Field(max_length=10_000, description="begin with these tasks only")] = ()
    depend: Annotated[TaskDependType | None, Field(description="with `tasks`: which others run")] = None


async def corrections_of(
    call: Call, connection: AsyncConnection, error: ErrorCommand, body: CorrectedCommand
) -> Corrections:
    """The corrections as they are stored: checked against the workflow as a start is, its secrets sealed."""
    code = body.workflow_code or error.workflow_code
    try:
        head = None if code is None else await definitions.head(connection, WorkflowCode(code))
    except NotFound:
        if body.workflow_code is not None:
            raise
        head = None
    if BACKFILL in body.params:
        raise Refused(
            f'params: "{BACKFILL}" says which dates are filled, and cannot be corrected; start another backfill'
        )
    type_ = body.type or error.type
    if head is not None:
        try:
            call.permit(head.project)
        except Hidden:  # the answer about a code that no workflow has
            raise definitions.no_workflow(head.code) from None
        version, group = body.version or error.workflow_version, body.worker_group or error.worker_group
        await retry_check.check_limits_of_retry(connection, error, type_, head, version, group)
        check_dependents(call, await retry_check.dependents_of(connection, error, type_, head.code))
    if type_ in REVIVING and error.workflow_instance_id is not None:
        await check_limits_of_reruns(connection, [WorkflowInstanceId(error.workflow_instance_id)])
    params = None
    if body.params:
        given = {name: value for name, value in body.params.items() if value is not None}
        if head is not None:
            await check_start(connection, head, given, body.tasks, version)
            if type_ in STARTING:
                before = {name: as_text(value) for name, value in retry_check.params_of(error).items()}
                left = {name: value for name, value in before.items() if name not in body.params}
                await check_all_values(connection, head, {**left, **given}, version)
            given = await sealed_for_start(connection, head, given, call.settings.secrets, version)
        kept = {name: value for name, value in retry_check.params_of(error).items() if name not in body.params}
        params = json.dumps({**kept, **given}, ensure_ascii=False)
    return error_commands.Corrections(
        type=body.type,
        workflow_code=None if body.workflow_code is None else WorkflowCode(body.workflow_code),
        workflow_version=body.version,
        params=params,
        priority=body.priority,
        failure_strategy=body.failure_strategy,
        worker_group=body.worker_group,
        environment=body.environment,
        task_depend_type=body.depend,
        start_tasks=json.dumps(list(body.tasks)) if body.tasks else None,
    )


def corrected(error: ErrorCommand, corrections: Corrections) -> ErrorCommand:
    """The command as far as it says which projects it touches."""
    return replace(
        error,
        type=corrections.type or error.type,
        workflow_code=corrections.workflow_code or error.workflow_code,
    )
