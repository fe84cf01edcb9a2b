"""Names that begin as typed, for a person who types one. Reads only."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import statement
from model.ids import WorkflowInstanceId
from model.runs.states import WorkflowState

NEWEST = 1_000
"""Of the runs only so many are compared with what was typed."""


@dataclass(frozen=True, slots=True)
class WorkflowName:
    """A workflow, and its project."""

    name: str
    project: str


@dataclass(frozen=True, slots=True)
class RunName:
    """A run, and what it is."""

    id: WorkflowInstanceId
    workflow: str | None
    state: WorkflowState


@statement("""
    SELECT name, project FROM workflow_definition
    WHERE starts_with(name, :prefix) AND NOT is_trial AND project = coalesce(CAST(:project AS text), project)
      AND (CAST(:visible AS text[]) IS NULL OR project = ANY(CAST(:visible AS text[])))
    ORDER BY name, project LIMIT :limit
""")
async def workflows(
    connection: AsyncConnection, prefix: str, project: str | None, visible: Collection[str] | None, limit: int
) -> list[WorkflowName]:
    """Workflows by name; `project`: only its own, `visible`: only those of these projects."""


@statement("""
    SELECT i.id, d.name, i.state
    FROM (SELECT id, workflow_code, state FROM workflow_instance ORDER BY id DESC LIMIT :NEWEST) AS i
    LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    WHERE starts_with(CAST(i.id AS text), :prefix)
      AND (CAST(:project AS text) IS NULL OR d.project = CAST(:project AS text))
      AND (CAST(:visible AS text[]) IS NULL OR d.project = ANY(CAST(:visible AS text[])))
    ORDER BY i.id DESC LIMIT :limit
""")
async def runs(
    connection: AsyncConnection, prefix: str, project: str | None, visible: Collection[str] | None, limit: int
) -> list[RunName]:
    """The last runs whose id begins so, newest first. For the arguments see `workflows`."""


def _texts(given: Collection[str] | None) -> list[str] | None:
    return None if given is None else list(given)
