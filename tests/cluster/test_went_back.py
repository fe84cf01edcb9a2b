"""The database becomes an earlier state of itself under a cluster: nothing is done twice, and a person decides."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.cluster.cluster import Cluster, Node
from tests.eventually import eventually
from tests.servers.postgres import PostgresServer, binaries
from tests.shoal.command_line import CommandLine

SCHEMA = Path(__file__).parents[2] / "sql" / "schema.sql"
SLEEPS = [{"name": "a", "type": "SHELL", "params": {"script": "sleep 300"}}]


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with PostgresServer(fsync=False) as made:
        with made.connect() as connection:
            connection.execute("CREATE DATABASE shoal")
        with made.connect("shoal") as connection:
            connection.execute(SCHEMA.read_bytes())
            connection.execute("SELECT setval(format('%I', sequencename)::regclass, 3000000000) FROM pg_sequences")
        yield made
        made.resume()


@contextmanager
def cluster_at(url: str, folder: Path) -> Iterator[Cluster]:
    with Cluster(url, url, folder) as made:
        made.define(7, "journals", tasks=[{"name": "a", "type": "SHELL", "params": {"script": made.journal.script()}}])
        made.define(8, "sleeps", tasks=SLEEPS)
        yield made


def dump(server: PostgresServer, file: Path) -> None:
    _run("pg_dump", server, "--format=custom", f"--file={file}", "shoal")


def restore(server: PostgresServer, file: Path) -> None:
    """Restore beside the database, then replace it: clients lose the database, and find the other one."""
    with server.connect() as connection:
        connection.execute("CREATE DATABASE restored")
        _run("pg_restore", server, "--exit-on-error", "--dbname=restored", str(file))
        connection.execute("ALTER DATABASE shoal ALLOW_CONNECTIONS false")
        connection.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = 'shoal'")
        connection.execute("ALTER DATABASE shoal RENAME TO gone")
        connection.execute("ALTER DATABASE restored RENAME TO shoal")


def _run(program: str, server: PostgresServer, *arguments: str) -> None:
    where = ["--host=127.0.0.1", f"--port={server.port}", "--username=shoal"]
    environment = {"PGPASSWORD": server.password}
    call = [str(binaries() / program), *where, *arguments]
    done = subprocess.run(call, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


async def _has_stopped(cluster: Cluster, within_s: float = 30) -> None:
    """All nodes are fenced, and no command is taken."""
    await eventually(lambda: cluster.one("SELECT count(*) FROM went_back") > 0, within_s=within_s)
    assert cluster.one("SELECT count(*) FROM node WHERE state IN ('ALIVE', 'LEAVING')") == 0
    with pytest.raises(psycopg.OperationalError, match="shoal db restored"):
        cluster.start(7)
    assert cluster.one("SELECT count(*) FROM alert WHERE kind = 'DATABASE_WENT_BACK'") == 1


async def test_a_dump_that_is_restored_under_a_cluster_stops_it_until_a_person_has_looked(
    server: PostgresServer, tmp_path: Path
) -> None:
    with cluster_at(server.url("shoal"), tmp_path) as cluster:
        shoal = CommandLine.at(server.url("shoal"))
        master, worker = await cluster.master(), await cluster.worker()
        cluster.start(7, 3)
        await cluster.all_ends()
        dump(server, tmp_path / "dump")
        cluster.start(7, 4)
        await cluster.all_ends()
        lost = [id_ for (id_,) in cluster.rows("SELECT id FROM task_instance ORDER BY id DESC LIMIT 4")]
        restore(server, tmp_path / "dump")
        await _has_stopped(cluster)
        assert any(node.events("database_went_back") for node in (master, worker))
        doctor = await shoal("doctor")
        assert doctor.code == 1
        assert "the database has what it confirmed" in doctor.out
        await eventually(lambda: cluster.one("SELECT count(*) FROM went_back WHERE node LIKE 'worker%%'"), within_s=30)
        told = await shoal("db", "restored")
        assert told.code == 0, told.err
        assert f"Gone, as far as nodes know: 4 attempts, {', '.join(map(str, sorted(lost)))}." in told.out
        assert "No run is unfinished." in told.out
        await eventually(lambda: len(cluster.slots()) == 1, within_s=60)
        cluster.start(7, 4)
        await cluster.all_ends()
        cluster.check_exactly_once(7)
        assert set(cluster.journal.runs().values()) == {1}, "no key belongs to two tasks"
        assert cluster.one("SELECT max(id) FROM workflow_instance") > 5 * 10**9


@pytest.mark.parametrize("begins_after", [False, True])
async def test_a_master_that_starts_on_a_dump_that_was_restored_while_all_were_stopped_notices_it(
    server: PostgresServer, zookeeper_url: str, tmp_path: Path, *, begins_after: bool
) -> None:
    """ZooKeeper remembers what was confirmed: beats of a life that the dump has, or a life that it has not."""
    with cluster_at(server.url("shoal"), tmp_path) as cluster:
        cluster.environment["SHOAL_REGISTRY_URL"] = zookeeper_url
        shoal = CommandLine.at(server.url("shoal"))
        master = await cluster.master()
        if begins_after:
            await _stops(master)
        dump(server, tmp_path / "dump")
        if begins_after:
            master = await cluster.master()
        beats = "SELECT beat_no FROM node_beat ORDER BY node_id DESC LIMIT 1"
        seen = cluster.one(beats)
        await eventually(lambda: cluster.one(beats) > seen + 2, within_s=20)
        await _stops(master)
        restore(server, tmp_path / "dump")
        master = cluster.begin("master", {})
        await _has_stopped(cluster)
        await eventually(lambda: master.events("database_went_back"))
        said = "the registry remembers master" if begins_after else "was confirmed, and its last one here is"
        assert said in cluster.one("SELECT why FROM went_back")
        doctor = await shoal("doctor")
        assert doctor.code == 1
        assert said in doctor.out.replace("\n", " ")
        assert (await shoal("db", "restored")).code == 0
        await eventually(lambda: master.events("joined"), within_s=60)


async def test_a_dump_that_lacks_nothing_stops_no_master(
    server: PostgresServer, zookeeper_url: str, tmp_path: Path
) -> None:
    with cluster_at(server.url("shoal"), tmp_path) as cluster:
        cluster.environment["SHOAL_REGISTRY_URL"] = zookeeper_url
        await _stops(await cluster.master())
        (await cluster.master()).kill()
        dump(server, tmp_path / "dump")
        restore(server, tmp_path / "dump")
        await cluster.master()
        await eventually(lambda: cluster.rows("SELECT why FROM went_back"), until=[])


async def _stops(node: Node) -> None:
    node.signal(signal.SIGTERM)
    assert await node.ended() == 0


async def test_a_worker_that_starts_on_a_restored_dump_has_logs_of_attempts_to_come(
    server: PostgresServer, tmp_path: Path
) -> None:
    with cluster_at(server.url("shoal"), tmp_path) as cluster:
        shoal, folder = CommandLine.at(server.url("shoal")), {"SHOAL_WORKER__FOLDER": str(tmp_path / "worker")}
        (await cluster.worker(**folder)).kill()
        dump(server, tmp_path / "dump")
        master, worker = await cluster.master(), await cluster.worker(**folder)
        cluster.start(7)
        await cluster.all_ends()
        master.kill()
        worker.kill()
        restore(server, tmp_path / "dump")
        master = await cluster.master()
        worker = cluster.begin("worker", folder)
        await eventually(lambda: worker.events("database_went_back"), within_s=30)
        await eventually(lambda: "the worker's folder" in cluster.one("SELECT why FROM went_back"))
        await eventually(lambda: master.events("fenced"), within_s=30)
        assert (await shoal("db", "restored")).code == 0
        await eventually(lambda: worker.events("joined"), within_s=60)
        cluster.start(7)
        await cluster.all_ends()


async def test_a_worker_that_starts_after_a_person_has_looked_names_what_the_restore_took_away(
    server: PostgresServer, tmp_path: Path
) -> None:
    with cluster_at(server.url("shoal"), tmp_path) as cluster:
        shoal, folder = CommandLine.at(server.url("shoal")), {"SHOAL_WORKER__FOLDER": str(tmp_path / "worker")}
        nodes = [await cluster.master(), await cluster.worker(**folder)]
        cluster.start(7, 2)
        await cluster.all_ends()
        dump(server, tmp_path / "dump")
        cluster.start(7, 3)
        await cluster.all_ends()
        lost = [id_ for (id_,) in cluster.rows("SELECT id FROM task_instance ORDER BY id DESC LIMIT 3")]
        for node in nodes:
            node.kill()
        restore(server, tmp_path / "dump")
        assert (await shoal("db", "restored")).code == 0
        worker = await cluster.worker(**folder)
        [said] = worker.events("attempts_gone")
        assert (said["count"], said["first"]) == (3, sorted(lost))
        worker.kill()
        again = await cluster.worker(**folder)
        assert again.events("attempts_gone") == []


@pytest.mark.parametrize(
    ("is_restarted", "why"),
    [(False, "%the log of attempt %, and another ran it"), (True, "%knows epoch %, and another has it")],
    ids=["the life began before the dump", "after it"],
)
async def test_a_worker_that_starts_long_after_the_restore_knows_ids_that_were_given_again(
    server: PostgresServer, tmp_path: Path, is_restarted: bool, why: str
) -> None:
    with cluster_at(server.url("shoal"), tmp_path) as cluster:
        folder = {"SHOAL_WORKER__FOLDER": str(tmp_path / "worker")}
        nodes = [await cluster.master(), await cluster.worker(**folder)]
        dump(server, tmp_path / "dump")
        if is_restarted:
            nodes.pop().kill()
            nodes.append(await cluster.worker(**folder))
        cluster.start(7, 3)
        await cluster.all_ends()
        for node in nodes:
            node.kill()
        restore(server, tmp_path / "dump")
        await cluster.master()
        await cluster.worker()
        await eventually(lambda: cluster.one("SELECT count(*) FROM command"), until=0)
        cluster.start(7, 4)
        await cluster.all_ends()
        fenced = "SELECT count(*) FROM node WHERE state = 'FENCED'"
        await eventually(lambda: cluster.one(fenced), until=2, within_s=30)
        worker = cluster.begin("worker", folder)
        await eventually(lambda: worker.events("database_went_back") or worker.events("joined"), within_s=30)
        assert cluster.one("SELECT count(*) FROM went_back WHERE why LIKE %s", why) == 1


MEANWHILE = """
    CREATE FUNCTION meanwhile() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN {} RETURN NULL; END';
    CREATE TRIGGER meanwhile AFTER INSERT ON node EXECUTE FUNCTION meanwhile();
