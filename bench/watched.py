"""The cost of watching: throughput while a hub reads all changes, relative to that without a watcher."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from statistics import median
from types import TracebackType
from typing import NamedTuple

from bench.cluster import BenchFailed, Cluster, fake
from bench.figures import Figure, Target
from bench.server import BenchServer
from bench.sizes import Sizes
from dao.postgres.database import Database
from service.live.hub import Hub

PART = "Live events: one master, one worker, one hub with a listener of everything"
_PARALLEL = 1001
_WIDTH = 10
_TOOK = """
    SELECT extract(epoch FROM max(i.ended_at) - (SELECT max(created_at) FROM command_history
                                                 WHERE command_id BETWEEN %(first)s AND %(last)s))::float8
    FROM workflow_instance i WHERE i.command_id BETWEEN %(first)s AND %(last)s
"""
_ASK = "INSERT INTO command (type, workflow_code) VALUES ('PAUSE', 1) RETURNING id"


class _Round(NamedTuple):
    """Tasks a second, and the CPU seconds of a task by part."""

    rate: float
    cpu_s: dict[str, float]


class _Watching:
    """A hub with one listener, in a separate thread, for the block."""

    def __init__(self, url: str) -> None:
        self.events = 0
        self.came = threading.Event()
        self._url = url
        self._thread = threading.Thread(target=lambda: asyncio.run(self._watch()))
        self._ends = threading.Event()

    async def _watch(self) -> None:
        database = Database(self._url, application_name="shoal-bench-hub")
        hub = Hub(database)
        working = [asyncio.create_task(hub.run()), asyncio.create_task(self._listen(hub))]
        await asyncio.to_thread(self._ends.wait)
        for task in working:
            task.cancel()
        await asyncio.wait(working)
        await database.close()

    async def _listen(self, hub: Hub) -> None:
        with hub.listen(["runs", "run:1", "queue", "cluster", "definitions"]) as listening:
            async for _ in listening:
                self.events += 1
                self.came.set()

    def __enter__(self) -> _Watching:
        self._thread.start()
        if not self.came.wait(10):
            raise BenchFailed("the hub did not begin to listen")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ends.set()
        self._thread.join()


def watched(server: BenchServer, sizes: Sizes) -> list[Figure]:
    """FAKE tasks a second, 10 in parallel in a workflow, while a hub serves a listener, and while there is none.

    On one cluster, in turns (with, without, without, with, and so on), so that other load on the machine affects both
    equally; the ratio is the median of those of the pairs. Then commands are inserted one by one: the time from the
    answer to the commit until the event has reached the listener.
    """
    with Cluster(server, "watched", 1, 1) as cluster:
        cluster.define(_PARALLEL, [fake(f"t{number}") for number in range(_WIDTH)])
        _round(cluster, 20)
        pairs: list[tuple[_Round, _Round]] = []
        events = 0
        for number in range(sizes.watched_rounds):
            pair: dict[bool, _Round] = {}
            for is_watched in (False, True) if number % 2 else (True, False):
                if is_watched:
                    with _Watching(cluster.url) as watching:
                        pair[True] = _round(cluster, sizes.watched_workflows)
                    events += watching.events
                else:
                    pair[False] = _round(cluster, sizes.watched_workflows)
            pairs.append((pair[False], pair[True]))
        lags = _lags(cluster, sizes.watched_commands)
    how = f"{len(pairs)} pairs of {sizes.watched_workflows * _WIDTH:,} tasks, {events:,} events"
    what = "FAKE tasks while a hub reads all that changes"
    ratio = median(beside.rate / alone.rate for alone, beside in pairs)
    return [
        Figure(
            *("watched_none_per_s", PART, "FAKE tasks, 10 in parallel, while nobody watches"),
            median(alone.rate for alone, _ in pairs), "/s", how=_processor_told([alone for alone, _ in pairs]),
        ),
        Figure(
            *("watched_per_s", PART, what, median(beside.rate for _, beside in pairs), "/s"),
            how=f"{how}; {_processor_told([beside for _, beside in pairs])}",
        ),
        Figure("ratio_watched", PART, f"{what} / without", ratio, "x", Target(0.97, "higher"), how),
        Figure(
            *("event_p50_ms", PART, "commit → event at the listener, p50", median(lags) * 1000, "ms"),
            Target(100, "lower"), f"{len(lags)} commands, one by one",
        ),
    ]  # fmt: skip


def _round(cluster: Cluster, workflows: int) -> _Round:
    cpu = cluster.cpu()
    first, last = cluster.start(_PARALLEL, workflows)
    cluster.wait_until_all_ended(300)
    used, tasks = cpu.used(), workflows * _WIDTH
    rate = tasks / float(cluster.one(_TOOK, first=first, last=last))
    return _Round(rate, {part: cores * cpu.elapsed_s / tasks for part, cores in used.items()})


def _processor_told(rounds: Sequence[_Round]) -> str:
    """The hub runs in the process of the bench, with everything else that the bench does."""
    parts = ("master", "worker", "postgres", "bench")
    medians = (f"{part} {median(each.cpu_s[part] for each in rounds) * 1e6:.0f}" for part in parts)
    return f"µs of processor a task: {', '.join(medians)}"


def _lags(cluster: Cluster, count: int) -> list[float]:
    lags = []
    with _Watching(cluster.url) as watching:
        time.sleep(0.5)
        for _ in range(count):
            watching.came.clear()
            cluster.one(_ASK)
            committed_s = time.monotonic()
            if not watching.came.wait(10):
                raise BenchFailed("no event came within 10 s of a commit")
            lags.append(time.monotonic() - committed_s)
            time.sleep(0.3)  # the master's handling of the command is an event too
    return lags
