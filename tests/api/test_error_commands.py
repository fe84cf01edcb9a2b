"""Error commands over the API: who sees them, and how they are asked for again or dropped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from model.accounts.rights import Role, Scope
from tests.api.people import member
from tests.api.serving import BASE, Serving, token_of
from tests.cluster.cluster import PATIENT, Cluster
from tests.shoal.command_line import CommandLine

TASKS = [{"name": "a", "type": "FAKE", "params": {"duration": "${seconds}"}}]


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[Cluster]:
    """Without nodes: error commands stand there, and new commands stay."""
    with Cluster(database_url, database_url, tmp_path, PATIENT) as made:
        made.rows("INSERT INTO project (name) VALUES ('sales') ON CONFLICT DO NOTHING")
        made.define(7, "w", tasks=TASKS, params={"seconds": "1"})
        made.define(8, "x", tasks=TASKS)
        made.rows("UPDATE workflow_definition SET project = 'sales' WHERE code = 8")
        yield made


def refused(cluster: Cluster, id_: int, **fields: object) -> None:
    """A command that a master refused."""
    values = {"command_id": id_, "type": "START_PROCESS", "reason": f"reason {id_}", "master_id": 1, **fields}
    marks = ", ".join(["%s"] * len(values))
    cluster.rows(f"INSERT INTO error_command ({', '.join(values)}) VALUES ({marks})", *values.values())


async def test_one_sees_and_handles_those_of_ones_own_projects_and_an_admin_all(api: Serving, cluster: Cluster) -> None:
    refused(cluster, 1, workflow_code=7)
    refused(cluster, 2, workflow_code=8)
    refused(cluster, 3, workflow_code=-77, type="X" * 300)
    run = cluster.one(
        "INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, "
        "failure_strategy, priority, worker_group) "
        "VALUES (90, 8, 1, 'RUNNING_EXECUTION', 1, 'END', 'MEDIUM', 'default') RETURNING id"
    )
    refused(cluster, 4, workflow_code=7, workflow_instance_id=run, type="STOP")
    viewer = await member(api.backend, "vera", "default", Role.VIEWER)
    operator = await member(api.backend, "olga", "default", Role.OPERATOR)
    async with api.client(viewer) as client:
        page = (await client.get(f"{BASE}/error-commands")).json()
        assert [(each["id"], each["project"], each["reason"]) for each in page["items"]] == [
            ("1", "default", "reason 1")
        ]
        seen = await client.get(f"{BASE}/error-commands/1")
        assert seen.json() == page["items"][0]
        assert (await client.get(f"{BASE}/error-commands/2")).status_code == 404
        assert (await client.post(f"{BASE}/error-commands/1/retry")).status_code == 403
        assert (await client.delete(f"{BASE}/error-commands/1")).status_code == 403
    async with api.client(operator) as client:
        for ids in (["2"], ["1", "2"], ["3"], ["4"]):
            for verb in ("retry", "drop"):
                answer = await client.post(f"{BASE}/error-commands:{verb}", json={"ids": ids})
                assert (answer.status_code, answer.json()["code"]) == (404, "SH-1003"), (ids, verb)
        moved, missing = [
            (await client.post(f"{BASE}/error-commands/1/retry", json={"workflow_code": code})).json()
            for code in ("8", "88")
        ]
        assert (moved["status"], moved["detail"]) == (404, missing["detail"].replace("88", "8"))
        gone = await client.post(f"{BASE}/error-commands:drop", json={"ids": ["1", "99"]})
        assert (gone.status_code, "no such error command" in gone.json()["detail"]) == (404, True)
    assert cluster.one("SELECT count(*) FROM error_command") == 4
    assert cluster.one("SELECT count(*) FROM command") == 0
    async with api.client(await token_of(api.backend, "root", is_admin=True)) as client:
        first = (await client.get(f"{BASE}/error-commands?limit=3")).json()
        rest = (await client.get(f"{BASE}/error-commands?limit=3&cursor={first['next_cursor']}")).json()
        assert [each["id"] for each in (*first["items"], *rest["items"])] == ["4", "3", "2", "1"]
        retried = (await client.post(f"{BASE}/error-commands:retry", json={"ids": ["3", "2", "2"]})).json()
        assert ([each["id"] for each in retried["retried"]], retried["refused"]) == (["2", "3"], [])
        assert (await client.delete(f"{BASE}/error-commands/4")).status_code == 204
    audited = "SELECT action, object_id, project FROM audit WHERE outcome = 'DONE' ORDER BY object_id, project"
    assert cluster.rows(audited) == [
        ("retry_error_commands", "2", "sales"),
        ("retry_error_commands", "3", None),
        ("drop_error_command", "4", "default"),
        ("drop_error_command", "4", "sales"),
    ]


async def test_what_is_asked_for_again_is_limited_and_audited_in_each_project(api: Serving, cluster: Cluster) -> None:
    items = [{"project": "default", "workflow": "w", "cycle": "today"}]
    below = {"name": "d", "type": "DEPENDENT", "worker_group": "gpu", "params": {"groups": [{"items": items}]}}
    cluster.define(9, "below", tasks=[below])
    cluster.rows("UPDATE workflow_definition SET project = 'sales' WHERE code = 9")
    run = cluster.one(
        "INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, "
        "failure_strategy, priority, worker_group, ended_at) "
        "VALUES (90, 9, 1, 'FAILURE', 1, 'END', 'MEDIUM', 'default', now()) RETURNING id"
    )
    filled = json.dumps({"backfill": {"dates": ["2026-01-01"], "dependents": True}})
    refused(cluster, 1, workflow_code=7)
    refused(cluster, 2, workflow_code=7, type="COMPLEMENT_DATA", params=filled)
    refused(cluster, 3, workflow_code=9)
    refused(cluster, 4, type="REPEAT_RUNNING", workflow_instance_id=run)
    operator = await member(api.backend, "olga", "default", Role.OPERATOR)
    async with api.client(operator) as client:
        denied = await client.post(f"{BASE}/error-commands:retry", json={"ids": ["1", "2"], "skip_refused": True})
        assert denied.status_code == 403, "its dependents are of another project"
        assert (await client.get(f"{BASE}/error-commands/2")).status_code == 200
    root = await token_of(api.backend, "root", is_admin=True)
    async with api.client(root, **{"If-Match": "*"}) as client:
        await client.put(f"{BASE}/projects/sales/limits", json={"worker_groups": ["default"]})
        asked = {"ids": ["1", "2", "3", "4"], "skip_refused": True}
        for path, body in (("/2/retry", {}), ("/3/retry", {}), ("/4/retry", {}), (":retry", {"ids": ["2"]})):
            answer = await client.post(f"{BASE}/error-commands{path}", json=body)
            limited = 'may not use the worker group "gpu"' in answer.json()["detail"]
            assert (answer.status_code, limited) == (422, True), path
        some = (await client.post(f"{BASE}/error-commands:retry", json=asked)).json()
        assert [each["id"] for each in some["retried"]] == ["1"]
        assert ['project "sales" may not' in each["reason"] for each in some["refused"]] == [True] * 3
        for path in (f"workflow-instances/{run}/rerun", f"workflow-instances/{run}/rerun?wait=0"):
            assert (await client.post(f"{BASE}/{path}", json={})).status_code == 422
        many = {"action": "RERUN", "ids": [str(run)], "dry_run": False}
        changed = (await client.post(f"{BASE}/workflow-instances:bulk", json=many)).json()
        assert (changed["runs"], changed["command_ids"]) == (0, [])
        assert [(each["count"], 'project "sales" may not' in each["why"]) for each in changed["skipped"]] == [(1, True)]
        await client.put(f"{BASE}/projects/sales/limits", json={})
        assert (await client.post(f"{BASE}/error-commands/2/retry", json={})).status_code == 202
    audited = "SELECT object_id, project FROM audit WHERE action = 'retry_error_command' AND outcome = 'DONE'"
    assert sorted(cluster.rows(audited)) == [("2", "default"), ("2", "sales")]


async def test_a_correction_is_audited_in_each_project_that_it_reaches(api: Serving, cluster: Cluster) -> None:
    items = [{"project": "theirs", "workflow": "other", "cycle": "today"}]
    below = {"name": "d", "type": "DEPENDENT", "params": {"groups": [{"items": items}]}}
    cluster.define(9, "below", tasks=[below])
    cluster.define(10, "other", tasks=[{"name": "a", "type": "FAKE", "params": {}}])
    cluster.rows("UPDATE workflow_definition SET project = 'sales' WHERE code = 9")
    cluster.rows("UPDATE workflow_definition SET project = 'theirs' WHERE code = 10")
    filled = json.dumps({"backfill": {"dates": ["2026-01-01"], "dependents": True}})
    refused(cluster, 1, workflow_code=7, type="COMPLEMENT_DATA", params=filled)
    async with api.client(await token_of(api.backend, "root", is_admin=True)) as client:
        done = await client.post(f"{BASE}/error-commands/1/retry", json={"workflow_code": "10"})
        assert done.status_code == 202, done.text
    audited = "SELECT project FROM audit WHERE action = 'retry_error_command' AND outcome = 'DONE' ORDER BY project"
    assert cluster.rows(audited) == [("default",), ("sales",), ("theirs",)]


async def test_what_is_sent_again_after_it_was_done_is_answered_as_the_first_time(
    api: Serving, cluster: Cluster
) -> None:
    """Though it could not be done now: the error command is gone."""
    refused(cluster, 1, workflow_code=7)
    token = await member(api.backend, "olga", "default", Role.OPERATOR)
    async with api.client(token, **{"Idempotency-Key": "k1"}) as client:
        first, again = [await client.delete(f"{BASE}/error-commands/1") for _ in range(2)]
        other = await client.delete(f"{BASE}/error-commands/2")
    assert (first.status_code, again.status_code, again.headers["Idempotency-Replayed"]) == (204, 204, "true")
    assert (other.status_code, other.json()["code"]) == (422, "SH-1015")
    async with api.client(token) as client:
        assert (await client.delete(f"{BASE}/error-commands/1")).status_code == 404


async def test_one_is_asked_for_again_with_what_is_corrected_once_a_key(api: Serving, cluster: Cluster) -> None:
    params = json.dumps({"seconds": "x", "secnds": "2", "day": "2026-01-31"})
    refused(cluster, 1, workflow_code=7, workflow_version=9, params=params, worker_group="gpu", priority="HIGH")
    token = await member(api.backend, "olga", "default", Role.OPERATOR)
    body = {"version": 1, "params": {"seconds": "5", "secnds": None}, "worker_group": "default"}
    async with api.client(token, **{"Idempotency-Key": "k1"}) as client:
        answers = [await client.post(f"{BASE}/error-commands/1/retry", json=body) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 202], answers[0].text
    assert answers[0].json() == answers[1].json()
    rows = cluster.rows("SELECT id, workflow_code, workflow_version, params, worker_group, priority FROM command")
    [(id_, *values)] = rows
    assert answers[0].json().items() >= {"id": "1", "command_id": str(id_)}.items()
    assert (values[:2], json.loads(values[2]), values[3:]) == (
        [7, 1],
        {"day": "2026-01-31", "seconds": "5"},
        ["default", "HIGH"],
    )
    [(before, after)] = cluster.rows("SELECT before, after FROM audit WHERE action = 'retry_error_command'")
    assert before["reason"] == "reason 1"
    assert (after["command"], after["params"], after["worker_group"]) == (str(id_), ["secnds", "seconds"], "default")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"params": {"secnds": "5"}}, 'did you mean "seconds"?'),
        ({"params": {"seconds": "5"}, "tasks": ["b"]}, 'has no task "b"'),
        ({"type": "RECOVER_TOLERANCE_FAULT_PROCESS"}, "people do not ask for RECOVER_TOLERANCE_FAULT_PROCESS"),
        ({"type": "STRT_PROCESS"}, "/type"),
        ({"version": 0}, "/version"),
        ({"worker_group": "a\x00b"}, "/worker_group"),
        ({"created_by": "root"}, "/created_by"),
        ({"params": {"seconds": 5}}, "/params/seconds"),
        ({"workflow_code": "-1"}, "/workflow_code"),
    ],
)
async def test_a_correction_that_is_wrong_itself_changes_nothing(
    api: Serving, cluster: Cluster, body: dict[str, object], says: str
) -> None:
    refused(cluster, 1, workflow_code=7, params="{")
    async with api.client(await token_of(api.backend, "root", is_admin=True)) as client:
        answer = await client.post(f"{BASE}/error-commands/1/retry", json=body)
    assert (answer.status_code, says in answer.json()["detail"]) == (422, True), answer.text
    assert cluster.one("SELECT count(*) FROM error_command") == 1


async def test_what_cannot_be_asked_for_again_undoes_all_or_is_left(api: Serving, cluster: Cluster) -> None:
    recover = {"type": "RECOVER_TOLERANCE_FAULT_PROCESS", "workflow_instance_id": 5}
    cluster.rows("INSERT INTO command (type, workflow_instance_id) VALUES ('RECOVER_TOLERANCE_FAULT_PROCESS', 5)")
    refused(cluster, 1, workflow_code=7)
    refused(cluster, 2, **recover)
    async with api.client(await token_of(api.backend, "root", is_admin=True)) as client:
        whole = await client.post(f"{BASE}/error-commands:retry", json={"ids": ["1", "2"]})
        assert (whole.status_code, "waits already" in whole.json()["detail"]) == (422, True)
        assert cluster.one("SELECT count(*) FROM error_command") == 2
        some = await client.post(f"{BASE}/error-commands:retry", json={"ids": ["1", "2"], "skip_refused": True})
    assert [each["id"] for each in some.json()["refused"]] == ["2"]
    assert cluster.one("SELECT command_id FROM error_command") == 2


async def test_the_verbs_do_the_same_over_the_api_as_on_the_database(
    api: Serving, cluster: Cluster, database_url: str
) -> None:
    token = await token_of(api.backend, "root", scopes=frozenset({Scope.ADMIN}), is_admin=True)
    ways = (CommandLine.at(database_url), CommandLine.at(SHOAL_SERVER=api.url, SHOAL_TOKEN=token))
    said = []
    for way in ways:
        for id_ in (1, 2, 3, 4):
            refused(cluster, id_, workflow_code=7, refused_at="2026-01-31 00:00:00+00", created_by="me")
        answers = await way.each(
            "queue errors --utc",
            "queue errors --json --limit 2",
            "queue retry 1 --param seconds=3 --json",
            "queue retry 1",
            "queue retry 2 3 --worker-group gpu",
            "queue retry --all --json",
            "queue delete 1 2",
            "queue delete --all",
        )
        said.append([(answer.code, answer.out, answer.err) for answer in answers])
        assert [json.loads(each) for (each,) in cluster.rows("SELECT params FROM command ORDER BY id LIMIT 1")] == [
            {"seconds": "3"}
        ]
        cluster.rows("TRUNCATE command RESTART IDENTITY")
    assert said[0] == said[1]
    assert [code for code, _, _ in said[0]] == [0, 0, 0, 5, 2, 0, 5, 0]
