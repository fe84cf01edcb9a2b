"""What a few typed characters may mean: workflows, projects, runs, schedules, nodes. Reads only.

A name matches if it contains the characters, in upper or lower case; names that are the characters or begin with them
come first, then shorter ones. The names of workflows and projects are all compared: 20,000 take some milliseconds.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.run_lists import id_prefixes

EACH_LENGTH = 100
"""Of the runs whose ids begin so and have the same length, the newest that are read: few may be seen by the caller."""


class FoundKind(StrEnum):
    """What matches, in the order in which it is shown."""

    WORKFLOW = "WORKFLOW"
    PROJECT = "PROJECT"
    RUN = "RUN"
    SCHEDULE = "SCHEDULE"
    MASTER = "MASTER"
    WORKER = "WORKER"


@dataclass(frozen=True)
class Found:
    """Something that matches. `id` None: a project, whose name is its key. The name of a run or schedule is that of its
    workflow, `-` if that is gone; `about` is its state, crontab or address."""

    kind: FoundKind
    id: int | None
    name: str
    project: str | None
    about: str


_WORKFLOWS = Sql("""
    SELECT 'WORKFLOW', code, name, project, release_state FROM workflow_definition
    WHERE position(lower(:q) IN lower(name)) > 0
      AND (CAST(:visible AS text[]) IS NULL OR project = ANY(CAST(:visible AS text[]))) AND NOT is_trial
    ORDER BY position(lower(:q) IN lower(name)) > 1, length(name), name, project LIMIT :limit
""")
# From project to project through the index, since most have many workflows; more than 5,000, by name, are not all
# compared.
_PROJECTS = Sql("""
    WITH RECURSIVE step AS (
        (SELECT project FROM workflow_definition ORDER BY project LIMIT 1)      -- index: workflow_definition_name
        UNION ALL
        SELECT (SELECT d.project FROM workflow_definition d WHERE d.project > step.project ORDER BY d.project LIMIT 1)
        FROM step WHERE step.project IS NOT NULL
    )
    SELECT 'PROJECT', CAST(NULL AS bigint), name, name AS project, ''
    FROM (SELECT name FROM project UNION (SELECT project FROM step LIMIT 5000) OFFSET 0) AS known
    WHERE position(lower(:q) IN lower(name)) > 0
      AND (CAST(:visible AS text[]) IS NULL OR name = ANY(CAST(:visible AS text[])))
    ORDER BY position(lower(:q) IN lower(name)) > 1, length(name), name LIMIT :limit
""")
# The ids that begin so are a range for each number of digits that follow.
_RUNS = Sql("""
    SELECT 'RUN', run.id, coalesce(d.name, '-'), d.project, run.state
    FROM unnest(CAST(:first AS bigint[]), CAST(:last AS bigint[])) AS range (first, last)
    CROSS JOIN LATERAL (
        SELECT i.id, i.workflow_code, i.state FROM workflow_instance i          -- index: workflow_instance_pkey
        WHERE i.id BETWEEN range.first AND range.last ORDER BY i.id DESC LIMIT :each) AS run
    LEFT JOIN workflow_definition d ON d.code = run.workflow_code
    WHERE (CAST(:visible AS text[]) IS NULL OR d.project = ANY(CAST(:visible AS text[])))
    ORDER BY run.id <> :exact, run.id DESC LIMIT :limit
""")
_SCHEDULES = Sql("""
    SELECT 'SCHEDULE', s.id, coalesce(d.name, '-'), d.project, s.crontab
    FROM (SELECT * FROM schedule WHERE id = :exact                              -- index: schedule_pkey
          UNION ALL
          SELECT own.* FROM unnest(CAST(:workflows AS bigint[])) AS wanted (code)
          CROSS JOIN LATERAL (
              SELECT * FROM schedule                                            -- index: schedule_of_workflow
              WHERE workflow_code = wanted.code AND id <> :exact ORDER BY id LIMIT :limit) AS own) AS s
    LEFT JOIN workflow_definition d ON d.code = s.workflow_code
    WHERE (CAST(:visible AS text[]) IS NULL OR d.project = ANY(CAST(:visible AS text[])))
    ORDER BY s.id <> :exact, array_position(CAST(:workflows AS bigint[]), s.workflow_code), s.id LIMIT :limit
""")
_NODES = Sql("""
    SELECT kind, id, coalesce(nullif(name, ''), address), NULL, address
    FROM node                                                                   -- index: node_alive
    WHERE state IN ('ALIVE', 'LEAVING')
      AND (position(lower(:q) IN lower(name)) > 0 OR position(lower(:q) IN lower(address)) > 0)
    ORDER BY kind, name, id LIMIT :limit
""")


async def workflows(connection: AsyncConnection, q: str, visible: Collection[str] | None, limit: int) -> list[Found]:
    """Up to `limit` workflows; `visible`: only those of these projects, None = of all."""
    return await _found(connection, _WORKFLOWS, visible, limit, q=q)


async def projects(connection: AsyncConnection, q: str, visible: Collection[str] | None, limit: int) -> list[Found]:
    """Up to `limit` projects, those that only workflows name too."""
    return await _found(connection, _PROJECTS, visible, limit, q=q)


async def runs(connection: AsyncConnection, q: str, visible: Collection[str] | None, limit: int) -> list[Found]:
    """Up to `limit` runs whose ids begin with these digits: the one with this id, then the newest."""
    if not (ranges := _ranges(q)):
        return []
    firsts, lasts = [first for first, _ in ranges], [last for _, last in ranges]
    values = {"first": firsts, "last": lasts, "each": EACH_LENGTH, "exact": int(q)}
    return await _found(connection, _RUNS, visible, limit, **values)


async def schedules(
    connection: AsyncConnection, q: str, workflows: Sequence[int], visible: Collection[str] | None, limit: int
) -> list[Found]:
    """Up to `limit` schedules: the one with this id, then those of these workflows in their order."""
    exact = ranges[-1][0] if (ranges := _ranges(q)) else 0
    return await _found(connection, _SCHEDULES, visible, limit, exact=exact, workflows=list(workflows))


async def nodes(connection: AsyncConnection, q: str, limit: int) -> list[Found]:
    """Up to `limit` living masters and workers."""
    return await _found(connection, _NODES, None, limit, q=q)


def _ranges(q: str) -> list[tuple[int, int]]:
    """The ids that begin with these digits, the one that they are last; none if these are no beginning of an id."""
    return id_prefixes.ranges(q) if q.isascii() and q.isdecimal() else []


async def _found(
    connection: AsyncConnection, statement: Sql, visible: Collection[str] | None, limit: int, **values: object
) -> list[Found]:
    values |= {"visible": None if visible is None else list(visible), "limit": limit}
    return [Found(FoundKind(kind), *row) for kind, *row in await connection.execute(statement, values)]
