"""Workers die, are stopped and are full: a task runs at one place at a time, and nothing of it is left behind."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil
import psycopg
import pytest

from tests.cluster.cluster import Cluster
from tests.eventually import eventually
from tests.servers.child import free_port
from tests.servers.hidden_proc import INVISIBLE, NO_ACCESS, needs_root, seeing


def _processes_with(marker: str) -> list[int]:
    """Pids whose command line or environment holds the marker."""
    found = []
    for process in psutil.process_iter():
        try:
            held = [*process.cmdline(), *process.environ().values()]
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
        if any(marker in text for text in held):
            found.append(process.pid)
    return found


def _running(cluster: Cluster) -> int:
    return int(cluster.one("SELECT count(*) FROM task_instance WHERE state = 'RUNNING_EXECUTION'"))


async def test_a_killed_worker_leaves_no_process_and_its_tasks_run_elsewhere(cluster: Cluster, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    wait = f"(setsid sleep 300 &) ; while [ ! -e {gate} ]; do sleep 0.1; done"
    cluster.define(
        1, "wait", tasks=[{"name": "a", "type": "SHELL", "params": {"script": cluster.journal.script(wait)}}]
    )
    await cluster.master()
    first = await cluster.worker()
    cluster.start(1, 5)
    await eventually(lambda: len(cluster.journal.lines()) == 5, within_s=10)
    first.signal(signal.SIGKILL)
    await eventually(lambda: not _processes_with(str(gate)), within_s=5)
    await cluster.worker()
    await eventually(lambda: len(cluster.journal.lines()) == 10, within_s=15)
    gate.touch()
    await cluster.all_ends()
    assert cluster.rows("SELECT attempt, state, count(*) FROM task_instance GROUP BY 1, 2 ORDER BY 1") == [
        (1, "NEED_FAULT_TOLERANCE", 5),
        (2, "SUCCESS", 5),
    ]
    assert cluster.rows("SELECT state, count(*) FROM workflow_instance GROUP BY 1") == [("SUCCESS", 5)]
    assert set(cluster.journal.runs().values()) == {2}
    await eventually(lambda: not _processes_with("SHOAL_TASK_KEY"), within_s=5)


async def test_a_worker_that_starts_again_at_once_gets_its_tasks_again_at_once(
    cluster: Cluster, tmp_path: Path
) -> None:
    """It proves the death of its former life itself; the master looks and sweeps too rarely to help."""
    gate = tmp_path / "gate"
    script = cluster.journal.script(f"while [ ! -e {gate} ]; do sleep 0.1; done")
    cluster.define(1, "wait", tasks=[{"name": "a", "type": "SHELL", "params": {"script": script}}])
    cluster.environment |= {
        "SHOAL_MASTER__SWEEP_EVERY": "60",
        "SHOAL_TIMING__HEARTBEAT_EVERY": "60",
        "SHOAL_TIMING__SESSION_TIMEOUT": "180",
        "SHOAL_TIMING__MASTER_FENCE_AFTER": "180",
        "SHOAL_TIMING__WORKER_FENCE_AFTER": "190",
    }
    await cluster.master()
    place = {"SHOAL_WORKER__FOLDER": str(tmp_path / "worker"), "SHOAL_WORKER__LOG_PORT": str(free_port())}
    former = await cluster.worker(**place)
    cluster.start(1, 5)
    await eventually(lambda: len(cluster.journal.lines()) == 5, within_s=10)
    former.signal(signal.SIGKILL)
    await former.ended()
    await cluster.worker(**place)
    await eventually(lambda: len(cluster.journal.lines()) == 10, within_s=10)
    gate.touch()
    await cluster.all_ends()
    query = "SELECT ended_why FROM node WHERE id = %s"
    assert cluster.one(query, former.epoch) == "a new process has its name"
    waited_s = cluster.rows(
        """SELECT extract(epoch FROM t.started_at - n.ended_at)::float8
           FROM task_instance t CROSS JOIN node n WHERE t.attempt = 2 AND n.id = %s""",
        former.epoch,
    )
    assert len(waited_s) == 5
    assert all(0 < seconds < 60 for (seconds,) in waited_s)


async def test_a_task_that_must_not_run_twice_fails_when_its_worker_is_lost(cluster: Cluster) -> None:
    task = {"name": "pay", "type": "FAKE", "params": {"sleep_s": 60}, "on_worker_loss": "fail"}
    cluster.define(1, "pay", tasks=[task])
    await cluster.master()
    worker = await cluster.worker()
    cluster.start(1)
    await eventually(lambda: _running(cluster) == 1)
    worker.signal(signal.SIGKILL)
    await cluster.all_ends()
    assert cluster.rows("SELECT state, reason FROM workflow_instance") == [
        ("FAILURE", 'task "pay" was lost with its worker, and may not run again')
    ]
    assert cluster.one("SELECT count(*) FROM task_instance") == 1


async def test_a_sleeping_worker_s_tasks_are_dead_before_they_run_elsewhere(cluster: Cluster) -> None:
    cluster.define(
        1, "long", tasks=[{"name": "a", "type": "SHELL", "params": {"script": cluster.journal.script("sleep 12")}}]
    )
    await cluster.master()
    sleeper = await cluster.worker()
    cluster.start(1, 3)
    await eventually(lambda: len(cluster.journal.lines()) == 3, within_s=10)
    await cluster.worker()
    with sleeper.stopped():
        await eventually(lambda: _running(cluster) == 3 and len(cluster.journal.lines()) == 6, within_s=20)
        own = [pid for pid in _processes_with("SHOAL_FENCE") if psutil.Process(pid).environ()["SHOAL_FENCE"] == "2"]
        assert own == [], "processes of the sleeping worker outlived the horizon"
    await eventually(lambda: sleeper.events("fenced"), within_s=10)
    await cluster.all_ends()
    assert cluster.rows("SELECT state, count(*) FROM workflow_instance GROUP BY 1") == [("SUCCESS", 3)]


@needs_root
@pytest.mark.parametrize("option", [pytest.param(NO_ACCESS, marks=pytest.mark.soak), INVISIBLE])
async def test_a_worker_that_proc_hides_from_the_masters_lives(cluster: Cluster, option: str) -> None:
    """On one machine, as one user without privileges; workers hide themselves from their own user.

    Masters cannot see, and so not end, what a killed worker left: they wait for its whole silence.
    """
    task = {"name": "a", "type": "SHELL", "params": {"script": cluster.journal.script("sleep 3")}}
    cluster.define(1, "long", tasks=[task])
    cluster.before = seeing(option)
    worker = await cluster.worker()
    masters = [await cluster.master() for _ in range(2)]
    await cluster.slots_become(2)
    cluster.start(1, 3)
    await cluster.all_ends()
    cluster.check_exactly_once(3)
    assert cluster.one("SELECT max(attempt) FROM task_instance") == 1
    assert not any(node.events("node_fenced") for node in masters)
    worker.signal(signal.SIGKILL)
    await worker.ended()
    await eventually(lambda: cluster.one("SELECT state FROM node WHERE id = %s", worker.epoch) == "FENCED", within_s=30)


@needs_root
async def test_a_worker_of_root_without_a_default_tenant_warns_when_it_starts(cluster: Cluster) -> None:
    bare, safe = await cluster.worker(), await cluster.worker(SHOAL_WORKER__DEFAULT_TENANT="nobody")
    assert len(bare.events("tasks_run_as_root")) == 1
    assert not safe.events("tasks_run_as_root")


@pytest.mark.parametrize("closes_terminal", [False, True])
async def test_a_stopping_worker_lets_its_tasks_end(cluster: Cluster, *, closes_terminal: bool) -> None:
    cluster.define(1, "short", tasks=[{"name": "a", "type": "SHELL", "params": {"script": "sleep 2"}}])
    await cluster.master()
    terminal, its_end = os.openpty()
    if closes_terminal:  # which a process of a session without one gets by opening it
        cluster.before = ["bash", "-c", f'exec 3<> {os.ttyname(its_end)}; exec "$@"', "bash"]
    worker = await cluster.worker()
    cluster.start(1, 3)
    await eventually(lambda: _running(cluster) == 3)
    if closes_terminal:
        worker.signal(signal.SIGHUP)
        await eventually(lambda: worker.events("files_read_again"))
    else:
        worker.signal(signal.SIGTERM)
    os.close(its_end)
    os.close(terminal)
    assert await worker.ended() == 0
    assert cluster.rows("SELECT state, attempt, count(*) FROM task_instance GROUP BY 1, 2") == [("SUCCESS", 1, 3)]


async def test_a_stopping_worker_gives_long_tasks_to_others(cluster: Cluster) -> None:
    cluster.define(1, "long", tasks=[{"name": "a", "type": "FAKE", "params": {"sleep_s": 6}}])
    await cluster.master()
    worker = await cluster.worker(SHOAL_WORKER__DRAIN="0.5")
    cluster.start(1)
    await eventually(lambda: _running(cluster) == 1)
    worker.signal(signal.SIGTERM)
    assert await worker.ended() == 0
    await cluster.worker()
    await cluster.all_ends(within_s=20)
    assert cluster.rows("SELECT attempt, state FROM task_instance ORDER BY 1") == [
        (1, "NEED_FAULT_TOLERANCE"),
        (2, "SUCCESS"),
    ]


async def test_a_task_that_others_passed_since_it_was_locked_is_not_left_behind_them(cluster: Cluster) -> None:
    """A claim begins where the last one ended, and nobody announces that a row is no longer locked."""
    cluster.define(1, "short", tasks=[{"name": "a", "type": "FAKE", "params": {"sleep_s": 0.05}}])
    await cluster.master()
    cluster.start(1, 1_000)
    await eventually(lambda: cluster.one("SELECT count(*) FROM task_instance"), until=1_000, within_s=20)
    first = cluster.one("SELECT id FROM task_instance ORDER BY workflow_instance_id LIMIT 1")
    with psycopg.connect(cluster.psql_url) as connection:
        connection.execute("SELECT FROM task_instance WHERE id = %s FOR UPDATE", (first,))
        await cluster.worker(SHOAL_WORKER__CAPACITY="8")
        passed = "SELECT count(*) FROM task_instance WHERE state = 'SUCCESS'"
        await eventually(lambda: cluster.one(passed) > 100, within_s=20)
    await cluster.all_ends()
    later = "SELECT count(*) FROM task_instance WHERE started_at > (SELECT started_at FROM task_instance WHERE id = %s)"
    assert cluster.one(later, first) > 200
