"""Many runs at once over the API, and attempts of tasks across runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dao.accounts import members
from model.accounts.rights import Role
from tests.api.serving import BASE, Serving, token_of
from tests.api.verbs import assert_same, through
from tests.cluster.cluster import PATIENT, Cluster
from tests.eventually import eventually
from tests.shoal.command_line import Answer, CommandLine

BULK = f"{BASE}/workflow-instances:bulk"
STATES = ("FAILURE", "FAILURE", "SUCCESS", "RUNNING_EXECUTION", "PAUSE")
RUNS = """
    INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                   priority, worker_group, ended_at)
    SELECT 900 + n, CASE WHEN n > 3 THEN 8 ELSE 7 END, 1, (CAST(%s AS text[]))[n], 1, 'CONTINUE', 'MEDIUM', 'default',
           CASE WHEN (CAST(%s AS text[]))[n] <> 'RUNNING_EXECUTION' THEN clock_timestamp() END
    FROM generate_series(1, 5) AS n
"""


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(database_url, database_url, tmp_path, PATIENT) as made:
        made.define(7, "w", tasks=[{"name": "a", "type": "FAKE", "params": {}}])
        made.define(8, "v", tasks=[{"name": "b", "type": "FAKE", "params": {}}])
        yield made


async def operator(api: Serving, cluster: Cluster, role: Role = Role.OPERATOR) -> str:
    """A token of an account with a role in the project of workflow 7 alone; workflow 8 is another's."""
    cluster.rows("UPDATE workflow_definition SET project = 'theirs' WHERE code = 8")
    token = await token_of(api.backend, "olga")
    async with api.database.writing() as connection:
        await members.put(connection, cluster.one("SELECT id FROM account WHERE name = 'olga'"), "default", role)
    return token


async def test_what_would_be_done_is_said_first_and_then_done_once(api: Serving, cluster: Cluster) -> None:
    cluster.rows(RUNS, list(STATES), list(STATES))
    token = await token_of(api.backend, "ada", is_admin=True)
    async with api.client(token, **{"Idempotency-Key": "k1"}) as client:
        tried = await client.post(BULK, json={"action": "RERUN_FAILED", "filter": {}})
        assert tried.status_code == 200, tried.text
        assert (tried.json()["runs"], tried.json()["skipped_count"], tried.json()["run_ids"]) == (2, 3, ["1", "2"])
        assert [each["why"] for each in tried.json()["skipped"]] == [
            "1 ended as PAUSE, not as FAILURE",
            "1 is still running (RUNNING_EXECUTION)",
            "1 ended as SUCCESS, not as FAILURE",
        ]
        assert cluster.one("SELECT count(*) FROM command") == 0
        doing = {"action": "RERUN", "ids": ["1", "3", "4", "5", "77"], "dry_run": False}
        done = (await client.post(BULK, json=doing)).json()
        again = await client.post(BULK, json=doing)
        assert (again.json(), again.headers["Idempotency-Replayed"]) == (done, "true")
        progress = (await client.post(f"{BASE}/commands:progress", json={"ids": [*done["command_ids"], "99"]})).json()
    assert done["run_ids"] == ["1", "3", "5"]
    assert [each["why"] for each in done["skipped"]] == ["1 is still running (RUNNING_EXECUTION)", "there is no run 77"]
    rows = cluster.rows("SELECT id::text, workflow_instance_id::text, type, created_by FROM command ORDER BY id")
    ids = zip(done["command_ids"], done["run_ids"], strict=True)
    assert rows == [(command, run, "REPEAT_RUNNING", "ada") for command, run in ids]
    assert (progress["waiting"], progress["unknown"], progress["is_over"]) == (3, 1, False)
    audited = cluster.rows("SELECT project, after ->> 'runs', after -> 'first' FROM audit WHERE action = 'change_runs'")
    assert audited == [("default", "3", ["1", "3", "5"])]


