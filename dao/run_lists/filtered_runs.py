"""Pages of runs under any filter: those that indexes find, and those that a walk finds. Reads only."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import filtered
from dao.run_lists import run_listings as listings
from dao.run_lists import run_walks
from dao.run_lists.run_conditions import ANY_RUN
from dao.run_lists.wanted_runs import WantedRuns, matching
from dao.runs.rows import Run
from model.ids import WorkflowInstanceId

_CHILDREN = """
    SELECT count(*) FROM workflow_instance i                                    -- index: workflow_instance_child
    LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    WHERE i.parent_instance_id IS NOT NULL AND i.id > CAST(:after AS bigint) AND {condition}
"""


@dataclass(frozen=True, slots=True)
class RunsFound:
    """Runs, newest first. The next page is of those `before` this id; None: there is none.

    `down_to` is the last id that was checked, if that is why the page ends: older ones are not known yet.
    """

    runs: list[Run]
    before: WorkflowInstanceId | None
    down_to: WorkflowInstanceId | None = None


async def page(connection: AsyncConnection, wanted: WantedRuns) -> RunsFound:
    """Up to `wanted.limit` runs."""
    more = replace(wanted, limit=wanted.limit + 1)
    if wanted.conditions.is_any:
        found = await listings.runs(connection, more)
        runs = found[: wanted.limit]
        return RunsFound(runs, runs[-1].id if len(found) > wanted.limit else None)
    walked = await run_walks.walk(connection, more)
    ids = walked.ids[: wanted.limit]
    by_id = await listings.present(connection, ids)
    # One whose state changed between the two statements is no longer wanted.
    runs = [
        run for id_ in ids if (run := by_id.get(id_)) is not None and (not wanted.states or run.state in wanted.states)
    ]
    if len(walked.ids) > wanted.limit:
        return RunsFound(runs, ids[-1])
    return RunsFound(runs, walked.down_to, walked.down_to)


async def child_count(connection: AsyncConnection, wanted: WantedRuns, *, after: int | None = None) -> int:
    """The number of child runs that a page leaves out without `children`; only those with an id above `after`."""
    condition, values = matching(replace(wanted, children=True, conditions=ANY_RUN))
    statement = filtered(_CHILDREN, condition, {**values, "after": after or 0})
    return int((await connection.execute(statement)).scalar_one())
