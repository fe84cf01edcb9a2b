"""Resource pools as they stand, for people: what is free, who holds what, and who waits in which order. Reads only."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from dao.pools.rows import PoolCounts, PoolRow, ResourceRow, WaitingTask
from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import statement
from model.pools.resources import ResourceState


@dataclass(frozen=True, slots=True)
class ResourceFilter:
    """Which resources of a pool are wanted; `words` occur in their names, in any case. None = any."""

    pool_code: int
    states: Collection[ResourceState] | None = None
    words: str | None = None


# index: pool_resource_name, resource_pool_name, pool_line_pkey. Of those that wait up to 10,000 are counted: a backlog
# may have millions.
@statement("""
    SELECT c.*, CASE WHEN p.counted IS NULL THEN 'NAMED' ELSE 'COUNT' END, p.description, p.version, p.changed_at,
           p.changed_by, p.validity_check IS NOT NULL
    FROM resource_pool p CROSS JOIN LATERAL (
        SELECT p.name, count(*) FILTER (WHERE s.state <> 'REMOVED') AS total, count(*) FILTER (WHERE s.state = 'FREE'),
               count(*) FILTER (WHERE s.state = 'TAKEN'), count(*) FILTER (WHERE s.state = 'SET_ASIDE'),
               count(*) FILTER (WHERE s.state = 'CHECKING'), count(*) FILTER (WHERE s.state = 'REMOVED'),
               (SELECT count(*) FROM (
                    SELECT FROM pool_line l WHERE l.pool_name = p.name
                    -- By the index of the groups it would read all lines.
                    ORDER BY l.workflow_priority, l.workflow_instance_id, l.task_priority, l.task_instance_id
                    LIMIT 10000) AS line)
        FROM (SELECT resource_state(r) AS state FROM pool_resource r WHERE r.pool_code = p.code) AS s
    ) AS c
    WHERE (CAST(:after AS text) IS NULL OR p.name > :after)
      AND (CAST(:words AS text) IS NULL OR strpos(lower(p.name), lower(:words)) > 0)
      AND (CAST(:name AS text) IS NULL OR p.name = :name)
    ORDER BY p.name LIMIT :limit
""")
async def page(
    connection: AsyncConnection,
    limit: int,
    after: str | None = None,
    words: str | None = None,
    name: str | None = None,
) -> list[PoolRow]:
    """Up to `limit` pools by name, after this one, or the one of this name; `words`: only those with that in their
    name, in any case."""


async def pool(connection: AsyncConnection, name: str) -> PoolRow | None:
    """One pool; None: there is none of this name."""
    found = await page(connection, 1, name=name)
    return found[0] if found else None


@statement("""
    SELECT p.name, c.*, (
        SELECT hashtextextended(concat(p.version, ':', string_agg(
                   concat_ws(' ', r.id, r.task_instance_id, r.worker_id, r.set_aside_at, r.checking_by, r.removed),
                   ',' ORDER BY r.id)), 0)
        FROM pool_resource r WHERE r.pool_code = p.code)
    FROM resource_pool p CROSS JOIN LATERAL (
        SELECT p.name, count(*) FILTER (WHERE s.state <> 'REMOVED') AS total, count(*) FILTER (WHERE s.state = 'FREE'),
               count(*) FILTER (WHERE s.state = 'TAKEN'), count(*) FILTER (WHERE s.state = 'SET_ASIDE'),
               count(*) FILTER (WHERE s.state = 'CHECKING'), count(*) FILTER (WHERE s.state = 'REMOVED'),
               (SELECT count(*) FROM (
                    SELECT FROM pool_line l WHERE l.pool_name = p.name
                    -- By the index of the groups it would read all lines.
                    ORDER BY l.workflow_priority, l.workflow_instance_id, l.task_priority, l.task_instance_id
                    LIMIT 10000) AS line)
        FROM (SELECT resource_state(r) AS state FROM pool_resource r WHERE r.pool_code = p.code) AS s
    ) AS c
    ORDER BY p.name LIMIT 10000
