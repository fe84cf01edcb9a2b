"""The operations about what may need a person: what is late, and what failed and did not succeed since."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated

from pydantic import Field

from dao.postgres.pool import AsyncConnection
from dao.runs import attention, usual_times
from dao.runs.rows import FailedRun, LongRun
from model.accounts.rights import Right
from model.ids import ScheduleId, WorkflowCode
from model.runs.estimate import late_s
from model.time.schedules import ScheduleRow
from service.call import Call
from service.fields import Answer, Asked, Id, Moment
from service.operation import operation
from service.paging import ItemsOf
from service.schedules.fire_times import MissedWhy, missed_fire

TAG = "attention"
USUAL_MAX = 200
"""Of so many workflows with long runs at once the usual time is computed."""
WEEK_DAYS = 7


class LateQuery(Asked):
    """How much."""

    limit: Annotated[int, Field(ge=1, le=200, description="at most so many runs, and so many schedules")] = 50


class LateRun(Answer, LongRun):
    """A run that takes longer than usual: `late_s` more than `usual_s`, the median of earlier ones."""

    usual_s: float
    late_s: float


class LateSchedule(Answer):
    """A schedule whose last fire was missed. SKIPPED: by its misfire rule; STOPPED: it has no more fire times.

    `due_at` is the first fire that was missed; it is left out where it is not known.
    """

    id: Id
    workflow_code: Id
    workflow: str | None = None
    project: str | None = None
    why: MissedWhy
    reason: str
    due_at: Moment | None = None
    late_s: float | None = None


class LateAnswer(Answer):
    """What is late, the latest first. A run is late by a minute and half of its usual time at least."""

    runs: Sequence[LateRun]
    schedules: Sequence[LateSchedule]


class FailedRunAnswer(Answer, FailedRun):
    """The last failed run of a workflow that did not succeed since; `times_this_week`: so many of its runs failed.

    `task_id`, `task`, `task_reason` are the first of its tasks that failed. A rerun keeps its `version`, unless
    `newest_version` is asked for.
    """


@operation("GET", "/attention/late", Right.VIEW, TAG)
async def list_late(call: Call, query: LateQuery) -> LateAnswer:
    """List runs that take longer than usual, and schedules whose last fire was missed."""
    visible = call.visible()
    async with call.reading() as connection:
        runs = await _late_runs(connection, visible, query.limit)
        schedules = await _late_schedules(connection, visible)
    return LateAnswer(runs=runs, schedules=sorted(schedules, key=lambda each: -(each.late_s or 0))[: query.limit])


async def _late_runs(connection: AsyncConnection, visible: Collection[str] | None, limit: int) -> list[LateRun]:
    """Of a workflow the oldest run is the latest; so the workflows come first, and then only the runs of late ones."""
    oldest = await attention.running(connection, 1, visible=visible)
    usual: dict[WorkflowCode, float] = {}
    for first in range(0, len(oldest), USUAL_MAX):
        usual |= await usual_times.of_runs(connection, [run.workflow_code for run in oldest[first : first + USUAL_MAX]])
    latest = [WorkflowCode(run.workflow_code) for run in _late(oldest, usual)[:limit]]
    return _late(await attention.running(connection, limit, latest), usual)[:limit] if latest else []


def _late(runs: Sequence[LongRun], usual: Mapping[WorkflowCode, float]) -> list[LateRun]:
    """Those that are late, the latest first."""
    late = [
        LateRun.showing(run, usual_s=usual[run.workflow_code], late_s=over_s)
        for run in runs
        if (over_s := late_s(run.elapsed_s, usual.get(run.workflow_code))) is not None
    ]
    return sorted(late, key=lambda each: -each.late_s)


async def _late_schedules(connection: AsyncConnection, visible: Collection[str] | None) -> list[LateSchedule]:
    now, rows = await attention.unfired(connection, visible)
    found = [] if now is None else [_late_schedule(row, now) for row in rows]
    after = ScheduleId(0)
    while True:
        now, rows = await attention.skipping(connection, visible, after)
        if now is None:
            return [each for each in found if each is not None]
        # In a thread: it computes fire times of each.
        found += await asyncio.to_thread(list, map(partial(_late_schedule, now=now), rows))
        after = rows[-1].id


@operation("GET", "/attention/failed", Right.VIEW, TAG)
async def list_failed(call: Call, query: LateQuery) -> ItemsOf[FailedRunAnswer]:
    """List workflows whose last runs failed and that did not succeed since, with how often they failed this week.

    The newest failed run comes first. Of each workflow the newest 1,000 failed runs are read.
    """
    visible = call.visible()
    found = await call.read(attention.failed, WEEK_DAYS, visible, query.limit)
    return ItemsOf[FailedRunAnswer](items=[FailedRunAnswer.model_validate(run) for run in found])


def _late_schedule(row: ScheduleRow, now: datetime) -> LateSchedule | None:
    missed = missed_fire(row, now)
    if missed is None:
        return None
    return LateSchedule(
        id=row.id,
        workflow_code=WorkflowCode(row.workflow_code),
        workflow=row.workflow,
        project=row.project,
        why=missed.why,
        reason=missed.reason,
        due_at=missed.due_at,
        late_s=None if missed.due_at is None else (now - missed.due_at).total_seconds(),
    )
