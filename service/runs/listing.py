"""The operations that list, find and show runs and attempts of tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field
from sqlalchemy.ext.asyncio import AsyncConnection

from dao.postgres.database import database_time
from dao.runs import backfills, relations
from dao.runs.backfills import RefusedDates
from dao.runs.relations import ChildRun
from dao.views import listings, lookups
from dao.views.listings import Run, TaskRun
from model.durations import read_duration
from model.ids import CommandId, WorkflowInstanceId
from model.rights import Right
from service.call import Call
from service.explain.choices import read_choices
from service.explain.tasks_without_attempts import of_this_round, without_attempts
from service.fields import Answer, Id, Moment
from service.operation import operation
from service.pages import PageOf, page_of
from service.runs.answers import (
    ChildAnswer,
    CommandAnswer,
    FailedBelowAnswer,
    RunAnswer,
    RunPageAnswer,
    TaskAnswer,
    TaskNotBegun,
    TaskOrder,
    run_page_fields,
)
from service.runs.references import find_plan, find_task, named_run
from service.runs.requests import RunFilter, RunQuery, RunReference, TaskQuery, TaskReference
from service.runs.story import EventKind, StoryEvent, read_story
from service.runs.time_left import time_left

REFUSED_SHOWN_MAX = 5
CHILDREN_NAMED_MAX = 3
AGE_MAX = timedelta(days=365_000)
"""No run is older; Python's calendar ends a thousand years further back."""


class RefusedBackfill(Answer):
    """A backfill that stopped since the command for its next dates was refused."""

    command_id: Id
    workflow: str | None
    dates: Sequence[str]
    reason: str

    @classmethod
    def of(cls, refused: RefusedDates) -> RefusedBackfill:
        """The answer for such a command."""
        return cls(command_id=refused.id, workflow=refused.workflow, dates=refused.dates, reason=refused.reason)


class RunsPage(PageOf[RunAnswer]):
    """Runs, newest first. `hidden_children` are the child runs that are left out, if they were to be counted;
    `refused_backfills` are those that no run shows, on the first page."""

    hidden_children: int | None = None
    refused_backfills: Annotated[Sequence[RefusedBackfill], Field(default_factory=list)]


@operation("GET", "/workflow-instances", Right.VIEW, "workflow-instances")
async def list_runs(call: Call, query: RunQuery) -> RunsPage:
    """List runs, newest first."""
    visible = call.visible()
    async with call.reading() as connection:
        since = await started_after(connection, query)
        children = query.children or query.workflow is not None
        found = await listings.runs(
            connection,
            query.limit + 1,
            states=query.state,
            workflow=query.workflow,
            project=query.project,
            since=since,
            before=query.after,
            children=children,
            visible=visible,
        )
        page = page_of(found, query.limit, RunAnswer.of, lambda run: run.id)
        hidden = None
        if query.count_children and not children:
            oldest = page.items[-1].id if page.has_more else None
            hidden = await listings.child_count(
                connection,
                states=query.state,
                workflow=query.workflow,
                project=query.project,
                since=since,
                after=oldest,
                visible=visible,
            )
        refused: Sequence[RefusedDates] = []
        if query.cursor is None and visible is None:
            refused = await backfills.refused_chains(connection, query.workflow, query.project, REFUSED_SHOWN_MAX)
    return RunsPage(
        items=page.items,
        next_cursor=page.next_cursor,
        has_more=page.has_more,
        hidden_children=hidden,
        refused_backfills=[RefusedBackfill.of(each) for each in refused],
    )


async def started_after(connection: AsyncConnection, asked: RunFilter | TaskQuery) -> datetime | None:
    """The later one of the two times since which it is to have started, by the database's time; None: of any age."""
    times = [asked.started_after] if asked.started_after is not None else []
    if asked.since is not None:
        now = await database_time(connection)
        times.append(now - min(read_duration(asked.since, "since"), AGE_MAX))
    return max(times, default=None)


@operation("GET", "/workflow-instances:find", Right.VIEW, "workflow-instances")
async def find_run(call: Call, query: RunReference) -> RunAnswer:
    """Find the run that a person names: by its id, as @last or @failed, or the last one of a workflow."""
    async with call.reading() as connection:
        run = await named_run(connection, query.name, query.project, call.visible())
    call.permit(run.project)
    return RunAnswer.of(run)


@operation("GET", "/task-instances:find", Right.VIEW, "task-instances")
async def find_task_instance(call: Call, query: TaskReference) -> TaskAnswer:
    """Find the attempt that a person names: by its id, or as RUN/name for the last attempt of that task."""
    async with call.reading() as connection:
        run, task = await find_task(connection, query.name, query.project, call.visible())
    call.permit(run.project)
    return TaskAnswer.of(task)


