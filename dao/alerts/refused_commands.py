"""Refused commands of which there is no alert yet."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import text

from dao.postgres.database import FencedTransaction
from model.ids import CommandId


@dataclass(frozen=True, slots=True)
class RefusedCommands:
    """Those of one workflow and alert group: how many, the first of them, and why that was refused.

    `project` and `workflow` are None if there is no such workflow.
    """

    project: str | None
    workflow: str | None
    alert_group: str
    count: int
    first: CommandId
    reason: str


# Those who want to hear of failures of a run hear that it was not even begun. A group's name may be anything here.
_TAKE = text("""
    WITH new AS (
        SELECT command_id FROM error_command WHERE NOT is_alerted             -- index: error_command_alert
        ORDER BY command_id LIMIT :limit FOR UPDATE SKIP LOCKED
    ), marked AS (
        UPDATE error_command e SET is_alerted = true FROM new
        WHERE e.command_id = new.command_id
        RETURNING e.command_id, left(e.reason, 1000) AS reason,
                  coalesce(e.workflow_code, (SELECT i.workflow_code FROM workflow_instance i
                                             WHERE i.id = e.workflow_instance_id)) AS code,
                  CASE WHEN upper(e.warning_type) IN ('FAILURE', 'ALL') AND length(e.alert_group) BETWEEN 1 AND 200
                       THEN e.alert_group ELSE 'default' END AS alert_group
    )
    SELECT d.project, d.name, m.alert_group, count(*)::integer, min(m.command_id),
           (array_agg(m.reason ORDER BY m.command_id))[1]
    FROM marked m LEFT JOIN workflow_definition d ON d.code = m.code
    GROUP BY d.project, d.name, m.alert_group ORDER BY min(m.command_id)
""")


async def take(connection: FencedTransaction, limit: int) -> list[RefusedCommands]:
    """Take up to `limit` refused commands, in order: they are not taken again."""
    return [RefusedCommands(*row) for row in (await connection.execute(_TAKE, {"limit": limit})).all()]