"""
GIVES = "PERFORM nextval(''task_instance_id_seq'');"
"""As a master does that finds the worker's former life fenced, and is faster than the worker."""
LOOKS = """
    PERFORM setval(''task_instance_id_seq'', nextval(''task_instance_id_seq'') + 2000000000);
    UPDATE cluster SET restored_at = clock_timestamp();
"""
"""As a person does by `shoal db restored`."""


@pytest.mark.parametrize(
    ("meanwhile", "event", "notices"),
    [(GIVES, "database_went_back", 1), (LOOKS, "joined", 0)],
    ids=["given by a master", "looked at by a person"],
)
async def test_a_worker_is_not_misled_by_what_happens_while_it_joins(
    server: PostgresServer, tmp_path: Path, meanwhile: str, event: str, notices: int
) -> None:
    with cluster_at(server.url("shoal"), tmp_path) as cluster:
        folder = {"SHOAL_WORKER__FOLDER": str(tmp_path / "worker")}
        nodes = await cluster.master(), await cluster.worker(**folder)
        cluster.start(7)
        await cluster.all_ends()
        dump(server, tmp_path / "dump")
        cluster.start(7)
        await cluster.all_ends()
        for node in nodes:
            node.kill()
        restore(server, tmp_path / "dump")
        with server.connect("shoal") as connection:
            connection.execute(MEANWHILE.format(meanwhile))
        worker = cluster.begin("worker", folder)
        await eventually(lambda: worker.events("database_went_back") or worker.events("joined"), within_s=30)
        assert worker.events(event), _row(server, "SELECT max(why) FROM went_back")
        assert _row(server, "SELECT count(*) FROM went_back WHERE why LIKE '%the log of attempt%'") == notices


