"""Watchers see what real masters and workers do, within seconds of the commit, and in order."""

from __future__ import annotations

import json
import signal
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest_asyncio
from sqlalchemy import make_url

from dao.postgres.database import Database
from service.live.hub import Hub
from tests.cluster.cluster import Cluster
from tests.cluster.conftest import patient as timing  # noqa: F401 - what its clusters live by
from tests.eventually import eventually
from tests.live.listening import Heard, heard, running

ORDER = ["QUEUED", "RUNNING_EXECUTION", "SUCCESS"]


@pytest_asyncio.fixture
async def hub(laptop: Cluster) -> AsyncIterator[Hub]:
    url = make_url(laptop.psql_url).set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
    database = Database(url, application_name="shoal-test-api")
    async with running(Hub(database), database) as made:
        yield made
    await database.close()


class Watched(Heard):
    """Also when each event came."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.came: list[datetime] = []

    async def read(self) -> None:
        async for event in self.listening:
            self.came.append(datetime.now(UTC))
            self.events.append(event)


def states(got: Heard) -> dict[str, list[str]]:
    """The states of each task in the order in which they came, without repeats."""
    found: dict[str, list[str]] = {}
    for event in got.of("run"):
        for task in event.get("tasks", ()):
            seen = found.setdefault(task["name"], [])
            if not seen or seen[-1] != task["state"]:
                seen.append(task["state"])
    return found


async def test_a_run_its_tasks_the_queue_and_the_nodes_are_seen_as_they_change(
    laptop: Cluster, hub: Hub, tmp_path: Path
) -> None:
    with hub.listen(["runs", "queue", "cluster"]) as listening, heard(listening, Watched) as got:
        master = await laptop.master()
        worker = await laptop.worker()
        await laptop.slots_become(1)
        await eventually(lambda: '"slot":"0/1"' in got.of_text("cluster") and '"WORKER"' in got.of_text("cluster"))
        seen_to_run = tmp_path / "seen"
        script = f"while [ ! -e {seen_to_run} ]; do sleep 0.05; done"
        tasks = [
            {"name": "a", "type": "SHELL", "params": {"script": "sleep 0.4"}},
            {"name": "b", "type": "SHELL", "params": {"script": script}, "after": ["a"]},
        ]
        laptop.define(1, "two", tasks=tasks)
        laptop.start(1)
        await eventually(lambda: got.of("runs"))
        run = got.of("runs")[0]["runs"][0]
        assert (run["workflow"], run["project"]) == ("two", "default")
        with hub.listen([f"run:{run['id']}"]) as one, heard(one, Watched) as tasks_got:
            await eventually(lambda: "RUNNING_EXECUTION" in states(tasks_got).get("b", []))
            seen_to_run.touch()
            await eventually(lambda: got.of("runs")[-1]["runs"][-1]["state"] == "SUCCESS")
            await eventually(lambda: {"SUCCESS": 2} in [event.get("counts") for event in tasks_got.of("run")])
            await eventually(lambda: tasks_got.of("run")[-1]["run"]["state"] == "SUCCESS")
        seen = states(tasks_got)
        assert set(seen) == {"a", "b"}
        assert all(each == [state for state in ORDER if state in each] for each in seen.values()), "in order"
        assert seen["b"][-2:] == ORDER[1:]
        ended_at = datetime.fromisoformat(got.of("runs")[-1]["runs"][-1]["ended_at"])
        came_at = max(came for event, came in zip(got.events, got.came, strict=True) if event.kind == "runs")
        assert (came_at - ended_at).total_seconds() < 30
        assert got.of("queue")

        laptop.rows("INSERT INTO command (type, workflow_code) VALUES ('START_PROCESS', 4711)")
        await eventually(lambda: any(event["errors"] == 1 for event in got.of("queue")))
        worker.signal(signal.SIGTERM)
        await eventually(lambda: str(worker.epoch) in json.dumps([event["gone"] for event in got.of("cluster")]))
        assert master.is_alive


async def test_a_rerun_of_tasks_is_seen_too(laptop: Cluster, hub: Hub) -> None:
    await laptop.master()
    await laptop.worker()
    laptop.define(1, "fails", tasks=[{"name": "a", "type": "SHELL", "params": {"script": "exit 1"}}])
    laptop.start(1)
    await laptop.all_ends()
    run = laptop.one("SELECT id FROM workflow_instance")
    with hub.listen([f"run:{run}"]) as listening, heard(listening) as got:
        laptop.shoal("rerun", str(run))
        await eventually(lambda: got.of("run") and got.of("run")[-1]["run"]["state"] == "FAILURE", within_s=15)
        attempts = {task["attempt"]: task for event in got.of("run") for task in event.get("tasks", ())}
        assert attempts[2]["state"] == "FAILURE" and attempts[2]["valid"] and not attempts[1]["valid"]
