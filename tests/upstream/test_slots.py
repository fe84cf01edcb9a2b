"""Slots: each has one owner, and an owner that has much to do keeps its own."""

from __future__ import annotations

import asyncio
import signal

import pytest

from tests.cluster.cluster import Cluster
from tests.eventually import eventually
from tests.scenarios.engine import BY_HAND, Engine

NEVER_BY_AGE = {"SHOAL_MASTER__STEAL_AFTER": "600"}
"""A command in a slot that nobody holds stays there, and the test sees it."""
AT_ONCE = {"tasks": [{"name": "a", "type": "FAKE", "flag": "NO"}]}
"""A run that is over as soon as it is begun, without any worker."""
VIEWS = """SELECT count(DISTINCT b.heartbeat::json->>'view') FROM node n JOIN node_beat b ON b.node_id = n.id
           WHERE n.kind = 'MASTER' AND n.state = 'ALIVE'"""
BUSY = """SELECT count(*) FROM node n JOIN node_beat b ON b.node_id = n.id
          WHERE n.kind = 'MASTER' AND n.state = 'ALIVE' AND b.heartbeat::json->>'status' = 'BUSY'"""


async def test_17232_all_masters_sort_the_member_list_alike(cluster: Cluster) -> None:
    """Upstream: after a rolling update each master had the same members in another order, so that two held one slot
    and one slot had nobody; its commands waited for ever.
    Here: however they come and go at once, all have one view, and each slot one holder, who takes what is in it.
    """
    cluster.define(1, "at once", **AT_ONCE)
    old = await asyncio.gather(*(cluster.master(**NEVER_BY_AGE) for _ in range(2)))
    await cluster.slots_become(2)
    for master in old:
        master.signal(signal.SIGTERM)
    await asyncio.gather(*(cluster.master(**NEVER_BY_AGE) for _ in range(3)), *(master.ended(60) for master in old))
    await cluster.slots_become(3)
    await eventually(lambda: cluster.one(VIEWS), until=1)
    cluster.start(1, 60)
    await cluster.all_ends()
    cluster.check_exactly_once(60)
    taken = cluster.rows("SELECT DISTINCT command_id %% 3, slot_current, slot_total FROM command_history ORDER BY 1")
    assert taken == [(slot, slot, 3) for slot in range(3)]


async def test_17232_a_slot_whose_owner_does_nothing_is_swept_by_age(cluster: Cluster) -> None:
    """Upstream: commands of a slot that no master served were looked at by nobody else.
    Here: after `steal_after` any master takes them, long before the owner of the slot counts as dead.
    """
    patient = {"SHOAL_TIMING__SESSION_TIMEOUT": "50", "SHOAL_TIMING__MASTER_FENCE_AFTER": "50"}
    quick = {"SHOAL_MASTER__STEAL_AFTER": "0.5", "SHOAL_MASTER__LOOK_EVERY": "0.2"}
    cluster.define(1, "at once", **AT_ONCE)
    idle, busy = [await cluster.master(**patient, **quick) for _ in range(2)]
    await cluster.slots_become(2)
    with idle.stopped():
        cluster.start(1, 20)
        await cluster.all_ends(within_s=30)
        assert cluster.one("SELECT state FROM node WHERE id = %s", idle.epoch) == "ALIVE"
        assert cluster.rows("SELECT master_id, count(*) FROM command_history GROUP BY 1") == [(busy.epoch, 20)]
    cluster.check_exactly_once(20)


@pytest.mark.parametrize("masters", [1, 2])
async def test_18570_where_every_master_is_busy_each_keeps_its_slot(laptop: Cluster, masters: int) -> None:
    """Upstream: the only master, overloaded, left the list of those that share the commands. Nobody took any for 100
    minutes; 690 runs were lost.
    Here: where all are BUSY all stay, and as soon as there is room the commands are taken, though they are BUSY still.
    """
    engine = Engine(laptop)
    laptop.define(1, "by hand", tasks=[{"name": "a", **BY_HAND}])
    laptop.define(2, "at once", **AT_ONCE)
    small = {"SHOAL_MASTER__MAX_RUNNING_WORKFLOWS": "2", **NEVER_BY_AGE}
    await asyncio.gather(*(laptop.master(**small) for _ in range(masters)))
    await laptop.slots_become(masters)
    runs = [await engine.begin(1) for _ in range(2 * masters)]
    await eventually(lambda: laptop.one(BUSY), until=masters, within_s=20)
    laptop.start(2, 30)
    await laptop.slots_become(masters)
    assert laptop.one("SELECT count(*) FROM command") == 30, "a full master takes nothing more"
    for run in runs:
        await engine.claim(run, "a")
        engine.report(run, "a", "SUCCESS")
    ended = "SELECT count(*) FROM workflow_instance WHERE workflow_code = 2 AND state = 'SUCCESS'"
    await eventually(lambda: laptop.one(ended), until=30, within_s=20)
    assert laptop.rows("SELECT reason FROM error_command") == []
