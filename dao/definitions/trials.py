"""Trials: definitions of one task that are made to run it once. No list of workflows has them."""

from __future__ import annotations

from datetime import timedelta

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from model.ids import WorkflowCode

KEPT = timedelta(hours=1)
"""Since it was made; the page of its run needs its definition."""

_MARK = Sql("UPDATE workflow_definition SET is_trial = true WHERE code = :code")
_COUNT = Sql("SELECT count(*) FROM workflow_definition WHERE project = :project AND is_trial")
# One that is being asked for, or runs, is deleted later. Its runs stay, as those of any workflow that is deleted.
_DELETE_ENDED = Sql("""
    WITH ended AS MATERIALIZED (
        SELECT d.code FROM workflow_definition d                                -- index: workflow_definition_trial
        WHERE d.is_trial AND d.created_at < now() - CAST(:kept AS interval)
          AND NOT EXISTS (SELECT FROM command c WHERE c.workflow_code = d.code)
          AND NOT EXISTS (
              SELECT FROM workflow_instance i                                   -- index: workflow_instance_line
              WHERE i.workflow_code = d.code
                AND (i.state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP', 'SERIAL_WAIT')) IS NOT TRUE)
        LIMIT :limit FOR UPDATE OF d SKIP LOCKED
    ), versions AS (
        DELETE FROM workflow_version WHERE workflow_code IN (SELECT code FROM ended)
    )
    DELETE FROM workflow_definition WHERE code IN (SELECT code FROM ended)
""")


async def mark(connection: AsyncConnection, code: WorkflowCode) -> None:
    await connection.execute(_MARK, {"code": code})


async def count(connection: AsyncConnection, project: str) -> int:
    """How many trials of a project there are."""
    return int((await connection.execute(_COUNT, {"project": project})).scalar_one())


async def delete_ended(connection: AsyncConnection, limit: int, kept: timedelta = KEPT) -> int:
    """Delete up to `limit` trials that were made longer than `kept` ago and have ended. Returns how many."""
    return (await connection.execute(_DELETE_ENDED, {"limit": limit, "kept": kept})).rowcount
