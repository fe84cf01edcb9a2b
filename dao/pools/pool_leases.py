"""`pool_resource` as what runs holds it: how the leases of an attempt end.

A lease begins with the claim of its attempt (`dao/pools/pool_claims.py`), and is extended by each beat of the worker:
it lasts as long as the worker's life. It ends when that worker says that the attempt's process has ended, in the
transaction that reports it, or when that life has ended, in the transaction that marks the attempt as lost (a trigger).
Nobody else frees a resource: while its worker may live, only that worker knows whether the process still runs.
"""

from __future__ import annotations

from collections.abc import Collection

from dao.postgres.database import FencedTransaction
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from model.ids import Epoch, TaskInstanceId

# What changes a pool, and what records checks, locks several rows too: all by id, or two wait for each other.
# `+ 0`: not by walking the primary key, which has the resources of all pools.
_FREE = Sql("""
    WITH held AS MATERIALIZED (
        SELECT id FROM pool_resource
        WHERE task_instance_id = ANY(CAST(:ids AS bigint[])) AND coalesce(worker_id = :worker, false)
        ORDER BY id + 0 FOR UPDATE                                                  -- index: pool_resource_holder
    )
    SELECT free_resources(CAST(:ids AS bigint[]), :worker) FROM (SELECT count(*) FROM held) AS in_order
""")


async def free(connection: FencedTransaction, attempts: Collection[TaskInstanceId], worker: Epoch) -> int:
    """Give back what this worker holds for these attempts, which run here no more, and wake who may get it.

    Returns how many resources that were.
    """
    values = {"ids": sorted(attempts), "worker": worker}
    return int((await connection.execute(_FREE, values)).scalar_one() or 0)


@statement("""
    SELECT id FROM pool_resource WHERE task_instance_id = ANY(CAST(:attempts AS bigint[])) ORDER BY id + 0 FOR UPDATE
""")
async def hold(connection: FencedTransaction, attempts: Collection[TaskInstanceId]) -> None:
    """Lock what these attempts hold, before the transaction marks several of them: a trigger gives it back for each."""


@statement("""
    SELECT DISTINCT task_instance_id FROM pool_resource WHERE worker_id = :worker  -- index: pool_resource_worker
""")
async def held(connection: AsyncConnection, worker: Epoch) -> set[TaskInstanceId]:
    """The attempts for which this worker holds resources."""


# Their holder's life is over, and its attempts no longer run: what marked them as lost did not free them,
# since they had been ended by hand before, or their rows deleted.
@statement("""
    WITH left_over AS MATERIALIZED (
        SELECT DISTINCT r.task_instance_id, r.worker_id FROM pool_resource r
        WHERE r.worker_id IS NOT NULL                                              -- index: pool_resource_worker
          AND NOT EXISTS (SELECT FROM node n WHERE n.id = r.worker_id AND n.kind = 'WORKER'
                                               AND n.state IN ('ALIVE', 'LEAVING'))
          AND (SELECT t.id FROM task_instance t
               WHERE t.id = r.task_instance_id AND t.worker_id = r.worker_id
                 AND t.state IN ('DISPATCH', 'RUNNING_EXECUTION')) IS NULL
        LIMIT :limit
    ), held AS MATERIALIZED (
        SELECT r.id FROM left_over o
        JOIN pool_resource r ON r.task_instance_id = o.task_instance_id AND r.worker_id = o.worker_id
        ORDER BY r.id FOR UPDATE OF r
    )
    SELECT coalesce(sum(free_resources(ARRAY[o.task_instance_id], o.worker_id)), 0)::integer
    FROM (SELECT count(*) FROM held) AS in_order CROSS JOIN left_over o
""")
async def free_left(connection: FencedTransaction, limit: int) -> int:
    """Give back what workers without a life hold for up to `limit` attempts that run no more. For any master."""
