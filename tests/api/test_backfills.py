"""Backfills over the API: tried first, started, followed to their end."""

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
from tests.shoal.command_line import CommandLine

TASKS = [{"name": "a", "type": "FAKE", "params": {}}]
RANGE = {"from": "2026-03-28", "to": "2026-03-30"}


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(database_url, database_url, tmp_path, PATIENT) as made:
        yield made


async def test_a_backfill_is_tried_started_and_followed(api: Serving, cluster: Cluster, database_url: str) -> None:
    cluster.define(7, "w", tasks=TASKS)
    path = f"{BASE}/workflow-definitions/7/backfills"
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        tried = await client.post(path, json={**RANGE, "parallelism": 2, "order": "DESC", "dry_run": True})
        assert tried.status_code == 200, tried.text
        chains = [["2026-03-30", "2026-03-29"], ["2026-03-28"]]
        assert tried.json()["chains"] == [[f"{day}T00:00:00.000Z" for day in chain] for chain in chains]
        assert ("command_id" in tried.json(), cluster.one("SELECT count(*) FROM command")) == (False, 0)
        await cluster.master()
        await cluster.worker()
        started = (await client.post(f"{path}?wait=20", json=RANGE)).json()
        assert started["first_run_id"]
        body = {"workflows": [each["code"] for each in started["workflows"]], "chains": started["chains"]}

        async def progress() -> dict[str, Any]:
            answer = await client.post(f"{BASE}/backfills/{started['command_id']}/progress", json=body)
            assert answer.status_code == 200, answer.text
            return dict(answer.json())

        await eventually(lambda: _done(progress), until=3, within_s=20)
        whole = await progress()
        assert whole.items() >= {"total": 3, "running": [], "waiting": 0, "stopped": []}.items()
        assert "runs" not in whole
        body["runs"] = True
        runs = (await progress())["runs"]
        assert [(each["date"], each["state"]) for each in runs] == [(date, "SUCCESS") for date in started["chains"][0]]
        assert {each["workflow"] for each in runs} == {"7"}
        assert min(each["elapsed_s"] for each in runs) > 0
        (listed,) = (await client.get(f"{BASE}/backfills")).json()["items"]
        assert listed.items() >= {"command_id": started["command_id"], "by": "ada", "dates": 3, "chains": 1}.items()
        again = (await client.get(f"{BASE}/backfills/{started['command_id']}")).json()
        assert {**again, "command_id": None} == {**tried.json(), "chains": started["chains"], "command_id": None}
        none_left = (await client.post(path, json={**RANGE, "skip_done": True})).json()
        assert (none_left["skipped"], none_left["dates"], "command_id" in none_left) == (3, 0, False)
    assert cluster.one("SELECT after ->> 'dates' FROM audit WHERE action = 'start_backfill' AND actor = 'ada'") == "3"
    assert cluster.one("SELECT count(*) FROM audit") == 1
    remote = await through(api)
    done = await remote("backfill", "w", "--date", "2026-05-01", "--wait")
    assert (done.code, 'Workflow "w" is filled for 1 of 1 date.' in done.out) == (0, True), done.err
    await assert_same(
        CommandLine.at(database_url),
        remote,
        "backfill w --from 2026-03-28 --to 2026-04-02 --skip-done --dry-run --parallel 2",
        "backfill w --date tomorrow",
        "backfill nix --date 2026-01-01",
    )


async def test_dates_that_wait_for_each_other_are_one_chain_from_the_first(api: Serving, cluster: Cluster) -> None:
    cluster.define(7, "w", tasks=TASKS, after_last="succeeded")
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        asked = {**RANGE, "parallelism": 2, "order": "DESC", "dry_run": True}
        tried = await client.post(f"{BASE}/workflow-definitions/7/backfills", json=asked)
    days = ("2026-03-28", "2026-03-29", "2026-03-30")
    assert tried.json()["chains"] == [[f"{day}T00:00:00.000Z" for day in days]]


async def _done(progress: Any) -> int:
    return int((await progress())["done"])


