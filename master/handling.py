"""What many tasks of one run follow from is handled in a thread: the event loop must beat meanwhile."""

from __future__ import annotations

from master.collector import collector_paused
from master.events import Adopted, Event, HaltAsked, Started, TaskFinished
from master.runnable import WorkflowRunnable
from master.writes import Writes
from registry.threads import in_thread

MANY = 200
"""So many tasks take a few milliseconds."""


async def handle(runnable: WorkflowRunnable, event: Event, writes: Writes) -> None:
    """Let a runnable handle an event, and collect what it wants to be written. Raises what that raises."""
    if _concerns(runnable, event) > MANY:
        with collector_paused():
            await in_thread(_handle, runnable, event, writes)
    else:
        _handle(runnable, event, writes)


def _handle(runnable: WorkflowRunnable, event: Event, writes: Writes) -> None:
    writes.add(runnable, runnable.handle(event))


def _concerns(runnable: WorkflowRunnable, event: Event) -> int:
    """How many tasks may begin or end by it at once."""
    match event:
        case Started() | Adopted() | HaltAsked():
            return len(runnable.plan.tasks)
        case TaskFinished(code):
            return len(runnable.plan.graph.successors.get(code, ()))
        case _:
            return 0
