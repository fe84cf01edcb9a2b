"""The runs that a person asks for: whole runs, or with the child runs that tasks of others stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.runs import backfills
from dao.runs.backfills import RefusedDates
from dao.views import listings
from dao.views.listings import Run
from model.states import WorkflowState

REFUSED_SHOWN_MAX = 5


@dataclass(frozen=True)
class RunList:
    """Runs, newest first, and the number of child runs among them that are hidden. `refused` are the chains of
    backfills that stopped since the command for their next date was refused: no run shows that."""

    runs: Sequence[Run]
    hidden: int
    refused: Sequence[RefusedDates] = ()


async def list_runs(
    connection: AsyncConnection,
    limit: int,
    *,
    states: Sequence[WorkflowState],
    workflow: str | None,
    project: str | None,
    since: datetime | None,
    children: bool,
) -> RunList:
    """Up to `limit` runs; without `children` those only that are no child of another. `since` is aware."""
    found = await listings.runs(
        connection, limit, states=states, workflow=workflow, project=project, since=since, children=children
    )
    refused = await backfills.refused_chains(connection, workflow, project, REFUSED_SHOWN_MAX)
    if children:
        return RunList(found, 0, refused)
    oldest = found[-1].id if len(found) == limit else None
    hidden = await listings.child_count(
        connection, states=states, workflow=workflow, project=project, since=since, after=oldest
    )
    return RunList(found, hidden, refused)
