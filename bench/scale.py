"""More nodes than this machine can run: 1 to 8 masters, and what 1,000 idle workers cost PostgreSQL.

The workers are rows whose idle statements this process sends: a beat and a poll every two seconds each.
"""

from __future__ import annotations

import asyncio
import random
from uuid import uuid4

from bench.cluster import Cluster
from bench.cpu import cores_told
from bench.figures import Figure
from bench.server import BenchServer
from bench.sizes import Sizes
from bench.starts import rate
from dao.cluster import nodes
from dao.cluster.nodes import Me, NewNode
from dao.postgres.database import CONNECTIONS_MAX, Database
from dao.tasks import task_claims
from model.cluster.nodes import Heartbeat, NodeKind, ProcessIdentity

PART = "Scale"
_EVERY_S = 2.0
_GROUPS = ["default"]


def scale(server: BenchServer, sizes: Sizes) -> list[Figure]:
    """Commands → runs by 1, 2, 4 and 8 masters; the idle statements of `scale_workers` workers."""
    figures = []
    for masters in sizes.scale_masters:
        started, how, details = rate(server, f"scale_{masters}", sizes.start_commands, sizes.start_commands, masters)
        what = f"commands → instances started, {masters} master{'s' * (masters > 1)}"
        figures.append(Figure(f"scale_{masters}_started_per_s", PART, what, started, "/s", None, how, details))
    return [*figures, _idle_workers(server, sizes)]


def _idle_workers(server: BenchServer, sizes: Sizes) -> Figure:
    with Cluster(server, "idle_workers", 1, 0) as cluster:
        alive = asyncio.run(_enlisted(cluster.url, sizes.scale_workers))
        cpu = cluster.cpu()
        sent = asyncio.run(_idle(cluster.url, alive, sizes.scale_s))
        used = cpu.used()
        for_one_us = used["postgres"] * cpu.elapsed_s / sent * 1e6
    wanted = round(len(alive) * 2 / _EVERY_S * sizes.scale_s)
    how = f"{sent:,} statements in {cpu.elapsed_s:.0f} s, wanted {wanted:,}; {for_one_us:.0f} µs each; "
    what = f"processor of PostgreSQL for {len(alive):,} idle workers"
    return Figure("scale_idle_workers", PART, what, 100 * used["postgres"], "% of a core", None, how + cores_told(used))


async def _enlisted(url: str, count: int) -> list[Me]:
    database = Database(url, application_name="bench", keeps_plans=True)
    try:
        found = []
        for number in range(count):
            async with database.writing() as connection:
                process = ProcessIdentity("bench", number, 0)
                address = f"10.0.{number // 250}.{number % 250}:1"
                found.append(await nodes.enlist(connection, uuid4(), NewNode(NodeKind.WORKER, address, process)))
        return found
    finally:
        await database.close()


async def _idle(url: str, workers: list[Me], seconds: float) -> int:
    """The number of statements that were sent."""
    database = Database(url, application_name="bench", keeps_plans=True)
    loop = asyncio.get_running_loop()
    free = asyncio.Semaphore(CONNECTIONS_MAX)  # waiting for a pool's connection times out
    end_s, sent = loop.time() + seconds, 0

    async def idle(me: Me) -> None:
        nonlocal sent
        heartbeat = Heartbeat(epoch=me.epoch, kind=me.kind, address=me.address)
        await asyncio.sleep(random.random() * _EVERY_S)
        beat_no, next_s = 0, loop.time()
        while next_s < end_s:
            async with free, database.reading() as connection:
                beat_no = (await nodes.beat(connection, me, beat_no, unanswered=0, heartbeat=heartbeat)).beat_no
                await task_claims.work_waits(connection, _GROUPS, me.epoch)
            sent += 2
            next_s = max(next_s + _EVERY_S, loop.time())
            await asyncio.sleep(next_s - loop.time())

    try:
        await asyncio.gather(*(idle(me) for me in workers))
        return sent
    finally:
        await database.close()
