"""Resource pools as answers show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from model.choices import Priority
from model.pools.resources import ResourceState


@dataclass(frozen=True)
class PoolCounts:
    """How many resources of a pool are in each state; `total` is without those that were removed. `waiting` counts the
    attempts in its line, up to 10,000."""

    name: str
    total: int
    free: int
    taken: int
    set_aside: int
    checking: int
    removed: int
    waiting: int


@dataclass(frozen=True)
class PoolRow(PoolCounts):
    """A pool in a list. `is_checked`: its resources are checked before they are given."""

    kind: Literal["NAMED", "COUNT"]
    description: str
    version: int
    changed_at: datetime
    changed_by: str
    is_checked: bool


@dataclass(frozen=True)
class TaskOfRun:
    """An attempt, and whose it is. `project` and `workflow` are None if its workflow is gone."""

    id: int
    name: str
    attempt: int
    code: int
    run_id: int
    workflow_code: int | None
    workflow: str | None
    project: str | None
    is_stream: bool = False


@dataclass(frozen=True)
class ResourceRow:
    """A resource of a pool. Times are aware UTC, database time.

    `task` is the attempt that holds it, on the worker `worker`, since `taken_at`; None if nobody does, or its row is
    gone. `busy_before` is when that lease ends unless the worker beats again. `free_since` None: it was never held.
    """

    id: int
    name: str
    place: int
    state: ResourceState
    data: Mapping[str, Any] | None
    taken_at: datetime | None
    busy_before: datetime | None
    worker: str | None
    worker_epoch: int | None
    task: TaskOfRun | None
    free_since: datetime | None
    set_aside_at: datetime | None
    set_aside_why: str | None
    set_aside_by: str | None
    checked_at: datetime | None


@dataclass(frozen=True)
class WaitingTask:
    """An attempt in the line of a pool, at its place from 1; `needs` are all pools of which it needs resources."""

    place: int
    task: TaskOfRun | None
    needed: int
    needs: Mapping[str, int]
    worker_group: str
    priority: Priority
    task_priority: Priority
    queued_at: datetime | None
