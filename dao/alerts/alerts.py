"""`alert`: what a person is to be notified of; written here where no trigger of `sql/schema.sql` does.

An alert with a `unique_key` that is there already is not written again: who writes one may do so as often as it likes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dao.postgres.database import FencedTransaction
from dao.postgres.pool import AsyncConnection
from dao.postgres.row_arrays import RowArrays
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from model.alerts.alerts import NewAlert
from model.ids import Epoch, ScheduleId, WorkflowInstanceId

# In the given order, which is that of their ids, and so of what each channel gets.
_INSERT = Sql("""
    INSERT INTO alert (kind, severity, subject, facts, alert_group, project, workflow, workflow_instance_id,
                       task_instance_id, unique_key)
    SELECT n.kind, n.severity, n.subject, n.facts::jsonb, n.alert_group, n.project, n.workflow, n.workflow_instance_id,
           n.task_instance_id, n.unique_key
    FROM unnest(CAST(:kind AS text[]), CAST(:severity AS text[]), CAST(:subject AS text[]), CAST(:facts AS text[]),
                CAST(:alert_group AS text[]), CAST(:project AS text[]), CAST(:workflow AS text[]),
                CAST(:workflow_instance_id AS bigint[]), CAST(:task_instance_id AS bigint[]),
                CAST(:unique_key AS text[]))
         WITH ORDINALITY AS n (kind, severity, subject, facts, alert_group, project, workflow, workflow_instance_id,
                               task_instance_id, unique_key, place)
    ORDER BY n.place
    ON CONFLICT (unique_key) WHERE unique_key IS NOT NULL DO NOTHING          -- index: alert_unique
""")
_ALERTS = RowArrays(_INSERT, {"facts": lambda new: json.dumps(dict(new.facts), default=str)})


@dataclass(frozen=True, slots=True)
class Missed:
    """A schedule that was fired too late: since when its times were missed, and how many commands it wrote."""

    id: ScheduleId
    since: datetime
    commands: int


@dataclass(frozen=True, slots=True)
class Pending:
    """Whether there is anything of which alerts may have to be written."""

    ends: bool
    rules: bool
    refused: bool
    late_tasks: bool
    lost_nodes: bool


@statement("SELECT ends, rules, refused, late_tasks, lost_nodes FROM alerts_waiting()")
async def pending(connection: AsyncConnection) -> Pending:
    """Whether there is anything to write: what a round of the duty begins with."""


async def insert(connection: FencedTransaction, new: Sequence[NewAlert]) -> None:
    """Write these in their order, without those that are there already."""
    if new:
        await connection.execute(_INSERT, _ALERTS.values(new))


@statement("""
    INSERT INTO alert (kind, severity, project, workflow, workflow_instance_id, alert_group, subject, facts, unique_key)
    SELECT 'RUN_TIMEOUT', 'WARNING', d.project, d.name, i.id, coalesce(nullif(i.alert_group, ''), 'default'),
           format('run %s of workflow "%s" takes longer than its timeout of %s min', i.id,
                  coalesce(d.name, i.workflow_code::text), CAST(:minutes AS text)),
           jsonb_strip_nulls(jsonb_build_object(
               'run', i.id, 'workflow', d.name, 'project', d.project, 'timeout_minutes', CAST(:minutes AS text),
               'started_at', i.started_at, 'running_since', i.running_since)),
           format('run-timeout:%s:%s', i.id, extract(epoch FROM coalesce(i.running_since, i.started_at)))
    FROM workflow_instance i LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    WHERE i.id = :id_ AND i.master_id = :master AND i.ended_at IS NULL
    ON CONFLICT (unique_key) WHERE unique_key IS NOT NULL DO NOTHING          -- index: alert_unique
