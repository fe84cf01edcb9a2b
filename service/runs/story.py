"""The story of a run: what was asked of it, who took it, each attempt of its tasks, its children, its end, in order.

It is put together from rows that exist. What no row has is not in it: the earlier ends of a run that was rerun, and
commands that still wait.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from dao.postgres.pool import AsyncConnection
from dao.run_lists import run_listings as listings
from dao.runs import run_story
from dao.runs.rows import Run, TaskRun
from dao.runs.run_story import ChildLife, HandledCommand
from model.accounts.rights import is_seen
from model.ids import CommandId, Epoch, TaskInstanceId, WorkflowInstanceId
from model.runs.command_moves import STARTING, CommandType


class EventKind(StrEnum):
    """What happened. The order is that of events of one moment."""

    ASKED = "ASKED"
    REFUSED = "REFUSED"
    STARTED = "STARTED"
    HANDLED = "HANDLED"
    FAILED_OVER = "FAILED_OVER"
    TASK_QUEUED = "TASK_QUEUED"
    TASK_STARTED = "TASK_STARTED"
    CHILD_STARTED = "CHILD_STARTED"
    CHILD_ENDED = "CHILD_ENDED"
    TASK_ENDED = "TASK_ENDED"
    ENDED = "ENDED"


_ORDER = {kind: place for place, kind in enumerate(EventKind)}


@dataclass(frozen=True)
class StoryEvent:
    """One event, as `StoryEventAnswer` describes it; what does not apply is None."""

    at: datetime
    kind: EventKind
    command_id: CommandId | None = None
    command_type: str | None = None
    by: str | None = None
    master_id: Epoch | None = None
    slot: str | None = None
    task: str | None = None
    task_id: TaskInstanceId | None = None
    attempt: int | None = None
    worker_id: Epoch | None = None
    node: str | None = None
    child_id: WorkflowInstanceId | None = None
    workflow: str | None = None
    state: str | None = None
    reason: str | None = None


async def read_story(
    connection: AsyncConnection, id_: WorkflowInstanceId, visible: Collection[str] | None
) -> list[StoryEvent]:
    """The story of a run, oldest event first, with those of its children that may be seen. Raises `NotFound`."""
    run, attempts = await listings.run(connection, id_)
    commands = await run_story.commands_of(connection, id_)
    children = [each for each in await run_story.children_of(connection, id_) if is_seen(each.project, visible)]
    epochs = {command.master for command in commands} | {each.worker for each in attempts if each.worker is not None}
    return story(run, commands, attempts, children, await run_story.names_of(connection, epochs))


def story(
    run: Run,
    commands: Sequence[HandledCommand],
    attempts: Sequence[TaskRun],
    children: Sequence[ChildLife],
    names: Mapping[Epoch, str],
) -> list[StoryEvent]:
    """Put the events in order; `names` are those of masters and workers."""
    events = [event for command in commands for event in _of_command(command, names)]
    events += [event for attempt in attempts for event in _of_attempt(attempt, names)]
    tasks = {attempt.code: attempt.name for attempt in attempts}
    events += [event for child in children for event in _of_child(child, tasks.get(child.code))]
    if not any(event.kind is EventKind.STARTED for event in events):
        events.append(StoryEvent(run.started_at, EventKind.STARTED))
    if run.state.is_final:
        ended_at = run.started_at + timedelta(seconds=run.elapsed_s)
        events.append(StoryEvent(ended_at, EventKind.ENDED, state=run.state, reason=run.reason))
    return sorted(events, key=lambda event: (event.at, _ORDER[event.kind], event.task_id or 0))


def _of_command(command: HandledCommand, names: Mapping[Epoch, str]) -> Iterator[StoryEvent]:
    is_failover = command.type == CommandType.RECOVER_TOLERANCE_FAULT_PROCESS
    if not is_failover:  # nobody asked for that
        yield StoryEvent(
            command.created_at, EventKind.ASKED, command_id=command.id, command_type=command.type, by=command.by
        )
    kind = EventKind.FAILED_OVER if is_failover else EventKind.HANDLED
    if command.reason is not None:
        kind = EventKind.REFUSED
    elif command.type in STARTING:
        kind = EventKind.STARTED
    yield StoryEvent(
        command.handled_at,
        kind,
        command_id=command.id,
        command_type=command.type,
        by=None if is_failover else command.by,
        master_id=command.master,
        slot=str(command.slot) if command.slot else None,
        node=names.get(command.master),
        reason=command.reason,
    )


def _of_attempt(attempt: TaskRun, names: Mapping[Epoch, str]) -> Iterator[StoryEvent]:
    # The row of a task that runs in the master is written a moment after the task began.
    queued_at = min(each for each in (attempt.queued_at, attempt.started_at, attempt.ended_at) if each is not None)
    queued = StoryEvent(
        queued_at, EventKind.TASK_QUEUED, task=attempt.name, task_id=attempt.id, attempt=attempt.attempt
    )
    yield queued
    node = None if attempt.worker is None else names.get(attempt.worker)
    begun = replace(queued, kind=EventKind.TASK_STARTED, worker_id=attempt.worker, node=node)
    if attempt.started_at is not None:
        yield replace(begun, at=attempt.started_at)
    if attempt.ended_at is not None:
        ended = replace(begun, at=attempt.ended_at, kind=EventKind.TASK_ENDED)
        yield replace(ended, state=attempt.state, reason=attempt.reason)


def _of_child(child: ChildLife, task: str | None) -> Iterator[StoryEvent]:
    started = StoryEvent(
        child.started_at,
        EventKind.CHILD_STARTED,
        child_id=child.id,
        workflow=child.workflow,
        task=task,
        attempt=child.attempt,
    )
    yield started
    if child.ended_at is not None and child.state.is_final:
        ended = replace(started, at=child.ended_at, kind=EventKind.CHILD_ENDED)
        yield replace(ended, state=child.state, reason=child.reason)