async def test_it_is_said_how_many_keep_an_older_version(api: Serving, cluster: Cluster, database_url: str) -> None:
    cluster.rows(RUNS, list(STATES), list(STATES))
    cluster.rows("UPDATE workflow_definition SET version = 2 WHERE code = 7")
    token = await token_of(api.backend, "ada", is_admin=True)
    async with api.client(token) as client:
        counts = {
            action: (await client.post(BULK, json={"action": action, "filter": {}})).json()["older_versions"]
            for action in ("RERUN", "RERUN_FAILED", "RESUME", "STOP")
        }
    assert counts == {"RERUN": 3, "RERUN_FAILED": 2, "RESUME": 0, "STOP": 0}
    (answer,) = await CommandLine.at(database_url).each("runs rerun-failed --all")
    assert "  2 runs keep an older version of their workflow; with the newest: shoal rerun RUN --newest" in answer.out


async def test_many_runs_are_rerun_and_followed_to_their_end(api: Serving, cluster: Cluster) -> None:
    await cluster.master()
    await cluster.worker()
    cluster.start(7, 5)
    ended = "SELECT count(*) FROM workflow_instance WHERE state = 'SUCCESS' AND run_times = %s"
    await eventually(lambda: cluster.one(ended, 1), until=5, within_s=20)
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        asked = {"action": "RERUN", "filter": {"workflow": "w", "state": ["SUCCESS"], "since": "1h"}, "dry_run": False}
        done = (await client.post(BULK, json=asked)).json()
        assert done["runs"] == 5

        async def handled() -> int:
            answer = await client.post(f"{BASE}/commands:progress", json={"ids": done["command_ids"]})
            return int(answer.json()["done"])

        await eventually(handled, until=5, within_s=20)
        await eventually(lambda: cluster.one(ended, 2), until=5, within_s=20)
        path = f"{BASE}/task-instances"
        first = (await client.get(f"{path}?workflow=w&state=SUCCESS&type=FAKE&name=a&since=1h&limit=7")).json()
        rest = (await client.get(f"{path}?workflow=w&limit=7&cursor={first['next_cursor']}")).json()
        one = (await client.get(f"{path}/{first['items'][0]['id']}")).json()
        by_worker = (await client.get(f"{path}?worker={one['worker_id']}&worker_group=default&limit=100")).json()
        none = (await client.get(f"{path}?worker=nobody")).json()
        missing = await client.get(f"{path}/4711")
    assert (len(first["items"]), len(rest["items"]), rest["has_more"]) == (7, 3, False)
    assert (one["workflow"], one["name"], one["state"], one["project"]) == ("w", "a", "SUCCESS", "default")
    assert (len(by_worker["items"]), none["items"], missing.status_code) == (10, [], 404)


async def test_the_verbs_say_first_and_do_then(api: Serving, cluster: Cluster, database_url: str) -> None:
    cluster.rows(RUNS, list(STATES), list(STATES))
    direct, remote = CommandLine.at(database_url), await through(api)
    await assert_same(
        direct,
        remote,
        "runs rerun-failed --state failure --since 1d",
        "runs stop 1 4 77",
        "runs rerun --all --json",
        "runs stop",
        "runs stop 4 --wait",
        "task list --state failure",
    )
    (tried,) = await direct.each("runs rerun-failed --all")
    said = ["This would rerun what failed in 2 runs: 1, 2", "  Not changed: 1 ended as PAUSE, not as FAILURE"]
    assert tried.out.splitlines()[:2] == said
    await cluster.master()
    await cluster.worker()
    cluster.start(7, 2)
    (listed,) = await eventually(lambda: _both(remote), within_s=20)
    assert listed.out.count("✓ SUCCESS") == 2
    done = await remote("runs", "rerun", "--workflow", "w", "--since", "1h", "--state", "success", "--do", "--wait")
    assert (done.code, "Masters took 3, and refused 0." in done.out) == (0, True), done.out + done.err


async def _both(shoal: CommandLine) -> list[Answer]:
    answers = await shoal.each("task list --workflow w --type shell --type fake --name a --state success")
    return answers if answers[0].out.count("FAKE") == 2 else []


