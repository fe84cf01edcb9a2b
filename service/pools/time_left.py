"""For how long the resources of a pool are still held, as far as the usual times of the tasks that hold them say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dao.postgres.database import database_time
from dao.runs import usual_times
from model.ids import TaskCode, WorkflowCode
from model.runs.estimate import task_left_s

if TYPE_CHECKING:
    from dao.pools.pool_listings import ResourceRow
    from dao.postgres.engine import AsyncConnection

WORKFLOWS_MAX = 10
"""The tasks of so many workflows are estimated: each costs a statement."""


async def seconds_left(connection: AsyncConnection, resources: Sequence[ResourceRow]) -> dict[int, float]:
    """The seconds for which resources are still held, by their ids; those that nobody knows are missing, as of
    streams."""
    held: dict[WorkflowCode, list[ResourceRow]] = defaultdict(list)
    for each in resources:
        if each.task is None or each.task.is_stream:
            continue
        if each.taken_at is not None and each.task.workflow_code is not None:
            held[WorkflowCode(each.task.workflow_code)].append(each)
    if not held:
        return {}
    now = await database_time(connection)
    left: dict[int, float] = {}
    for code, rows in list(held.items())[:WORKFLOWS_MAX]:
        usual = await usual_times.of_tasks(connection, code, {TaskCode(each.task.code) for each in rows if each.task})
        for each in rows:
            assert each.task is not None
            assert each.taken_at is not None
            elapsed_s = max(0.0, (now - each.taken_at).total_seconds())
            left_s = task_left_s(None, elapsed_s, usual.get(TaskCode(each.task.code)))
            if left_s is not None:
                left[each.id] = left_s
    return left
