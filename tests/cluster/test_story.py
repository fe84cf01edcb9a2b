"""The story of a run, from the rows that a real cluster leaves: each kind of event, in order, with who and where."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

from shoal.cli.invocation import system_user
from tests.cluster.cluster import Cluster
from tests.eventually import eventually


def _story(cluster: Cluster, run: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(cluster.shoal("show", str(run), "--events", "--json"))
    assert [event["at"] for event in found] == sorted(event["at"] for event in found)
    return found


def _kinds(story: list[dict[str, Any]]) -> list[str]:
    return [event["kind"] for event in story]


async def test_a_run_that_fails_over_is_stopped_and_resumed_tells_so(cluster: Cluster, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    wait = {"script": f"while [ ! -e {gate} ]; do sleep 0.1; done"}
    cluster.define(1, "w", tasks=[{"name": "a", "type": "SHELL", "params": wait}])
    first = await cluster.master(SHOAL_NAME="m1")
    await cluster.worker(SHOAL_NAME="w1")
    cluster.start(1)
    running = "SELECT count(*) FROM task_instance WHERE state = 'RUNNING_EXECUTION'"
    await eventually(lambda: cluster.one(running) == 1)
    await cluster.master(SHOAL_NAME="m2")
    first.signal(signal.SIGKILL)
    taken = "SELECT count(*) FROM command_history WHERE type = 'RECOVER_TOLERANCE_FAULT_PROCESS'"
    await eventually(lambda: cluster.one(taken) == 1, within_s=30)
    cluster.shoal("stop", "1", "--wait")
    cluster.shoal("resume", "1")
    await eventually(lambda: cluster.one(running) == 1)
    gate.touch()
    await cluster.all_ends()
    story = _story(cluster, 1)
    assert _kinds(story) == [
        *("ASKED", "STARTED", "TASK_QUEUED", "TASK_STARTED", "FAILED_OVER"),
        *("ASKED", "HANDLED", "TASK_ENDED", "ASKED", "HANDLED", "TASK_QUEUED", "TASK_STARTED", "TASK_ENDED", "ENDED"),
    ]
    started, failed_over, ended = story[1], story[4], story[-1]
    assert (started["node"], started["slot"], started["command_type"]) == ("m1", "0/1", "START_PROCESS")
    assert (failed_over["node"], "by" in failed_over) == ("m2", False)
    asked = [(event["command_type"], event["by"]) for event in story if event["kind"] == "ASKED"]
    by_sql, by_verb = cluster.one("SELECT session_user"), system_user()
    assert asked == [("START_PROCESS", by_sql), ("STOP", by_verb), ("RECOVER_SUSPENDED_PROCESS", by_verb)]
    tasks = [(event["attempt"], event["node"], event["state"]) for event in story if event["kind"] == "TASK_ENDED"]
    assert tasks == [(1, "w1", "KILL"), (2, "w1", "SUCCESS")]
    assert ended["state"] == "SUCCESS"
    page = cluster.shoal("show", "1", "--events")
    assert "FAILED_OVER" in page
    assert "RECOVER_SUSPENDED_PROCESS" in page


async def test_children_failures_and_refusals_are_told(cluster: Cluster) -> None:
    cluster.define(2, "below", tasks=[{"name": "x", "type": "SHELL", "params": {"script": "exit 3"}}])
    below = {"name": "sub", "type": "SUB_PROCESS", "params": {"workflow": "below"}}
    cluster.define(1, "above", tasks=[below])
    await cluster.master()
    await cluster.worker()
    cluster.start(1)
    await cluster.all_ends()
    cluster.rows("INSERT INTO command (type, workflow_instance_id) VALUES ('PAUSE', 1)")
    await cluster.all_ends()
    story = _story(cluster, 1)
    kinds = _kinds(story)
    assert kinds[-2:] == ["ASKED", "REFUSED"]
    assert kinds[:2] == ["ASKED", "STARTED"]
    assert "cannot be paused" in story[-1]["reason"] or "FAILURE" in story[-1]["reason"]
    child = {event["kind"]: event for event in story if event.get("child_id")}
    assert child.keys() == {"CHILD_STARTED", "CHILD_ENDED"}
    assert (child["CHILD_ENDED"]["workflow"], child["CHILD_ENDED"]["task"], child["CHILD_ENDED"]["state"]) == (
        "below",
        "sub",
        "FAILURE",
    )
    ended = next(event for event in story if event["kind"] == "ENDED")
    assert ended["state"] == "FAILURE"
    (failed,) = [event for event in _story(cluster, 2) if event["kind"] == "TASK_ENDED"]
    assert (failed["state"], failed["reason"]) == ("FAILURE", "exit code 3")
