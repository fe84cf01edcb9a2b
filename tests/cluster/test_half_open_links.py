"""A link that acknowledges what it gets and loses it, for a while; its connections stay dead, and nobody is told.

Neither keep-alives nor the server's time-outs end a wait there; only a deadline of the client's own does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from sqlalchemy import make_url

from registry import ensemble
from tests.chaos.proxy import Gate, Proxies, Way
from tests.cluster.cluster import Cluster, Node
from tests.cluster.test_outages import FLOWING
from tests.eventually import eventually

RECOVERS_WITHIN_S = 10.0
"""After the end of the fault. New commands then run to their end, and every node that lives has beaten."""
SILENT_FOR_LONG = {"SHOAL_TIMING__WORKER_FENCE_AFTER": "10"}
SOAK = pytest.mark.soak
WAYS = pytest.mark.parametrize(
    "way",
    [
        pytest.param(Way.ASK, id="ask", marks=SOAK),
        pytest.param(Way.ANSWER, id="answer"),
        pytest.param(Way.ASK | Way.ANSWER, id="both", marks=SOAK),
    ],
)
TWO_WAYS = pytest.mark.parametrize(
    "way", [pytest.param(Way.ASK, id="ask"), pytest.param(Way.ANSWER, id="answer", marks=SOAK)]
)


class Behind:
    """Starts processes of a cluster, each behind gates of its own."""

    def __init__(self, cluster: Cluster, proxies: Proxies) -> None:
        self.cluster = cluster
        self.database: list[Gate] = []
        self.registry: list[Gate] = []
        self._proxies = proxies

    async def master(self) -> Node:
        return await self.cluster.master(**self._gated())

    async def worker(self) -> Node:
        return await self.cluster.worker(**self._gated())

    def _gated(self) -> dict[str, str]:
        url = make_url(self.cluster.environment["SHOAL_DATABASE_URL"])
        gate = self._proxies.gate(url.port or 5432)
        self.database.append(gate)
        gated = {"SHOAL_DATABASE_URL": url.set(port=gate.port).render_as_string(hide_password=False)}
        registry = self.cluster.environment["SHOAL_REGISTRY_URL"]
        if registry.startswith("zookeeper"):
            place = ensemble.Ensemble.parse(registry)
            port = int(place.hosts.rpartition(":")[2])
            registry_gate = self._proxies.gate(port)
            self.registry.append(registry_gate)
            gated["SHOAL_REGISTRY_URL"] = registry.replace(f":{port}", f":{registry_gate.port}")
        else:
            gated["SHOAL_REGISTRY_URL"] = gated["SHOAL_DATABASE_URL"]
        return gated


@pytest.fixture
def proxies() -> Iterator[Proxies]:
    with Proxies() as begun:
        yield begun


def define_long(cluster: Cluster, work: str = "sleep 0.3") -> None:
    tasks = [
        {"name": name, "type": "SHELL", "params": {"script": cluster.journal.script(work)}, "after": after}
        for name, after in (("a", []), ("b", ["a"]), ("c", ["b"]))
    ]
    cluster.define(FLOWING, "flowing", tasks=tasks)


async def at_work(cluster: Cluster, proxies: Proxies, masters: int = 2) -> Behind:
    """A cluster whose processes all live behind gates, with tasks under way and more to come."""
    begin = Behind(cluster, proxies)
    define_long(cluster)
    await begin.worker()
    for _ in range(masters):
        await begin.master()
    await cluster.slots_become(masters)
    cluster.start(FLOWING, 40)
    await eventually(lambda: len(cluster.journal.lines()) > 10, within_s=20)
    return begin


async def swallow(gates: list[Gate], way: Way, lasts_s: float) -> None:
    for gate in gates:
        gate.swallow(way)
    await asyncio.sleep(lasts_s)
    for gate in gates:
        gate.open()


async def check_that_all_recover(cluster: Cluster) -> None:
    """Everything ends, new work too, and all beat on, within `RECOVERS_WITHIN_S` from now; no task ran twice."""
    beats = "SELECT n.id, b.beat_no FROM node n JOIN node_beat b ON b.node_id = n.id WHERE n.state = 'ALIVE'"
    before = dict(cluster.rows(beats))
    cluster.start(FLOWING, 4)

    def all_beat() -> bool:
        now = dict(cluster.rows(beats))
        return len(now) == len(cluster.nodes) and all(now[epoch] > before.get(epoch, 0) + 1 for epoch in now)

    await eventually(all_beat, within_s=RECOVERS_WITHIN_S)
    await eventually(lambda: cluster.unfinished() == 0, within_s=RECOVERS_WITHIN_S)
    cluster.check_exactly_once(44)
    assert cluster.one("SELECT max(attempt) FROM task_instance") == 1


@WAYS
async def test_links_to_the_database_that_swallow_for_a_moment_are_left_within_ten_seconds(
    cluster: Cluster, proxies: Proxies, way: Way
) -> None:
    begin = await at_work(cluster, proxies)
    await swallow(begin.database, way, 2.5)
    await check_that_all_recover(cluster)


@TWO_WAYS
async def test_the_same_where_the_database_is_the_registry(laptop: Cluster, proxies: Proxies, way: Way) -> None:
    laptop.environment |= SILENT_FOR_LONG
    begin = await at_work(laptop, proxies)
    await swallow(begin.database, way, 2.5)
    await check_that_all_recover(laptop)


async def test_what_ends_while_all_links_swallow_for_longer_than_a_worker_may_be_silent_is_kept_and_told(
    cluster: Cluster, proxies: Proxies
) -> None:
    begin = await at_work(cluster, proxies)
    await swallow(begin.database, Way.ANSWER, 6.0)
    await check_that_all_recover(cluster)


@TWO_WAYS
async def test_what_hangs_in_a_dead_connection_is_called_neither_stuck_nor_unknown(
    cluster: Cluster, proxies: Proxies, way: Way
) -> None:
    """Only the connections of some COMMITs die: the watcher of the master sees the rows all the time."""
    cluster.environment |= {"SHOAL_MASTER__WATCH_EVERY": "0.5", "SHOAL_MASTER__STUCK_AFTER": "0.5"}
    begin = Behind(cluster, proxies)
    define_long(cluster, "sleep 0.1")
    worker, master = await begin.worker(), await begin.master()
    await cluster.slots_become(1)
    _, of_master = begin.database
    for _ in range(2):  # first what begins runs, then what advances them
        of_master.swallow_commits(2, way)
        cluster.start(FLOWING, 20)
        await eventually(lambda: of_master.commits_to_swallow == 0, within_s=20)
        await cluster.all_ends()
    cluster.check_exactly_once(40)
    assert master.events("advance_outcome_unknown") or master.events("claim_outcome_unknown")
    assert master.events("workflow_instance_stuck") == []
    assert worker.events("task_does_not_run") == []


async def test_an_outage_shorter_than_a_worker_s_silence_ends_no_task_where_the_database_is_the_registry(
    laptop: Cluster, proxies: Proxies
) -> None:
    """Everybody is cut off, as from a database that is frozen, for longer than a registry entry lasts, and for much
    less than the 10 s here: a busy machine takes some of them."""
    laptop.environment |= SILENT_FOR_LONG
    begin = Behind(laptop, proxies)
    define_long(laptop, "sleep 6")
    await begin.worker()
    for _ in range(2):
        await begin.master()
    await laptop.slots_become(2)
    laptop.start(FLOWING, 4)
    await eventually(lambda: len(laptop.journal.lines()) >= 4, within_s=20)
    for gate in begin.database:
        gate.hold()
    await asyncio.sleep(3.5)
    for gate in begin.database:
        gate.open()
    await laptop.all_ends()
    laptop.check_exactly_once(4)
    assert laptop.rows("SELECT max(attempt), array_agg(DISTINCT state) FROM task_instance") == [(1, ["SUCCESS"])]
    assert set(laptop.journal.runs().values()) == {1}
    assert laptop.one("SELECT count(*) FROM node WHERE kind = 'WORKER' AND state <> 'ALIVE'") == 0


async def test_links_to_zookeeper_that_swallow_are_left_and_nobody_is_fenced(
    cluster: Cluster, proxies: Proxies
) -> None:
    begin = await at_work(cluster, proxies)
    await swallow(begin.registry, Way.ASK | Way.ANSWER, 4.0)
    await check_that_all_recover(cluster)
    await cluster.slots_become(2)
    assert cluster.one("SELECT count(*) FROM node WHERE state <> 'ALIVE'") == 0
