"""`alert` rows of results that SQL tasks report: written with the end of the attempt, so never without it."""

from __future__ import annotations

from collections.abc import Mapping

from dao.postgres.database import FencedTransaction
from dao.postgres.statements import statement, unless_empty
from model.ids import TaskInstanceId


@unless_empty
@statement("""
    INSERT INTO alert (kind, severity, project, workflow, workflow_instance_id, task_instance_id, alert_group, subject,
                       facts, unique_key)
    SELECT 'SQL_RESULT', 'INFO', d.project, d.name, i.id, t.id, n.alert ->> 'group', n.alert ->> 'title',
           jsonb_build_object('task', t.task_name) || (n.alert - 'group' - 'title'), format('sql-result:%s', t.id)
    FROM (SELECT id, alert::jsonb AS alert
          FROM unnest(CAST(:results AS bigint[]), CAST(:results.values AS text[])) AS given (id, alert)) n
    JOIN task_instance t ON t.id = n.id
    JOIN workflow_instance i ON i.id = t.workflow_instance_id
    LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    ORDER BY t.id
    ON CONFLICT (unique_key) WHERE unique_key IS NOT NULL DO NOTHING          -- index: alert_unique
""")
async def insert(connection: FencedTransaction, results: Mapping[TaskInstanceId, str]) -> None:
    """Write the alerts of attempts whose ends this transaction has just written: JSON with `group`, `title`, facts."""
