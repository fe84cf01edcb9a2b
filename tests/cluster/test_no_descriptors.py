"""Real processes without descriptors for a moment: it is a verdict on nothing."""

from __future__ import annotations

from tests.cluster.cluster import Cluster, Node
from tests.cluster.test_outages import FLOWING, define_flowing
from tests.eventually import eventually
from tests.no_descriptors import no_descriptors

BEATS = 6
"""The beats of a node that can open nothing: long enough for whatever it does between two of them."""


async def some_beats(cluster: Cluster, node: Node) -> None:
    """Wait until it has beaten, or has tried to begin a new life, `BEATS` times."""
    seen: set[object] = set()

    def count() -> bool:
        seen.update(cluster.rows("SELECT node_id, beaten_at FROM node_beat WHERE node_id = %s", node.epoch))
        return len(seen) + len(node.events("cannot_join_yet")) > BEATS

    await eventually(count, within_s=20)


async def test_a_worker_without_descriptors_turns_busy_and_fails_nothing(cluster: Cluster) -> None:
    define_flowing(cluster)
    await cluster.master()
    worker = await cluster.worker(SHOAL_WORKER__LOAD__HOLD="1")
    cluster.start(FLOWING, 100)
    await eventually(lambda: len(cluster.journal.lines()) > 10, within_s=20)
    with no_descriptors(worker.pid):
        cluster.start(FLOWING, 30)
        await eventually(lambda: worker.events("busy"), within_s=20)
        assert "free descriptors" in worker.events("busy")[0]["because"]
        await some_beats(cluster, worker)
    await cluster.all_ends()
    cluster.check_exactly_once(130)
    assert cluster.rows("SELECT state, reason FROM task_instance WHERE state NOT IN ('SUCCESS', 'PAUSE')") == []
    assert cluster.one("SELECT count(*) FROM node WHERE state <> 'ALIVE'") == 0


async def test_a_master_without_descriptors_switches_no_schedule_off(cluster: Cluster) -> None:
    define_flowing(cluster)
    await cluster.worker()
    master = await cluster.master()
    insert = """INSERT INTO schedule (workflow_code, crontab, time_zone, state)
                SELECT %s, '* * * * * ? *', name, 'ONLINE' FROM unnest(%s::text[]) AS name"""
    zones = ["UTC", "Europe/Berlin", "Asia/Kathmandu", "America/Lima", "Pacific/Apia", "Africa/Lagos"]
    with no_descriptors(master.pid):
        cluster.rows(insert, FLOWING, zones)
        await some_beats(cluster, master)
    fired = "SELECT count(*) FROM schedule WHERE last_fire_at IS NOT NULL"
    await eventually(lambda: cluster.one(fired) == len(zones), within_s=15)
    assert cluster.rows("SELECT id, problem FROM schedule WHERE problem IS NOT NULL") == []
    assert cluster.rows("SELECT reason FROM error_command") == []
    assert cluster.one("SELECT count(*) FROM node WHERE state <> 'ALIVE'") == 0


async def test_a_master_that_is_fenced_without_descriptors_joins_again_when_it_has_some(cluster: Cluster) -> None:
    """A new life needs connections of its own: that the machine has none is no reason to end."""
    define_flowing(cluster)
    await cluster.worker()
    master = await cluster.master()
    with no_descriptors(master.pid, also_none_again=True):
        cluster.rows("UPDATE node SET state = 'FENCED', ended_at = now() WHERE id = %s", master.epoch)
        await eventually(lambda: len(master.events("cannot_join_yet")) >= 2, within_s=20)
    await eventually(lambda: len(master.events("joined")) == 2, within_s=30)
    cluster.start(FLOWING, 3)
    await cluster.all_ends()
    cluster.check_exactly_once(3)
