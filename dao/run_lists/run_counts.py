"""How many runs match a filter: counted up to a limit, estimated, or by the time of their start. Reads only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.run_lists import run_pages, run_walks
from dao.run_lists.run_conditions import ANY_RUN
from dao.run_lists.wanted_runs import WantedRuns, matching
from model.runs.states import WorkflowState

CHECKED_MAX = 20_000
"""So many runs are checked for a count under conditions that no index has."""
READ_MAX = 100_000
"""Bars are made of so many of the newest runs: of those of the wanted workflow that match, or else of all."""


@dataclass(frozen=True, slots=True)
class Bar:
    """The runs in a state that started within the same part of the time."""

    place: int
    state: WorkflowState
    count: int


_MATCHING = """
    SELECT FROM workflow_instance i LEFT JOIN workflow_definition d ON d.code = i.workflow_code WHERE {condition}
"""
_BARS = """
    SELECT floor(extract(epoch FROM i.started_at - CAST(:since AS timestamptz)) / CAST(:bar_s AS float8))::int, i.state,
           count(*)
    FROM ({runs}) AS i LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    WHERE i.started_at >= CAST(:since AS timestamptz) AND i.started_at < CAST(:until AS timestamptz)
      AND (CAST(:states AS text[]) IS NULL OR i.state = ANY(CAST(:states AS text[])))
      AND (CAST(:project AS text) IS NULL OR d.project = CAST(:project AS text))
      AND (CAST(:visible AS text[]) IS NULL OR d.project = ANY(CAST(:visible AS text[])))
      AND (:children OR i.parent_instance_id IS NULL) AND {condition}
    GROUP BY 1, 2 ORDER BY 1, 2
"""
_NEWEST = "SELECT * FROM workflow_instance ORDER BY id DESC LIMIT :read"
_FIRST_UNREAD = Sql("""
    SELECT started_at < CAST(:since AS timestamptz) FROM workflow_instance ORDER BY id DESC OFFSET :read LIMIT 1
""")


@dataclass(frozen=True, slots=True)
class Count:
    """How many match; `is_capped`: at least so many, since no more were counted or checked."""

    number: int
    is_capped: bool


async def count(connection: AsyncConnection, wanted: WantedRuns, most: int) -> Count:
    """How many match, up to `most`: it reads little more than it counts.

    Under conditions it checks up to `CHECKED_MAX` runs, and counts those that fit.
    """
    if not wanted.conditions.is_any:
        walked = await run_walks.walk(connection, wanted.page(most + 1), CHECKED_MAX)
        return Count(min(len(walked.ids), most), len(walked.ids) > most or walked.down_to is not None)
    number = int((await connection.execute(run_pages.counted(wanted.page(most + 1)))).scalar_one())
    return Count(min(number, most), number > most)


async def estimate(connection: AsyncConnection, wanted: WantedRuns) -> int:
    """About how many match, as the database's planner estimates; it reads none of them.

    Of conditions the planner knows nothing: their share is that among the newest runs, which are checked.
    """
    if wanted.conditions.is_any:
        return await _planned(connection, wanted)
    walked = await run_walks.walk(connection, wanted.page(run_walks.WALK_MAX))
    if walked.down_to is None:
        return len(walked.ids)
    return round(await _planned(connection, replace(wanted, conditions=ANY_RUN)) * walked.share)


async def planned_rows(connection: AsyncConnection, query: str, values: Mapping[str, object]) -> int:
    """How many rows the database's planner expects of a query; it reads none of them."""
    (plan,) = (await connection.execute(Sql(f"EXPLAIN (FORMAT JSON) {query}", values))).scalar_one()
    return int(plan["Plan"]["Plan Rows"])


async def _planned(connection: AsyncConnection, wanted: WantedRuns) -> int:
    condition, values = matching(wanted)
    return await planned_rows(connection, _MATCHING.format(condition=condition), values)


async def bars(
    connection: AsyncConnection, wanted: WantedRuns, until: datetime, bar_s: float, read: int = READ_MAX
) -> list[Bar]:
    """How many runs that match started in each part of `bar_s` seconds from `wanted.since` to `until`, by state.

    Only the newest `read` runs are read: of those of `wanted.workflow` that match, or else of all; see `is_read`.
    """
    assert wanted.since is not None
    values = {
        "since": wanted.since,
        "until": until,
        "bar_s": bar_s,
        "states": [state.value for state in wanted.states] or None,
        "project": wanted.project,
        "visible": None if wanted.visible is None else list(wanted.visible),
        "children": wanted.children,
    }
    if wanted.workflow is None:
        runs, values = _NEWEST, values | {"read": read}
    else:
        ids, of_ids = run_pages.newest_ids(wanted.page(read))
        runs = f"SELECT * FROM workflow_instance WHERE id = ANY(ARRAY({ids}))"
        values |= of_ids
    condition, more = wanted.conditions.sql("i")
    rows = (await connection.execute(Sql(_BARS.format(runs=runs, condition=condition)), values | more)).all()
    return [Bar(place, WorkflowState(state), number) for place, state, number in rows]


async def is_read(connection: AsyncConnection, wanted: WantedRuns, read: int = READ_MAX) -> bool:
    """Whether `bars` with the same arguments counts all that match: no older one started since `wanted.since`.

    If it reads the newest of all, runs are taken to start in the order of their ids.
    """
    if wanted.workflow is not None:
        return not (await count(connection, replace(wanted, conditions=ANY_RUN), read)).is_capped
    is_older = (await connection.execute(_FIRST_UNREAD, {"read": read, "since": wanted.since})).scalar()
    return is_older is None or bool(is_older)
