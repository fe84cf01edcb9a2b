"""The operation that runs one task once without saving a workflow.

The task becomes a separate workflow, a trial: with a name that says so, in no list of workflows, and deleted an hour
later, once its run has ended. It is started by a command like any other. Its run is listed, and stays like the runs of
any workflow that is deleted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any
from uuid import uuid4

from pydantic import Field

from dao.commands import commands
from dao.commands.commands import NewCommand
from dao.definitions import trials
from dao.postgres.database import database_time
from model import fields
from model.accounts.rights import Right
from model.choices import ReleaseState
from model.definitions.problems import InvalidWorkflow, Problem
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.runs.command_moves import CommandType
from service.call import Call, Subject
from service.fields import Asked, Text
from service.operation import operation
from service.runs.command_asked import CommandAsked, once_taken
from service.runs.requests import WaitQuery
from service.workflows.apply_saving import save_all
from service.workflows.reach import check_reach
from service.workflows.requests import BYTES_MAX
from service.workflows.workflow_file import (
    BadWorkflowFile,
    FileFault,
    TaskTypes,
    WorkflowDocument,
    parse_spec,
    task_content,
)
from service.workflows.yaml_lines import BadYaml, read_documents

TRIAL = "trial of"
TRIALS_MAX = 200
"""Of one project at a time."""
NAME_SHOWN = 100
FILE = "task"
_OF_SEVERAL = ("after", "start_when", "teardown", "on_exit")
"""Fields of a task that are about the others of its workflow."""


class TryTask(Asked):
    """One task as it stands in the list `tasks` of a file: `yaml` or `task`. What it comes `after` is not used, nor how
    the others must end, or that it cleans up after them."""

    project: fields.Name = "default"
    yaml: Annotated[
        Text | None, Field(max_length=BYTES_MAX, description="the task", examples=["name: a\ntype: FAKE\n"])
    ] = None
    task: Annotated[dict[str, Any] | None, Field(description="the same as JSON", examples=[None])] = None
    params: Annotated[dict[Text, Text], Field(max_length=1000, default_factory=dict, description="sample values")]
    time_zone: Annotated[Text, Field(max_length=100)] = "UTC"


@operation("POST", "/task-definitions:try", Right.EDIT, "workflow-definitions", status=202, completes=once_taken)
async def try_task(call: Call, body: TryTask, query: WaitQuery) -> CommandAsked:
    """Run one task once, with sample parameters, and save no workflow."""
    call.permit(body.project)
    spec = await asyncio.to_thread(_spec, body, call.backend.task_types)
    name = f"{TRIAL} {spec.tasks[0].name[:NAME_SHOWN]} {uuid4().hex[:12]}"
    document = WorkflowDocument(body.project, name, ReleaseState.ONLINE, spec)
    async with call.changing(Subject("task-definition", None, body.project, spec.tasks[0].name)) as change:
        await check_reach(call, change.connection, body.project, spec)
        if await trials.count(change.connection, body.project) >= TRIALS_MAX:
            raise Refused(f'project "{body.project}" has {TRIALS_MAX} trials, which is the limit; try again in an hour')
        now = await database_time(change.connection)
        (saved,) = await save_all(change.connection, [document], call.settings.secrets, now, by=call.caller.name)
        await trials.mark(change.connection, saved.head.code)
        command = await commands.insert(
            change.connection,
            NewCommand(
                CommandType.START_PROCESS,
                saved.head.code,
                traceparent=call.caller.traceparent,
                created_by=call.caller.name,
            ),
        )
        change.id = saved.head.code
        change.after = {"command": str(command), "type": spec.tasks[0].type}
        change.answer = CommandAsked(command_id=command, workflow=name)
    return await once_taken(call, change.answered(CommandAsked), query)


def _spec(body: TryTask, types: TaskTypes) -> WorkflowSpec:
    """A definition of the one task. Raises `Refused`."""
    if (body.yaml is None) == (body.task is None):
        raise Refused("give the task either as `yaml` or as `task`")
    task = dict(body.task if body.task is not None else _read(body.yaml or ""))
    for name in _OF_SEVERAL:
        task.pop(name, None)
    try:
        return parse_spec(
            {"params": dict(body.params), "time_zone": body.time_zone, "tasks": [task]}, types, is_trial=True
        )
    except InvalidWorkflow as error:
        raise InvalidWorkflow(
            [Problem(where=_place(each.where), sentence=each.sentence) for each in error.problems]
        ) from None


def _place(where: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Where a problem stands in the request, instead of a whole definition."""
    return ("task", *where[2:]) if where[:2] == ("tasks", 0) else where


def _read(yaml: str) -> Mapping[str, Any]:
    try:
        documents = read_documents(yaml.encode())
    except BadYaml as error:
        raise BadWorkflowFile([FileFault(FILE, str(error), error.line)]) from None
    if len(documents) != 1 or not isinstance(documents[0].content, Mapping):
        raise BadWorkflowFile([FileFault(FILE, "it must be one task: begin with `name:` and `type:`")])
    return task_content(documents[0].content)
