"""How long one large workflow blocks a master's event loop: while it starts, and during its failover.

The master runs in this process, together with a ticker that wants to run each millisecond. The figure is the longest
CPU time that the process used between two turns of the ticker, in any thread: Python lets one thread run at a time.
Wall time is reported too; on a busy machine most of it is due to other processes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from bench.cluster import Cluster, fake
from bench.figures import Figure, Target
from bench.server import BenchServer
from bench.sizes import Sizes
from master.server import Master
from model.cluster.master_settings import MasterSettings
from model.cluster.timing import Timing
from node.joining import Joining

PART = "The event loop: one large workflow"
HELD_MS_MAX = 50
_CODES = (1021, 1022)
_EDGES = 20
_BEGUN = "SELECT count(*) FROM task_instance t JOIN workflow_instance i ON i.id = t.workflow_instance_id WHERE {}"


def holds(server: BenchServer, sizes: Sizes) -> list[Figure]:
    """Half of the tasks begin at once, each of the other half waits for `_EDGES` of them."""
    half = sizes.hold_tasks // 2
    tasks = [fake(f"r{n}") for n in range(half)]
    tasks += [fake(f"t{n}", *(f"r{(7 * n + k) % half}" for k in range(min(_EDGES, half)))) for n in range(half)]
    with Cluster(server, "holds", masters=1, workers=0) as cluster:
        for code in _CODES:
            cluster.define(code, tasks)
        cluster.start(_CODES[0])
        first = _BEGUN.format(f"i.workflow_code = {_CODES[0]}")
        cluster.wait_until(lambda: cluster.one(first) == half, 120, "the first tasks were queued")
        dead = cluster.one("SELECT id FROM node WHERE kind = 'MASTER'")
        cluster.node("master").kill()
        cluster.nodes.clear()
        mine = f"SELECT count(*) FROM workflow_instance WHERE workflow_code = {_CODES[0]} AND master_id <> {dead}"
        second = _BEGUN.format(f"i.workflow_code = {_CODES[1]}")
        taken, started = asyncio.run(
            _watched(
                cluster.url,
                lambda: bool(cluster.one(f"{mine} AND state = 'RUNNING_EXECUTION'")),
                lambda: bool(cluster.start(_CODES[1])),
                lambda: bool(cluster.one(second) == half),
            )
        )
    how = f"{2 * half:,} tasks, {half * min(_EDGES, half):,} edges"
    target = Target(HELD_MS_MAX, "lower")
    return [
        Figure(key, PART, what, busy_ms, "ms", target, f"{how}; wall time {held_ms:.0f} ms at most")
        for key, what, (held_ms, busy_ms) in (
            ("hold_start_ms", "longest hold while it starts", started),
            ("hold_failover_ms", "longest hold while it is failed over", taken),
        )
    ]


async def _watched(
    url: str, is_failed_over: Callable[[], bool], start: Callable[[], bool], has_started: Callable[[], bool]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """The longest blocks by a master that does a failover and then starts a workflow: (held, busy) in ms."""
    stop, ticker = asyncio.Event(), _Ticker()
    master = Master(Joining(url, url, Timing(), 10), "bench", "bench:1", MasterSettings())
    running = [asyncio.create_task(master.run(stop)), asyncio.create_task(ticker.run())]
    try:
        await _until(is_failed_over)
        taken = ticker.worst()
        await asyncio.to_thread(start)
        await _until(has_started)
        return taken, ticker.worst()
    finally:
        stop.set()
        running[1].cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*running)


async def _until(ready: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not await asyncio.to_thread(ready):
            await asyncio.sleep(0.1)
        await asyncio.sleep(0.5)


class _Ticker:
    """Wants to run each millisecond."""

    def __init__(self) -> None:
        self._held_ms = self._busy_ms = 0.0

    def worst(self) -> tuple[float, float]:
        """Since the last call, the longest time between two turns, and the most CPU time used between two."""
        worst, self._held_ms, self._busy_ms = (self._held_ms, self._busy_ms), 0.0, 0.0
        return worst

    async def run(self) -> None:
        while True:
            began_s, worked_s = time.perf_counter(), time.process_time()
            await asyncio.sleep(0.001)
            self._held_ms = max(self._held_ms, 1000 * (time.perf_counter() - began_s) - 1)
            self._busy_ms = max(self._busy_ms, 1000 * (time.process_time() - worked_s))
