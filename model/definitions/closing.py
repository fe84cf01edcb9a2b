"""Which tasks may clean up after the others (`teardown`, `on_exit`), and which tasks may come after which.

They run on workers, when everything else of a run is over, also after a stop. Source: docs/guides/workflows.md,
"Cleaning up".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from model.choices import StartWhen
from model.logic.catalog import LOGIC_TYPES

if TYPE_CHECKING:
    from model.definitions.workflow import TaskSpec

NOT_OF_CLOSING = ("cache",)
"""Fields that a workflow's `defaults` do not give to a task that cleans up."""


def unfit_to_close(task: TaskSpec) -> str | None:
    """Why a task cannot clean up, as a sentence; None if it can, or does not."""
    if not task.is_closing:
        return None
    field = "on_exit" if task.on_exit else "teardown"
    if task.teardown and task.on_exit:
        return "on_exit tasks run after those with teardown; keep one of the two"
    if task.stream:
        return f"a stream runs until it is stopped, so it cannot clean up; remove {field}"
    if task.type in LOGIC_TYPES:
        return f"a {task.type} task runs in the master, so it cannot clean up; remove {field}"
    if task.start_when is not StartWhen.ALL_SUCCESS:
        return f"a task with {field} runs however the others ended; remove start_when: {task.start_when}"
    if task.cache:
        return f"a task with {field} is to run each time; remove cache"
    return None


def misplaced(tasks: Sequence[TaskSpec], places: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """The index of each task that waits for one that runs later, and a sentence."""
    for place, task in enumerate(tasks):
        for name in task.after:
            before = tasks[places[name]]
            if before.is_closing and not task.is_closing:
                when = "when all tasks without teardown and on_exit are over"
            elif before.on_exit and task.teardown:
                when = "when all tasks with teardown are over"
            else:
                continue
            yield place, f'it waits for "{name}", which runs {when}; remove "{name}" from its "after"'
