"""What clients may take of the API, which has the limits of `http_server/` and some of its own."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from api import server
from model.accounts.rights import Scope
from tests.api.serving import BASE, serving, token_of
from tests.cluster.tls import certificate
from tests.eventually import eventually
from tests.http_server.raw import Raw


async def test_a_head_and_a_body_have_their_times_by_tls_too(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = certificate(tmp_path)
    trusting = ssl.create_default_context(cafile=file)
    monkeypatch.setattr(server, "HEAD_S_MAX", 0.5)
    monkeypatch.setattr(server, "BODY_S_MAX", 0.5)
    async with serving(database_url, certificate=file) as api, asyncio.timeout(30):
        token = await token_of(api.backend, "ada", is_admin=True)
        assert (await (await Raw.to(api.url, trusting)).get("/healthz")).startswith(b"HTTP/1.1 200")
        for late in (await Raw.to(api.url), await Raw.to(api.url, trusting)):
            await late.rest()
        raw = await Raw.to(api.url, trusting)
        bearer = f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n".encode()
        raw.writer.write(
            b"POST /api/v1/users HTTP/1.1\r\nHost: localhost\r\n" + bearer + b"Content-Length: 100\r\n\r\n"
        )
        await raw.trickle(b"x" * 100)


async def test_when_all_connections_have_requests_that_is_a_problem_and_health_is_answered(database_url: str) -> None:
    async with (
        serving(database_url, connections_max=4, root_path="/below") as api,
        asyncio.timeout(30),
        AsyncExitStack() as open_ones,
    ):
        client = api.client(await token_of(api.backend, "ada", scopes=frozenset({Scope.RUNS_READ})))
        await open_ones.enter_async_context(client)
        for _ in range(4):
            await open_ones.enter_async_context(client.stream("GET", f"{BASE}/events?topics=runs"))
        late = await Raw.to(api.url)
        assert (await late.get(f"{BASE}/version")).startswith(b"HTTP/1.1 503")
        told = await late.rest()
        assert b"application/problem+json" in told
        assert b"all 4 connections are in use; ask again, or raise api.connections_max" in told
        for path in ("/healthz", "/readyz", "/below/healthz"):
            assert (await (await Raw.to(api.url)).get(path)).startswith(b"HTTP/1.1 200"), path


async def test_streams_are_limited_for_an_account_and_in_all(database_url: str) -> None:
    scopes = frozenset({Scope.RUNS_READ})
    path = f"{BASE}/events?topics=runs"
    async with serving(database_url, streams_max=3, account_streams_max=2) as api, AsyncExitStack() as ended:
        ada, ben = [
            await ended.enter_async_context(api.client(await token_of(api.backend, name, scopes=scopes)))
            for name in ("ada", "ben")
        ]
        async with AsyncExitStack() as open_ones:
            for _ in range(2):
                assert (await open_ones.enter_async_context(ada.stream("GET", path))).status_code == 200
            third = await ada.get(path)
            assert (third.status_code, third.json()["code"]) == (429, "SH-1018")
            assert "your account has 2 streams" in third.json()["detail"]
            assert third.headers["Retry-After"].isdecimal()
            assert (await open_ones.enter_async_context(ben.stream("GET", path))).status_code == 200
            fourth = await ben.get(path)
            assert (fourth.status_code, "this API has 3 streams" in fourth.json()["detail"]) == (429, True)

        async def opened() -> int:
            async with ada.stream("GET", path) as answer:
                return answer.status_code

        await eventually(opened, until=200)
