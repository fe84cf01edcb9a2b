"""Heavy requests: handled elsewhere, bounded, and nobody else waits for them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import psutil

from api.heavy import LIGHT_BYTES_MAX
from model.accounts.rights import Role, Scope
from tests.api.people import member
from tests.api.serving import BASE, Serving, serving, token_of
from tests.eventually import eventually
from tests.servers.child import command_line

LONG = 20_000
"""Lines."""
VALIDATE = f"{BASE}/workflow-definitions:validate"
DIFF = f"{BASE}/workflow-definitions/77/diff"


def file_of(tasks: int) -> dict[str, Any]:
    lines = "".join(f"  - {{name: t{n}, type: FAKE, flag: YES}}\n" for n in range(tasks))
    return {"files": [{"name": "f", "content": f"name: large\ntasks:\n{lines}"}]}


def two_long_versions(sql: Any) -> None:
    """Of which every second line differs."""
    sql("INSERT INTO workflow_definition (code, name, version) VALUES (77, 'long', 2)")
    for version in (1, 2):
        script = "\n".join(f"echo {n if n % 2 else -version * n}" for n in range(LONG))
        spec = {"tasks": [{"name": "a", "code": 1, "type": "SHELL", "params": {"script": script}}]}
        values = f"77, {version}, $${json.dumps(spec)}$$"
        sql(f"INSERT INTO workflow_version (workflow_code, version, spec) VALUES ({values})")


def processes() -> list[psutil.Process]:
    return [each for each in psutil.Process().children() if "api.heavy_process" in command_line(each)]


async def test_others_are_answered_while_long_versions_are_compared(
    api: Serving, admin: httpx.AsyncClient, sql: Any
) -> None:
    two_long_versions(sql)
    async with api.client(await token_of(api.backend, "ben")) as ben:
        comparing = asyncio.create_task(admin.get(DIFF, timeout=120))
        answered = 0
        while not comparing.done():
            assert (await ben.get(f"{BASE}/me")).status_code == 200
            answered += 1
    found = await comparing
    assert found.status_code == 200, found.text
    assert len(found.json()["diff"]) > LONG
    assert answered > 10
    assert processes(), "they were compared in another process"
    assert found.headers["X-Request-Id"]
    assert found.headers.get_list("Content-Security-Policy") == ["default-src 'none'; frame-ancestors 'none'"]


async def test_a_request_that_uses_up_its_processor_time_is_ended_and_the_next_one_is_answered(
    database_url: str,
) -> None:
    async with (
        serving(database_url, request_cpu_s=3) as api,
        api.client(await token_of(api.backend, "ada", is_admin=True)) as admin,
    ):
        endless = await admin.post(VALIDATE, json=file_of(90_000), timeout=120)
        assert (endless.status_code, endless.json()["code"]) == (413, "SH-1012")
        assert "more than 3 s of processor time" in endless.json()["detail"]
        after = await admin.post(VALIDATE, json=file_of(600))
        assert after.json() == {"valid": True, "problems": [], "warnings": []}


async def test_a_process_that_is_killed_costs_its_request_alone(admin: httpx.AsyncClient) -> None:
    cut = asyncio.create_task(admin.post(VALIDATE, json=file_of(40_000), timeout=60))
    (process,) = await eventually(processes, within_s=60)
    process.kill()  # early: a fast machine may be done before its processor time is looked at
    assert ((await cut).status_code, (await cut).json()["code"]) == (503, "SH-1009")
    assert (await admin.post(VALIDATE, json=file_of(600))).status_code == 200


async def test_an_account_has_one_heavy_request_in_work_and_others_go_before_its_next(
    api: Serving, admin: httpx.AsyncClient
) -> None:
    token = await member(api.backend, "ben", "default", Role.EDITOR, frozenset({Scope.ADMIN}))
    ended: list[str] = []

    async def ask(who: str, client: httpx.AsyncClient, tasks: int) -> None:
        assert (await client.post(VALIDATE, json=file_of(tasks), timeout=300)).status_code == 200
        ended.append(who)

    async with api.client(token) as ben, asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(ask("ada", admin, 1_500))
        await eventually(lambda: bool(processes()), within_s=60)
        group.create_task(ask("ben", ben, 600))
    assert ended.index("ben") < 3
    assert len(processes()) <= 2


async def test_who_is_not_known_may_not_send_a_large_body(api: Serving) -> None:
    async with api.client() as stranger:
        large = {"name": "ada", "password": "x" * LIGHT_BYTES_MAX}
        assert (await stranger.post(f"{BASE}/sessions", json=large)).status_code == 413
        assert (await stranger.post(VALIDATE, json=file_of(600))).status_code == 401
    assert not processes()


async def test_the_processes_end_with_their_api(database_url: str) -> None:
    async with serving(database_url) as api, api.client(await token_of(api.backend, "ada", is_admin=True)) as admin:
        assert (await admin.post(VALIDATE, json=file_of(600))).status_code == 200
        assert len(processes()) == 1
    assert not processes()
