"""Many runs at once: those to which a change can be made, and how many are in another state. Reads only."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql, filtered
from dao.postgres.statements import statement
from dao.run_lists.wanted_runs import WantedRuns, matching
from model.ids import CommandId, WorkflowInstanceId
from model.runs.states import WorkflowState

_ID_MAX = 2**63 - 1
_UNFINISHED = frozenset(state for state in WorkflowState if not state.is_final)

_IN_STATES = """
    SELECT i.id, d.project, coalesce(i.requested_state, i.state) AS state
    FROM workflow_instance i LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    WHERE {condition} AND coalesce(i.requested_state, i.state) = ANY(CAST(:asked AS text[]))
      AND i.id > :after AND i.id <= :last                                    -- index: workflow_instance_pkey
    ORDER BY i.id LIMIT :limit
"""
_COUNTS = """
    SELECT coalesce(i.requested_state, i.state), count(*)
    FROM workflow_instance i LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    WHERE {condition} AND coalesce(i.requested_state, i.state) = ANY(CAST(:asked AS text[])) GROUP BY 1
"""


@dataclass(frozen=True, slots=True)
class RunState:
    """A run, its project (None: its workflow is gone), and its state, with what was already requested of its owner."""

    id: WorkflowInstanceId
    project: str | None
    state: WorkflowState


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a command: it waits, is done, or was refused (`reason`)."""

    id: CommandId
    waits: bool
    reason: str | None


@statement("""
    SELECT i.id, d.project, coalesce(i.requested_state, i.state) AS state
    FROM workflow_instance i LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    WHERE i.id = ANY(CAST(:ids AS bigint[])) ORDER BY i.id                   -- index: workflow_instance_pkey
""")
async def by_ids(connection: AsyncConnection, ids: Collection[int]) -> list[RunState]:
    """These runs; those that do not exist are missing."""


@statement("""
    SELECT count(*) FROM workflow_instance i JOIN workflow_definition d ON d.code = i.workflow_code
    WHERE i.id = ANY(CAST(:ids AS bigint[])) AND i.workflow_version < d.version   -- index: workflow_instance_pkey
""")
async def count_older(connection: AsyncConnection, ids: Collection[int]) -> int:
    """How many of these runs have an older version of their workflow than the newest."""


async def in_states(
    connection: AsyncConnection,
    wanted: WantedRuns,
    states: Collection[WorkflowState],
    limit: int,
    *,
    after: int = 0,
    until: int | None = None,
) -> list[RunState]:
    """Up to `limit` of the runs that match and are in one of these states, oldest first.

    `after` and `until` limit them to ids greater than the first and up to the second; None: to the newest.
    """
    places = {"after": after, "last": _ID_MAX if until is None else until, "limit": limit}
    rows = await connection.execute(_asked(_IN_STATES, wanted, states, **places))
    return [RunState(row.id, row.project, WorkflowState(row.state)) for row in rows]


async def counts(
    connection: AsyncConnection, wanted: WantedRuns, states: Collection[WorkflowState]
) -> dict[WorkflowState, int]:
    """How many runs match and are in each of these states; those that no run is in are missing."""
    return {WorkflowState(state): count for state, count in await connection.execute(_asked(_COUNTS, wanted, states))}


def _asked(statement: str, wanted: WantedRuns, states: Collection[WorkflowState], **values: object) -> Sql:
    """A statement on the runs that match and are in one of these states."""
    condition, own = matching(wanted)
    if _UNFINISHED.issuperset(states):
        condition += " AND i.ended_at IS NULL"  # index: workflow_instance_unfinished
    return filtered(statement, condition, {**own, **values, "asked": [*states]})


@statement("""
    SELECT f.id, f.waits, f.reason FROM (
        SELECT c.id, true AS waits, NULL AS reason, c.workflow_code, c.workflow_instance_id
        FROM command c WHERE c.id = ANY(CAST(:ids AS bigint[]))
        UNION ALL
        SELECT h.command_id, false, e.reason, e.workflow_code,
               coalesce(h.workflow_instance_id, e.workflow_instance_id)
        FROM command_history h LEFT JOIN error_command e ON e.command_id = h.command_id
        WHERE h.command_id = ANY(CAST(:ids AS bigint[]))
    ) AS f
    LEFT JOIN workflow_instance i ON i.id = f.workflow_instance_id
    LEFT JOIN workflow_definition d ON d.code = coalesce(f.workflow_code, i.workflow_code)
    WHERE CAST(:visible AS text[]) IS NULL OR d.project = ANY(CAST(:visible AS text[]))
    ORDER BY f.id
""")
async def fates(
    connection: AsyncConnection, ids: Collection[int], visible: Collection[str] | None = None
) -> list[Fate]:
    """What became of these commands, by id; without those of other than the `visible` projects (None = all)."""
