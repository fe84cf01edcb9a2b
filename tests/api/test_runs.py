"""Runs over the API: started once for each key, listed in pages, changed by commands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.api.serving import BASE, Serving, token_of
from tests.cluster.cluster import PATIENT, Cluster
from tests.eventually import eventually

TASKS = [{"name": "a", "type": "FAKE", "params": {}}]


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(database_url, database_url, tmp_path, PATIENT) as made:
        yield made


async def test_a_run_is_asked_for_followed_and_found(api: Serving, cluster: Cluster) -> None:
    cluster.define(7, "w", tasks=TASKS)
    await cluster.master()
    await cluster.worker()
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        asked = await client.post(f"{BASE}/workflow-definitions/7/runs?wait=20", json={})
        assert asked.status_code == 200, asked.text
        run = asked.json()["run_id"]
        assert asked.json()["is_taken"]
        page = await eventually(lambda: client.get(f"{BASE}/workflow-instances/{run}"))
        assert page.json()["workflow"] == "w"

        async def state() -> str:
            return str((await client.get(f"{BASE}/workflow-instances/{run}")).json()["state"])

        await eventually(state, until="SUCCESS", within_s=20)
        listed = (await client.get(f"{BASE}/workflow-instances?state=SUCCESS&workflow=w")).json()
        assert [each["id"] for each in listed["items"]] == [run]
        why = (await client.get(f"{BASE}/workflow-instances/{run}/why")).json()
        assert "SUCCESS" in why["why"]
        again = await client.post(f"{BASE}/workflow-instances/{run}/rerun?wait=20")
        assert again.json()["run_id"] == run
    assert cluster.one("SELECT count(*) FROM audit WHERE actor = 'ada' AND action IN ('start_run', 'rerun_run')") == 2


async def test_a_run_is_for_the_date_that_its_start_gives_as_a_backfill_reads_it(
    api: Serving, cluster: Cluster
) -> None:
    cluster.define(7, "w", tasks=TASKS, time_zone="Asia/Tokyo")
    cluster.define(8, "scheduled", tasks=TASKS)
    cluster.rows(
        "INSERT INTO schedule (workflow_code, crontab, time_zone, state) VALUES (8, '0 0 5 * * ?', %s, 'ONLINE')",
        "Europe/Berlin",
    )
    command = "SELECT schedule_time AT TIME ZONE 'UTC' || ' ' || time_zone FROM command WHERE id = %s"
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        for code, date, expected in (
            (7, "2026-01-31", "2026-01-30 15:00:00 Asia/Tokyo"),
            (7, "2026-01-31T02:30", "2026-01-30 17:30:00 Asia/Tokyo"),
            (8, "2026-07-01", "2026-06-30 22:00:00 Europe/Berlin"),
        ):
            asked = await client.post(f"{BASE}/workflow-definitions/{code}/runs", json={"date": date})
            assert asked.status_code == 202, asked.text
            assert cluster.one(command, int(asked.json()["command_id"])) == expected
        refused = await client.post(f"{BASE}/workflow-definitions/7/runs", json={"date": "tomorrow"})
        missing = await client.post(f"{BASE}/workflow-definitions/9/runs", json={"date": "2026-01-31"})
    assert (refused.status_code, missing.status_code) == (422, 404)
    assert refused.json()["detail"].startswith('date "tomorrow"')


async def test_one_key_is_one_run_however_often_and_from_however_many_it_comes(api: Serving, cluster: Cluster) -> None:
    cluster.define(7, "w", tasks=TASKS)
    token = await token_of(api.backend, "ada", is_admin=True)
    async with api.client(token, **{"Idempotency-Key": "k1"}) as client:
        sent = [client.post(f"{BASE}/workflow-definitions/7/runs", json={}) for _ in range(8)]
        answers = await asyncio.gather(*sent)
        assert {answer.status_code for answer in answers} <= {202, 409}
        first = next(answer for answer in answers if answer.status_code == 202).json()
        repeated = await client.post(f"{BASE}/workflow-definitions/7/runs", json={})
        assert (repeated.json(), repeated.headers["Idempotency-Replayed"]) == (first, "true")
        other = await client.post(f"{BASE}/workflow-definitions/7/runs", json={"dry_run": True})
        assert (other.status_code, other.json()["code"]) == (422, "SH-1015")
    assert cluster.one("SELECT count(*) FROM command") == 1


async def test_an_answer_that_is_sent_again_has_the_run_that_began_meanwhile(api: Serving, cluster: Cluster) -> None:
    cluster.define(7, "w", tasks=TASKS)
    token = await token_of(api.backend, "ada", is_admin=True)
    paths = {"run_id": "runs?wait=", "first_run_id": "backfills?wait="}
    bodies: list[dict[str, list[str]]] = [{}, {"dates": ["2026-01-01"]}]
    async with api.client(token) as client:
        for (field, path), body in zip(paths.items(), bodies, strict=True):
            address, key = f"{BASE}/workflow-definitions/7/{path}", {"Idempotency-Key": field}
            first = await client.post(f"{address}0", json=body, headers=key)
            assert (first.status_code, field in first.json()) == (202, False), first.text
        await cluster.master()
        for (field, path), body in zip(paths.items(), bodies, strict=True):
            address, key = f"{BASE}/workflow-definitions/7/{path}", {"Idempotency-Key": field}
            again = await client.post(f"{address}20", json=body, headers=key)
            assert (again.headers["Idempotency-Replayed"], field in again.json()) == ("true", True), again.text


async def test_pages_follow_each_other_without_a_gap_or_a_repetition(api: Serving, cluster: Cluster) -> None:
    cluster.define(7, "w", tasks=TASKS)
    await cluster.master()
    await cluster.worker()
    for _ in range(7):
        cluster.start(7)
    await eventually(lambda: cluster.one("SELECT count(*) FROM workflow_instance WHERE state = 'SUCCESS'"), until=7)
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        seen, cursor = [], ""
        while True:
            page = (await client.get(f"{BASE}/workflow-instances?limit=3{cursor}")).json()
            seen += [int(each["id"]) for each in page["items"]]
            if not page["has_more"]:
                break
            cursor = f"&cursor={page['next_cursor']}"
        assert seen == sorted(seen, reverse=True)
        assert len(set(seen)) == 7
        wrong = await client.get(f"{BASE}/workflow-instances?cursor=abc")
        assert (wrong.status_code, wrong.json()["code"]) == (422, "SH-1007")


@pytest.mark.parametrize(
    ("request_", "status", "code"),
    [
        (("GET", "/workflow-instances/99"), 404, "SH-1003"),
        (("GET", "/workflow-instances/x"), 422, "SH-1010"),
        (("GET", "/nowhere"), 404, "SH-1019"),
        (("DELETE", "/workflow-instances"), 405, "SH-1013"),
        (("GET", "/workflow-instances?limit=0"), 422, "SH-1010"),
        (("GET", "/workflow-instances?nonsense=1"), 422, "SH-1010"),
        (("GET", "/workflow-instances?workflow=%00"), 422, "SH-1010"),
        (("GET", f"/workflow-instances?workflow={'x' * 9000}"), 400, "SH-1011"),
        (("POST", "/workflow-definitions/99/runs"), 404, "SH-1003"),
    ],
)
async def test_a_bad_request_is_a_problem_with_a_code(
    api: Serving, request_: tuple[str, str], status: int, code: str
) -> None:
    method, path = request_
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        answer = await client.request(method, BASE + path)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["instance"] == answer.headers["X-Request-Id"]


async def test_a_body_is_read_only_up_to_a_limit_and_only_as_json(api: Serving) -> None:
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:

        async def endless() -> AsyncIterator[bytes]:
            for _ in range(100):
                yield b"x" * 65_536

        path = f"{BASE}/workflow-definitions/7/runs"
        told = await client.post(path, content=b"x" * (5 << 20))
        untold = await client.post(path, content=endless())
        broken = await client.post(path, content=b"{", headers={"Content-Type": "application/json"})
        wrong = await client.post(path, json={"params": {"a": ["b"]}})
    assert [each.status_code for each in (told, untold, broken, wrong)] == [413, 413, 400, 422]
    assert wrong.json()["errors"][0]["pointer"] == "/params/a"


async def test_nobody_without_a_name_is_answered_but_for_health(api: Serving) -> None:
    async with api.client() as client:
        assert (await client.get("/healthz")).json()["status"] == "ok"
        assert (await client.get("/readyz")).status_code == 200
        refused = await client.get(f"{BASE}/workflow-instances")
        assert (refused.status_code, refused.json()["code"]) == (401, "SH-1001")
        for token in ("nonsense", "shoal_" + "x" * 49, "x" * 5000):
            answer = await client.get(f"{BASE}/clock", headers={"Authorization": f"Bearer {token}"})
            assert answer.status_code == 401
            assert token not in answer.text
        elsewhere = await client.get(f"{BASE}/version", headers={"Host": "evil.example.org"})
        assert (elsewhere.status_code, elsewhere.json()["code"]) == (421, "SH-1016")
        for probe in ("/healthz", "/readyz"):
            assert (await client.get(probe, headers={"Host": "10.0.0.7:7465"})).status_code == 200, "kubelet asks so"
