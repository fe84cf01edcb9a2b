"""What those who watch read about what just changed: for sets of ids, each with one statement. Reads only."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import statement
from dao.runs.rows import ChangedAttempt, ChangedDefinition, ChangedRun

COUNTED_MAX = 10_000
"""Commands and error commands are counted up to this number: a backlog may have millions."""
RECENT_S = 30
"""Longer than any transaction lasts and its changes then wait to be announced (`dao/postgres/announcer.py`): attempts
that changed in an earlier one were read before. `_ATTEMPTS` has the same number."""


@dataclass(frozen=True, slots=True)
class RunCount:
    """How many valid attempts of a run are in a state. `project` is None if its definition was deleted."""

    run: int
    project: str | None
    state: str
    count: int


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """How many commands wait and how many were refused, each up to `COUNTED_MAX`."""

    commands: int
    errors: int


# A time written by hand may be one that Python has no years for.
@statement("""
    SELECT i.id, d.project, d.name, i.workflow_code, i.workflow_version, i.state, i.requested_state, i.ending_as,
           CASE WHEN isfinite(i.started_at)
                THEN least(greatest(i.started_at, '0100-01-01 00:00Z'), '9900-01-01 00:00Z') END,
           CASE WHEN isfinite(i.ended_at)
                THEN least(greatest(i.ended_at, '0100-01-01 00:00Z'), '9900-01-01 00:00Z') END,
           i.reason,
           CASE WHEN EXISTS (SELECT FROM workflow_instance p JOIN workflow_definition a ON a.code = p.workflow_code
                             WHERE p.id = i.parent_instance_id AND a.project = d.project) THEN i.parent_instance_id END
    FROM workflow_instance i LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    WHERE i.id = ANY(CAST(:ids AS bigint[])) ORDER BY i.id
""")
async def runs(connection: AsyncConnection, ids: Collection[int]) -> list[ChangedRun]:
    """These runs by id; those that do not exist are missing."""


# Reads all attempts of these runs by their index, and returns few of them. What leaves no time: a forced success, and
# an attempt that counts no more. The times are kept within the years of Python, as above.
@statement("""
    SELECT t.workflow_instance_id, t.id, t.task_code, t.task_name, t.task_type, t.attempt, t.state, t.worker_id,
           CASE WHEN isfinite(t.queued_at)
                THEN least(greatest(t.queued_at, '0100-01-01 00:00Z'), '9900-01-01 00:00Z') END,
           CASE WHEN isfinite(t.started_at)
                THEN least(greatest(t.started_at, '0100-01-01 00:00Z'), '9900-01-01 00:00Z') END,
           CASE WHEN isfinite(t.ended_at)
                THEN least(greatest(t.ended_at, '0100-01-01 00:00Z'), '9900-01-01 00:00Z') END,
           t.reason, t.flag = 'YES'
    FROM task_instance t
    WHERE t.workflow_instance_id = ANY(CAST(:of AS bigint[])) AND t.task_code > 0  -- index: task_instance_attempt
      AND coalesce(greatest(t.queued_at, t.started_at, t.ended_at) > clock_timestamp() - interval '30 s'
                   OR t.state = 'FORCED_SUCCESS' OR t.flag = 'NO', false)
    ORDER BY t.workflow_instance_id, t.id
""")
async def attempts(connection: AsyncConnection, of: Collection[int]) -> list[ChangedAttempt]:
    """The attempts of these runs that may have changed within the last `RECENT_S`, by run and id."""


@statement("""
    SELECT i.id, d.project, c.state, c.attempts
    FROM (SELECT workflow_instance_id, state, count(*) AS attempts FROM task_instance
          WHERE workflow_instance_id = ANY(CAST(:of AS bigint[])) AND task_code > 0 AND coalesce(flag = 'YES', false)
          GROUP BY workflow_instance_id, state) AS c
    JOIN workflow_instance i ON i.id = c.workflow_instance_id
    LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    ORDER BY i.id, c.state
""")
async def counts(connection: AsyncConnection, of: Collection[int]) -> list[RunCount]:
    """How many valid attempts of these runs are in which state, by run."""


@statement("""
    SELECT d.code, d.project, d.name, d.version, d.release_state,
           (SELECT count(*) FROM schedule s WHERE s.workflow_code = d.code)           -- index: schedule_of_workflow
    FROM workflow_definition d WHERE d.code = ANY(CAST(:codes AS bigint[])) ORDER BY d.code
""")
async def definitions(connection: AsyncConnection, codes: Collection[int]) -> list[ChangedDefinition]:
    """These definitions by code; those that were deleted are missing."""


@statement("""
    SELECT (SELECT count(*) FROM (SELECT FROM command LIMIT :COUNTED_MAX) AS waiting),
           (SELECT count(*) FROM (SELECT FROM error_command LIMIT :COUNTED_MAX) AS refused)
""")
async def queue(connection: AsyncConnection) -> QueueCounts:
    """How many commands wait, and how many were refused."""
