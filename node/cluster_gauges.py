"""Reads the figures of the whole cluster for Prometheus, in the processes that show them.

These are the API processes and the masters of the first two slots: few, but more than one, in case one dies. They read
when somebody scrapes, at most every five seconds, and more rarely if reading takes long. A database that hangs holds up
this loop alone: a scrape shows the last figures.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

import structlog

from dao.cluster import cluster_figures
from dao.cluster.cluster_figures import ClusterFigures
from dao.postgres.database import Database
from metrics.cluster_collector import Figure, collector, reads_failed
from model.cluster.nodes import NodeKind, NodeStatus
from model.errors import ShoalError
from model.runs.states import WorkflowState
from registry.clock import boottime_s

log = structlog.get_logger()

EVERY_S = 5.0
SHARE_MAX = 0.005
"""The share of its time that this loop may spend reading."""
REST_S_MAX = 30.0
"""The longest pause; older figures are useless, and soon hidden. After a failed read the pause is only `EVERY_S`, since
the duration of an outage does not predict the cost of the next read."""
SHOWING_SLOTS = 2


async def show_figures(database: Database, shows: Callable[[], bool] = lambda: True) -> None:
    """Read and show whenever somebody scrapes, while `shows`, until cancelled."""
    asked, loop = asyncio.Event(), asyncio.get_running_loop()
    collector.on_asked = partial(_on_asked, loop, asked)
    while True:
        await asked.wait()
        began_s, has_read = boottime_s(), False
        if shows():
            has_read = await _read(database)
        else:
            collector.hide()
        asked.clear()  # those who asked meanwhile have been answered
        took_s = boottime_s() - began_s
        collector.rest(max(EVERY_S, min(took_s / SHARE_MAX, REST_S_MAX)) if has_read else EVERY_S)


def _on_asked(loop: asyncio.AbstractEventLoop, asked: asyncio.Event) -> None:
    """Wake the loop; runs in the responder's thread."""
    with suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(asked.set)


async def _read(database: Database) -> bool:
    """Read and show the figures; return whether that worked."""
    try:
        found = await database.read(cluster_figures.read)
        collector.show(figures_of(found))
        return True
    except ShoalError as error:
        reads_failed.inc()
        log.warning("figures_not_read", error=str(error), so="scrapes show the last ones, for a minute")
    except Exception:
        reads_failed.inc()
        log.exception("figures_not_read", so="scrapes show the last ones, for a minute; please report it")
    return False


def figures_of(found: ClusterFigures) -> Iterator[Figure]:
    unfinished = [state for state in WorkflowState if not state.is_final]
    yield Figure(
        "shoal_cluster_runs",
        "Unfinished runs by state, up to 50,000 in all.",
        ("state",),
        {(state.value,): found.runs.get(state.value, 0) for state in unfinished},
    )
    yield _single("shoal_cluster_commands_waiting", "Commands that wait, up to 50,000.", found.commands)
    yield _single(
        "shoal_cluster_command_oldest_wait_seconds",
        "Seconds that the oldest command has waited.",
        found.oldest_command_s,
    )
    yield _single("shoal_cluster_error_commands", "Error commands that are kept, up to 50,000.", found.error_commands)
    yield _single(
        "shoal_cluster_schedule_overdue_seconds",
        "Seconds since the oldest time at which a schedule should have fired and has not.",
        found.overdue_schedule_s,
    )
    waiting = "Alerts that wait to be sent, once for each channel, up to 50,000 on channels and 50,000 before."
    yield _single("shoal_cluster_alerts_waiting", waiting, found.alerts)
    yield _single(
        "shoal_cluster_alert_oldest_wait_seconds", "Seconds that the oldest of them has waited.", found.oldest_alert_s
    )
    yield from _of_groups(found)
    yield from _of_pools(found)
    yield from _of_nodes(found)


def _of_groups(found: ClusterFigures) -> Iterator[Figure]:
    groups = ("worker_group",)
    waiting = "Attempts in the queue of a worker group, up to 50,000; of the first 100 groups."
    yield Figure("shoal_cluster_queue_waiting", waiting, groups, {(each.group,): each.waiting for each in found.groups})
    yield Figure(
        "shoal_cluster_queue_oldest_wait_seconds",
        "Seconds that the oldest of them has waited.",
        groups,
        {(each.group,): each.oldest_s for each in found.groups},
    )
    running = "Attempts of a worker group that run."
    yield Figure("shoal_cluster_queue_running", running, groups, {(each.group,): each.running for each in found.groups})
    served: Counter[str] = Counter({each.group: 0 for each in found.groups})
    places: Counter[str] = Counter(served)
    for node in found.nodes:
        if node.kind is NodeKind.WORKER and node.heartbeat is not None:
            served.update(node.heartbeat.groups)
            places.update(dict.fromkeys(node.heartbeat.groups, node.heartbeat.capacity))
    first = sorted(served)[: cluster_figures.SHOWN_MAX]
    meaning = "Living workers of a worker group; 0 where attempts wait for one."
    yield Figure("shoal_cluster_group_workers", meaning, groups, {(each,): served[each] for each in first})
    meaning = "Attempts that the workers of a worker group run at once; a worker of several counts for each."
    yield Figure("shoal_cluster_group_places", meaning, groups, {(each,): places[each] for each in first})


def _of_pools(found: ClusterFigures) -> Iterator[Figure]:
    states = {
        (each.pool, state): count
        for each in found.pools
        for state, count in (("free", each.free), ("taken", each.taken), ("set_aside", each.set_aside))
    }
    meaning = "Resources of a pool by state; of the first 100 pools."
    yield Figure("shoal_cluster_pool_resources", meaning, ("pool", "state"), states)
    waiting = {(each.pool,): each.waiting for each in found.pools}
    yield Figure("shoal_cluster_pool_waiting", "Attempts in the line of a pool, up to 50,000.", ("pool",), waiting)


def _of_nodes(found: ClusterFigures) -> Iterator[Figure]:
    counts = {(kind.value, status): 0 for kind in NodeKind for status in ("normal", "busy", "leaving")}
    oldest_s = {(kind.value,): 0.0 for kind in NodeKind}
    for node in found.nodes:
        is_busy = node.heartbeat is not None and node.heartbeat.status is NodeStatus.BUSY
        status = "leaving" if node.is_leaving else "busy" if is_busy else "normal"
        counts[(node.kind.value, status)] += 1
        oldest_s[(node.kind.value,)] = max(oldest_s[(node.kind.value,)], node.beat_age_s)
    yield Figure("shoal_cluster_nodes", "Living masters and workers by status.", ("kind", "status"), counts)
    meaning = "Seconds since the last beat of the node that has been silent longest."
    yield Figure("shoal_cluster_beat_oldest_seconds", meaning, ("kind",), oldest_s)


def _single(name: str, meaning: str, value: float) -> Figure:
    return Figure(name, meaning, (), {(): value})