""")
async def run_takes_too_long(
    connection: FencedTransaction, id_: WorkflowInstanceId, minutes: float, master: Epoch
) -> None:
    """Write that an own run takes longer than its timeout, once until it runs again."""


# One an hour for each schedule: what was missed in a long outage is fired in several rounds.
@statement("""
    INSERT INTO alert (kind, severity, project, workflow, alert_group, subject, facts, unique_key)
    SELECT 'SCHEDULE_MISSED', 'WARNING', d.project, d.name,
           coalesce(nullif(s.alert_group, ''), v.spec ->> 'alert_group', 'default'),
           format('schedule %s of workflow "%s" missed its times since %s', s.id,
                  coalesce(d.name, s.workflow_code::text),
                  to_char(n.since AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"')),
           jsonb_strip_nulls(jsonb_build_object(
               'schedule', s.id, 'workflow', d.name, 'project', d.project, 'crontab', left(s.crontab, 200),
               'time_zone', left(s.time_zone, 200), 'misfire', s.misfire, 'since', n.since, 'commands', n.commands)),
           format('schedule-missed:%s:%s', s.id, extract(epoch FROM date_trunc('hour', clock_timestamp())))
    FROM unnest(CAST(:missed.id AS bigint[]), CAST(:missed.since AS timestamptz[]), CAST(:missed.commands AS integer[]))
         AS n (id, since, commands)
    JOIN schedule s ON s.id = n.id LEFT JOIN workflow_definition d ON d.code = s.workflow_code
    LEFT JOIN workflow_version v ON v.workflow_code = d.code AND v.version = d.version
    ORDER BY s.id
    ON CONFLICT (unique_key) WHERE unique_key IS NOT NULL DO NOTHING          -- index: alert_unique
""")
async def schedules_missed(connection: FencedTransaction, missed: Sequence[Missed]) -> None:
    """Write that these schedules missed times, once an hour for each."""


# A fence must wait for nothing that alerts need, so its alert follows from the row that it leaves.
@statement("""
    INSERT INTO alert (kind, severity, subject, facts, unique_key)
    SELECT 'FAILOVER', 'WARNING',
           format('%s "%s" was lost: %s', lower(n.kind), coalesce(nullif(n.name, ''), n.address),
                  coalesce(left(n.ended_why, 1000), 'its reason is not known')),
           jsonb_strip_nulls(jsonb_build_object(
               'node', n.name, 'node_kind', n.kind, 'epoch', n.id, 'address', n.address,
               'why', left(n.ended_why, 1000), 'ended_at', n.ended_at)),
           format('failover:%s', n.id)
    FROM (
        SELECT n.* FROM node n                                                -- index: node_ended
        WHERE n.state IN ('LEFT', 'FENCED') AND n.state = 'FENCED' AND n.ended_at > now() - interval '1 d'
          AND (SELECT a.id FROM alert a                                       -- index: alert_unique
               WHERE a.unique_key = format('failover:%s', n.id)) IS NULL
    ) AS n
    ORDER BY n.ended_at, n.id
    ON CONFLICT (unique_key) WHERE unique_key IS NOT NULL DO NOTHING          -- index: alert_unique
""")
async def nodes_were_lost(connection: FencedTransaction) -> int:
    """Write which masters and workers were lost in the last day. Returns how many."""


# Attempts that run, take longer than their timeouts and warn, and have no alert of it. Their ends write it too
# (`sql/schema.sql`).
@statement("""
    SELECT count(alert_task_timeout(late.id)::text)
    FROM (
        SELECT t.id FROM task_instance t                                      -- index: task_instance_running
        WHERE t.state IN ('DISPATCH', 'RUNNING_EXECUTION') AND t.state = 'RUNNING_EXECUTION'
          AND t.timeout_strategy IN ('WARN', 'WARNFAILED') AND isfinite(t.started_at)
          AND extract(epoch FROM clock_timestamp() - t.started_at) > t.timeout_s
          AND (SELECT a.id FROM alert a                                       -- index: alert_unique
               WHERE a.unique_key = format('task-timeout:%s', t.id)) IS NULL
        LIMIT :limit
    ) AS late
""")
async def tasks_take_too_long(connection: FencedTransaction, limit: int) -> int:
    """Write which running tasks take longer than their timeouts, if their strategies warn. Returns how many, up to
    `limit`."""


@statement("""
    DELETE FROM alert WHERE id = ANY(ARRAY(
        SELECT id FROM alert WHERE created_at < now() - CAST(:kept AS interval)    -- index: alert_created
        ORDER BY created_at LIMIT :limit FOR UPDATE SKIP LOCKED))
""")
async def delete_old(connection: FencedTransaction, kept: timedelta, limit: int) -> int:
    """Delete up to `limit` alerts that are older than that, with their deliveries. Returns how many."""
