"""How many runs match a filter: counted up to a limit, estimated, or by the time of their start. Reads only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import literal_column, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from dao.views import run_pages
from dao.views.bulk import Matching, matching
from dao.views.run_pages import WantedRuns
from model.states import WorkflowState

READ_MAX = 100_000
"""Bars are made of so many of the newest runs: of those of the wanted workflow that match, or else of all."""


@dataclass(frozen=True, slots=True)
class Bar:
    """The runs in a state that started within the same part of the time."""

    place: int
    state: WorkflowState
    count: int


_BARS = """
    SELECT floor(extract(epoch FROM i.started_at - CAST(:since AS timestamptz)) / CAST(:bar_s AS float8))::int, i.state,
           count(*)
    FROM ({runs}) AS i LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    WHERE i.started_at >= CAST(:since AS timestamptz) AND i.started_at < CAST(:until AS timestamptz)
      AND (CAST(:states AS text[]) IS NULL OR i.state = ANY(CAST(:states AS text[])))
      AND (CAST(:project AS text) IS NULL OR d.project = CAST(:project AS text))
      AND (CAST(:visible AS text[]) IS NULL OR d.project = ANY(CAST(:visible AS text[])))
      AND (:children OR i.parent_instance_id IS NULL)
    GROUP BY 1, 2 ORDER BY 1, 2
"""
_ALL_BARS = text(_BARS.format(runs="SELECT * FROM workflow_instance ORDER BY id DESC LIMIT :read"))
_FIRST_UNREAD = text("""
    SELECT started_at < CAST(:since AS timestamptz) FROM workflow_instance ORDER BY id DESC OFFSET :read LIMIT 1
""")


async def count(connection: AsyncConnection, wanted: Matching, most: int) -> int:
    """How many match; `most` + 1 if more than `most` do. It reads little more than it counts."""
    return int((await connection.execute(run_pages.counted(_wanted(wanted, most + 1)))).scalar_one())


async def estimate(connection: AsyncConnection, wanted: Matching) -> int:
    """About how many match, as the database's planner estimates; it reads none of them."""
    query = matching(select(literal_column("1")), wanted)
    compiled = query.compile(dialect=connection.dialect, compile_kwargs={"render_postcompile": True})
    row = await connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {compiled}", compiled.params)
    return int(row.scalar_one()[0]["Plan"]["Plan Rows"])


async def bars(
    connection: AsyncConnection, wanted: Matching, until: datetime, bar_s: float, read: int = READ_MAX
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
        statement, values = _ALL_BARS, values | {"read": read}
    else:
        newest = run_pages.newest(_wanted(wanted, read))
        runs = f"SELECT * FROM workflow_instance WHERE {newest.text}"  # noqa: S608
        statement, values = text(_BARS.format(runs=runs)), values | newest.compile().params
    rows = (await connection.execute(statement, values)).all()
    return [Bar(place, WorkflowState(state), number) for place, state, number in rows]


async def is_read(connection: AsyncConnection, wanted: Matching, read: int = READ_MAX) -> bool:
    """Whether `bars` with the same arguments counts all that match: no older one started since `wanted.since`.

    If it reads the newest of all, runs are taken to start in the order of their ids.
    """
    if wanted.workflow is not None:
        return await count(connection, wanted, read) <= read
    is_older = (await connection.execute(_FIRST_UNREAD, {"read": read, "since": wanted.since})).scalar()
    return is_older is None or bool(is_older)


def _wanted(matching: Matching, limit: int) -> WantedRuns:
    return WantedRuns(
        limit,
        matching.states,
        matching.workflow,
        matching.project,
        matching.since,
        children=matching.children,
        visible=matching.visible,
    )
