"""Handles events that concern many tasks of one run in a thread, so that the event loop keeps beating."""

from __future__ import annotations

import structlog

from master.drive.events import Closes, Event, Restored, Started
from master.drive.garbage_collection import collector_paused
from master.drive.runnable import WorkflowRunnable
from master.drive.writes import Writes
from model.errors import Refused
from model.runs.elements import ELEMENTS_MAX
from model.runs.instances import AttemptEnd, ChildState, HaltRequest
from node.threads import in_thread

log = structlog.get_logger()

MANY = 200
"""This many tasks take a few milliseconds."""


async def handle(runnable: WorkflowRunnable, event: Event, writes: Writes) -> None:
    """Let a runnable handle an event, and collect the effects to be written. Raises what the runnable raises."""
    if _concerns(runnable, event) > MANY:
        with collector_paused():
            await in_thread(_handle, runnable, event, writes)
    else:
        _handle(runnable, event, writes)


def _handle(runnable: WorkflowRunnable, event: Event, writes: Writes) -> None:
    writes.add(runnable, runnable.handle(event))


def _concerns(runnable: WorkflowRunnable, event: Event) -> int:
    """How many tasks this event may begin or end at once, at most."""
    plan = runnable.plan
    # A list of a megabyte takes tens of milliseconds, whatever its DYNAMIC task begins after; children are many.
    if plan.has_lists and not isinstance(event, ChildState):
        return ELEMENTS_MAX
    if not plan.mapped and len(plan.tasks) <= MANY:
        return len(plan.tasks)
    match event:
        case Started() | Restored() | HaltRequest() | Closes():
            return ELEMENTS_MAX if plan.mapped else len(plan.tasks)
        case AttemptEnd(code) if plan.mapped and (code in plan.before_mapped or runnable.ends_elements(code)):
            return ELEMENTS_MAX
        case AttemptEnd(code):
            return len(plan.graph.successors.get(code, ()))
        case _:
            return 0


async def feed(runnable: WorkflowRunnable, event: Event, writes: Writes) -> None:
    """Let a runnable handle an event. A run that cannot handle it ends as FAILURE: it must not delay the others."""
    try:
        await handle(runnable, event, writes)
    except Refused as error:
        writes.fail(runnable.instance.id, str(error))
    except AssertionError as bug:
        log.exception("runnable_broken", workflow_instance=runnable.instance.id)
        reason = f"Shoal reached a state that should be impossible ({bug}); please report it"
        writes.fail(runnable.instance.id, reason)