@operation("GET", "/workflow-instances/{id}", Right.VIEW, "workflow-instances")
async def get_run(call: Call, id: Id) -> RunPageAnswer:
    """Show a run: its tasks with all their attempts, what has not begun, and its child runs."""
    async with call.reading() as connection:
        run, tasks = await listings.run(connection, WorkflowInstanceId(id))
        call.permit(run.project)
        return await _page(connection, run, tasks)


@operation("GET", "/commands/{id}", Right.VIEW, "commands")
async def get_command(call: Call, id: Id) -> CommandAnswer:
    """Show what became of a command: it waits, was done, or was refused."""
    async with call.reading() as connection:
        fate = await lookups.fate_of(connection, CommandId(id))
        call.permit(await lookups.project_of_command(connection, CommandId(id)))
    return CommandAnswer.of(fate)


class StoryEventAnswer(Answer):
    """One event of a run's story.

    Of a command: `command_id`, `command_type`, who asked (`by`), the master that handled it with the `slot` that it
    believed to have, and why it was refused (`reason`). Of an attempt: `task`, `task_id`, `attempt`, its worker, and
    at its end `state` and `reason`. Of a child run: `child_id`, its `workflow`, the `task` and `attempt` that it stands
    for. `node` is the name of the master or worker.
    """

    at: Moment
    kind: EventKind
    command_id: Id | None = None
    command_type: str | None = None
    by: str | None = None
    master_id: Id | None = None
    slot: str | None = None
    task: str | None = None
    task_id: Id | None = None
    attempt: int | None = None
    worker_id: Id | None = None
    node: str | None = None
    child_id: Id | None = None
    workflow: str | None = None
    state: str | None = None
    reason: str | None = None

    @classmethod
    def of(cls, event: StoryEvent) -> StoryEventAnswer:
        """The answer for an event."""
        fields = {name: getattr(event, name) for name in cls.model_fields if hasattr(event, name)}
        slot = str(event.slot) if event.slot else None
        return cls(**{**fields, "slot": slot, "master_id": event.master, "worker_id": event.worker})


class Story(Answer):
    """What happened to a run, oldest first."""

    events: Sequence[StoryEventAnswer]


@operation("GET", "/workflow-instances/{id}/events", Right.VIEW, "workflow-instances")
async def get_story(call: Call, id: Id) -> Story:
    """List what happened to a run: what was asked and by whom, masters, attempts, children, its end."""
    run_id = WorkflowInstanceId(id)
    async with call.reading() as connection:
        call.permit((await listings.run_head(connection, run_id)).project)
        found = await read_story(connection, run_id)
    return Story(events=[StoryEventAnswer.of(event) for event in found])


async def _page(connection: AsyncConnection, run: Run, tasks: Sequence[TaskRun]) -> RunPageAnswer:
    plan = await find_plan(connection, run)
    children = (await relations.children(connection, [run.id]))[run.id]
    command = await lookups.started_by(connection, run.id)
    choices = await read_choices(connection, plan, tasks)
    failures = {(each.code, each.attempt): each for each in await relations.failures_below(connection, run.id)}
    left = await time_left(connection, run, tasks)
    counting = {each.id for each in of_this_round(tasks)}
    not_begun = without_attempts(plan, run.scope, tasks, ended=run.state.is_final) if plan is not None else {}
    answers = []
    for task in tasks:
        below = failures.get((task.code, task.attempt))
        answers.append(
            TaskAnswer.of(
                task,
                left_s=left.tasks_s.get(task.id),
                choice=choices.get(task.name) if task.valid else None,
                failed_below=FailedBelowAnswer.of(below) if below is not None else None,
                stands_for=_said_children(children, task) or None,
                counts=task.id in counting,
            )
        )
    return RunPageAnswer(
        **run_page_fields(run),
        command_id=command.id if command else None,
        slot_at_start=str(command.slot) if command and command.slot else None,
        usual_s=left.usual_s,
        left_s=left.run_s,
        tasks=answers,
        not_begun=[TaskNotBegun(name=name, state=it.state, missing=it.missing) for name, it in not_begun.items()],
        children=[ChildAnswer.of(child) for child in children],
        graph=[TaskOrder(name=each.name, after=each.after) for each in plan.spec.tasks] if plan is not None else None,
    )


def _said_children(children: Sequence[ChildRun], task: TaskRun) -> str:
    """The runs that an attempt represents, in words; empty without any."""
    own = [child for child in children if (child.code, child.attempt) == (task.code, task.attempt)]
    if len(own) <= CHILDREN_NAMED_MAX:
        return ", ".join(f"run {child.id} ({child.state})" for child in own)
    counts = ", ".join(f"{count} {state}" for state, count in sorted(Counter(child.state for child in own).items()))
    return f"{len(own)} runs from {own[0].id} to {own[-1].id}: {counts}"