async def test_a_promotion_that_lost_commits_stops_the_cluster_and_hold_pauses_what_would_run_again(
    server: PostgresServer, tmp_path: Path
) -> None:
    with PostgresServer(fsync=False, primary=server) as standby:
        hosts = f"host=127.0.0.1,127.0.0.1&port={server.port},{standby.port}"
        url = f"postgresql+psycopg://shoal:{server.password}@/shoal?{hosts}"
        with cluster_at(url, tmp_path) as cluster:
            await cluster.master()
            await cluster.worker()
            cluster.start(8, 2)
            running = "SELECT count(*) FROM task_instance WHERE state = 'RUNNING_EXECUTION'"
            await eventually(lambda: cluster.one(running), until=2, within_s=30)
            await eventually(lambda: _row(standby, running), until=2, within_s=30)
            standby.part_from_primary()
            await eventually(lambda: _row(standby, "SELECT count(*) FROM pg_stat_wal_receiver"), until=0, within_s=30)
            cluster.start(7, 3)
            await eventually(lambda: cluster.one("SELECT count(*) FROM workflow_instance WHERE state = 'SUCCESS'") == 3)
            # Runs that began and ended since are known to nobody: a beat that is lost too tells.
            beats = "SELECT min(beat_no) FROM node_beat"
            await eventually(lambda: cluster.one(beats) > _row(standby, beats), within_s=30)
            server.kill()
            standby.promote()
            await _has_stopped(cluster)
            told = await CommandLine.at(url)("db", "restored", "--hold")
            assert told.code == 0, told.err
            assert "2 unfinished runs, each was paused:" in told.out
            paused = "SELECT count(*) FROM workflow_instance WHERE state = 'PAUSE'"
            await eventually(lambda: cluster.one(paused), until=2, within_s=60)
            assert cluster.one(running) == 0
            cluster.start(7, 3)
            await eventually(lambda: cluster.one("SELECT count(*) FROM workflow_instance WHERE state = 'SUCCESS'") == 3)
            assert set(cluster.journal.runs().values()) == {1}, "no key belongs to two tasks"


