"""Adds to ends of streams how long each ran, which decides how long it pauses."""

from __future__ import annotations

from collections.abc import Sequence

from dao.postgres.pool import AsyncConnection
from dao.streams import stream_ends
from dao.tasks.task_events import TaskEvent
from master.drive.held_runs import HeldRuns
from model.runs.instances import AttemptEnd


async def with_run_times(
    connection: AsyncConnection, events: Sequence[TaskEvent], runs: HeldRuns
) -> Sequence[TaskEvent]:
    """The same events, with `ran_s` for ends of streams. Without any, this costs no statement."""
    ends = [
        (event.run, event.what.code, event.what.attempt)
        for event in events
        if isinstance(event.what, AttemptEnd) and _is_stream(event, event.what, runs)
    ]
    if not ends:
        return events
    ran_s = await stream_ends.ran_s(connection, ends)
    return [
        event._replace(what=end._replace(ran_s=ran_s.get((event.run, end.code, end.attempt), 0.0)))
        if isinstance(end := event.what, AttemptEnd)
        else event
        for event in events
    ]


def _is_stream(event: TaskEvent, end: AttemptEnd, runs: HeldRuns) -> bool:
    runnable = runs.get(event.run)
    task = None if runnable is None else runnable.plan.tasks.get(end.code)
    return task is not None and task.stream is not None
