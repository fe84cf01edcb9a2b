"""An attempt of a task with the workflow that it belongs to, as every list of attempts reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from dao.postgres.rows import Row
from dao.postgres.sql import Sql
from dao.runs.code_lists import readable_codes
from dao.runs.rows import TaskRun
from model.choices import Priority
from model.runs.looks import Looks
from model.runs.progress import Progress
from model.runs.states import TaskState, WaitReason

_ATTEMPTS = """
    SELECT t.workflow_instance_id, i.workflow_code, d.name AS workflow, d.project, t.id, t.task_code AS code, t.attempt,
           t.task_name AS name, t.task_type AS type, t.state, t.kill_requested, t.worker_group,
           t.task_priority AS priority, t.worker_id AS worker,
           coalesce(nullif(n.name, ''), n.address) AS worker_address, n.log_url,
           to_char(t.queued_at, 'YYYYMMDD') AS log_day, t.queued_at, t.started_at, t.ended_at,
           extract(epoch FROM coalesce(t.ended_at, clock_timestamp()) - t.started_at)::float8 AS took_s,
           t.exit_code, t.reason, t.outputs, t.wait_reason,
           extract(epoch FROM t.due_at - clock_timestamp())::float8 AS due_in_s, t.flag = 'YES' AS valid, t.branch,
           t.retries, t.progress_done AS progress, t.progress_total, t.progress_text, t.progress_at,
           t.stream IS NOT NULL AS is_stream,
           CASE WHEN t.stream ? 'readiness' THEN t.ready_at IS NOT NULL END AS is_ready,
           t.looks, clock_timestamp() AS now
    FROM task_instance t
    JOIN workflow_instance i ON i.id = t.workflow_instance_id
    LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    LEFT JOIN node n ON n.id = t.worker_id
    WHERE {condition}
    ORDER BY {order} LIMIT :limit
"""

_FIELDS = [field.name for field in fields(TaskRun)]


def attempts_that(condition: str, order: str, values: Mapping[str, Any], limit: int | None = None) -> Sql:
    """The statement for those that meet a condition on the task instance `t`, its run `i`, the run's definition `d` and
    the worker `n`."""
    return Sql(_ATTEMPTS.format(condition=condition, order=order), {**values, "limit": limit})


def task_of(row: Row) -> TaskRun:
    """The attempt of a row of `attempts_that`: each column has the name of its field."""
    progress = None if row.progress is None else Progress(row.progress, row.progress_total, row.progress_text or "")
    read = {
        **{"state": TaskState(row.state), "priority": Priority(row.priority), "branch": readable_codes(row.branch)},
        **{"progress": progress, "looks": looks_of(row.looks, row.now)},
        "wait_reason": WaitReason(row.wait_reason) if row.wait_reason else None,
    }
    return TaskRun(**{**{name: getattr(row, name) for name in _FIELDS}, **read})


def looks_of(found: object, now: datetime) -> Looks | None:
    """What a row says of looks in vain; None if it says none, or nothing that can be read."""
    if not isinstance(found, dict):
        return None
    try:
        ago_s = (now - datetime.fromisoformat(found["at"])).total_seconds()
        return Looks(int(found["count"]), max(0.0, ago_s), str(found["said"]))
    except (KeyError, TypeError, ValueError):
        return None