SELDOM = {"HEARTBEAT_EVERY": "30", "SESSION_TIMEOUT": "90", "MASTER_FENCE_AFTER": "90", "WORKER_FENCE_AFTER": "130"}
BEATS = "SELECT array_agg(beat_no ORDER BY node_id) FROM node_beat"


@pytest.mark.parametrize(("is_begun", "why"), [(False, "% is not in it"), (True, "the end of attempt % is not in it")])
async def test_what_began_or_ended_since_the_last_beat_and_is_lost_is_noticed(
    server: PostgresServer, tmp_path: Path, is_begun: bool, why: str
) -> None:
    with PostgresServer(fsync=False, primary=server) as standby:
        hosts = f"host=127.0.0.1,127.0.0.1&port={server.port},{standby.port}"
        url = f"postgresql+psycopg://shoal:{server.password}@/shoal?{hosts}"
        with cluster_at(url, tmp_path) as cluster:
            cluster.environment.update({f"SHOAL_TIMING__{name}": value for name, value in SELDOM.items()})
            script = f"until [ -e {tmp_path}/goes-on ]; do sleep 0.05; done"
            cluster.define(9, "waits", tasks=[{"name": "a", "type": "SHELL", "params": {"script": script}}])
            nodes = [
                cluster.begin("master", {}),
                cluster.begin("worker", {"SHOAL_WORKER__FOLDER": str(tmp_path / "w")}),
            ]
            await eventually(lambda: all(node.events("joined") for node in nodes), within_s=60)
            if is_begun:
                cluster.start(9, 3)
                running = "SELECT count(*) FROM task_instance WHERE state = 'RUNNING_EXECUTION'"
                await eventually(lambda: _row(standby, running), until=3, within_s=30)
            # Nearly half of the time between two beats is left then, however far apart those of both nodes are.
            calm = "SELECT now() - min(beaten_at) < '18 s' AND now() - max(beaten_at) > '3 s' FROM node_beat"
            await eventually(lambda: cluster.one(calm), within_s=90)
            beats = cluster.one(BEATS)
            await eventually(lambda: _row(standby, BEATS), until=beats)
            standby.part_from_primary()
            await eventually(lambda: _row(standby, "SELECT count(*) FROM pg_stat_wal_receiver"), until=0, within_s=30)
            (tmp_path / "goes-on").touch()
            if not is_begun:
                cluster.start(9, 3)
            await eventually(
                lambda: cluster.one("SELECT count(*) FROM workflow_instance WHERE state = 'SUCCESS'"), until=3
            )
            assert cluster.one(BEATS) == beats, "no beat is lost"
            server.kill()
            standby.promote()
            await _has_stopped(cluster, within_s=90)
            assert cluster.one("SELECT count(*) FROM went_back WHERE why LIKE %s", why) > 0
            if not is_begun:  # the worker's notice stops the master, which then has its own
                await eventually(lambda: cluster.one("SELECT count(*) FROM went_back WHERE runs <> '{}'"), within_s=60)
            told = await CommandLine.at(url)("db", "restored")
            assert told.code == 0, told.err
            assert ("the end of attempt 3" if is_begun else "Gone, as far as nodes know: 3 runs") in told.out


