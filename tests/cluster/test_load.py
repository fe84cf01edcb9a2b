"""A BUSY node takes nothing new: its share goes to others, its tasks wait, and the reason is shown everywhere."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster, Node
from tests.eventually import eventually as eventually_within

NO_MEMORY = {"MEMORY_MAX": "0.002", "MARGIN": "0.001", "HOLD": "1"}
"""No machine uses so little of its memory that it would not be BUSY."""

MIB = 1 << 20
WITHIN_S = 90.0
"""Generous, for a machine that runs other tests; no test here is about speed."""


async def eventually(look: Callable[[], object]) -> None:
    await eventually_within(look, within_s=WITHIN_S)


def load(role: str, **limits: str) -> dict[str, str]:
    return {f"SHOAL_{role}__LOAD__{name}": value for name, value in limits.items()}


def status_of(cluster: Cluster, node: Node) -> tuple[str, str]:
    """NORMAL or BUSY and why, as its last beat says."""
    query = """SELECT heartbeat::json->>'status', heartbeat::json->>'because' FROM node_beat WHERE node_id = %s"""
    (found,) = cluster.rows(query, node.epoch)
    return found


def states(cluster: Cluster) -> dict[str, int]:
    return dict(cluster.rows("SELECT state, count(*) FROM task_instance GROUP BY 1"))


def taken_by(cluster: Cluster) -> dict[int, int]:
    return dict(cluster.rows("SELECT master_id, count(*) FROM command_history GROUP BY 1"))


def define(cluster: Cluster, work: str = ":") -> None:
    script = cluster.journal.script(work)
    cluster.define(1, "one", tasks=[{"name": "a", "type": "SHELL", "params": {"script": script}}])


async def queued(cluster: Cluster, count: int) -> None:
    await eventually(lambda: states(cluster) == {"QUEUED": count})


# ------------------------------------------------------------------------------------------- workers


async def test_a_busy_worker_takes_nothing_and_says_why_until_another_comes(cluster: Cluster) -> None:
    define(cluster)
    await cluster.master()
    busy = await cluster.worker(**load("WORKER", **NO_MEMORY))
    cluster.start(1, 5)
    await queued(cluster, 5)
    status, because = status_of(cluster, busy)
    assert status == "BUSY"
    assert because.startswith("memory ")
    assert because.endswith(" % > 0.2 %")
    why = cluster.shoal("why", "1")
    assert "waits, because all workers of group default are busy: memory " in why
    assert "shoal worker --group default" in why
    assert "▲ BUSY" in cluster.shoal("worker", "list")
    assert '"status": "BUSY"' in cluster.shoal("worker", "list", "--json")
    assert "1 (1 BUSY)" in cluster.shoal("queue")
    (event,) = busy.events("busy")
    assert event["because"].startswith("memory ")
    await cluster.worker()
    await cluster.all_ends(WITHIN_S)
    cluster.check_exactly_once(5)
    assert cluster.one("SELECT count(*) FROM task_instance WHERE worker_id = %s", busy.epoch) == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of eight megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


mounts = pytest.mark.skipif(
    os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0,
    reason="only root can mount a small disk, and not in every container",
)


@mounts
async def test_a_worker_whose_disk_fills_while_it_runs_fails_nothing_and_takes_again_when_it_is_freed(
    cluster: Cluster, small_disk: Path, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    define(cluster, f"while [ ! -e {gate} ]; do sleep 0.1; done")
    await cluster.master()
    limits = load("WORKER", DISK_FREE_MIN=str(4 * MIB), HOLD="1", MEMORY_MAX="1", LOAD_MAX="0")
    worker = await cluster.worker(SHOAL_WORKER__FOLDER=str(small_disk), **limits)
    cluster.start(1, 3)
    await eventually(lambda: len(cluster.journal.lines()) == 3)
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space left"), filler.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 65_536)
    await eventually(lambda: status_of(cluster, worker) == ("BUSY", "free disk 0 MiB < 4 MiB"))
    cluster.start(1, 4)
    await eventually(lambda: states(cluster) == {"RUNNING_EXECUTION": 3, "QUEUED": 4})
    assert "all workers of group default are busy: free disk 0 MiB < 4 MiB." in cluster.shoal("why", "7")
    gate.touch()
    await eventually(lambda: states(cluster) == {"SUCCESS": 3, "QUEUED": 4})
    filler.unlink()
    await cluster.all_ends(WITHIN_S)
    assert status_of(cluster, worker) == ("NORMAL", "")
    cluster.check_exactly_once(7)
    assert [len(worker.events(name)) for name in ("busy", "no_longer_busy")] == [1, 1]


# ------------------------------------------------------------------------------------------- masters


async def test_of_two_masters_the_busy_one_has_no_slot_and_takes_nothing(cluster: Cluster) -> None:
    define(cluster)
    await cluster.worker()
    busy = await cluster.master(**load("MASTER", **NO_MEMORY))
    ready = await cluster.master()
    await eventually(lambda: cluster.slots() == {busy.epoch: "None/None", ready.epoch: "0/1"})
    cluster.start(1, 200)
    await cluster.all_ends(WITHIN_S)
    cluster.check_exactly_once(200)
    assert taken_by(cluster) == {ready.epoch: 200}
    assert not ready.events("commands_taken_by_age")
    slots = cluster.shoal("master", "list")
    assert "▲ BUSY" in slots
    assert " % > 0.2 %" in slots


async def test_a_busy_master_leaves_what_waits_too_long_to_those_who_take(cluster: Cluster) -> None:
    define(cluster)
    await cluster.worker()
    busy = await cluster.master(**load("MASTER", **NO_MEMORY))
    ready = await cluster.master()
    await eventually(lambda: cluster.slots() == {busy.epoch: "None/None", ready.epoch: "0/1"})
    with ready.stopped():
        cluster.start(1, 20)
        # It is asleep, not yet dead: nobody has a slot but it. The busy one must fail over once it is fenced.
        await eventually(lambda: cluster.one("SELECT state FROM node WHERE id = %s", ready.epoch) == "FENCED")
        await eventually(lambda: taken_by(cluster) == {busy.epoch: 20})
        assert not busy.events("commands_taken_by_age")
    await cluster.all_ends(WITHIN_S)
    cluster.check_exactly_once(20)


async def test_when_all_masters_are_busy_all_keep_their_slots_and_take_what_comes(cluster: Cluster) -> None:
    define(cluster)
    await cluster.worker()
    masters = [await cluster.master(**load("MASTER", **NO_MEMORY)) for _ in range(2)]
    await cluster.slots_become(2, WITHIN_S)
    assert [status_of(cluster, master)[0] for master in masters] == ["BUSY", "BUSY"]
    cluster.start(1, 300)
    await cluster.all_ends(WITHIN_S)
    cluster.check_exactly_once(300)
    assert set(taken_by(cluster)) == {master.epoch for master in masters}
    assert list(cluster.slots().values()) == ["0/2", "1/2"]
    assert max(event["count"] for master in masters for event in master.events("commands_claimed")) <= 50


async def test_a_master_that_drives_as_much_as_it_may_gives_its_slot_away_and_gets_it_back(cluster: Cluster) -> None:
    gate = cluster.folder / "gate"
    define(cluster, f"while [ ! -e {gate} ]; do sleep 0.1; done")
    await cluster.worker(SHOAL_WORKER__CAPACITY="4")
    small = await cluster.master(SHOAL_MASTER__MAX_RUNNING_WORKFLOWS="10", SHOAL_MASTER__LOAD__HOLD="1")
    cluster.start(1, 9)
    await eventually(lambda: status_of(cluster, small) == ("BUSY", "runs 90 % > 80 %"))
    large = await cluster.master()
    await eventually(lambda: cluster.slots() == {small.epoch: "None/None", large.epoch: "0/1"})
    cluster.start(1, 10)
    await eventually(lambda: taken_by(cluster) == {small.epoch: 9, large.epoch: 10})
    gate.touch()
    await cluster.all_ends(WITHIN_S)
    await cluster.slots_become(2, WITHIN_S)
    assert status_of(cluster, small) == ("NORMAL", "")


async def test_a_full_master_that_is_alone_can_still_be_told_to_stop_a_run(cluster: Cluster) -> None:
    """It has room for no other run, and the run to be stopped frees some."""
    cluster.define(1, "long", tasks=[{"name": "a", "type": "FAKE", "params": {"sleep_s": 300}}])
    await cluster.master(SHOAL_MASTER__MAX_RUNNING_WORKFLOWS="2")
    await cluster.worker()
    cluster.start(1, 3)
    states = "SELECT state, count(*) FROM workflow_instance GROUP BY 1 ORDER BY 1"
    await eventually_within(lambda: cluster.rows(states), until=[("RUNNING_EXECUTION", 2)], within_s=WITHIN_S)
    assert cluster.one("SELECT count(*) FROM command") == 1
    cluster.rows("INSERT INTO command (type, workflow_instance_id) SELECT 'STOP', min(id) FROM workflow_instance")
    await eventually_within(
        lambda: cluster.rows(states), until=[("RUNNING_EXECUTION", 2), ("STOP", 1)], within_s=WITHIN_S
    )


async def test_a_busy_master_that_sleeps_and_wakes_is_busy_again_in_its_next_life(cluster: Cluster) -> None:
    busy = await cluster.master(**load("MASTER", **NO_MEMORY))
    await cluster.master()
    former = busy.epoch
    with busy.stopped():
        await eventually(lambda: cluster.one("SELECT state FROM node WHERE id = %s", former) == "FENCED")
    await eventually(lambda: busy.epoch != former)
    assert status_of(cluster, busy)[0] == "BUSY"
    busy.signal(signal.SIGTERM)
    assert await busy.ended(WITHIN_S) == 0
