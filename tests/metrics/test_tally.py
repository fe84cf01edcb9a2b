"""Beats contain the counters of nodes."""

from __future__ import annotations

import json

from metrics import worker
from metrics.tally import Tally
from model.cluster.nodes import Counted
from tests.cluster.cluster import Cluster
from tests.cluster.conftest import patient as timing  # noqa: F401 - what its clusters live by
from tests.eventually import eventually


def test_a_life_counts_from_its_own_beginning() -> None:
    worker.attempts_claimed.inc(7)
    worker.queue_wait_seconds.observe(0.5)
    tally = Tally()
    assert tally.counted() == Counted()
    worker.attempts_claimed.inc(2)
    worker.attempts_ended.labels("SUCCESS").inc()
    worker.attempts_ended.labels("FAILURE").inc()
    worker.queue_wait_seconds.observe(0.25)
    assert tally.counted() == Counted(started=2, ended=2, waits=1, waits_s=0.25)


async def test_the_beats_of_a_real_master_and_worker_say_what_they_did(cluster: Cluster) -> None:
    cluster.define(1, "pair", tasks=[{"name": "a", "type": "FAKE"}, {"name": "b", "type": "FAKE", "after": ["a"]}])
    await cluster.master()
    await cluster.worker()
    cluster.start(1, 10)
    await cluster.all_ends()

    def counted() -> dict[str, Counted]:
        rows = cluster.rows("SELECT kind, heartbeat FROM node_beat JOIN node ON node.id = node_id")
        return {str(kind): Counted.model_validate(json.loads(str(beat))["counted"]) for kind, beat in rows}

    await eventually(lambda: counted()["WORKER"].ended == 20)
    await eventually(lambda: counted()["MASTER"].ends == 20)
    assert counted()["WORKER"].started == counted()["WORKER"].waits == 20
    assert counted()["WORKER"].waits_s > 0
    assert counted()["MASTER"].commands == 10
    assert counted()["MASTER"].started == 0