async def test_only_runs_of_projects_in_which_one_may_operate_are_changed(api: Serving, cluster: Cluster) -> None:
    cluster.rows(RUNS, list(STATES), list(STATES))
    async with api.client(await operator(api, cluster)) as client:
        of_all = await client.post(BULK, json={"action": "RERUN", "filter": {}})
        own = await client.post(BULK, json={"action": "RERUN", "ids": ["1"], "dry_run": False})
        theirs = await client.post(BULK, json={"action": "STOP", "ids": ["4"], "dry_run": False})
        none = await client.post(BULK, json={"action": "STOP", "ids": ["999"], "dry_run": False})
        of_them = await client.post(BULK, json={"action": "STOP", "filter": {"project": "theirs"}, "dry_run": False})
    assert of_all.json()["run_ids"] == ["1", "2", "3"]
    assert [each.status_code for each in (own, theirs, of_them)] == [202, 202, 404]
    assert theirs.text.replace("run 4", "") == none.text.replace("run 999", "")
    assert cluster.one("SELECT count(*) FROM command") == 1


async def test_a_viewer_changes_nothing_and_sees_only_its_projects(api: Serving, cluster: Cluster) -> None:
    cluster.rows(RUNS, list(STATES), list(STATES))
    cluster.rows(
        "INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group, "
        "workflow_priority, task_priority) "
        "SELECT n, 1, 't', 'FAKE', 'QUEUED', 'default', 'MEDIUM', 'MEDIUM' FROM generate_series(1, 5) AS n"
    )
    cluster.rows("INSERT INTO command (type, workflow_instance_id) VALUES ('STOP', 1), ('STOP', 4)")
    ids = [str(id_) for (id_,) in cluster.rows("SELECT id FROM command ORDER BY id")]
    async with api.client(await operator(api, cluster, Role.VIEWER)) as client:
        asked: list[dict[str, Any]] = [{"filter": {}}, {"ids": ["1"]}, {"filter": {"project": "default"}}]
        refused = [await client.post(BULK, json={"action": "STOP", **each}) for each in asked]
        listed = (await client.get(f"{BASE}/task-instances")).json()
        shown = [await client.get(f"{BASE}/task-instances/{id_}") for id_ in ("1", "5")]
        progress = (await client.post(f"{BASE}/commands:progress", json={"ids": ids})).json()
    assert [each.status_code for each in refused] == [403, 403, 403]
    assert [each["run_id"] for each in listed["items"]] == ["3", "2", "1"]
    assert [each.status_code for each in shown] == [200, 404]
    assert (progress["waiting"], progress["unknown"]) == (1, 1)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"action": "RERUN"}, None),
        ({"action": "RERUN", "ids": ["1"], "filter": {}}, None),
        ({"action": "BURN", "ids": ["1"]}, "/action"),
        ({"ids": ["1"]}, "/action"),
        ({"action": "RERUN", "ids": ["x"]}, "/ids/0"),
        ({"action": "RERUN", "ids": ["1"] * 10_001}, "/ids"),
        ({"action": "RERUN", "filter": {"nonsense": 1}}, "/filter/nonsense"),
        ({"action": "RERUN", "filter": {"since": "soon"}}, None),
    ],
)
async def test_a_wrong_request_for_many_runs_is_a_sentence(
    api: Serving, cluster: Cluster, body: dict[str, Any], pointer: str | None
) -> None:
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        answer = await client.post(BULK, json=body)
    assert answer.status_code == 422, answer.text
    assert pointer is None or [each["pointer"] for each in answer.json()["errors"]] == [pointer]


async def test_no_more_than_ten_thousand_runs_are_changed_by_one_request(api: Serving, cluster: Cluster) -> None:
    cluster.rows(
        RUNS.replace("generate_series(1, 5)", "generate_series(1, 10000)").replace(")[n]", ")[1]"),
        ["FAILURE"],
        ["FAILURE"],
    )
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        done = await client.post(BULK, json={"action": "RERUN", "filter": {}, "dry_run": False})
    assert (done.status_code, len(done.json()["command_ids"]), "operation_id" in done.json()) == (202, 10_000, False)
    assert cluster.one("SELECT count(*) FROM command WHERE type = 'REPEAT_RUNNING'") == 10_000
