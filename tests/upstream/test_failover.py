"""Owners are cut off, die and start again: their runs continue once, and those of others are not touched."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

from model.cluster.nodes import NodeKind
from registry.connect import make_registry
from tests.chaos.proxy import Gate, Proxies
from tests.cluster.cluster import Cluster
from tests.eventually import eventually
from tests.registry.scenes import SESSION
from tests.scenarios.engine import BY_HAND, Engine
from tests.servers.postgres import PostgresServer
from tests.servers.zookeeper import ZooKeeperServer
from tests.upstream.processes import runs

STATE = "SELECT state FROM node WHERE id = %s"
OWNERS = "SELECT DISTINCT master_id FROM workflow_instance"
RUNNING = "SELECT count(*) FROM task_instance WHERE state = 'RUNNING_EXECUTION'"
KEEP_OWNERS = """
    CREATE TABLE owned (id bigint GENERATED ALWAYS AS IDENTITY, run bigint, state text, master_id bigint);
    CREATE FUNCTION keep_owner() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN INSERT INTO owned (run, state, master_id) VALUES (NEW.id, NEW.state, NEW.master_id); RETURN NULL; END';
    CREATE TRIGGER owners_are_kept AFTER INSERT OR UPDATE ON workflow_instance
        FOR EACH ROW EXECUTE FUNCTION keep_owner();
"""
"""Writes down each owner that a run ever had, together with its state."""


@dataclass(frozen=True)
class Line:
    """The network between one node and the two servers."""

    registry: Gate
    database: Gate
    environment: dict[str, str]


@contextmanager
def a_line(cluster: Cluster, postgres: PostgresServer, zookeeper: ZooKeeperServer) -> Iterator[Line]:
    with Proxies() as proxies:
        registry, database = proxies.gate(zookeeper.port), proxies.gate(postgres.port)
        known = {zookeeper.port: registry.port, postgres.port: database.port}
        environment = {}
        for name in ("SHOAL_REGISTRY_URL", "SHOAL_DATABASE_URL"):
            url = cluster.environment[name]
            for port, through in known.items():
                url = url.replace(f":{port}/", f":{through}/")
            environment[name] = url
        yield Line(registry, database, environment)


async def test_16759_what_follows_is_begun_once_though_its_old_owner_comes_back(
    cluster: Cluster, postgres_server: PostgresServer, zookeeper_server: ZooKeeperServer
) -> None:
    """Upstream: a master lost ZooKeeper while a long task ran, and its runs were failed over; but it went on, and when
    the task ended both masters started the next one.
    Here: the failover fences the epoch of the old one. When the network is back it knows of the task's end, too, and
    may write nothing; the next task is begun once.
    """
    gate = cluster.folder / "gate"
    first = {"name": "first", "type": "SHELL", "params": {"script": f"while [ ! -e {gate} ]; do sleep 0.1; done"}}
    following = {"type": "SHELL", "params": {"script": cluster.journal.script()}}
    then = [{"name": name, "after": ["first"], **following} for name in ("second", "third")]
    cluster.define(1, "long", tasks=[first, *then])
    with a_line(cluster, postgres_server, zookeeper_server) as line:
        old = await cluster.master(**line.environment)
        await cluster.worker()
        cluster.start(1, 3)
        await eventually(lambda: cluster.one(RUNNING), until=3, within_s=20)
        former = old.epoch
        new = await cluster.master()
        line.registry.refuse()
        line.database.hold()
        await eventually(lambda: cluster.one(STATE, former), until="FENCED", within_s=20)
        await eventually(lambda: cluster.rows(OWNERS), until=[(new.epoch,)], within_s=20)
        gate.touch()
        await cluster.all_ends()
        line.registry.open()
        line.database.open()
        await eventually(lambda: old.events("fenced"), within_s=20)
        await cluster.slots_become(2)
    assert old.epoch > former
    cluster.check_exactly_once(3)
    assert set(cluster.journal.runs().values()) == {1}
    assert cluster.one("SELECT max(attempt) FROM task_instance") == 1
    assert cluster.one("SELECT count(*) FROM task_instance WHERE task_name <> 'first'") == 6


async def test_8110_a_task_never_runs_beside_its_double(
    cluster: Cluster, postgres_server: PostgresServer, zookeeper_server: ZooKeeperServer
) -> None:
    """Upstream: a worker under load lost ZooKeeper; its tasks were started elsewhere while they still ran there, and
    the data were there twice.
    Here: a worker that only lost ZooKeeper keeps its tasks; one that lost the database too has ended them before
    anybody else begins them. Each task holds a lock of the operating system and tells when it meets another.
    """
    gate, doubled, lock = (cluster.folder / name for name in ("gate", "doubled", "lock"))
    alone = f"exec 9> {lock}.$SHOAL_TASK_KEY; flock --nonblock 9 || echo $SHOAL_TASK_KEY >> {doubled}"
    script = f"{alone}\n{cluster.journal.script(f'while [ ! -e {gate} ]; do sleep 0.1; done')}"
    cluster.define(1, "long", tasks=[{"name": "a", "type": "SHELL", "params": {"script": script}}])
    await cluster.master()
    with a_line(cluster, postgres_server, zookeeper_server) as line:
        cut_off = await cluster.worker(**line.environment)
        cluster.start(1, 3)
        await eventually(lambda: len(cluster.journal.lines()), until=3, within_s=20)
        other = await cluster.worker()
        line.registry.refuse()
        await _left_the_registry(cluster, cut_off.epoch)
        assert cluster.one(STATE, cut_off.epoch) == "ALIVE"
        assert cluster.rows("SELECT attempt, state FROM task_instance") == [(1, "RUNNING_EXECUTION")] * 3
        line.database.hold()
        await eventually(lambda: len(cluster.journal.lines()), until=6, within_s=30)
        gate.touch()
        await cluster.all_ends()
    assert not doubled.exists()
    attempts = "SELECT attempt, state, worker_id, count(*) FROM task_instance GROUP BY 1, 2, 3 ORDER BY 1"
    lost, repeated = (1, "NEED_FAULT_TOLERANCE", cut_off.epoch, 3), (2, "SUCCESS", other.epoch, 3)
    assert cluster.rows(attempts) == [lost, repeated]


async def _left_the_registry(cluster: Cluster, epoch: int) -> None:
    """Wait until a worker's entry is gone."""
    url = cluster.environment["SHOAL_REGISTRY_URL"]
    registry = make_registry(url, session_timeout=SESSION, application_name="shoal-test")
    await registry.open(10)
    try:

        async def is_gone() -> bool:
            return epoch not in {member.epoch for member in await registry.members(NodeKind.WORKER)}

        await eventually(is_gone, within_s=20)
    finally:
        await registry.close()


