"""How many runs match a filter: counted up to a limit, estimated, or by the time of their start. Reads only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, literal_column, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from dao.views.bulk import Matching, matching
from model.states import WorkflowState

READ_MAX = 100_000
"""Bars are made of so many of the newest runs: of each workflow with the name, or else of all."""


@dataclass(frozen=True, slots=True)
class Bar:
    """The runs in a state that started within the same part of the time."""

    place: int
    state: WorkflowState
    count: int


_NEWEST = "SELECT * FROM workflow_instance ORDER BY id DESC LIMIT :read"
# index: workflow_instance_time
_NEWEST_OF_NAME = """
    SELECT r.* FROM (SELECT code FROM workflow_definition WHERE name = CAST(:workflow AS text)) AS named
    CROSS JOIN LATERAL (
        SELECT i.* FROM workflow_instance i WHERE i.workflow_code = named.code
        ORDER BY i.workflow_code DESC, i.schedule_time DESC LIMIT :read) AS r
"""
_BARS = """
    SELECT floor(extract(epoch FROM i.started_at - CAST(:since AS timestamptz)) / CAST(:bar_s AS float8))::int, i.state,
           count(*)
    FROM ({newest}) AS i LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    WHERE i.started_at >= CAST(:since AS timestamptz) AND i.started_at < CAST(:until AS timestamptz)
      AND (CAST(:states AS text[]) IS NULL OR i.state = ANY(CAST(:states AS text[])))
      AND (CAST(:project AS text) IS NULL OR d.project = CAST(:project AS text))
      AND (CAST(:visible AS text[]) IS NULL OR d.project = ANY(CAST(:visible AS text[])))
      AND (:children OR i.parent_instance_id IS NULL)
    GROUP BY 1, 2 ORDER BY 1, 2
"""
_ALL_BARS, _BARS_OF_NAME = (text(_BARS.format(newest=newest)) for newest in (_NEWEST, _NEWEST_OF_NAME))
_FIRST_UNREAD = text("""
    SELECT started_at < CAST(:since AS timestamptz) FROM workflow_instance ORDER BY id DESC OFFSET :read LIMIT 1
""")


async def count(connection: AsyncConnection, wanted: Matching, most: int) -> int:
    """How many match; `most` + 1 if more than `most` do. It reads up to all runs if few match."""
    some = matching(select(literal_column("1")), wanted).limit(most + 1).subquery()
    return int((await connection.execute(select(func.count()).select_from(some))).scalar_one())


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

    Only the newest `read` runs are read: of each workflow with that name, or else of all.
    """
    assert wanted.since is not None
    values = {
        "read": read,
        "since": wanted.since,
        "until": until,
        "bar_s": bar_s,
        "states": [state.value for state in wanted.states] or None,
        "workflow": wanted.workflow,
        "project": wanted.project,
        "visible": None if wanted.visible is None else list(wanted.visible),
        "children": wanted.children,
    }
    if wanted.workflow is None:
        del values["workflow"]
    statement = _ALL_BARS if wanted.workflow is None else _BARS_OF_NAME
    rows = (await connection.execute(statement, values)).all()
    return [Bar(place, WorkflowState(state), number) for place, state, number in rows]


async def reaches(connection: AsyncConnection, since: datetime, read: int = READ_MAX) -> bool:
    """Whether the newest `read` runs are all that started since then: runs start in the order of their ids, about."""
    is_older = (await connection.execute(_FIRST_UNREAD, {"read": read, "since": since})).scalar()
    return is_older is None or bool(is_older)