def _row(server: PostgresServer, query: str) -> object:
    with server.connect("shoal") as connection:
        row = connection.execute(query).fetchone()
    assert row is not None
    return row[0]


@pytest.mark.parametrize("end", [PostgresServer.kill, PostgresServer.pause], ids=["killed", "frozen"])
async def test_a_promotion_that_lost_nothing_stops_nobody(
    server: PostgresServer, tmp_path: Path, end: Callable[[PostgresServer], None]
) -> None:
    """The former primary is the first host of the URL."""
    with PostgresServer(fsync=False, primary=server) as standby:
        with server.connect() as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("ALTER SYSTEM SET synchronous_commit = 'remote_apply'")
            connection.execute("SELECT pg_reload_conf()")
        hosts = f"host=127.0.0.1,127.0.0.1&port={server.port},{standby.port}"
        url = f"postgresql+psycopg://shoal:{server.password}@/shoal?{hosts}"
        with cluster_at(url, tmp_path) as cluster:
            master = await cluster.master()
            await cluster.worker()
            cluster.start(7, 5)
            await cluster.all_ends()
            end(server)
            with standby.connect() as connection:
                connection.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
                connection.execute("ALTER SYSTEM SET synchronous_commit = 'on'")
            standby.promote()
            cluster.ask_at(standby.url("shoal"))
            await eventually(lambda: cluster.one("SELECT NOT pg_is_in_recovery()"), within_s=30)
            cluster.start(7, 5)
            await cluster.all_ends()
            cluster.check_exactly_once(10)
            assert cluster.rows("SELECT why FROM went_back") == []
            assert master.events("fenced") == []
