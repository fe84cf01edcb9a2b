"""The operations that say what may stand in a workflow: its JSON Schema, and the task types."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, RootModel

from model.accounts.rights import Right
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.logic.catalog import LOGIC_TYPES
from service.call import Call
from service.fields import Answer
from service.operation import operation
from service.paging import ItemsOf
from service.workflows.workflow_file import Head, TaskTypes


class _WorkflowDocument(WorkflowSpec, Head):
    """A document of a workflow's YAML file."""


class SchemaAnswer(RootModel[dict[str, Any]]):
    """A JSON Schema."""


class TaskTypeAnswer(Answer):
    """A task type; `problem` says why a plug-in cannot be loaded."""

    name: str
    runs_in: Annotated[Literal["MASTER", "WORKER"], Field(description="which process does its work")]
    params: Annotated[Mapping[str, Any] | None, Field(description="JSON Schema of its parameters")] = None
    problem: str | None = None


@operation("GET", "/schema/workflow", Right.VIEW, "workflow-definitions")
async def get_workflow_schema(call: Call) -> SchemaAnswer:
    """Show the JSON Schema of a workflow's YAML, for editors. What it does not say, `validate` does."""
    call.visible()
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_WorkflowDocument.model_json_schema(),
        "title": "Workflow",
    }
    return SchemaAnswer(schema)


@operation("GET", "/task-types", Right.VIEW, "workflow-definitions")
async def list_task_types(call: Call) -> ItemsOf[TaskTypeAnswer]:
    """List the task types with the JSON Schema of their parameters, in which a `${name}` may stand for any value."""
    call.visible()
    types = call.backend.task_types
    in_master = [
        TaskTypeAnswer(name=name, runs_in="MASTER", params=model.model_json_schema())
        for name, model in LOGIC_TYPES.items()
    ]
    on_worker = await asyncio.to_thread(lambda: [_of_worker(types, name) for name in types.known()])
    return ItemsOf[TaskTypeAnswer](items=sorted([*in_master, *on_worker], key=lambda each: each.name))


def _of_worker(types: TaskTypes, name: str) -> TaskTypeAnswer:
    try:
        return TaskTypeAnswer(name=name, runs_in="WORKER", params=types.params_schema(name))
    except Refused as error:
        return TaskTypeAnswer(name=name, runs_in="WORKER", problem=str(error))
