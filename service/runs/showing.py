"""The operations that find and show one run, one attempt of a task, or what became of a command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dao.postgres.pool import AsyncConnection
from dao.run_lists import element_listings
from dao.run_lists import run_listings as listings
from dao.runs import lookups, relations, started_runs
from dao.runs.relations import ChildRun
from dao.runs.rows import Run, TaskRun
from model.accounts.rights import Right, is_seen
from model.ids import CommandId, WorkflowInstanceId
from model.runs.states import TaskState
from service.call import Call
from service.explain.choices import read_choices
from service.explain.tasks_without_attempts import of_this_round, without_attempts
from service.fields import Id
from service.operation import operation
from service.runs.answers import (
    ChildAnswer,
    CommandAnswer,
    ElementsAnswer,
    FailedBelowAnswer,
    RunAnswer,
    RunPageAnswer,
    TaskAnswer,
    TaskNotBegun,
    TaskOrder,
    Visible,
    run_fields,
)
from service.runs.newer_version import newer_version
from service.runs.references import find_plan, find_task, named_run
from service.runs.requests import RunReference, TaskReference
from service.runs.time_left import time_left
from service.words import counted

CHILDREN_NAMED_MAX = 3
_KEEP_THEIR_END = (TaskState.SUCCESS, TaskState.SKIPPED, TaskState.FORCED_SUCCESS)


@operation("GET", "/workflow-instances:find", Right.VIEW, "workflow-instances")
async def find_run(call: Call, query: RunReference) -> RunAnswer:
    """Find the run that a person names: by its id, as @last or @failed, or the last one of a workflow."""
    run = await call.read(named_run, query.name, query.project, call.visible())
    call.permit(run.project)
    return RunAnswer.of(run, call.visible())


@operation("GET", "/task-instances:find", Right.VIEW, "task-instances")
async def find_task_instance(call: Call, query: TaskReference) -> TaskAnswer:
    """Find the attempt that a person names: by its id, or as RUN/name for the last attempt of that task."""
    run, task = await call.read(find_task, query.name, query.project, call.visible())
    call.permit(run.project)
    return TaskAnswer.of(task)


@operation("GET", "/workflow-instances/{id}", Right.VIEW, "workflow-instances")
async def get_run(call: Call, id: Id) -> RunPageAnswer:
    """Show a run: its tasks with all their attempts, what has not begun, and its child runs."""
    async with call.reading() as connection:
        run, tasks = await listings.run(connection, WorkflowInstanceId(id))
        call.permit(run.project)
        return await _page(connection, run, tasks, call.visible())


@operation("GET", "/commands/{id}", Right.VIEW, "commands")
async def get_command(call: Call, id: Id) -> CommandAnswer:
    """Show what became of a command: it waits, was done, or was refused."""
    async with call.reading() as connection:
        fate = await lookups.fate_of(connection, CommandId(id))
        call.permit(await lookups.project_of_command(connection, CommandId(id)))
    return CommandAnswer.model_validate(fate)


async def _page(connection: AsyncConnection, run: Run, tasks: Sequence[TaskRun], visible: Visible) -> RunPageAnswer:
    plan = await find_plan(connection, run)
    children = (await relations.children(connection, [run.id]))[run.id]
    started = await started_runs.of_run(connection, run.id)
    command = await lookups.started_by(connection, run.id)
    choices = await read_choices(connection, plan, tasks)
    failures = {
        (each.code, each.attempt): each
        for each in await relations.failures_below(connection, run.id)
        if is_seen(each.project, visible)
    }
    left = await time_left(connection, run, tasks)
    counting = {each.id for each in of_this_round(tasks)}
    newer = await newer_version(connection, run)
    failed = {task.name for task in tasks if task.id in counting and task.state not in _KEEP_THEIR_END}
    ended, cleans_up = run.state.is_final, run.ending_as is not None
    not_begun = without_attempts(plan, run.scope, tasks, ended=ended, cleans_up=cleans_up) if plan is not None else {}
    mapped = plan is not None and bool(plan.mapped)
    elements = await element_listings.elements(connection, {run.id: tasks}) if mapped else {}
    answers = []
    for task in tasks:
        below = failures.get((task.code, task.attempt))
        answers.append(
            TaskAnswer.of(
                task,
                left_s=left.tasks_s.get(task.id),
                choice=choices.get(task.name) if task.valid else None,
                failed_below=FailedBelowAnswer.of(below) if below is not None else None,
                stands_for=said_children([*children, *started], task, visible) or None,
                counts=task.id in counting,
                elements=ElementsAnswer.model_validate(elements[task.id]) if task.id in elements else None,
            )
        )
    return RunPageAnswer(
        **run_fields(run, visible),
        command_id=command.id if command else None,
        slot_at_start=command.slot if command else None,
        usual_s=left.usual_s,
        left_s=left.run_s,
        tasks=answers,
        not_begun=[
            TaskNotBegun(name=name, state=it.state, missing=it.missing, unmet=it.unmet, closes=it.closes)
            for name, it in not_begun.items()
        ],
        children=[ChildAnswer.of(child) for child in children if is_seen(child.project, visible)],
        triggered=[ChildAnswer.of(run) for run in started if not run.code and is_seen(run.project, visible)],
        newer=newer.answer(failed) if newer else None,
        graph=[TaskOrder.of(each) for each in plan.spec.tasks] if plan is not None else None,
    )


def said_children(children: Sequence[ChildRun], task: TaskRun, visible: Visible) -> str:
    """The runs that an attempt represents, in words; empty without any."""
    own = [child for child in children if (child.code, child.attempt) == (task.code, task.attempt)]
    is_named = all(is_seen(child.project, visible) for child in own)
    if is_named and len(own) <= CHILDREN_NAMED_MAX:
        return ", ".join(f"run {child.id} ({child.state})" for child in own)
    counts = ", ".join(f"{count} {state}" for state, count in sorted(Counter(child.state for child in own).items()))
    ids = [child.id for child in own]  # they are in the order of the tuples, which need not be that of their starts
    which = f"from {min(ids)} to {max(ids)}" if is_named else "of another project"
    return f"{counted(len(own), 'run')} {which}: {counts}"
