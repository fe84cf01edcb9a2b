"""What a few typed characters may mean: workflows, projects, runs, schedules, nodes. Reads only.

A name matches if it contains the characters, in upper or lower case; names that are the characters or begin with them
come first, then shorter ones. The names of workflows and projects are all compared: 20,000 take some milliseconds.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import TextClause, text

from dao.postgres.engine import AsyncConnection
from model.choices import ReleaseState
from model.cluster.nodes import NodeKind
from model.ids import Epoch, ScheduleId, WorkflowCode, WorkflowInstanceId
from model.runs.states import WorkflowState

ID_DIGITS = 19
"""Of the longest id."""
EACH_LENGTH = 100
"""Of the runs whose ids begin so and have the same length, the newest that are read: few may be seen by the caller."""


@dataclass(frozen=True, slots=True)
class FoundWorkflow:
    """A workflow whose name matches."""

    code: WorkflowCode
    name: str
    project: str
    release_state: ReleaseState


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run whose id begins so; `workflow` and `project` are None if its workflow is gone."""

    id: WorkflowInstanceId
    workflow: str | None
    project: str | None
    state: WorkflowState


@dataclass(frozen=True, slots=True)
class FoundSchedule:
    """A schedule with this id, or of a workflow that was found."""

    id: ScheduleId
    crontab: str
    state: ReleaseState
    workflow: str | None
    project: str | None


@dataclass(frozen=True, slots=True)
class FoundNode:
    """A living node whose name or address matches."""

    epoch: Epoch
    kind: NodeKind
    name: str
    address: str


_WORKFLOWS = text("""
    SELECT code, name, project, release_state FROM workflow_definition
    WHERE position(lower(:q) IN lower(name)) > 0
      AND (CAST(:visible AS text[]) IS NULL OR project = ANY(CAST(:visible AS text[]))) AND NOT is_trial
    ORDER BY position(lower(:q) IN lower(name)) > 1, length(name), name, project LIMIT :limit
""")
# From project to project through the index, since most have many workflows; more than 5,000, by name, are not all
# compared.
_PROJECTS = text("""
    WITH RECURSIVE step AS (
        (SELECT project FROM workflow_definition ORDER BY project LIMIT 1)      -- index: workflow_definition_name
        UNION ALL
        SELECT (SELECT d.project FROM workflow_definition d WHERE d.project > step.project ORDER BY d.project LIMIT 1)
        FROM step WHERE step.project IS NOT NULL
    )
    SELECT name FROM (SELECT name FROM project UNION (SELECT project FROM step LIMIT 5000) OFFSET 0) AS known
    WHERE position(lower(:q) IN lower(name)) > 0
      AND (CAST(:visible AS text[]) IS NULL OR name = ANY(CAST(:visible AS text[])))
    ORDER BY position(lower(:q) IN lower(name)) > 1, length(name), name LIMIT :limit
""")
# The ids that begin so are a range for each number of digits that follow.
_RUNS = text("""
    SELECT run.id, d.name, d.project, run.state
    FROM unnest(CAST(:first AS bigint[]), CAST(:last AS bigint[])) AS range (first, last)
    CROSS JOIN LATERAL (
        SELECT i.id, i.workflow_code, i.state FROM workflow_instance i          -- index: workflow_instance_pkey
        WHERE i.id BETWEEN range.first AND range.last ORDER BY i.id DESC LIMIT :each) AS run
    LEFT JOIN workflow_definition d ON d.code = run.workflow_code
    WHERE (CAST(:visible AS text[]) IS NULL OR d.project = ANY(CAST(:visible AS text[])))
    ORDER BY run.id <> :exact, run.id DESC LIMIT :limit
""")
_SCHEDULES = text("""
    SELECT s.id, s.crontab, s.state, d.name, d.project
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
_NODES = text("""
    SELECT id, kind, coalesce(nullif(name, ''), address), address FROM node     -- index: node_alive
    WHERE state IN ('ALIVE', 'LEAVING')
      AND (position(lower(:q) IN lower(name)) > 0 OR position(lower(:q) IN lower(address)) > 0)
    ORDER BY kind, name, id LIMIT :limit
""")


async def workflows(
    connection: AsyncConnection, q: str, visible: Collection[str] | None, limit: int
) -> list[FoundWorkflow]:
    """Up to `limit` workflows; `visible`: only those of these projects, None = of all."""
    rows = await _rows(connection, _WORKFLOWS, q, visible, limit)
    return [FoundWorkflow(code, name, project, ReleaseState(state)) for code, name, project, state in rows]


async def projects(connection: AsyncConnection, q: str, visible: Collection[str] | None, limit: int) -> list[str]:
    """Up to `limit` names of projects, those that only workflows name too."""
    return [name for (name,) in await _rows(connection, _PROJECTS, q, visible, limit)]


async def runs(connection: AsyncConnection, q: str, visible: Collection[str] | None, limit: int) -> list[FoundRun]:
    """Up to `limit` runs whose ids begin with these digits: the one with this id, then the newest."""
    ranges = _ranges(q)
    given = {"first": [first for first, _ in ranges], "last": [last for _, last in ranges], "each": EACH_LENGTH}
    if not ranges:
        return []
    rows = (await connection.execute(_RUNS, {**given, **_values(visible, limit), "exact": int(q)})).all()
    return [FoundRun(id_, name, project, WorkflowState(state)) for id_, name, project, state in rows]


async def schedules(
    connection: AsyncConnection,
    q: str,
    workflows: Sequence[WorkflowCode],
    visible: Collection[str] | None,
    limit: int,
) -> list[FoundSchedule]:
    """Up to `limit` schedules: the one with this id, then those of these workflows in their order."""
    exact = ranges[0][0] if (ranges := _ranges(q)) else 0
    given = {"exact": exact, "workflows": list(workflows)}
    rows = (await connection.execute(_SCHEDULES, {**given, **_values(visible, limit)})).all()
    return [FoundSchedule(id_, crontab, ReleaseState(state), *whose) for id_, crontab, state, *whose in rows]


async def nodes(connection: AsyncConnection, q: str, limit: int) -> list[FoundNode]:
    """Up to `limit` living masters and workers."""
    rows = (await connection.execute(_NODES, {"q": q, "limit": limit})).all()
    return [FoundNode(Epoch(epoch), NodeKind(kind), name, address) for epoch, kind, name, address in rows]


def _ranges(q: str) -> list[tuple[int, int]]:
    """The ids that begin with these digits; none if these are no beginning of an id."""
    if not (q.isascii() and q.isdecimal() and len(q) <= ID_DIGITS) or q.startswith("0") or int(q) >= 2**63:
        return []
    number = int(q)
    ranges = [(number * 10**more, (number + 1) * 10**more - 1) for more in range(ID_DIGITS - len(q) + 1)]
    return [(first, min(last, 2**63 - 1)) for first, last in ranges if first < 2**63]


async def _rows(
    connection: AsyncConnection, statement: TextClause, q: str, visible: Collection[str] | None, limit: int
) -> Sequence[Sequence[Any]]:
    return (await connection.execute(statement, {"q": q, **_values(visible, limit)})).all()


def _values(visible: Collection[str] | None, limit: int) -> dict[str, object]:
    return {"visible": None if visible is None else list(visible), "limit": limit}
