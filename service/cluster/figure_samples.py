"""Samples of the figures of the cluster: those of the last hour in which somebody asked for them.

A process reads a sample when somebody asks and the last one is old: what nobody watches costs nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from model.cluster.node_rates import Beat, NodeRate, Rates, following, rates_of
from registry.clock import boottime_s
from service.fields import Answer, Moment

if TYPE_CHECKING:
    from dao.cluster.cluster_figures import ClusterFigures
    from dao.postgres.database import Database
    from model.ids import Epoch

EVERY_S = 5.0
KEPT = timedelta(hours=1)
KEPT_MAX = round(KEPT.total_seconds() / EVERY_S)
SHARE_MAX = 0.05
"""The share of its time that a process may read them."""
GAP_S = 60.0
"""After so long without a reading the rates begin again: they would be means of a time that nobody watched."""


class FiguresAnswer(Answer):
    """The figures of the cluster at a time.

    `runs` that are unfinished, `commands` that wait and the seconds that the oldest has waited, attempts that are
    `queued` and the seconds that the oldest has waited, attempts that are `running`; each counted up to 50,000. A
    second, all nodes together: commands that masters took, attempts that workers started, and whose end was reported.
    `lag_s`: the mean seconds from the end of a task to the start of what follows it; left out while no task starts. All
    rates are left out where they are not known yet.
    """

    at: Moment
    runs: int
    commands: int
    oldest_command_s: float
    queued: int
    oldest_queued_s: float
    running: int
    commands_per_s: float | None = None
    started_per_s: float | None = None
    ended_per_s: float | None = None
    lag_s: float | None = None

    @classmethod
    def of(cls, at: datetime, found: ClusterFigures, rates: Rates | None) -> FiguresAnswer:
        """The numbers of it that are kept."""
        return cls(
            at=at,
            runs=sum(found.runs.values()),
            commands=found.commands,
            oldest_command_s=found.oldest_command_s,
            queued=sum(group.waiting for group in found.groups),
            oldest_queued_s=max((group.oldest_s for group in found.groups), default=0.0),
            running=sum(group.running for group in found.groups),
            commands_per_s=None if rates is None else rates.commands,
            started_per_s=None if rates is None else rates.started,
            ended_per_s=None if rates is None else rates.ended,
            lag_s=None if rates is None else rates.lag_s,
        )


@dataclass
class Samples:
    """The samples of the last hour, oldest first, and the way to a new one."""

    kept: deque[FiguresAnswer] = field(default_factory=lambda: deque(maxlen=KEPT_MAX))
    _nodes: dict[Epoch, NodeRate] = field(default_factory=dict)
    _reading: asyncio.Task[None] | None = None
    _rests_until_s: float = float("-inf")
    _read_s: float = float("-inf")

    async def renew(self, database: Database) -> None:
        """Read a sample if the last one is old; all who ask meanwhile wait for the same. Raises `Unavailable`."""
        if self._reading is None or self._reading.done():
            if boottime_s() < self._rests_until_s:
                return
            self._reading = asyncio.create_task(self._read(database))
        await asyncio.shield(self._reading)

    async def _read(self, database: Database) -> None:
        from dao.cluster import cluster_figures
        from dao.postgres.database import database_time  # not by who only calls an API: it would start slower

        began_s = boottime_s()
        async with database.reading() as connection:
            found = await cluster_figures.read(connection)
            now = await database_time(connection)
        ended_s = boottime_s()
        if began_s - self._read_s > GAP_S:
            self._nodes = {}
        self._read_s = began_s
        self._rests_until_s = began_s + max(EVERY_S, (ended_s - began_s) / SHARE_MAX)
        self._nodes = following(
            self._nodes,
            {
                node.epoch: Beat(node.beaten_s, node.heartbeat.counted)
                for node in found.nodes
                if node.heartbeat is not None and node.heartbeat.counted is not None
            },
        )
        while self.kept and self.kept[0].at < now - KEPT:
            self.kept.popleft()
        shown = now.replace(microsecond=now.microsecond // 1000 * 1000)  # as answers write it: it comes back as `since`
        self.kept.append(FiguresAnswer.of(shown, found, rates_of(self._nodes.values())))
