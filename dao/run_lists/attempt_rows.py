"""An attempt of a task with the workflow that it belongs to, as every list of attempts reads it."""

from __future__ import annotations

from collections.abc import Mapping
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
    SELECT t.workflow_instance_id, i.workflow_code, d.name AS workflow, d.project, t.id, t.task_code, t.attempt,
           t.task_name, t.task_type, t.state, t.kill_requested, t.worker_group, t.task_priority, t.worker_id,
           coalesce(nullif(n.name, ''), n.address) AS worker, n.log_url, to_char(t.queued_at, 'YYYYMMDD') AS log_day,
           t.queued_at, t.started_at, t.ended_at,
           extract(epoch FROM coalesce(t.ended_at, clock_timestamp()) - t.started_at)::float8 AS took_s,
           t.exit_code, t.reason, t.outputs, t.wait_reason,
           extract(epoch FROM t.due_at - clock_timestamp())::float8 AS due_in_s, t.flag = 'YES' AS valid, t.branch,
           t.retries, t.progress_done, t.progress_total, t.progress_text, t.progress_at,
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


def attempts_that(condition: str, order: str, values: Mapping[str, Any], limit: int | None = None) -> Sql:
    """The statement for those that meet a condition on the task instance `t`, its run `i`, the run's definition `d` and
    the worker `n`."""
    return Sql(_ATTEMPTS.format(condition=condition, order=order), {**values, "limit": limit})


def task_of(row: Row) -> TaskRun:
    """The attempt of a row of `attempts_that`."""
    progress = None if row.progress_done is None else (row.progress_done, row.progress_total, row.progress_text or "")
    return TaskRun(
        id=row.id,
        code=row.task_code,
        attempt=row.attempt,
        name=row.task_name,
        type=row.task_type,
        state=TaskState(row.state),
        kill_requested=row.kill_requested,
        worker_group=row.worker_group,
        priority=Priority(row.task_priority),
        worker=row.worker_id,
        worker_address=row.worker,
        log_url=row.log_url,
        log_day=row.log_day,
        queued_at=row.queued_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        took_s=row.took_s,
        exit_code=row.exit_code,
        reason=row.reason,
        outputs=row.outputs,
        wait_reason=WaitReason(row.wait_reason) if row.wait_reason else None,
        due_in_s=row.due_in_s,
        valid=row.valid,
        branch=readable_codes(row.branch),
        retries=row.retries,
        progress=None if progress is None else Progress(*progress),
        progress_at=row.progress_at,
        is_stream=row.is_stream,
        is_ready=row.is_ready,
        looks=looks_of(row.looks, row.now),
    )


def looks_of(found: object, now: datetime) -> Looks | None:
    """What a row says of looks in vain; None if it says none, or nothing that can be read."""
    if not isinstance(found, dict):
        return None
    try:
        ago_s = (now - datetime.fromisoformat(found["at"])).total_seconds()
        return Looks(int(found["count"]), max(0.0, ago_s), str(found["said"]))
    except (KeyError, TypeError, ValueError):
        return None
