"""One task is tried without saving a workflow: by a command, in no list of workflows, and deleted afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from dao.definitions import trials
from model.accounts.rights import Role, Scope
from tests.api.people import member
from tests.api.serving import BASE, Serving
from tests.cluster.cluster import PATIENT, Cluster
from tests.dao.scene import Scene
from tests.eventually import eventually

PATH = BASE + "/task-definitions:try"
GREET = 'name: greet\ntype: SHELL\nafter: [another]\npriority: HIGH\nparams:\n  script: |\n    echo "Hello, ${name}"\n'


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(database_url, database_url, tmp_path, PATIENT) as made:
        yield made


async def items(client: httpx.AsyncClient, path: str, **query: Any) -> list[Any]:
    answer = await client.get(BASE + path, params=query)
    assert answer.status_code == 200, answer.text
    found: list[Any] = answer.json()["items"]
    return found


async def test_what_a_task_is_to_the_others_of_its_workflow_keeps_nobody_from_trying_it(
    admin: httpx.AsyncClient,
) -> None:
    for field in ({"teardown": True}, {"on_exit": True}, {"start_when": "all_done"}):
        task = {"name": "last", "type": "FAKE", "after": ["another"], "timeout": 5, **field}
        answer = await admin.post(PATH, json={"task": task})
        assert answer.status_code == 202, answer.text


async def test_a_task_runs_once_with_sample_values_and_leaves_no_workflow(
    api: Serving, admin: httpx.AsyncClient, cluster: Cluster
) -> None:
    await cluster.master()
    await cluster.worker()
    await cluster.slots_become(1)
    body = {"yaml": GREET, "params": {"name": "Ada"}}
    answer = await admin.post(PATH, json=body, params={"wait": 20}, headers={"Idempotency-Key": "k"})
    assert answer.status_code == 200, answer.text
    tried = answer.json()
    run = tried["run_id"]
    again = await admin.post(PATH, json=body, params={"wait": 20}, headers={"Idempotency-Key": "k"})
    assert again.json()["command_id"] == tried["command_id"]
    state = f"SELECT state = 'SUCCESS' FROM workflow_instance WHERE id = {run}"
    await eventually(lambda: cluster.one(state), within_s=20)
    (task,) = (await admin.get(f"{BASE}/workflow-instances/{run}")).json()["tasks"]
    log = await admin.get(f"{BASE}/task-instances/{task['id']}/log")
    assert "Hello, Ada" in log.text
    assert (task["name"], tried["workflow"].startswith("trial of greet ")) == ("greet", True)
    assert await items(admin, "/workflow-definitions") == []
    assert await items(admin, "/projects") == []
    assert await items(admin, "/search", q="greet") == []
    assert await items(admin, "/names", kind="workflow", prefix="trial") == []
    assert len(await items(admin, "/workflow-instances")) == 1
    scene = Scene(api.database)
    assert await scene.sql("SELECT type FROM command_history") == ["START_PROCESS"]
    async with api.database.writing() as connection:
        assert await trials.delete_ended(connection, 10) == 0
        assert await trials.delete_ended(connection, 10, timedelta(0)) == 1
    assert await scene.sql("SELECT count(*) FROM workflow_definition UNION SELECT count(*) FROM workflow_version") == [
        0
    ]
    assert (await admin.get(f"{BASE}/workflow-instances/{run}")).status_code == 200


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"task": {"name": "a", "type": "NOTHING"}}, "NOTHING"),
        ({"task": {"name": "a", "type": "SHELL"}}, '"/task/params"'),
        ({"yaml": "- a\n- b\n"}, "one task"),
        ({"yaml": "a: [\n"}, "task:2"),
        ({}, "either"),
        ({"task": {"name": "a", "type": "FAKE"}, "yaml": GREET}, "either"),
        ({"task": {"name": "s", "type": "SUB_PROCESS", "params": {"workflow": "gone"}}}, "gone"),
    ],
)
async def test_what_is_wrong_is_said_and_nothing_is_left(
    api: Serving, admin: httpx.AsyncClient, body: dict[str, Any], said: str
) -> None:
    answer = await admin.post(PATH, json=body)
    assert (answer.status_code, said in answer.text) == (422, True), answer.text
    assert await Scene(api.database).sql("SELECT code FROM workflow_definition") == []


async def test_an_editor_may_and_trials_are_limited_and_wait_for_their_runs(
    api: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.workflows.trying.TRIALS_MAX", 1)
    scopes = frozenset({Scope.DEFINITIONS_WRITE})
    body = {"project": "etl", "task": {"name": "a", "type": "FAKE", "params": {"sleep_s": 1}}}
    operator = await member(api.backend, "otto", "etl", Role.OPERATOR, scopes)
    editor = await member(api.backend, "eve", "etl", Role.EDITOR, scopes)
    async with api.client(operator) as otto, api.client(editor) as eve:
        assert (await otto.post(PATH, json=body)).status_code == 403
        assert (await eve.post(PATH, json=body)).status_code == 202
        more = await eve.post(PATH, json=body)
        assert (more.status_code, "limit" in more.text) == (422, True)
    async with api.database.writing() as connection:
        assert await trials.delete_ended(connection, 10, timedelta(0)) == 0, "its command waits"
