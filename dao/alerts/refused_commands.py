"""Refused commands of which there is no alert yet."""

from __future__ import annotations

from dataclasses import dataclass

from dao.postgres.database import FencedTransaction
from dao.postgres.statements import statement
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
@statement("""
    WITH new AS (
        SELECT command_id FROM error_command WHERE NOT is_alerted             -- index: error_command_alert
        ORDER BY command_id LIMIT :limit FOR UPDATE SKIP LOCKED
    ), marked AS (
        UPDATE error_command e SET is_alerted = true FROM new
        WHERE e.command_id = new.command_id
        RETURNING e.command_id, left(e.reason, 1000) AS reason,
                  coalesce(e.workflow_code, (SELECT i.workflow_code FROM workflow_instance i
                                             WHERE i.id = e.workflow_instance_id)) AS code,
                  upper(e.warning_type) AS warning_type, e.alert_group
    ), known AS (
        SELECT m.command_id, m.reason, d.project, d.name,
               CASE WHEN coalesce(m.warning_type, v.spec ->> 'warning_type') IN ('FAILURE', 'ALL')
                    THEN coalesce(nullif(m.alert_group, ''), v.spec ->> 'alert_group') END AS alert_group
        FROM marked m LEFT JOIN workflow_definition d ON d.code = m.code
        LEFT JOIN workflow_version v ON v.workflow_code = d.code AND v.version = d.version
    ), addressed AS (
        SELECT command_id, reason, project, name,
               CASE WHEN length(alert_group) BETWEEN 1 AND 200 THEN alert_group ELSE 'default' END AS alert_group
        FROM known
    )
    SELECT project, name, alert_group, count(*)::integer, min(command_id), (array_agg(reason ORDER BY command_id))[1]
    FROM addressed GROUP BY project, name, alert_group ORDER BY min(command_id)
""")
async def take(connection: FencedTransaction, limit: int) -> list[RefusedCommands]:
    """Take up to `limit` refused commands, in order: they are not taken again."""
