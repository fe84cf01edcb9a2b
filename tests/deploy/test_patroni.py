"""The primary of a Patroni cluster, as deploy/patroni.yml has it, is replaced under 20 commands a second.

The first host of the URL is the one that is lost. `make postgres-ha` shows how long it takes until work goes on.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from tests.chaos import audit
from tests.chaos.checker import Checker
from tests.chaos.journal import Journal
from tests.chaos.load import Promises
from tests.chaos.workflows import kinds
from tests.cluster.cluster import Cluster, without_haste
from tests.eventually import eventually
from tests.servers.patroni import PatroniCluster
from tests.shoal.command_line import CommandLine

SCHEMA = Path(__file__).parents[2] / "sql" / "schema.sql"
SINGLE = 1010
RATE = 20
TTL_S = 20
"""As in deploy/patroni.yml."""


class Load:
    """Starts one workflow at a fixed rate by plain SQL, and remembers what is acknowledged."""

    def __init__(self, url: str) -> None:
        self.promises = Promises()
        self._url = url
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._connection: psycopg.Connection[tuple[object, ...]] | None = None
        self._thread.start()

    def stop(self) -> None:
        """No more."""
        self._stop.set()
        self._thread.join()

    def acknowledged_after(self, number: int) -> list[int]:
        """All but the first ones."""
        return list(self.promises.acknowledged)[number:]

    def _run(self) -> None:
        while not self._stop.wait(1 / RATE):
            cut = threading.Timer(5, self._cut)  # a server that is frozen never answers
            cut.start()
            try:
                if self._connection is None or self._connection.closed:
                    self._connection = psycopg.connect(self._url, autocommit=True)
                query = "INSERT INTO command (type, workflow_code) VALUES ('START_PROCESS', %s) RETURNING id"
                row = self._connection.execute(query, [SINGLE]).fetchone()
            except psycopg.OperationalError:
                self.promises.doubtful += 1
                if self._connection is not None:
                    self._connection.close()
            else:
                assert row is not None
                self.promises.acknowledged[int(str(row[0]))] = "START_PROCESS"
            finally:
                cut.cancel()

    def _cut(self) -> None:
        if self._connection is not None:
            with (
                suppress(OSError, psycopg.OperationalError),
                socket.fromfd(self._connection.fileno(), socket.AF_INET, socket.SOCK_STREAM) as found,
            ):
                found.shutdown(socket.SHUT_RDWR)


class Scene:
    """Two masters and a worker that run the load."""

    def __init__(self, servers: PatroniCluster, cluster: Cluster) -> None:
        self.servers = servers
        self.cluster = cluster
        self.journal = Journal(cluster.folder / "journal")
        self.kinds = [kind for kind in kinds(self.journal) if kind.code == SINGLE]
        [single] = self.kinds
        self.asked = f"{cluster.psql_url}&connect_timeout=3&target_session_attrs=read-write"
        cluster.ask_at(self.asked)
        cluster.environment = without_haste(cluster.environment)
        cluster.define(single.code, single.name, **single.spec)
        self.load = Load(self.asked)

    async def flows(self, after: int) -> None:
        """Check that runs requested after `after` commands end."""
        ended = "SELECT count(*) FROM workflow_instance WHERE command_id = ANY(%s) AND ended_at IS NOT NULL"
        ids = self.load.acknowledged_after
        await eventually(lambda: self.cluster.one(ended, ids(after)) > 0, within_s=TTL_S + 10)

    def checker(self, lost: Collection[int] = ()) -> Checker:
        """The checker of chaos, without the commands that the database has lost."""
        kept = {id_: type_ for id_, type_ in self.load.promises.acknowledged.items() if id_ not in lost}
        return Checker(self.cluster, self.kinds, Promises(acknowledged=kept), self.journal.lines())


@contextmanager
def scene_of(tmp_path: Path, *, is_synchronous: bool, is_apart: bool = False) -> Iterator[Scene]:
    with PatroniCluster(is_synchronous=is_synchronous, is_apart=is_apart) as servers:
        with servers.members[0].connect() as connection:
            connection.execute("CREATE DATABASE shoal")
        with servers.members[0].connect("shoal") as connection:
            connection.execute(SCHEMA.read_bytes())
            audit.install(connection)
        url = servers.url("shoal")
        with Cluster(url, url, tmp_path) as cluster:
            scene = Scene(servers, cluster)
            try:
                yield scene
            except BaseException:
                for member in servers.members:
                    print(member.name, member.port, member.log_tail(100), sep="\n")  # noqa: T201
                raise
            finally:
                scene.load.stop()


def switch_over(servers: PatroniCluster) -> None:
    servers.members[0].switch_over(servers.members[1])


def kill(servers: PatroniCluster) -> None:
    servers.members[0].signal(signal.SIGKILL)


def freeze(servers: PatroniCluster) -> None:
    servers.members[0].signal(signal.SIGSTOP)


def restart(servers: PatroniCluster) -> None:
    servers.members[0].signal(signal.SIGKILL)  # as its watchdog does, if it is frozen
    servers.members[0].start()


def cut(servers: PatroniCluster) -> None:
    assert servers.machine is not None
    servers.machine.cut()


def mend(servers: PatroniCluster) -> None:
    assert servers.machine is not None
    servers.machine.mend()


NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root")


@pytest.mark.parametrize(
    ("fault", "end"),
    [
        (switch_over, None),
        pytest.param(kill, restart, marks=pytest.mark.soak),
        pytest.param(freeze, restart, marks=pytest.mark.soak),
        pytest.param(cut, mend, marks=[pytest.mark.soak, NEEDS_ROOT]),
    ],
)
async def test_nothing_is_lost_or_doubled_with_a_synchronous_standby(
    tmp_path: Path, fault: Callable[[PatroniCluster], None], end: Callable[[PatroniCluster], None] | None
) -> None:
    with scene_of(tmp_path, is_synchronous=True, is_apart=fault is cut) as scene:
        first, _ = scene.servers.members
        nodes = [await scene.cluster.master(), await scene.cluster.master(), await scene.cluster.worker()]
        await scene.flows(after=0)
        before, began_s = len(scene.load.promises.acknowledged), time.monotonic()
        fault(scene.servers)
        scene.cluster.ask_at(scene.asked)
        await scene.flows(after=before + 1)  # one may have been under way
        took_s = time.monotonic() - began_s
        if end is not None:
            end(scene.servers)
        await eventually(lambda: first.role() == "sync_standby", within_s=120)
        scene.load.stop()
        await scene.cluster.all_ends(within_s=120)
        count = len(scene.load.promises.acknowledged)
        print(f"{fault.__name__}: work went on after {took_s:.1f} s; {count} commands")  # noqa: T201
        assert scene.checker().violations() == []
        assert scene.cluster.rows("SELECT why FROM went_back") == []
        assert [node.events("database_went_back") for node in nodes] == [[], [], []]


@pytest.mark.soak
async def test_what_an_asynchronous_standby_lacks_is_named_and_nothing_else_is_lost(tmp_path: Path) -> None:
    with scene_of(tmp_path, is_synchronous=False) as scene:
        first, _ = scene.servers.members
        cluster, load = scene.cluster, scene.load
        for start in (cluster.master, cluster.master, cluster.worker):
            await start()
        await scene.flows(after=0)
        with first.connect() as connection:
            connection.execute("ALTER ROLE replicator NOLOGIN")
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_replication")
        before = len(load.promises.acknowledged)
        await eventually(lambda: len(load.acknowledged_after(before)) > RATE)
        load.stop()
        begun = "SELECT command_id, id FROM workflow_instance WHERE command_id = ANY(%s)"
        ids = list(load.promises.acknowledged)
        await eventually(lambda: len(cluster.rows(begun, ids)), until=len(ids), within_s=3)
        runs = dict(cluster.rows(begun, ids))
        began_s = time.monotonic()
        first.signal(signal.SIGKILL)
        cluster.ask_at(scene.asked)
        await eventually(lambda: cluster.one("SELECT count(*) FROM went_back"), within_s=TTL_S + 20)
        noticed_s = time.monotonic() - began_s
        there = {id_ for (id_,) in cluster.rows("SELECT command_id FROM command_history UNION SELECT id FROM command")}
        lost = set(ids) - there
        gone = set(runs.values()) - {id_ for (id_,) in cluster.rows("SELECT id FROM workflow_instance")}
        assert lost
        assert {runs[id_] for id_ in lost} <= gone, "no id is given again"
        named = "SELECT coalesce(array_agg(DISTINCT run), '{}') FROM went_back, unnest(runs) AS run"
        await eventually(lambda: set(cluster.one(named)), until=gone, within_s=30)
        told = await CommandLine.at(cluster.environment["SHOAL_DATABASE_URL"])("db", "restored", "--json")
        assert told.code == 0, told.err
        said = json.loads(told.out)
        assert {int(run) for notice in said["notices"] for run in notice["runs"]} == gone
        await cluster.all_ends(within_s=120)
        print(f"noticed after {noticed_s:.1f} s; lost and named {len(lost)} of {len(ids)} commands")  # noqa: T201
        checker = scene.checker(lost)  # unfinished tasks may have run again, and all nodes were fenced
        for rule in (
            checker.each_command_has_one_outcome,
            checker.each_start_made_one_run,
            checker.everything_has_ended,
        ):
            assert list(rule()) == []
