"""Live events over the API: what a client that watches gets, and when it gets no more."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dao.postgres.sql import Sql
from model.accounts.rights import Scope
from tests.api.serving import BASE, Serving, token_of
from tests.cluster.cluster import PATIENT, Cluster
from tests.eventually import eventually


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(database_url, database_url, tmp_path, PATIENT) as made:
        yield made


class Watching:
    """A client of the events; `events` are (id, kind, data), without comments."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, dict[str, Any]]] = []
        self.status: int | None = None
        self.has_begun = self.has_ended = False

    async def read(self, client: httpx.AsyncClient, path: str, **headers: str) -> None:
        async with client.stream("GET", path, headers=headers) as response:
            self.status = response.status_code
            fields: dict[str, str] = {}
            async for line in response.aiter_lines():
                self.has_begun = True
                name, _, value = line.partition(": ")
                if line:
                    fields[name] = value
                elif "event" in fields:
                    self.events.append((fields["id"], fields["event"], json.loads(fields["data"])))
                    fields = {}
        self.has_ended = True

    def states(self, run: str) -> list[str]:
        found = [each for _, kind, data in self.events if kind == "runs" for each in data["runs"]]
        return [each["state"] for each in found if each["id"] == run]


async def test_a_client_sees_a_run_begin_and_end_and_resumes_where_it_stood(api: Serving, cluster: Cluster) -> None:
    cluster.define(7, "w", tasks=[{"name": "a", "type": "FAKE", "params": {}}])
    await cluster.master()
    await cluster.worker()
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        seen = Watching()
        watching = asyncio.create_task(seen.read(client, f"{BASE}/events?topics=runs,queue"))
        await eventually(lambda: seen.has_begun)
        run = (await client.post(f"{BASE}/workflow-definitions/7/runs?wait=20", json={})).json()["run_id"]
        await eventually(lambda: "SUCCESS" in seen.states(run), within_s=20)
        watching.cancel()
        again = Watching()
        first = seen.events[0][0]
        watching = asyncio.create_task(
            again.read(client, f"{BASE}/events?topics=runs,queue", **{"Last-Event-ID": first})
        )
        await eventually(lambda: "SUCCESS" in again.states(run))
        assert again.events == seen.events[1 : 1 + len(again.events)]
        watching.cancel()
        other = Watching()
        path = f"{BASE}/events?topics=runs"
        watching = asyncio.create_task(other.read(client, path, **{"Last-Event-ID": "another-1"}))
        await eventually(lambda: [kind for _, kind, _ in other.events] == ["resync"])
        watching.cancel()


async def test_a_stream_ends_soon_after_its_right(api: Serving) -> None:
    async with api.client(await token_of(api.backend, "ada")) as client:
        seen = Watching()
        watching = asyncio.create_task(seen.read(client, f"{BASE}/events?topics=runs"))
        await eventually(lambda: seen.has_begun)
        async with api.database.writing() as connection:
            await connection.execute(Sql("UPDATE token SET revoked_at = now()"))
        await eventually(lambda: seen.has_ended, within_s=6)
        await watching


async def test_a_token_watches_what_its_scopes_are_for(api: Serving) -> None:
    token = await token_of(api.backend, "ada", scopes=frozenset({Scope.RUNS_READ}))
    async with api.client(token) as client:
        for topics, status in (("cluster", 403), ("queue,runs", 403), ("nonsense", 422), ("", 422)):
            assert (await client.get(f"{BASE}/events?topics={topics}")).status_code == status, topics
    async with api.client() as client:
        assert (await client.get(f"{BASE}/events?topics=runs")).status_code == 401
