"""The registry goes away, forgets and comes back: who knows what it says reads it again, whole."""

from __future__ import annotations

import signal

from tests.chaos.proxy import Proxies
from tests.cluster.cluster import Cluster
from tests.eventually import eventually
from tests.scenarios.engine import BY_HAND, Engine
from tests.servers.zookeeper import ZooKeeperServer
from tests.upstream.test_slots import AT_ONCE, NEVER_BY_AGE

STATE = "SELECT state FROM node WHERE id = %s"
ON_ANOTHER_MACHINE = "UPDATE node SET process_boot = 'of another machine'"
"""The end of a process is visible at once only on its own machine."""


async def test_13913_slots_are_right_again_after_a_registry_that_was_lost_to_one(
    cluster: Cluster, zookeeper_server: ZooKeeperServer
) -> None:
    """Upstream: a master whose ZooKeeper session had expired reconnected, and its slot stayed wrong until a restart.
    Here: while it is cut off it believes in an old slot, which costs races for rows and no second run; as soon as it
    is back it reads the whole list again, under the same epoch.
    """
    cluster.define(1, "at once", **AT_ONCE)
    with Proxies() as proxies:
        gate = proxies.gate(zookeeper_server.port)
        url = cluster.environment["SHOAL_REGISTRY_URL"].replace(f":{zookeeper_server.port}/", f":{gate.port}/")
        cut_off = await cluster.master(SHOAL_REGISTRY_URL=url, **NEVER_BY_AGE)
        others = [await cluster.master(**NEVER_BY_AGE)]
        await cluster.slots_become(2)
        gate.refuse()
        others.append(await cluster.master(**NEVER_BY_AGE))
        of_others = ["0/2", "1/2"]
        await eventually(lambda: list(cluster.slots().values()) == ["0/2", *of_others], within_s=20)
        cluster.start(1, 40)
        await cluster.all_ends()
        gate.open()
        await cluster.slots_become(3)
        cluster.start(1, 40)
        await cluster.all_ends()
    cluster.check_exactly_once(80)
    latest = "SELECT DISTINCT command_id %% 3 - slot_current, slot_total FROM command_history WHERE command_id > 40"
    assert cluster.rows(latest) == [(0, 3)]
    assert [cluster.one(STATE, master.epoch) for master in (cut_off, *others)] == ["ALIVE"] * 3
    assert len(cut_off.events("joined")) == 1, "nothing had to be restarted"


async def test_14078_commands_that_waited_through_an_outage_need_no_restart(
    cluster: Cluster, zookeeper_server: ZooKeeperServer
) -> None:
    """Upstream: hundreds of commands waited in a master whose slot was wrong; a restart let them all go at once.
    Here: a master dies while ZooKeeper is away, so that its slot cannot be given on; when ZooKeeper is back the
    other one takes them.
    """
    cluster.define(1, "at once", **AT_ONCE)
    dies, stays = [await cluster.master(**NEVER_BY_AGE) for _ in range(2)]
    await cluster.slots_become(2)
    zookeeper_server.stop()
    try:
        dies.signal(signal.SIGKILL)
        await eventually(lambda: cluster.one(STATE, dies.epoch), until="FENCED", within_s=20)
        cluster.start(1, 200)
        await eventually(lambda: cluster.one("SELECT count(*) FROM command"), until=100, within_s=20)
    finally:
        zookeeper_server.start()
    await cluster.slots_become(1)
    await cluster.all_ends()
    cluster.check_exactly_once(200)
    assert len(stays.events("joined")) == 1
    assert not stays.events("commands_taken_by_age")


async def test_17643_18292_18640_the_database_as_registry_notices_who_was_killed(laptop: Cluster) -> None:
    """Upstream: with the registry in a database nobody heard of a node that was killed with -9: its slot was given to
    nobody, its commands and tasks waited for ever.
    Here: who reads the leases sees by the database's time that one has lapsed; the dead need not say so.
    """
    gate = laptop.folder / "gate"
    script = laptop.journal.script(f"while [ ! -e {gate} ]; do sleep 0.1; done")
    laptop.define(1, "at once", **AT_ONCE)
    laptop.define(2, "long", tasks=[{"name": "a", "type": "SHELL", "params": {"script": script}}])
    masters = [await laptop.master(**NEVER_BY_AGE) for _ in range(2)]
    worker = await laptop.worker()
    await laptop.slots_become(2)
    laptop.start(2, 4)
    await eventually(lambda: len(laptop.journal.lines()), until=4, within_s=20)
    await laptop.worker()
    laptop.rows(ON_ANOTHER_MACHINE)
    masters[0].signal(signal.SIGKILL)
    worker.signal(signal.SIGKILL)
    laptop.start(1, 40)
    await eventually(lambda: laptop.one("SELECT count(*) FROM command"), until=0, within_s=30)
    await eventually(lambda: laptop.slots(), until={masters[1].epoch: "0/1"}, within_s=20)
    await eventually(lambda: laptop.one(STATE, worker.epoch), until="FENCED", within_s=30)
    await eventually(lambda: set(laptop.journal.runs().values()), until={2}, within_s=20)
    gate.touch()
    await laptop.all_ends()
    states = laptop.rows("SELECT attempt, state, count(*) FROM task_instance GROUP BY 1, 2 ORDER BY 1")
    assert states == [(1, "NEED_FAULT_TOLERANCE", 4), (2, "SUCCESS", 4)]
    assert laptop.one("SELECT count(*) FROM workflow_instance WHERE state = 'SUCCESS'") == 44
    assert not masters[1].events("commands_taken_by_age")


async def test_18624_18644_a_master_restarted_at_its_address_inherits_nothing_from_it(cluster: Cluster) -> None:
    """Upstream: who leads was known by its address. A restarted one found its own address there, took itself for the
    leader, and lost what the session of its dead predecessor took along; or two were leaders.
    Here: nobody leads, and a life is known by its epoch. One that comes up on another machine under the same address
    waits until the former life is fenced; what that one drove is failed over like anybody's.
    """
    cluster.define(1, "at once", **AT_ONCE)
    cluster.define(2, "by hand", tasks=[{"name": "a", **BY_HAND}])
    engine = Engine(cluster)
    other = await cluster.master(**NEVER_BY_AGE)
    former = await cluster.master(**NEVER_BY_AGE)
    await cluster.slots_become(2)
    port = former.events("joined")[0]["master"].rpartition(":")[2]
    all_runs = [await engine.begin(2) for _ in range(4)]
    cluster.rows(ON_ANOTHER_MACHINE)
    former.signal(signal.SIGKILL)
    latter = await cluster.master(SHOAL_PORT=port, **NEVER_BY_AGE)
    assert latter.epoch > former.epoch
    assert cluster.one(STATE, former.epoch) == "FENCED"
    await eventually(lambda: cluster.slots(), until={other.epoch: "0/2", latter.epoch: "1/2"}, within_s=20)
    owners = "SELECT count(*) FROM workflow_instance WHERE ended_at IS NULL AND master_id IN (%s, %s)"
    await eventually(lambda: cluster.one(owners, other.epoch, latter.epoch), until=4, within_s=20)
    for run in all_runs:
        await engine.claim(run, "a")
        engine.report(run, "a", "SUCCESS")
    cluster.start(1, 20)
    await cluster.all_ends()
    cluster.check_exactly_once(24)
    assert cluster.one("SELECT max(attempt) FROM task_instance") == 1
