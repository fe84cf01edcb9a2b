"""What a test of resource pools wants to be there: pools, and claims as a worker makes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from dao.cluster import nodes
from dao.cluster.nodes import Me
from dao.pools import pool_claims, pool_leases
from dao.postgres.database import Database
from dao.tasks import task_claims
from dao.tasks.task_claims import ClaimedTask, Report
from model.cluster.nodes import served_groups
from model.pools.turns import turns
from model.runs.states import TaskState
from tests.dao.scene import Scene


class PoolScene(Scene):
    """Pools beside what a `Scene` has."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)

    async def pool(self, name: str, count: int, check: Mapping[str, object] | None = None) -> None:
        """A pool of resources that are called after it: `a-1`, `a-2` ..."""
        await self.sql(
            "WITH made AS (INSERT INTO resource_pool (name, validity_check) VALUES (:name, CAST(:chk AS jsonb)) "
            "RETURNING code) INSERT INTO pool_resource (pool_code, name, place, data) "
            "SELECT code, CAST(:name AS text) || '-' || n, n, jsonb_build_object('port', n) "
            "FROM made, generate_series(1, CAST(:count AS integer)) AS n",
            name=name,
            count=count,
            chk=None if check is None else json.dumps(check),
        )

    async def wait_for(self, master: Me, *needs: Mapping[str, int], **fields: object) -> None:
        """Queue an attempt of a run of its own for each of these needs; task codes are 1, 2, 3 ..."""
        for code, need in enumerate(needs, 1):
            run = await self.instance(master)
            resources = json.dumps(need) if need else None
            await self.queue(run, code, master=master, resources=resources, **fields)

    async def claim_for_pools(
        self, worker: Me, places: int = 100, groups: Sequence[str] = ("default",), served: Sequence[str] = ()
    ) -> list[ClaimedTask]:
        """Have a worker claim what needs resources, as `worker/claims/pools.py` does."""
        async with self.writing() as connection:
            held = await pool_claims.hold_pools(connection, groups, worker.epoch)
            rooms = await pool_claims.rooms(connection, held)
            others = {*served, *served_groups(row.heartbeat for row in await nodes.living(connection))}
            waiters = await pool_claims.waiters(connection, rooms, groups, others, places)
            found = turns(waiters, rooms, groups, places, others)
            return await pool_claims.claim(connection, found.given, worker.epoch)

    async def end(self, worker: Me, *tasks: ClaimedTask) -> None:
        """Have the worker report that these succeeded, as `worker/claims/writer.py` does."""
        reports = [Report(task.id, task.attempt, TaskState.SUCCESS, "", 0, None) for task in tasks]
        async with self.writing() as connection:
            await task_claims.report(connection, reports, worker.epoch)
            await pool_leases.free(connection, [task.id for task in tasks], worker.epoch)

    async def holders(self) -> dict[str, int]:
        """Which attempt holds each resource that is held."""
        return dict(
            await self.sql("SELECT name, task_instance_id FROM pool_resource WHERE task_instance_id IS NOT NULL")
        )

    async def line(self, pool: str) -> list[int]:
        """The task codes of who waits for a pool, in order."""
        return await self.sql(
            "SELECT t.task_code FROM pool_line l JOIN task_instance t ON t.id = l.task_instance_id "
            "WHERE l.pool_name = :pool ORDER BY l.workflow_priority, l.workflow_instance_id, l.task_priority, "
            "l.task_instance_id",
            pool=pool,
        )
