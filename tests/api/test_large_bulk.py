"""Changes of more than 10,000 runs: begun by a request, done in parts by any API, and told by a resource."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dao.accounts import members
from dao.commands import bulk_operations
from model.accounts.rights import Role
from model.errors import Unavailable
from service.runs import large_bulk
from tests.api.serving import BASE, Serving, serving, token_of
from tests.cluster.cluster import PATIENT, Cluster
from tests.eventually import eventually
from tests.shoal.command_line import CommandLine

BULK = f"{BASE}/workflow-instances:bulk"
RUNS = 10_500
OTHERS = 100
MADE = """
    INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                   priority, worker_group, ended_at)
    SELECT 900 + n, %s, 1, 'FAILURE', 1, 'CONTINUE', 'MEDIUM', 'default', clock_timestamp()
    FROM generate_series(%s::int, %s::int) AS n
"""
DO = {"action": "RERUN_FAILED", "filter": {}, "dry_run": False}
ASKED = "SELECT count(*), count(DISTINCT workflow_instance_id), min(created_by) FROM command"


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(database_url, database_url, tmp_path, PATIENT) as made:
        made.define(7, "w", tasks=[{"name": "a", "type": "FAKE", "params": {}}])
        made.define(8, "v", tasks=[{"name": "b", "type": "FAKE", "params": {}}])
        made.rows("UPDATE workflow_definition SET project = 'theirs' WHERE code = 8")
        made.rows(MADE, 7, 1, RUNS)
        made.rows(MADE, 8, RUNS + 1, RUNS + OTHERS)
        yield made


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No API does a part, as if all had been killed after the answer; undo it, and one does."""

    async def nothing(_database: object) -> bool:
        return False

    monkeypatch.setattr("api.large_bulk.do_part", nothing)
    return monkeypatch


async def operator(api: Serving, cluster: Cluster) -> str:
    """A token of an account that may change the runs of workflow 7 only."""
    token = await token_of(api.backend, "olga")
    async with api.database.writing() as connection:
        await members.put(
            connection, cluster.one("SELECT id FROM account WHERE name = 'olga'"), "default", Role.OPERATOR
        )
    return token


async def over(client: httpx.AsyncClient, path: str) -> dict[str, Any]:
    async def state() -> str:
        return str((await client.get(path)).json()["state"])

    await eventually(state, until="DONE", within_s=30)
    return dict((await client.get(path)).json())


