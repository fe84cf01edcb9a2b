"""Trials: definitions of one task that are made to run it once. No list of workflows has them."""

from __future__ import annotations

from datetime import timedelta

from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import statement
from model.ids import WorkflowCode

KEPT = timedelta(hours=1)
"""Since it was made; the page of its run needs its definition."""


@statement("UPDATE workflow_definition SET is_trial = true WHERE code = :code")
async def mark(connection: AsyncConnection, code: WorkflowCode) -> None: ...


@statement("SELECT count(*) FROM workflow_definition WHERE project = :project AND is_trial")
async def count(connection: AsyncConnection, project: str) -> int:
    """How many trials of a project there are."""


# One that is being asked for, or runs, is deleted later. Its runs stay, as those of any workflow that is deleted.
@statement("""
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
async def delete_ended(connection: AsyncConnection, limit: int, kept: timedelta = KEPT) -> int:
    """Delete up to `limit` trials that were made longer than `kept` ago and have ended. Returns how many."""
