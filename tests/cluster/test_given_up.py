"""A run that was given up: what of it still runs is ended first, and only then may it run again."""

from __future__ import annotations

import signal

from tests.cluster.cluster import Cluster
from tests.scenarios.engine import BY_HAND, Engine


async def test_what_was_given_up_is_not_revived_while_a_task_of_it_still_runs(cluster: Cluster) -> None:
    """Its third master has died of it, while its task is on a worker that is slow to end it."""
    engine = Engine(cluster)
    workflow = engine.define({"name": "a", **BY_HAND})
    masters = {node.epoch: node for node in [await cluster.master(), await cluster.master()]}
    run = await engine.begin(workflow)
    await engine.claim(run, "a")
    cluster.rows("UPDATE workflow_instance SET takeovers = 2")
    masters[cluster.one("SELECT master_id FROM workflow_instance")].signal(signal.SIGKILL)
    assert await engine.end(run) == "FAILURE"
    assert "its masters died 3 times" in str(engine.reason(run))

    assert "are still being ended" in await engine.refused(engine.ask("REPEAT_RUNNING", run=run))
    assert engine.attempts(run, "a") == [("RUNNING_EXECUTION", "YES")]

    engine.report(run, "a", "KILL")
    await engine.change("REPEAT_RUNNING", run)
    await engine.claim(run, "a")
    engine.report(run, "a", "SUCCESS")
    assert await engine.end(run) == "SUCCESS"
    assert [state for state, _ in engine.attempts(run, "a")] == ["KILL", "SUCCESS"]
