"""Figures of the whole cluster for those who watch it by numbers: what runs, what waits and for how long. Reads only.

Each statement reads a bounded number of rows, by an index, however much waits and however long the history is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dao.cluster import nodes
from dao.cluster.node_rows import NodeRow
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql

COUNTED_MAX = 50_000
"""So many rows of each kind are counted; of worker groups that wait, in each."""
SHOWN_MAX = 100
"""So many worker groups and pools are read, the first by name."""


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """The work of a worker group. `oldest_s` is the longest wait in seconds of those that were counted."""

    group: str
    waiting: int
    oldest_s: float
    running: int


@dataclass(frozen=True, slots=True)
class PoolFigures:
    """How many resources of a pool are in each state, and how many attempts wait in its line."""

    pool: str
    free: int
    taken: int
    set_aside: int
    waiting: int


@dataclass(frozen=True, slots=True)
class ClusterFigures:
    """All of that; `runs` has each state of an unfinished run that any is in. Waits are in seconds."""

    runs: Mapping[str, int]
    commands: int
    oldest_command_s: float
    error_commands: int
    overdue_schedule_s: float
    alerts: int
    oldest_alert_s: float
    groups: Sequence[GroupFigures]
    pools: Sequence[PoolFigures]
    nodes: Sequence[NodeRow]


# index: workflow_instance_unfinished
_RUNS = Sql("""
    SELECT state, count(*)
    FROM (SELECT state FROM workflow_instance WHERE ended_at IS NULL ORDER BY master_id, id LIMIT :most) AS unfinished
    GROUP BY state
""")
# index: command_pkey, command_age, error_command_pkey, schedule_due. Times that are infinite were written by hand.
# Commands are counted by a column that no index has: the planner would read the whole of another index where the
# statistics saw no commands.
_WAITING = Sql("""
    SELECT (SELECT count(type) FROM (SELECT type FROM command ORDER BY id LIMIT :most) AS c),
           coalesce((SELECT extract(epoch FROM clock_timestamp() - created_at)::float8 FROM command
                     WHERE created_at > '-infinity' AND created_at < 'infinity' ORDER BY created_at LIMIT 1), 0),
           (SELECT count(*) FROM (SELECT FROM error_command ORDER BY command_id LIMIT :most) AS e),
           coalesce((SELECT extract(epoch FROM clock_timestamp() - next_fire_at)::float8 FROM schedule
                     WHERE state = 'ONLINE' AND problem IS NULL
                       AND coalesce(next_fire_at, 'epoch') BETWEEN '1970-01-02' AND now()
                     ORDER BY coalesce(next_fire_at, 'epoch'), id LIMIT 1), 0)
""")
# index: alert_wait, alert_delivery_wait. A channel that is off takes none, so none waits for it.
_ALERTS = Sql("""
    SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(since))::float8, 0)
    FROM ((SELECT created_at AS since FROM alert WHERE state = 'WAIT' ORDER BY id LIMIT :most)
          UNION ALL
          (SELECT d.waits_since FROM alert_delivery d JOIN alert_channel c ON c.id = d.channel_id AND c.enabled
           WHERE d.state = 'WAIT' ORDER BY d.channel_id, d.alert_id LIMIT :most)) AS w
    WHERE isfinite(since)
""")
# index: task_instance_queue, from one group to the next; task_instance_running, of which there are as many as places.
_GROUPS = Sql("""
    WITH RECURSIVE waiting_group (worker_group, number) AS (
        (SELECT worker_group, 1 FROM task_instance WHERE state = 'QUEUED' ORDER BY worker_group LIMIT 1)
        UNION ALL
        SELECT (SELECT t.worker_group FROM task_instance t
                WHERE t.state = 'QUEUED' AND t.worker_group > g.worker_group ORDER BY t.worker_group LIMIT 1),
               g.number + 1
        FROM waiting_group g WHERE g.worker_group IS NOT NULL AND g.number < :shown
    ), waiting AS (
        SELECT g.worker_group, q.waiting, q.oldest_s FROM waiting_group g
        CROSS JOIN LATERAL (
            SELECT count(*) AS waiting,
                   extract(epoch FROM clock_timestamp() - min(queued_at) FILTER (WHERE isfinite(queued_at)))::float8
                       AS oldest_s
            FROM (SELECT greatest(queued_at, due_at) AS queued_at FROM task_instance t
                  WHERE t.state = 'QUEUED' AND t.worker_group = g.worker_group
                  ORDER BY is_plain, workflow_priority, workflow_instance_id, task_priority, id LIMIT :most) AS first
        ) AS q
        WHERE g.worker_group IS NOT NULL
    ), running AS (
        SELECT worker_group, count(*) AS running
        FROM (SELECT worker_group FROM task_instance WHERE state IN ('DISPATCH', 'RUNNING_EXECUTION')
              ORDER BY worker_id LIMIT :most) AS r
        GROUP BY worker_group
    )
    SELECT coalesce(w.worker_group, r.worker_group), coalesce(w.waiting, 0), greatest(coalesce(w.oldest_s, 0), 0),
           coalesce(r.running, 0)
    FROM waiting w FULL JOIN running r ON r.worker_group = w.worker_group
    ORDER BY 1 LIMIT :shown
""")
# index: resource_pool_name, pool_resource_name, pool_line_pkey
_POOLS = Sql("""
    SELECT p.name, r.free, r.taken, r.set_aside,
           (SELECT count(*) FROM (SELECT FROM pool_line l WHERE l.pool_name = p.name
                                  ORDER BY l.workflow_priority, l.workflow_instance_id, l.task_priority,
                                           l.task_instance_id
                                  LIMIT :most) AS line)
    FROM (SELECT code, name FROM resource_pool ORDER BY name LIMIT :shown) AS p
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE task_instance_id IS NULL AND set_aside_at IS NULL) AS free,
               count(*) FILTER (WHERE task_instance_id IS NOT NULL) AS taken,
               count(*) FILTER (WHERE task_instance_id IS NULL AND set_aside_at IS NOT NULL) AS set_aside
        FROM (SELECT task_instance_id, set_aside_at FROM pool_resource
              WHERE pool_code = p.code AND NOT removed ORDER BY pool_code, name LIMIT :most) AS each
    ) AS r
    ORDER BY p.name
""")


async def read(connection: AsyncConnection, most: int = COUNTED_MAX) -> ClusterFigures:
    """All figures, of at most `most` rows of each kind."""
    limits = {"most": most, "shown": SHOWN_MAX}
    runs = (await connection.execute(_RUNS, {"most": most})).all()
    commands, oldest_s, errors, overdue_s = (await connection.execute(_WAITING, {"most": most})).one()
    alerts, oldest_alert_s = (await connection.execute(_ALERTS, {"most": most})).one()
    groups = (await connection.execute(_GROUPS, limits)).all()
    pools = (await connection.execute(_POOLS, limits)).all()
    return ClusterFigures(
        {state: int(count) for state, count in runs},
        commands,
        max(0.0, oldest_s),
        errors,
        max(0.0, overdue_s),
        alerts,
        max(0.0, oldest_alert_s),
        [GroupFigures(*row) for row in groups],
        [PoolFigures(*row) for row in pools],
        await nodes.living(connection),
    )
