"""Masters come, die, sleep and leave while commands flow in: each is handled once, each workflow ends."""

from __future__ import annotations

import asyncio
import signal

import pytest

from tests.cluster.cluster import PATIENT, Cluster
from tests.eventually import eventually

COMMANDS = 300
"""More at once than three masters take in: at each moment some wait, some run. `make chaos-promises` has 1,000."""
PORTIONS = 20
JOURNALED = 1001


def _define(cluster: Cluster) -> None:
    """A task that writes the journal, then a diamond of FAKE ones."""
    cluster.define(
        JOURNALED,
        "journaled",
        tasks=[
            {"name": "write", "type": "SHELL", "params": {"script": cluster.journal.script()}},
            {"name": "left", "type": "FAKE", "after": ["write"]},
            {"name": "right", "type": "FAKE", "after": ["write"], "params": {"sleep_s": 0.05}},
            {"name": "join", "type": "FAKE", "after": ["left", "right"]},
        ],
    )


async def _flow(cluster: Cluster) -> None:
    """Insert the commands in portions, over about two seconds."""
    for _ in range(PORTIONS):
        cluster.start(JOURNALED, COMMANDS // PORTIONS)
        await asyncio.sleep(0.1)


async def test_each_master_that_comes_takes_its_share(cluster: Cluster) -> None:
    cluster.environment |= PATIENT
    _define(cluster)
    await cluster.worker()
    for total in (1, 2, 3):
        await cluster.master()
        await cluster.slots_become(total)
    await _flow(cluster)
    await cluster.all_ends()
    cluster.check_exactly_once(COMMANDS)
    strays = "SELECT count(*) FROM command_history WHERE slot_total = 3 AND command_id %% 3 <> slot_current"
    assert cluster.one(strays) == 0
    shares = cluster.rows("SELECT master_id, count(*) FROM command_history GROUP BY 1")
    assert len(shares) == 3
    assert all(count > COMMANDS / 6 for _, count in shares)


async def test_a_killed_master_s_work_goes_on_elsewhere(cluster: Cluster) -> None:
    _define(cluster)
    await cluster.worker()
    masters = [await cluster.master() for _ in range(3)]
    await cluster.slots_become(3)
    flow = asyncio.create_task(_flow(cluster))
    await eventually(lambda: cluster.one("SELECT count(*) FROM command_history") > COMMANDS / 10)
    masters[1].signal(signal.SIGKILL)
    await flow
    await cluster.slots_become(2)
    await cluster.all_ends()
    cluster.check_exactly_once(COMMANDS)
    assert cluster.one("SELECT state FROM node WHERE id = %s", masters[1].epoch) == "FENCED"
    await cluster.master()
    await cluster.slots_become(3)


async def test_a_sleeping_master_finds_itself_fenced_when_it_wakes(cluster: Cluster) -> None:
    _define(cluster)
    await cluster.worker()
    masters = [await cluster.master() for _ in range(3)]
    await cluster.slots_become(3)
    sleeper, former = masters[0], masters[0].epoch
    flow = asyncio.create_task(_flow(cluster))
    await eventually(lambda: cluster.one("SELECT count(*) FROM command_history") > COMMANDS / 10)
    with sleeper.stopped():
        await eventually(lambda: cluster.one("SELECT state FROM node WHERE id = %s", former) == "FENCED", within_s=20)
        await flow
        await cluster.slots_become(2)
        await cluster.all_ends()
        last_write = cluster.one("SELECT max(ended_at) FROM workflow_instance")
    await eventually(lambda: sleeper.events("fenced"), within_s=10)
    await cluster.slots_become(3)
    assert sleeper.epoch > former
    cluster.check_exactly_once(COMMANDS)
    assert cluster.one("SELECT max(ended_at) FROM workflow_instance") == last_write


async def test_a_master_that_is_set_to_exit_when_fenced_exits_when_it_wakes(cluster: Cluster) -> None:
    """For supervisors that prefer to start a fresh process; the exit code is its own."""
    sleeper = await cluster.master(SHOAL_MASTER__WHEN_FENCED="exit")
    await cluster.master()
    await cluster.slots_become(2)
    with sleeper.stopped():
        await cluster.slots_become(1)
    assert await sleeper.ended() == 75
    assert len(sleeper.events("joined")) == len(sleeper.events("fenced")) == 1


async def test_a_master_that_is_asked_to_stop_fails_over_and_leaves(cluster: Cluster) -> None:
    _define(cluster)
    cluster.define(1002, "slow", tasks=[{"name": "sleep", "type": "FAKE", "params": {"sleep_s": 4}}])
    await cluster.worker(SHOAL_WORKER__CAPACITY="100")
    masters = [await cluster.master() for _ in range(3)]
    await cluster.slots_become(3)
    cluster.start(1002, 30)
    await eventually(lambda: cluster.one("SELECT count(*) FROM task_instance WHERE state = 'RUNNING_EXECUTION'") == 30)
    flow = asyncio.create_task(_flow(cluster))
    masters[2].signal(signal.SIGTERM)
    assert await masters[2].ended() == 0
    assert cluster.one("SELECT state FROM node WHERE id = %s", masters[2].epoch) == "LEFT"
    await flow
    await cluster.slots_become(2)
    await cluster.all_ends()
    cluster.check_exactly_once(COMMANDS + 30)
    assert cluster.one("SELECT max(attempt) FROM task_instance") == 1, "running tasks are restored, not run again"
    assert cluster.one("SELECT max(takeovers) FROM workflow_instance") == 0, "a master that left counts as no death"


async def test_a_second_signal_ends_a_master_at_once(cluster: Cluster) -> None:
    cluster.define(1002, "slow", tasks=[{"name": "sleep", "type": "FAKE", "params": {"sleep_s": 1}}])
    await cluster.worker()
    leaving = await cluster.master(SHOAL_MASTER__DRAIN="60")
    cluster.start(1002)
    await eventually(lambda: cluster.one("SELECT count(*) FROM workflow_instance") == 1)
    leaving.signal(signal.SIGTERM)
    await eventually(lambda: leaving.events("leaving"))
    leaving.signal(signal.SIGTERM)
    assert await leaving.ended(5) == 130
    await cluster.master()
    await cluster.all_ends()


async def test_a_wait_survives_the_master_that_set_it(cluster: Cluster) -> None:
    cluster.define(1, "later", tasks=[{"name": "a", "type": "FAKE", "delay_time": 4 / 60}])
    first = await cluster.master()
    await cluster.worker()
    cluster.start(1, 10)
    await eventually(lambda: cluster.one("SELECT count(*) FROM task_instance") == 10)
    first.signal(signal.SIGKILL)
    await cluster.master()
    await cluster.all_ends()
    assert cluster.rows("SELECT state, count(*) FROM task_instance GROUP BY 1") == [("SUCCESS", 10)]
    waits = "SELECT extract(epoch FROM t.queued_at - i.started_at)::float8 FROM task_instance t, workflow_instance i"
    assert all(4.0 <= waited < 30 for (waited,) in cluster.rows(f"{waits} WHERE i.id = t.workflow_instance_id"))


async def test_two_masters_cannot_have_one_address(cluster: Cluster) -> None:
    first = await cluster.master(SHOAL_PORT="0")
    address = first.events("joined")[0]["master"]
    port = address.rpartition(":")[2]
    with pytest.raises(AssertionError, match=port):
        await cluster.master(SHOAL_PORT=port)
    assert cluster.one("SELECT count(*) FROM node") == 1