async def test_17342_a_master_that_starts_takes_nothing_from_one_that_lives(laptop: Cluster) -> None:
    """Upstream: the whole cluster was restarted. The first master failed over what was left; the second one compared
    times of start, took the same runs for left behind, and took them over once more.
    Here: what is left behind is what a dead epoch owns. The first one takes it, and the second one finds nothing.
    """
    engine = Engine(laptop)
    laptop.define(1, "by hand", tasks=[{"name": "a", **BY_HAND}])
    former = await laptop.master()
    all_runs = [await engine.begin(1) for _ in range(6)]
    former.signal(signal.SIGKILL)
    first = await laptop.master()
    await eventually(lambda: laptop.rows(OWNERS), until=[(first.epoch,)], within_s=20)
    await laptop.master()
    await laptop.slots_become(2)
    for run in all_runs:
        await engine.claim(run, "a")
        engine.report(run, "a", "SUCCESS")
    await laptop.all_ends()
    assert laptop.rows(OWNERS) == [(first.epoch,)]
    recovers = "SELECT count(*) FROM command_history WHERE type = 'RECOVER_TOLERANCE_FAULT_PROCESS'"
    assert laptop.one(recovers) == len(all_runs)
    assert laptop.rows("SELECT state, attempt, count(*) FROM task_instance GROUP BY 1, 2") == [("SUCCESS", 1, 6)]


async def test_16767_a_run_failed_over_keeps_its_children_and_can_be_stopped(laptop: Cluster) -> None:
    """Upstream: the new owner started sub-workflows once more, beside those that ran; the row still named the dead
    master, so that a stop went there.
    Here: the new owner is written with the same statement that takes the run out of FAILOVER; children are restored
    like tasks, and a stop ends all of it.
    """
    pid_file = laptop.folder / "pid"
    script = f"echo $$ > {pid_file}.part; mv {pid_file}.part {pid_file}; sleep 300"
    laptop.rows(KEEP_OWNERS)
    laptop.define(1, "below", tasks=[{"name": "long", "type": "SHELL", "params": {"script": script}}])
    laptop.define(2, "above", tasks=[{"name": "sub", "type": "SUB_PROCESS", "params": {"workflow": 1}}])
    engine = Engine(laptop)
    former = await laptop.master()
    await laptop.worker()
    above = await engine.begin(2)
    await eventually(pid_file.exists, within_s=20)
    (below,) = engine.children(above)
    former.signal(signal.SIGKILL)
    latter = await laptop.master()
    await eventually(lambda: laptop.rows(OWNERS), until=[(latter.epoch,)], within_s=20)
    await engine.change("STOP", above)
    assert await engine.end(above) == "STOP"
    assert await engine.end(below) == "STOP"
    assert engine.children(above) == [below], "the child is restored, not started once more"
    attempts = "SELECT task_name, attempt, state FROM task_instance ORDER BY 1"
    assert laptop.rows(attempts) == [("long", 1, "KILL"), ("sub", 1, "KILL")]
    assert not runs(int(pid_file.read_text()))
    history = laptop.rows("SELECT run, state, master_id FROM owned ORDER BY run, id")
    after_failover = [later for earlier, later in pairwise(history) if earlier[1] == "FAILOVER" != later[1]]
    assert {run for run, _, _ in after_failover} == {above, below}
    assert {owner for _, _, owner in after_failover} == {latter.epoch}
