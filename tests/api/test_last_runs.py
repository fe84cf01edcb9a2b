"""What the page draws of many runs: bars of the last ones, a grid of their tasks, a histogram, counts, progress."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from dao.postgres.database import Database
from model.accounts.rights import Role, Scope
from tests.api.people import member
from tests.api.serving import BASE, Serving
from tests.dao.scene import Scene

SPEC = {"tasks": [{"name": name, "code": code, "type": "FAKE", "params": {}} for name, code in (("a", 1), ("b", 2))]}

READS = frozenset({Scope.RUNS_READ, Scope.DEFINITIONS_READ})


async def get(client: httpx.AsyncClient, path: str, **query: Any) -> dict[str, Any]:
    answer = await client.get(BASE + path, params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


class History:
    """Workflows 1 and 2 of projects "default" and "other", and runs of them that started some minutes ago."""

    def __init__(self, database: Database) -> None:
        self.scene = Scene(database)
        self._command = 0

    async def define(self, code: int, project: str = "default", version: int = 1) -> None:
        await self.scene.sql(
            "INSERT INTO workflow_definition (code, name, project, version) VALUES (:code, :name, :project, :version) "
            "ON CONFLICT (code) DO UPDATE SET version = :version",
            code=code,
            name=f"w{code}",
            project=project,
            version=version,
        )
        await self.scene.sql(
            "INSERT INTO workflow_version (workflow_code, version, spec) VALUES (:code, :version, :spec)",
            code=code,
            version=version,
            spec=json.dumps(SPEC),
        )

    async def run(self, code: int, minutes_ago: float, state: str = "SUCCESS", took_s: float | None = 10) -> int:
        self._command += 1
        (run,) = await self.scene.sql(
            "INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, "
            "failure_strategy, priority, worker_group, started_at, schedule_time, ended_at) "
            "SELECT :command, :code, 1, :state, 1, 'CONTINUE', 'MEDIUM', 'default', start, start, "
            "start + CAST(:took AS float8) * interval '1 s' "
            "FROM (SELECT now() - CAST(:ago AS float8) * interval '1 min' AS start) AS begun RETURNING id",
            command=self._command,
            code=code,
            state=state,
            ago=minutes_ago,
            took=took_s,
        )
        return int(run)

    async def task(self, run: int, code: int, state: str, **more: Any) -> None:
        values = {"workflow_instance_id": run, "task_code": code, "task_name": "ab"[code - 1], "state": state, **more}
        values |= {"task_type": "FAKE", "worker_group": "default"}
        values |= {"workflow_priority": "MEDIUM", "task_priority": "MEDIUM"}
        names = ", ".join((*values, "started_at", "ended_at"))
        places = ", ".join(f":{name}" for name in values)
        ended = "NULL" if state == "RUNNING_EXECUTION" else "now()"
        await self.scene.sql(f"INSERT INTO task_instance ({names}) VALUES ({places}, now(), {ended})", **values)


@pytest.fixture
async def history(api: Serving) -> History:
    made = History(api.database)
    await made.define(1)
    await made.define(2, "other")
    return made


async def test_the_last_runs_of_each_workflow_are_bars(
    api: Serving, admin: httpx.AsyncClient, history: History
) -> None:
    ids = [await history.run(1, ago, took_s=took) for ago, took in ((50, 5), (40, 7), (30, 20))]
    ids.append(await history.run(1, 1, "RUNNING_EXECUTION", None))
    await history.run(2, 3, "FAILURE")
    found = (await get(admin, "/workflow-definitions:last-runs", code=["2", "1", "99"], runs=3))["items"]
    assert [(each["code"], len(each["runs"])) for each in found] == [("1", 3), ("2", 1)]
    assert [run["id"] for run in found[0]["runs"]] == [str(id_) for id_ in ids[1:]]
    assert (found[0]["usual_s"], found[0]["runs"][0]["elapsed_s"]) == (7.0, 7.0)
    assert found[0]["runs"][-1]["elapsed_s"] == pytest.approx(60, abs=30)
    assert found[1]["runs"][0]["state"] == "FAILURE"
    async with api.client(await member(api.backend, "ada", "default", Role.VIEWER, READS)) as ada:
        seen = (await get(ada, "/workflow-definitions:last-runs", code=["1", "2"]))["items"]
        assert [each["code"] for each in seen] == ["1"]
        assert (await ada.get(f"{BASE}/workflow-definitions/2/grid")).status_code == 404
    assert (await admin.get(f"{BASE}/workflow-definitions:last-runs")).status_code == 422


async def test_a_grid_has_the_tasks_of_all_versions(admin: httpx.AsyncClient, history: History) -> None:
    first, second = await history.run(1, 20), await history.run(1, 10, "FAILURE")
    await history.task(first, 1, "SUCCESS")
    await history.task(second, 1, "FAILURE", attempt=1, flag="NO")
    await history.task(second, 1, "SUCCESS", attempt=2)
    await history.task(second, 2, "FAILURE")
    await history.scene.sql(
        "INSERT INTO task_instance (workflow_instance_id, task_code, task_name, state, task_type, worker_group, "
        "workflow_priority, task_priority, started_at, ended_at) "
        "VALUES (:run, 9, 'gone', 'SUCCESS', 'FAKE', 'default', 'MEDIUM', 'MEDIUM', now(), now())",
        run=first,
    )
    grid = await get(admin, "/workflow-definitions/1/grid")
    assert [run["id"] for run in grid["runs"]] == [str(first), str(second)]
    assert [(task["name"], task["is_current"]) for task in grid["tasks"]] == [("a", True), ("b", True), ("gone", False)]
    cells = [(each["run_id"], each["task_code"], each["state"], each["attempt"]) for each in grid["cells"]]
    assert cells == [
        (str(first), "1", "SUCCESS", 1),
        (str(first), "9", "SUCCESS", 1),
        (str(second), "1", "SUCCESS", 2),
        (str(second), "2", "FAILURE", 1),
    ]
    assert grid["is_complete"]
    assert len((await get(admin, "/workflow-definitions/1/grid", runs=1))["runs"]) == 1


async def test_a_histogram_and_a_count_obey_the_filter_and_the_rights(
    api: Serving, admin: httpx.AsyncClient, history: History
) -> None:
    for ago, code, state in ((5, 1, "SUCCESS"), (6, 1, "FAILURE"), (100, 2, "FAILURE"), (3000, 1, "SUCCESS")):
        await history.run(code, ago, state)
    path = "/workflow-instances:histogram"
    day = await get(admin, path, bars=24)
    assert (day["total"], day["bar_s"], day["is_complete"]) == (3, 3600, True)
    assert [(bar["total"], bar["states"]) for bar in day["bars"]] == [
        (1, {"FAILURE": 1}),
        (2, {"FAILURE": 1, "SUCCESS": 1}),
    ]
    failed = await get(admin, path, bars=1, state="FAILURE", since="60m")
    assert [bar["states"] for bar in failed["bars"]] == [{"FAILURE": 1}]
    assert (await get(admin, path, workflow="w1", since="7d"))["total"] == 3
    assert (await get(admin, path, project="other"))["total"] == 1
    assert (await admin.get(f"{BASE}{path}?started_before=2020-01-01T00:00:00Z&since=1h")).status_code == 422
    count = "/workflow-instances:count"
    assert await get(admin, count) == {"number": 4, "kind": "exact", "is_more": False}
    assert (await get(admin, count, state="FAILURE", since="60m"))["number"] == 1
    estimate = await get(admin, count, count="estimate", state=["FAILURE", "SUCCESS"], workflow="w1", since="60m")
    assert (estimate["kind"], estimate["number"] >= 0) == ("estimate", True)
    async with api.client(await member(api.backend, "ada", "other", Role.VIEWER, READS)) as ada:
        assert ((await get(ada, count))["number"], (await get(ada, path))["total"]) == (1, 1)


@pytest.mark.parametrize(
    ("path", "field", "time"),
    [
        ("/workflow-instances:histogram?bars=500&", "started_before", "0001-01-01T12:00:00Z"),
        ("/workflow-instances:histogram?", "started_before", "9999-12-31T23:59:59-01:00"),
        ("/workflow-instances?", "started_after", "0001-01-01T00:00:00+01:00"),
        ("/audit?", "until", "9999-12-31T23:59:59-01:00"),
        ("/slot-changes?", "changed_before", "0001-01-01T00:00:00+01:00"),
    ],
)
async def test_a_time_at_the_end_of_the_calendar_is_refused(
    admin: httpx.AsyncClient, path: str, field: str, time: str
) -> None:
    answer = await admin.get(BASE + path + str(httpx.QueryParams({field: time})))
    assert answer.status_code == 422, answer.text
    assert field in answer.text


@pytest.mark.parametrize("time", ["0001-01-02T00:00:00Z", "9999-12-31T23:59:59Z"])
async def test_a_histogram_reaches_to_the_ends_of_the_calendar(admin: httpx.AsyncClient, time: str) -> None:
    assert (await get(admin, "/workflow-instances:histogram", bars=500, started_before=time))["total"] == 0


async def test_progress_counts_tasks_and_shows_what_they_report(
    api: Serving, admin: httpx.AsyncClient, history: History
) -> None:
    await history.run(1, 100, took_s=120)
    run, hidden = [await history.run(code, 1, "RUNNING_EXECUTION", None) for code in (1, 2)]
    await history.task(run, 1, "SUCCESS")
    await history.task(run, 2, "RUNNING_EXECUTION", progress_done=12, progress_total=40, progress_text="epoch 12/40")
    (found,) = (await get(admin, "/workflow-instances:progress", id=[run, 999_999]))["items"]
    assert (found["total"], found["done"], found["states"]) == (2, 1, {"SUCCESS": 1, "RUNNING_EXECUTION": 1})
    assert (found["usual_s"], found["left_s"]) == (120.0, pytest.approx(60, abs=30))
    (report,) = found["reports"]
    assert (report["task"], report["progress"]["percent"], report["progress"]["text"]) == ("b", 30.0, "epoch 12/40")
    async with api.client(await member(api.backend, "ada", "default", Role.VIEWER, READS)) as ada:
        seen = (await get(ada, "/workflow-instances:progress", id=[run, hidden]))["items"]
        assert [each["id"] for each in seen] == [str(run)]