async def test_who_may_not_start_every_workflow_that_is_filled_starts_none(api: Serving, cluster: Cluster) -> None:
    """Dependents may belong to another project."""
    items = [{"project": "default", "workflow": "w", "cycle": "today"}]
    below = {"name": "d", "type": "DEPENDENT", "params": {"groups": [{"items": items}]}}
    cluster.define(7, "w", tasks=TASKS)
    cluster.define(8, "other", tasks=[below])
    cluster.rows("UPDATE workflow_definition SET project = 'theirs' WHERE code = 8")
    token = await token_of(api.backend, "olga")
    async with api.database.writing() as connection:
        account = cluster.one("SELECT id FROM account WHERE name = 'olga'")
        await members.put(connection, account, "default", Role.OPERATOR)
    async with api.client(token) as client:
        path = f"{BASE}/workflow-definitions/7/backfills"
        own = await client.post(path, json=RANGE)
        both = await client.post(path, json={**RANGE, "dependents": True})
        of_them = await client.post(f"{BASE}/workflow-definitions/8/backfills", json=RANGE)
        theirs = await client.post(f"{BASE}/backfills/1/progress", json={"workflows": ["8"], "chains": []})
    assert [each.status_code for each in (own, both, of_them, theirs)] == [202, 403, 404, 404]
    assert "theirs" not in both.text, "the project of what depends on it is not named"
    assert cluster.one("SELECT count(*) FROM command") == 1


async def test_dependents_are_limited_and_audited_in_their_own_project(api: Serving, cluster: Cluster) -> None:
    items = [{"project": "default", "workflow": "w", "cycle": "today"}]
    below = {"name": "d", "type": "DEPENDENT", "worker_group": "gpu", "params": {"groups": [{"items": items}]}}
    cluster.define(7, "w", tasks=TASKS)
    cluster.define(8, "other", tasks=[below])
    cluster.rows("UPDATE workflow_definition SET project = 'theirs' WHERE code = 8")
    asked = {**RANGE, "dependents": True}
    headers = {"If-Match": "*"}
    async with api.client(await token_of(api.backend, "ada", is_admin=True), **headers) as client:
        path = f"{BASE}/workflow-definitions/7/backfills"
        assert (await client.post(path, json=asked)).status_code == 202
        await client.put(f"{BASE}/projects/theirs/limits", json={"worker_groups": ["default"]})
        refused = await client.post(path, json=asked)
        assert (refused.status_code, 'project "theirs" may not use' in refused.json()["detail"]) == (422, True)
        assert (await client.post(path, json=RANGE)).status_code == 202
    audited = "SELECT project, object_id FROM audit WHERE action = 'start_backfill' ORDER BY id"
    assert cluster.rows(audited) == [("default", "7"), ("theirs", "8"), ("default", "7")]


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        ({}, 422, None),
        ({**RANGE, "dates": ["2026-01-01"]}, 422, None),
        ({"from": "2026-03-30", "to": "2026-03-28"}, 422, None),
        ({"dates": ["x" * 61]}, 422, "/dates/0"),
        ({**RANGE, "parallelism": -1}, 422, "/parallelism"),
        ({**RANGE, "params": {"backfill": "1"}}, 422, None),
        ({**RANGE, "params": {"nix": "1"}}, 422, None),
        ({**RANGE, "nonsense": 1}, 422, "/nonsense"),
    ],
)
async def test_a_wrong_backfill_is_a_sentence(
    api: Serving, cluster: Cluster, body: dict[str, Any], status: int, pointer: str | None
) -> None:
    cluster.define(7, "w", tasks=TASKS)
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        answer = await client.post(f"{BASE}/workflow-definitions/7/backfills", json=body)
        missing = await client.post(f"{BASE}/workflow-definitions/9/backfills", json=RANGE)
        no_command = await client.post(f"{BASE}/backfills/77/progress", json={"workflows": ["7"], "chains": []})
    assert answer.status_code == status, answer.text
    assert pointer is None or [each["pointer"] for each in answer.json()["errors"]] == [pointer]
    assert [missing.status_code, no_command.status_code] == [404, 404]
    assert cluster.one("SELECT count(*) FROM command") == 0
