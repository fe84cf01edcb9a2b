"""Tells a run whether it is the latest of its schedule, before its tasks may begin: `system.is_latest`.

A run made by its schedule or a backfill is the latest if no later time of the schedule is due, by the database's clock.
All other runs are. Runs whose tasks do not use it cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from dao.postgres.pool import AsyncConnection
from dao.runs import later_fires
from dao.runs.later_fires import DueRun
from master.drive.runnable import WorkflowRunnable
from model.errors import Refused
from model.time.intervals import is_latest
from model.time.schedules import stored_time
from node.threads import in_thread


async def tell_latest(connection: AsyncConnection, runnables: Iterable[WorkflowRunnable | None]) -> None:
    """Tell those runs that use it whether they are the latest now."""
    asking = {each.instance.id: each for each in runnables if each is not None and each.plan.asks_latest}
    if asking:
        due = await later_fires.due_runs(connection, asking)
        # In a thread: a cron rule with distant times may take longer than this master's other work can wait.
        older = await in_thread(lambda: {each.id for each in due if not _is_latest(each)})
        for id_, runnable in asking.items():
            runnable.tell_latest(is_latest=id_ not in older)


def _is_latest(run: DueRun) -> bool:
    try:
        end = stored_time(run.end, "end_time")
    except Refused:
        end = None  # infinity
    return is_latest(run.rule, run.at, run.now if end is None else min(run.now, end))
