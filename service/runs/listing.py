"""The operation that lists runs. Whatever shows a single one stands elsewhere: a list is to begin quickly."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from dao.postgres import database
from dao.run_lists import filtered_runs, run_counts, wanted_runs
from dao.runs import backfills
from model.accounts.rights import Right
from model.time.durations import read_duration
from service.call import Call
from service.fields import Answer, Id
from service.operation import operation
from service.paging import PageOf, cursor_of
from service.runs.answers import PROGRESS, ListedRun
from service.runs.requests import RunFilter, RunQuery, TaskQuery
from service.runs.run_progress import with_progress

if TYPE_CHECKING:
    from dao.postgres.pool import AsyncConnection
    from dao.run_lists.run_counts import Count
    from dao.run_lists.wanted_runs import WantedRuns
    from dao.runs.backfills import RefusedDates

REFUSED_SHOWN_MAX = 5
COUNTED_MAX = 10_000
AGE_MAX = timedelta(days=365_000)
"""No run is older; Python's calendar ends a thousand years further back."""


class RefusedBackfill(Answer):
    """A backfill that stopped since the command for its next dates was refused."""

    command_id: Id
    workflow: str | None
    dates: Sequence[str]
    reason: str

    @classmethod
    def of(cls, refused: RefusedDates) -> RefusedBackfill:
        return cls(command_id=refused.id, workflow=refused.workflow, dates=refused.dates, reason=refused.reason)


class RunsPage(PageOf[ListedRun]):
    """Runs, newest first. `hidden_children` are the child runs that are left out, if they were to be counted;
    `refused_backfills` are those that no run shows, on the first page."""

    hidden_children: int | None = None
    refused_backfills: Annotated[Sequence[RefusedBackfill], Field(default_factory=list)]


@operation("GET", "/workflow-instances", Right.VIEW, "workflow-instances")
async def list_runs(call: Call, query: RunQuery) -> RunsPage:
    """List runs, newest first."""
    visible = call.visible()
    async with call.reading() as connection:
        meant = matching(query, await started_after(connection, query), visible)
        wanted = meant.page(query.limit, query.after)
        found = await filtered_runs.page(connection, wanted)
        items = [ListedRun.of(run, visible) for run in found.runs]
        if query.progress or not PROGRESS.isdisjoint(query.fields):
            items = await with_progress(connection, items)
        hidden = None
        if query.count_children and not meant.children and meant.conditions.is_any:
            oldest = items[-1].id if found.before is not None else None
            hidden = await filtered_runs.child_count(connection, wanted, after=oldest)
        counted = await _counted(connection, query, meant)
        refused: Sequence[RefusedDates] = []
        if query.cursor is None and visible is None:
            refused = await backfills.refused_chains(connection, query.workflow, query.project, REFUSED_SHOWN_MAX)
    return RunsPage(
        items=items,
        next_cursor=cursor_of(found.before),
        has_more=found.before is not None,
        read_down_to=found.down_to,
        count=counted.number if counted else None,
        count_capped=counted.is_capped if counted else None,
        hidden_children=hidden,
        refused_backfills=[RefusedBackfill.of(each) for each in refused],
    )


def matching(asked: RunFilter, since: datetime | None, visible: Collection[str] | None) -> WantedRuns:
    """The runs that a filter means, among those that may be seen."""
    return wanted_runs.WantedRuns(
        states=asked.state,
        workflow=asked.workflow,
        project=asked.project,
        since=since,
        children=asked.has_children,
        visible=visible,
        until=asked.started_before,
        conditions=asked.conditions,
    )


async def _counted(connection: AsyncConnection, query: RunQuery, meant: WantedRuns) -> Count | None:
    if query.count == "estimate":
        return run_counts.Count(await run_counts.estimate(connection, meant), is_capped=False)
    return await run_counts.count(connection, meant, COUNTED_MAX) if query.count == "exact" else None


async def started_after(connection: AsyncConnection, asked: RunFilter | TaskQuery) -> datetime | None:
    """The later one of the two times since which it is to have started, by the database's time; None: of any age."""
    times = [asked.started_after] if asked.started_after is not None else []
    if asked.since is not None:
        now = await database.database_time(connection)
        times.append(now - min(read_duration(asked.since, "since"), AGE_MAX))
    return max(times, default=None)
