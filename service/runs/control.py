"""The operations that start, repeat, halt and resume runs, and declare a failed task a success.

Each inserts one command, which the master of its slot takes, or changes one row by compare-and-set.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from dao.commands import commands
from dao.commands.commands import NewCommand
from dao.definitions import definitions
from dao.definitions.backfill_dates import date_of
from dao.run_lists import element_listings
from dao.run_lists import run_listings as listings
from dao.runs.rows import Run
from dao.tasks import forced_success
from model.accounts.rights import Right
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.ids import TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.runs.command_moves import REVIVING, CommandType
from model.runs.states import TaskState, WorkflowState
from service.call import Call, Change, Subject
from service.fields import Answer, Id
from service.operation import operation
from service.projects.limits import check_limits_of_reruns
from service.runs.command_asked import CommandAsked, once_taken
from service.runs.newer_version import GOES_ON_BELOW, newer_version, older_below, version_to_go_on_with
from service.runs.requests import RerunRun, StartRun, WaitQuery
from service.runs.start_batches import StartAsked, start_all
from service.runs.start_command import Start

RUN, TASK = "workflow-instance", "task-instance"


class TaskForced(Answer):
    """An attempt counts as a success now; it was in the state `before`, and its run is in `run_state`."""

    task_instance_id: Id
    task: str
    run_id: Id
    state: TaskState
    before: TaskState
    run_state: WorkflowState


@operation(
    "POST", "/workflow-definitions/{code}/runs", Right.OPERATE, "workflow-instances", status=202, completes=once_taken
)
async def start_run(call: Call, code: Id, body: StartRun, query: WaitQuery) -> CommandAsked:
    """Start a workflow: one command, which the master of its slot takes."""
    if body.depend and not body.tasks:
        raise Refused("`depend` needs `tasks`: it says whether tasks before or after those run too")
    time_zone, schedule_time = (None, None) if body.date is None else await _date_of(call, code, body, body.date)
    type_ = CommandType.START_CURRENT_TASK_PROCESS if body.tasks else CommandType.START_PROCESS
    new = NewCommand(
        type_,
        WorkflowCode(code),
        workflow_version=body.version,
        schedule_time=schedule_time,
        time_zone=time_zone,
        priority=body.priority,
        failure_strategy=body.failure_strategy,
        worker_group=body.worker_group,
        warning_type=body.warning_type,
        alert_group=body.alert_group,
        environment=body.environment,
        dry_run=body.dry_run,
        task_depend_type=body.depend,
        traceparent=call.caller.traceparent,
        created_by=call.caller.name,
    )
    asked = StartAsked(call, WorkflowCode(code), Start(new, body.params, body.tasks), _said(body, "params"))
    answer = await call.backend.batches.ask(start_all, asked)
    return await once_taken(call, answer, query)


@operation(
    "POST", "/workflow-instances/{id}/rerun", Right.OPERATE, "workflow-instances", status=202, completes=once_taken
)
async def rerun_run(call: Call, id: Id, body: RerunRun, query: WaitQuery) -> CommandAsked:
    """Run an ended run again, in the same run: all of it, only what failed, or some tasks. It keeps its version unless
    the newest is asked for.
    """
    if body.failed and body.tasks:
        raise Refused("`failed` and `tasks` are two ways to say what runs again; keep one of them")
    if body.depend and not body.tasks:
        raise Refused("`depend` needs `tasks`: it says whether tasks before or after those run too")
    new = NewCommand(
        rerun_type(failed=body.failed, tasks=body.tasks),
        workflow_instance_id=WorkflowInstanceId(id),
        start_tasks=json.dumps(list(body.tasks)) if body.tasks else None,
        task_depend_type=body.depend,
    )
    return await _change_run(call, new, query, _said(body), newest=body.newest)


def rerun_type(*, failed: bool, tasks: Sequence[str]) -> CommandType:
    if failed:
        return CommandType.START_FAILURE_TASK_PROCESS
    return CommandType.EXECUTE_TASK if tasks else CommandType.REPEAT_RUNNING


@operation(
    "POST", "/workflow-instances/{id}/pause", Right.OPERATE, "workflow-instances", status=202, completes=once_taken
)
async def pause_run(call: Call, id: Id, query: WaitQuery) -> CommandAsked:
    """Pause a run: running tasks finish, no new ones begin."""
    return await _change_run(call, NewCommand(CommandType.PAUSE, workflow_instance_id=WorkflowInstanceId(id)), query)


@operation(
    "POST", "/workflow-instances/{id}/stop", Right.OPERATE, "workflow-instances", status=202, completes=once_taken
)
async def stop_run(call: Call, id: Id, query: WaitQuery) -> CommandAsked:
    """Stop a run: running tasks are killed."""
    return await _change_run(call, NewCommand(CommandType.STOP, workflow_instance_id=WorkflowInstanceId(id)), query)


@operation(
    "POST", "/workflow-instances/{id}/resume", Right.OPERATE, "workflow-instances", status=202, completes=once_taken
)
async def resume_run(call: Call, id: Id, query: WaitQuery) -> CommandAsked:
    """Resume a paused or stopped run: tasks that were paused or killed run again, succeeded ones do not."""
    new = NewCommand(CommandType.RECOVER_SUSPENDED_PROCESS, workflow_instance_id=WorkflowInstanceId(id))
    return await _change_run(call, new, query)


@operation("POST", "/task-instances/{id}/force-success", Right.OPERATE, "task-instances")
async def force_task_success(call: Call, id: Id) -> TaskForced:
    """Declare a failed task of an ended run a success: tasks that depend on it may run when the run is rerun."""
    task_id = TaskInstanceId(id)
    run, tasks = await call.read(element_listings.run_of, task_id)
    task = next(each for each in tasks if each.id == task_id)
    async with call.changing(Subject(TASK, id, run.project)) as change:
        await forced_success.force_success(change.connection, task_id)
        change.before, change.after = {"state": task.state}, {"state": TaskState.FORCED_SUCCESS, "task": task.name}
        change.answer = TaskForced(
            task_instance_id=id,
            task=task.name,
            run_id=run.id,
            state=TaskState.FORCED_SUCCESS,
            before=task.state,
            run_state=run.state,
        )
    return change.answered(TaskForced)


async def _date_of(call: Call, code: int, body: StartRun, date: str) -> tuple[str, datetime]:
    """The time zone and the moment for which a start is. Raises `Refused`."""
    async with call.reading() as connection:
        head = await definitions.head(connection, WorkflowCode(code))
        call.permit(head.project)
        spec = await definitions.spec_of(connection, head.code, body.version or head.version)
        # What cannot be read is left to the master, which writes an error command.
        own_zone = spec.time_zone if isinstance(spec, WorkflowSpec) else "UTC"
        return await date_of(connection, head.code, own_zone, date)


async def _change_run(
    call: Call, new: NewCommand, query: WaitQuery, said: dict[str, Any] | None = None, *, newest: bool = False
) -> CommandAsked:
    assert new.workflow_instance_id is not None
    visible = call.caller.projects_with(Right.VIEW)
    async with call.reading() as connection:
        run = await listings.run_head(connection, new.workflow_instance_id)
        newer = await newer_version(connection, run) if new.type in REVIVING and not newest else None
        below = await older_below(connection, run, visible) if new.type in GOES_ON_BELOW else []
    async with call.changing(Subject(RUN, run.id, run.project)) as change:
        if new.type in REVIVING:
            await check_limits_of_reruns(change.connection, [run.id])
        version = await version_to_go_on_with(change.connection, run) if newest else None
        new = replace(new, workflow_version=version, created_by=call.caller.name)
        asked = await insert_change(change, run, new)
        change.answer = asked.model_copy(update={"newer": newer.answer() if newer else None, "older_below": below})
        change.before = {"state": run.state}
        change.after = {"command": str(asked.command_id), **(said or {})}
        if version is not None:
            change.before["version"], change.after["version"] = run.version, version
    return await once_taken(call, change.answered(CommandAsked), query)


async def insert_change(change: Change, run: Run, new: NewCommand) -> CommandAsked:
    """Insert a command that changes a run, in the transaction of the change."""
    command = await commands.insert(change.connection, new)
    return CommandAsked(command_id=command, workflow=run.workflow, run_id=run.id)


def _said(body: StartRun | RerunRun, *hidden: str) -> dict[str, Any]:
    """What a request said, without the fields that may contain secrets: of those the names only."""
    said = body.model_dump(mode="json", exclude_defaults=True)
    return {name: sorted(value) if name in hidden else value for name, value in said.items()}
