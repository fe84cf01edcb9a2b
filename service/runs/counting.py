"""The operations that count: runs that match, runs by the time of their start, the tasks of runs by their state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import Field

from dao.postgres.database import database_time
from dao.run_lists import run_counts
from dao.runs import run_progress
from dao.runs.run_progress import Reporting
from model.accounts.rights import Right
from model.errors import Refused
from model.ids import WorkflowInstanceId
from model.runs.states import TaskState, WorkflowState
from service.call import Call
from service.fields import Answer, Asked, Id, Moment
from service.operation import operation
from service.paging import ItemsOf
from service.runs.answers import ProgressAnswer
from service.runs.listing import COUNTED_MAX, matching, started_after
from service.runs.requests import RunFilter
from service.runs.run_progress import Extent, read_extents

DEFAULT_SPAN = timedelta(days=1)
REPORTS_EACH = 3


class HistogramQuery(RunFilter):
    """Which runs, in how many bars. Without `since` and `started_after` those of the last 24 hours."""

    started_before: Annotated[Moment | None, Field(description="the end of the last bar; else now")] = None
    bars: Annotated[int, Field(ge=1, le=500, description="into how many parts the time is divided")] = 48


class BarAnswer(Answer):
    """The runs that started from `at` on, until the next bar."""

    at: Moment
    total: int
    states: Mapping[WorkflowState, int]


class HistogramAnswer(Answer):
    """Runs by the time of their start; bars without runs are left out.

    If not `is_complete`, more than 100,000 runs are newer than the first bar, and the older ones are not counted. With
    `workflow` only runs that match are so counted, else all runs.
    """

    since: Moment
    until: Moment
    bar_s: float
    total: int
    bars: Sequence[BarAnswer]
    is_complete: bool


class CountAnswer(Answer):
    """How many runs match: `exact` up to 10,000, or about so many.

    `is_more`: at least so many, since there are more than 10,000, or no more than 20,000 runs are checked for what no
    index has.
    """

    number: int
    kind: Literal["exact", "estimate"]
    is_more: bool = False


class CountQuery(RunFilter):
    """Which runs, and how exactly."""

    count: Annotated[Literal["exact", "estimate"], Field(description="an estimate reads no run")] = "exact"


class ProgressQuery(Asked):
    """Of which runs."""

    id: Annotated[Sequence[Id], Field(min_length=1, max_length=200, description="their ids, repeated")]


class TaskReport(Answer):
    """What a running task reported last."""

    task_id: Id
    task: str
    progress: ProgressAnswer

    @classmethod
    def of(cls, report: Reporting) -> TaskReport:
        return cls(task_id=report.id, task=report.name, progress=ProgressAnswer.of(report.progress))


class RunProgressAnswer(Answer):
    """How far a run is. Of its `total` tasks (left out if its definition is gone) those in `states` have begun.

    `usual_s` is what runs of its workflow usually take, `left_s` an estimate of the time left. `reports` are the newest
    of at most three running tasks.
    """

    id: Id
    state: WorkflowState
    total: int | None = None
    done: Annotated[int, Field(description="tasks that have succeeded")]
    states: Mapping[TaskState, int]
    elapsed_s: float | None = None
    usual_s: float | None = None
    left_s: float | None = None
    reports: Sequence[TaskReport]


@operation("GET", "/workflow-instances:histogram", Right.VIEW, "workflow-instances")
async def count_runs_by_time(call: Call, query: HistogramQuery) -> HistogramAnswer:
    """Count the runs that match by the time of their start, in bars."""
    visible = call.visible()
    async with call.reading() as connection:
        until = query.started_before or await database_time(connection)
        since = await started_after(connection, query) or _begin_before(until)
        if since >= until:
            raise Refused("the first bar begins after the last one ends; give an earlier `since` or `started_after`")
        bar_s = (until - since).total_seconds() / query.bars
        wanted = matching(query, since, visible)
        found = await run_counts.bars(connection, wanted, until, bar_s)
        is_complete = await run_counts.is_read(connection, wanted)
    by_place: dict[int, dict[WorkflowState, int]] = defaultdict(dict)
    for bar in found:
        place = min(bar.place, query.bars - 1)  # the end is rounded
        by_place[place][bar.state] = by_place[place].get(bar.state, 0) + bar.count
    bars = [
        BarAnswer(at=since + timedelta(seconds=place * bar_s), total=sum(states.values()), states=states)
        for place, states in by_place.items()
    ]
    total = sum(bar.total for bar in bars)
    return HistogramAnswer(since=since, until=until, bar_s=bar_s, total=total, bars=bars, is_complete=is_complete)


@operation("GET", "/workflow-instances:count", Right.VIEW, "workflow-instances")
async def count_runs(call: Call, query: CountQuery) -> CountAnswer:
    """Count the runs that match: exactly up to 10,000, or as the database estimates."""
    visible = call.visible()
    async with call.reading() as connection:
        wanted = matching(query, await started_after(connection, query), visible)
        if query.count == "estimate":
            return CountAnswer(number=await run_counts.estimate(connection, wanted), kind="estimate")
        found = await run_counts.count(connection, wanted, COUNTED_MAX)
    return CountAnswer(number=found.number, kind="exact", is_more=found.is_capped)


@operation("GET", "/workflow-instances:progress", Right.VIEW, "workflow-instances")
async def show_progress(call: Call, query: ProgressQuery) -> ItemsOf[RunProgressAnswer]:
    """Show how far runs are: their tasks by state, what running ones report, and the time left.

    Runs that do not exist, or may not be seen, are missing.
    """
    visible = call.visible()
    async with call.reading() as connection:
        extents = await read_extents(connection, query.id, visible)
        ids = [each.run.id for each in extents]
        reports: dict[WorkflowInstanceId, list[Reporting]] = defaultdict(list)
        for report in await run_progress.reports(connection, ids, REPORTS_EACH):
            reports[report.run].append(report)
    return ItemsOf[RunProgressAnswer](items=[_progress(each, reports[each.run.id]) for each in extents])


def _begin_before(until: datetime) -> datetime:
    try:
        return until - DEFAULT_SPAN
    except OverflowError:
        raise Refused(
            "`started_before` is too early: the calendar has no whole day before it; give a later one"
        ) from None


def _progress(extent: Extent, reports: Sequence[Reporting]) -> RunProgressAnswer:
    run = extent.run
    return RunProgressAnswer(
        id=run.id,
        state=run.state,
        total=run.tasks,
        done=extent.done,
        states=extent.states,
        elapsed_s=run.elapsed_s,
        usual_s=extent.usual_s,
        left_s=extent.left_s,
        reports=[TaskReport.of(each) for each in reports],
    )
