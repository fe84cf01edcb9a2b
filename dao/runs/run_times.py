"""How long a run took, as columns: from its start to its end, and at work."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Double, cast, extract, func, literal_column

# The attempts of a run and of all runs below it, as far as they were on a worker: what waits for a worker, a time, a
# child or a person is at rest. A run without any attempt was at work if a master ever drove it. UNION, not UNION ALL:
# rows written by hand may stand under each other. Times that are infinite have no distance. OFFSET 0: each run by
# itself, since a join could read all tasks in the history.
_WORKED = """
    (WITH RECURSIVE below AS (
        SELECT workflow_instance.id AS id
        UNION
        SELECT child.id FROM below CROSS JOIN LATERAL (
            SELECT c.id FROM workflow_instance c                                -- index: workflow_instance_child
            WHERE c.parent_instance_id = below.id OFFSET 0) AS child
     ), attempt AS (
        SELECT own.* FROM below CROSS JOIN LATERAL (
            SELECT t.worker_id, t.started_at, coalesce(t.ended_at, clock_timestamp()) AS ended_at
            FROM task_instance t                                                -- index: task_instance_attempt
            WHERE t.workflow_instance_id = below.id OFFSET 0) AS own
     ), at_work AS (
        SELECT unnest(range_agg(tstzrange(started_at, greatest(started_at, ended_at), '[]'))) AS stretch
        FROM attempt WHERE worker_id IS NOT NULL AND isfinite(started_at) AND isfinite(ended_at)
     )
     SELECT CASE WHEN EXISTS (SELECT FROM attempt)
                 THEN coalesce((SELECT sum(extract(epoch FROM upper(stretch) - lower(stretch))) FROM at_work), 0)
                 WHEN workflow_instance.master_id > 0
                 THEN extract(epoch FROM coalesce(workflow_instance.ended_at, clock_timestamp())
                                         - workflow_instance.started_at)
                 ELSE 0 END::float8)
"""


def elapsed_s(started: ColumnElement[Any], ended: ColumnElement[Any]) -> ColumnElement[float]:
    """Seconds from a start to an end, or until now."""
    return cast(extract("epoch", func.coalesce(ended, func.clock_timestamp()) - started), Double)


def worked_s() -> ColumnElement[float]:
    """Seconds in which at least one task of a row of `workflow_instance`, or of a run below it, ran on a worker."""
    return literal_column(_WORKED, Double)