""")
async def all_counts(connection: AsyncConnection) -> dict[str, tuple[PoolCounts, int]]:
    """All pools by name, and a number that differs whenever its version, or who holds or may get what, does."""


@statement("""
    SELECT r.id, r.name, r.place, resource_state(r), r.data, r.taken_at, b.beaten_at + CAST(:lease AS interval),
           coalesce(nullif(n.name, ''), n.address), r.worker_id,
           t.id, t.task_name, t.attempt, t.task_code, t.workflow_instance_id, d.code, d.name, d.project,
           t.stream IS NOT NULL, CASE WHEN isfinite(r.free_since) THEN r.free_since END,
           r.set_aside_at, r.set_aside_why, r.set_aside_by, r.checked_at
    FROM (SELECT * FROM pool_resource
          WHERE pool_code = :wanted.pool_code
            AND (place, id) > (coalesce(CAST(:after.0 AS integer), -1), coalesce(CAST(:after.1 AS bigint), 0))
          ORDER BY place, id) AS r
    LEFT JOIN node n ON n.id = r.worker_id
    LEFT JOIN node_beat b ON b.node_id = r.worker_id
    LEFT JOIN task_instance t ON t.id = r.task_instance_id
    LEFT JOIN workflow_instance i ON i.id = t.workflow_instance_id
    LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    WHERE (CAST(:wanted.states AS text[]) IS NULL OR resource_state(r) = ANY(CAST(:wanted.states AS text[])))
      AND (CAST(:wanted.words AS text) IS NULL OR strpos(lower(r.name), lower(:wanted.words)) > 0)
    ORDER BY r.place, r.id LIMIT :limit
""")
async def resources(
    connection: AsyncConnection,
    wanted: ResourceFilter,
    limit: int,
    after: tuple[int, int] | None,
    *,
    lease: timedelta,
) -> list[ResourceRow]:
    """Up to `limit` resources of a pool in the order of its file, after that place and id.

    `lease`: how long a lease lasts after the last beat of its worker.
    """


# The row of an attempt may be hidden from its line for a moment, since triggers write the line.
@statement("""
    SELECT :after + row_number() OVER line, l.task_instance_id, coalesce(t.task_name, ''), coalesce(t.attempt, 0),
           coalesce(t.task_code, 0), l.workflow_instance_id, d.code, d.name, d.project, t.stream IS NOT NULL,
           l.needed, l.needs, l.worker_group, l.workflow_priority, l.task_priority, t.queued_at
    FROM (SELECT * FROM pool_line WHERE pool_name = :name
          ORDER BY workflow_priority, workflow_instance_id, task_priority, task_instance_id
          OFFSET :after LIMIT :limit) AS l
    LEFT JOIN task_instance t ON t.id = l.task_instance_id
    LEFT JOIN workflow_instance i ON i.id = l.workflow_instance_id
    LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    WINDOW line AS (ORDER BY l.workflow_priority, l.workflow_instance_id, l.task_priority, l.task_instance_id)
    ORDER BY 1
""")
async def line(connection: AsyncConnection, name: str, limit: int, after: int = 0) -> list[WaitingTask]:
    """Up to `limit` of the attempts that wait for a pool, which need not exist, in their order, after that place."""


@statement("""
    SELECT p.name, (SELECT count(*) FROM pool_resource r WHERE r.pool_code = p.code AND NOT r.removed)
    FROM resource_pool p WHERE p.name = ANY(CAST(:names AS text[]))
""")
async def sizes(connection: AsyncConnection, names: Collection[str]) -> dict[str, int]:
    """How many resources each of these pools has; those that there are not are missing."""


@statement("""
    SELECT name, description FROM resource_pool WHERE starts_with(name, :prefix) ORDER BY name LIMIT :limit
""")
async def names(connection: AsyncConnection, prefix: str, limit: int) -> list[tuple[str, str]]:
    """Names of pools that begin so, each with its description."""


@statement("""
    SELECT r.name, p.name FROM resource_pool p JOIN pool_resource r ON r.pool_code = p.code AND NOT r.removed
    WHERE starts_with(r.name, :prefix) AND p.name = coalesce(CAST(:of_pool AS text), p.name)
    ORDER BY p.name, r.place, r.id LIMIT :limit
""")
async def resource_names(
    connection: AsyncConnection, prefix: str, of_pool: str | None, limit: int
) -> list[tuple[str, str]]:
    """Names of resources that begin so, each with its pool; `of_pool`: only those of this one."""