async def test_it_is_said_first_and_then_done_in_parts_for_each_run_once(api: Serving, cluster: Cluster) -> None:
    async with api.client(await operator(api, cluster), **{"Idempotency-Key": "k"}) as client:
        tried = await client.post(BULK, json={**DO, "dry_run": True})
        assert (tried.status_code, tried.json()["is_large"], tried.json()["runs"]) == (200, True, RUNS)
        asked, again = [await client.post(BULK, json=DO) for _ in range(2)]
        path = asked.headers["Location"]
        assert (asked.status_code, path) == (202, f"{BASE}/operations/{asked.json()['operation_id']}")
        assert (again.json(), again.headers["Location"]) == (asked.json(), path)
        found = await over(client, path)
    assert (found["total"], found["asked"], found["refused"], found["by"]) == (RUNS, RUNS, 0, "olga")
    assert cluster.rows(ASKED) == [(RUNS, RUNS, "olga")]
    audited = cluster.rows("""
        SELECT project, actor, sum((after ->> 'runs')::int), count(*) FROM audit
        WHERE action = 'change_runs' AND after ? 'operation' GROUP BY 1, 2
    """)
    assert audited == [("default", "olga", RUNS, -(-RUNS // large_bulk.PART_MAX))]


async def test_what_a_killed_api_left_is_told_and_another_one_goes_on_with_it(
    held: pytest.MonkeyPatch, api: Serving, cluster: Cluster, database_url: str
) -> None:
    token = await token_of(api.backend, "ada", is_admin=True)
    async with api.client(token) as client:
        path = (await client.post(BULK, json=DO)).headers["Location"]
        await large_bulk.do_part(api.database)
        found = (await client.get(path)).json()
        assert (found["state"], found["asked"], found["total"]) == ("RUNNING", large_bulk.PART_MAX, RUNS + OTHERS)
        assert 0 <= found["idle_s"] < 60
        cluster.rows(MADE, 7, 20_001, 20_010)  # they began later, and are not meant
        held.undo()
        async with serving(database_url):
            assert (await over(client, path))["asked"] == RUNS + OTHERS
    assert cluster.rows(ASKED) == [(RUNS + OTHERS, RUNS + OTHERS, "ada")]


async def test_a_part_that_breaks_off_is_undone_and_done_again(
    held: pytest.MonkeyPatch, api: Serving, cluster: Cluster
) -> None:
    async def away(*_: object) -> None:
        raise Unavailable("the connection broke")

    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        path = (await client.post(BULK, json=DO)).headers["Location"]
        with pytest.MonkeyPatch.context() as broken:
            broken.setattr(bulk_operations, "advance", away)
            with pytest.raises(Unavailable):
                await large_bulk.do_part(api.database)
        assert cluster.one("SELECT count(*) FROM command") == 0
        assert (await client.get(path)).json()["asked"] == 0
        assert await asyncio.gather(*(large_bulk.do_part(api.database) for _ in range(4)))  # several processes
        while await large_bulk.do_part(api.database):
            pass
        assert (await client.get(path)).json()["state"] == "DONE"
    assert cluster.rows(ASKED) == [(RUNS + OTHERS, RUNS + OTHERS, "ada")]


async def test_it_can_be_stopped_and_gone_on_with(held: pytest.MonkeyPatch, api: Serving, cluster: Cluster) -> None:
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        path = (await client.post(BULK, json=DO)).headers["Location"]
        await large_bulk.do_part(api.database)
        stopped = await client.post(f"{path}/stop")
        assert (stopped.status_code, stopped.json()["state"]) == (200, "STOPPED")
        assert await large_bulk.do_part(api.database) is False
        assert (await client.post(f"{path}/stop")).status_code == 422
        held.undo()
        assert (await client.post(f"{path}/resume")).json()["state"] == "RUNNING"
        assert (await over(client, path))["asked"] == RUNS + OTHERS
        assert (await client.post(f"{path}/resume")).status_code == 422


async def test_what_cannot_be_done_says_why_and_can_be_gone_on_with(
    held: pytest.MonkeyPatch, api: Serving, cluster: Cluster
) -> None:
    async def broken(*_: object) -> None:
        raise ValueError("a bug")

    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        path = (await client.post(BULK, json=DO)).headers["Location"]
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(bulk_operations, "advance", broken)
            with pytest.raises(ValueError, match="a bug"):
                await large_bulk.do_part(api.database)
        failed = (await client.get(path)).json()
        assert (failed["state"], failed["asked"]) == ("FAILED", 0)
        assert "the log of the API has it" in failed["problem"]
        held.undo()
        await client.post(f"{path}/resume")
        assert "problem" not in await over(client, path)


async def test_nobody_sees_or_stops_an_operation_of_others_projects(
    held: pytest.MonkeyPatch, api: Serving, cluster: Cluster
) -> None:
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        path = (await client.post(BULK, json=DO)).headers["Location"]
    async with api.client(await operator(api, cluster)) as client:
        answers = [await client.get(path), await client.post(f"{path}/stop"), await client.post(f"{path}/resume")]
        assert [each.status_code for each in answers] == [404, 404, 404]
        assert (await client.get(f"{BASE}/operations/4711")).status_code == 404


async def test_the_command_line_waits_until_all_were_asked_for(api: Serving, cluster: Cluster) -> None:
    token = await token_of(api.backend, "ada", is_admin=True)
    remote = CommandLine.at(None, SHOAL_SERVER=api.url, SHOAL_TOKEN=token)
    asked = await remote("runs", "rerun-failed", "--all", "--do")
    assert (asked.code, "How far it is: GET /api/v1/operations/" in asked.out + asked.err) == (0, True)
    await eventually(lambda: cluster.one("SELECT count(*) FROM command"), until=RUNS + OTHERS, within_s=30)
    cluster.rows("DELETE FROM command")
    done = await remote("runs", "rerun-failed", "--all", "--do", "--wait")
    assert done.code == 0, done.err
    assert (done.code, f"is DONE. It asked for {RUNS + OTHERS} commands, and left out 0." in done.out) == (0, True)
    assert cluster.one("SELECT count(*) FROM command") == RUNS + OTHERS


async def test_without_an_api_that_goes_on_with_it_it_is_refused(cluster: Cluster, database_url: str) -> None:
    done = await CommandLine.at(database_url)("runs", "rerun-failed", "--all", "--do")
    assert (done.code, "ask an API, which goes on with it" in done.err) == (2, True), done.err
    assert cluster.one("SELECT count(*) FROM command") == 0
