"""Tasks that wait (WAIT): they look, and look again after a pause. Between two looks they hold nothing.

A look is short work of a worker. If it finds nothing, it puts its attempt back: the same row waits for the time of the
next look (`dao/tasks/looks.py`), like a delayed attempt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from model.runs.states import TaskState

if TYPE_CHECKING:
    from model.definitions.workflow import TaskSpec

WAIT = "WAIT"


@dataclass(frozen=True, slots=True)
class Again:
    """When a task looks again, and for how long it waits.

    The first pause is `every_s`; each further one is `factor` times longer, up to `every_s_max`. After `within_s`
    (None: never) the task ends as `late`, a FAILURE or SKIPPED. `at_s`, in seconds since 1970, is the moment that it
    waits for: then it ends as a SUCCESS.
    """

    every_s: float
    factor: float = 1
    every_s_max: float = 3_600
    within_s: float | None = None
    late: TaskState = TaskState.FAILURE
    at_s: float | None = None


_NOT_OF_WAITS = {
    "stream": "it ends when its thing is there",
    "timeout": "the timeout in its params is that of the whole wait, and look_timeout that of one look",
    "resources": "it holds nothing between two looks",
    "cache": "what was there once may be gone",
    "teardown": "a run that cleans up waits for nothing",
    "on_exit": "a run that cleans up waits for nothing",
}
NOT_OF_WAITS = ("timeout", "resources", "cache")
"""Fields that a workflow's `defaults` do not give to a task that waits."""


def unfit_to_wait(task: TaskSpec) -> str | None:
    """What a WAIT task cannot have, as a sentence; None if it has nothing such, or is another task."""
    if task.type != WAIT:
        return None
    for name, why in _NOT_OF_WAITS.items():
        if getattr(task, name):
            return f"a WAIT task has no {name}, since {why}; remove it"
    return None


def sourced_of(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a task's parameters that looks in a data source; empty if it looks elsewhere."""
    thing = params.get("for")
    found = (thing.get("sql") or thing.get("s3")) if isinstance(thing, Mapping) else None
    return found if isinstance(found, Mapping) else {}


@dataclass(frozen=True)
class Looks:
    """The earlier looks of an attempt: `count` found nothing. The last one, `ago_s` seconds ago, `said` why."""

    count: int
    ago_s: float
    said: str
