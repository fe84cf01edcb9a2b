"""Clients that send nothing, send slowly or listen for ever do not keep others out."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import pytest

from api import connections
from model.rights import Scope
from tests.api.serving import BASE, Serving, serving, token_of
from tests.cluster.tls import certificate
from tests.eventually import eventually

HEAD = b"POST /api/v1/clock HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"


class Raw:
    """A connection whose bytes a test sends itself."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def to(cls, api: Serving) -> Raw:
        host, _, port = api.url.removeprefix("http://").partition(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    async def get(self, path: str) -> bytes:
        """The status of an answer; empty if the connection was closed."""
        self.writer.write(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode())
        return await self.reader.readline()

    async def ended(self) -> None:
        """Wait until the other side closes."""
        with suppress(ConnectionError):
            await self.reader.read()

    async def trickle(self, data: bytes) -> None:
        """Send byte after byte, until the other side closes."""
        try:
            for place in range(len(data)):
                self.writer.write(data[place : place + 1])
                await self.writer.drain()
                await asyncio.sleep(0.05)
            await self.reader.read()
        except ConnectionError:
            return


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 10_000], ids=["nothing", "slow head"])
async def test_a_connection_without_a_whole_head_is_closed(
    database_url: str, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(connections, "HEAD_S_MAX", 0.5)
    async with serving(database_url) as api, asyncio.timeout(30):
        await (await Raw.to(api)).trickle(sent)
        again = await Raw.to(api)
        assert (await again.get("/healthz")).startswith(b"HTTP/1.1 200")


async def test_a_second_slow_head_on_a_connection_is_no_better(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_S_MAX", 0.5)
    async with serving(database_url) as api, asyncio.timeout(20):
        raw = await Raw.to(api)
        assert (await raw.get("/healthz")).startswith(b"HTTP/1.1 200")
        await raw.trickle(b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 10_000)


async def test_a_body_that_trickles_is_cut(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "BODY_S_MAX", 0.5)
    async with serving(database_url) as api, asyncio.timeout(20):
        token = await token_of(api.backend, "ada", is_admin=True)
        raw = await Raw.to(api)
        bearer = f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n".encode()
        raw.writer.write(HEAD.replace(b"clock", b"users").replace(b"Content-Length", bearer + b"Content-Length"))
        await raw.trickle(b"x" * 100)


async def test_idle_connections_make_room_and_health_is_always_answered(database_url: str) -> None:
    async with serving(database_url, connections_max=4) as api, asyncio.timeout(30), AsyncExitStack() as open_ones:
        idle = [await Raw.to(api) for _ in range(4)]
        assert (await (await Raw.to(api)).get("/healthz")).startswith(b"HTTP/1.1 200")
        assert await idle[0].reader.read() == b"", "the oldest idle one makes room"
        client = api.client(await token_of(api.backend, "ada", scopes=frozenset({Scope.RUNS_READ})))
        await open_ones.enter_async_context(client)
        for _ in range(4):
            await open_ones.enter_async_context(client.stream("GET", f"{BASE}/events?topics=runs"))
        late = await Raw.to(api)
        assert (await late.get(f"{BASE}/version")).startswith(b"HTTP/1.1 503")
        for path in ("/healthz", "/readyz"):
            assert (await (await Raw.to(api)).get(path)).startswith(b"HTTP/1.1 200"), path


async def test_each_of_those_that_come_at_once_gets_the_place_of_another_silent_one(database_url: str) -> None:
    async with serving(database_url, connections_max=12) as api, asyncio.timeout(30):
        silent = [await Raw.to(api) for _ in range(12)]
        assert (await silent[-1].get("/healthz")).startswith(b"HTTP/1.1 200"), "all are accepted"
        host, _, port = api.url.removeprefix("http://").partition(":")
        # Made and used without the loop, so that the server accepts all of them in one turn of it.
        at_once = [socket.create_connection((host, int(port))) for _ in range(5)]
        for each in at_once:
            each.sendall(b"GET %s/version HTTP/1.1\r\nHost: localhost\r\n\r\n" % BASE.encode())
        for each in at_once:
            raw = Raw(*await asyncio.open_connection(sock=each))
            assert (await raw.reader.readline()).startswith(b"HTTP/1.1 200")
        for left in silent[:5]:
            assert await left.reader.read() == b""
        assert not any(stays.reader.at_eof() for stays in silent[5:]), "no more than are needed"


async def test_a_request_is_answered_where_another_connection_has_none_any_more(database_url: str) -> None:
    async with serving(database_url, connections_max=3) as api, asyncio.timeout(30):
        token = await token_of(api.backend, "ada", is_admin=True)
        bearer = f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n".encode()
        bearer += b"Expect: 100-continue\r\n"
        head = HEAD.replace(b"clock", b"users").replace(b"Content-Length", bearer + b"Content-Length")
        busy = [await Raw.to(api) for _ in range(3)]
        for each in busy:
            each.writer.write(head)
        for each in busy:
            await each.reader.readuntil(b"100 Continue\r\n\r\n")
        one_more = await Raw.to(api)
        assert (await one_more.get(f"{BASE}/version")).startswith(b"HTTP/1.1 503"), "all have requests"
        one_more = await Raw.to(api)
        one_more.writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200" in await one_more.reader.readuntil(b"\r\n\r\n")
        busy[0].writer.write(b"x" * 100)
        assert (await busy[0].reader.readline()).startswith(b"HTTP/1.1 4"), "it has its answer, and stays connected"
        one_more.writer.write(f"GET {BASE}/version HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert b"HTTP/1.1 200" in await one_more.reader.readuntil(b"\r\n\r\n")
        await busy[0].reader.read()
        for each in busy:
            each.writer.close()


async def test_by_tls_a_client_that_sends_nothing_is_closed_and_makes_room(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = certificate(tmp_path)
    trusting = ssl.create_default_context(cafile=file)
    async with serving(database_url, connections_max=4, certificate=file) as api, asyncio.timeout(30):
        host, _, port = api.url.removeprefix("https://").partition(":")

        async def by_tls() -> Raw:
            return Raw(*await asyncio.open_connection(host, int(port), ssl=trusting, server_hostname="localhost"))

        with_head = await by_tls()
        with_head.writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200" in await with_head.reader.readuntil(b"\r\n\r\n")
        silent = [Raw(*await asyncio.open_connection(host, int(port))) for _ in range(8)]
        for left in (with_head, *silent[:4]):
            await left.ended()
        assert (await (await by_tls()).get(f"{BASE}/version")).startswith(b"HTTP/1.1 200")
        await silent[4].ended()
        monkeypatch.setattr(connections, "HEAD_S_MAX", 0.5)
        late = Raw(*await asyncio.open_connection(host, int(port)))
        no_head = await by_tls()
        await late.ended()
        await no_head.ended()


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
