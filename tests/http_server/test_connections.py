"""Clients that send nothing, send slowly or ask forever do not keep others out."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from dao.secrets.certificate import Certificate
from http_server.asgi import Receive, Scope, Send
from tests.cluster.tls import certificate
from tests.http_server.raw import LARGE, Raw, serving, small_app

BODY = b"POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
PATIENCE_S = 120


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nX: " + b"x" * 10_000], ids=["nothing", "slow head"])
async def test_a_connection_without_a_whole_head_is_closed(sent: bytes) -> None:
    async with serving(head_s=0.5) as url, asyncio.timeout(PATIENCE_S):
        await (await Raw.to(url)).trickle(sent)
        await Raw.answered(url)


async def test_a_second_slow_head_on_a_connection_is_no_better() -> None:
    async with serving(head_s=0.5) as url, asyncio.timeout(PATIENCE_S):
        raw = await Raw.answered(url)
        await raw.trickle(b"GET / HTTP/1.1\r\nX: " + b"x" * 10_000)


async def test_a_body_that_trickles_is_cut() -> None:
    async with serving(body_s=0.5) as url, asyncio.timeout(PATIENCE_S):
        raw = await Raw.to(url)
        raw.writer.write(BODY + b"\r\n")
        await raw.trickle(b"x" * 100)


async def test_a_connection_without_a_further_request_is_closed() -> None:
    async with serving(idle_s=1) as url, asyncio.timeout(PATIENCE_S):
        raw = await Raw.answered(url)
        await raw.rest()


async def test_a_client_that_takes_nothing_is_ended_when_the_time_of_its_connection_is_over() -> None:
    async with serving(connection_s=0.5) as url, asyncio.timeout(PATIENCE_S):
        raw = await Raw.answered(url, "/large")
        await asyncio.sleep(1)
        assert len(await raw.rest()) < LARGE
        waits = await Raw.to(url)
        waits.writer.write(BODY + b"\r\n")
        assert await waits.rest() == b""


async def test_a_connection_has_one_answer_where_that_is_all_it_may_have() -> None:
    async with serving(one_request=True) as url, asyncio.timeout(PATIENCE_S):
        raw = await Raw.to(url)
        raw.ask("/")
        raw.ask("/")
        told = (await raw.rest()).lower()
        assert told.count(b"http/1.1 200") == told.count(b"connection: close") == 1


@pytest.mark.parametrize("parts", [1, 3])
async def test_a_head_that_is_too_long_is_refused_however_it_comes(parts: int) -> None:
    async with serving(head_bytes=2_000) as url, asyncio.timeout(PATIENCE_S):
        raw = await Raw.to(url)
        head = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 3_000 + b"\r\n\r\n"
        for part in range(parts):
            raw.writer.write(head[part * len(head) // parts : (part + 1) * len(head) // parts])
            await asyncio.sleep(0.1)
        told = await raw.rest()
        assert told.startswith(b"HTTP/1.1 431" if parts == 1 else b"HTTP/1.1 400"), told
        assert (await (await Raw.to(url)).get()).startswith(b"HTTP/1.1 200")


async def test_what_is_no_request_is_refused_and_no_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    chunked = BODY.replace(b"Content-Length: 100", b"Transfer-Encoding: chunked") + b"\r\n"
    async with serving() as url, asyncio.timeout(PATIENCE_S):
        for wrong in (b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01" + b"x" * 500 + b"\r\n\r\n",
                      chunked + b"nonsense\r\n", chunked.replace(b"/body", b"/") + b"nonsense\r\n"):  # fmt: skip
            raw = await Raw.to(url)
            raw.writer.write(wrong)
            assert (await raw.rest()).startswith(b"HTTP/1.1 400"), wrong
        begun = await Raw.to(url)
        begun.writer.write(chunked.replace(b"/body", b"/large"))
        assert (await begun.reader.readline()).startswith(b"HTTP/1.1 200")
        begun.writer.write(b"nonsense\r\n")
        assert len(await begun.rest()) <= LARGE + 500
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []


async def test_idle_connections_make_room_and_health_is_always_answered() -> None:
    async with serving(connections=4) as url, asyncio.timeout(PATIENCE_S):
        idle = [await Raw.to(url) for _ in range(4)]
        assert (await (await Raw.to(url)).get()).startswith(b"HTTP/1.1 200")
        assert await idle[0].rest() == b"", "the oldest idle one makes room"
        busy = [await Raw.to(url) for _ in range(4)]
        for each in busy:
            each.writer.write(BODY + b"Expect: 100-continue\r\n\r\n")
            assert b"100" in await each.head()
        late = await Raw.to(url)
        assert (await late.get()).startswith(b"HTTP/1.1 503")
        assert b"connection: close" in (await late.rest()).lower()
        assert (await (await Raw.to(url)).get("/healthz")).startswith(b"HTTP/1.1 200")


async def test_each_of_those_that_come_at_once_gets_the_place_of_another_silent_one() -> None:
    async with serving(connections=12) as url, asyncio.timeout(PATIENCE_S):
        silent = [await Raw.to(url) for _ in range(12)]
        assert (await silent[-1].get()).startswith(b"HTTP/1.1 200"), "all are accepted"
        place = urlsplit(url)
        # Made and used without the loop, so that the server accepts all of them in one turn of it.
        at_once = [socket.create_connection((place.hostname, place.port)) for _ in range(5)]
        for each in at_once:
            each.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for each in at_once:
            raw = Raw(*await asyncio.open_connection(sock=each))
            assert (await raw.reader.readline()).startswith(b"HTTP/1.1 200")
        for left in silent[:5]:
            assert await left.rest() == b""
        assert not any(stays.reader.at_eof() for stays in silent[5:]), "no more than are needed"


async def test_a_request_is_answered_where_another_connection_has_none_any_more() -> None:
    async with serving(connections=3) as url, asyncio.timeout(PATIENCE_S):
        busy = [await Raw.to(url) for _ in range(3)]
        for each in busy:
            each.writer.write(BODY + b"Expect: 100-continue\r\n\r\n")
        for each in busy:
            assert b"100" in await each.head()
        assert (await (await Raw.to(url)).get()).startswith(b"HTTP/1.1 503"), "all have requests"
        one_more = await Raw.to(url)
        one_more.ask("/healthz")
        assert b"200" in await one_more.head()
        busy[0].writer.write(b"x" * 100)
        assert (await busy[0].reader.readline()).startswith(b"HTTP/1.1 200"), "it has its answer, and stays connected"
        one_more.ask("/")
        assert b"HTTP/1.1 200" in await one_more.head()
        await busy[0].rest()


async def test_whose_answer_is_on_its_way_makes_room_after_the_others() -> None:
    async with serving(connections=2) as url, asyncio.timeout(PATIENCE_S):
        reads = await Raw.to(url)
        assert (await reads.get("/large")).startswith(b"HTTP/1.1 200")
        silent = await Raw.to(url)
        assert (await (await Raw.to(url)).get()).startswith(b"HTTP/1.1 200")
        assert await silent.rest() == b""
        await reads.head()
        assert len(await reads.reader.readexactly(LARGE)) == LARGE


async def test_hundreds_of_connections_that_say_nothing_keep_nobody_out() -> None:
    async with serving(head_s=5.0, at_once=64) as url, asyncio.timeout(PATIENCE_S):
        silent = [await Raw.to(url) for _ in range(200)]
        for each in silent[::2]:
            each.writer.write(b"GET /log/")  # and no more
        for _ in range(20):
            assert (await (await Raw.to(url)).get()).startswith(b"HTTP/1.1 200")
        assert [await each.rest() for each in silent] == [b""] * len(silent)


async def test_by_tls_a_client_that_sends_nothing_is_closed_and_makes_room(tmp_path: Path) -> None:
    file = certificate(tmp_path)
    trusting = ssl.create_default_context(cafile=file)
    tls = Certificate.named(file, None, what="a test", settings="")
    async with serving(tls=tls, connections=4) as url, asyncio.timeout(PATIENCE_S):
        with_head = await Raw.to(url, trusting)
        with_head.ask("/")
        assert b"200" in await with_head.head()
        silent = [await Raw.to(url) for _ in range(8)]
        for left in (with_head, *silent[:4]):
            await left.rest()
        assert (await (await Raw.to(url, trusting)).get()).startswith(b"HTTP/1.1 200")
        await silent[4].rest()
    for limit in ("head_s", "connection_s"):
        async with serving(tls=tls, **{limit: 0.5}) as url, asyncio.timeout(PATIENCE_S):
            await (await Raw.to(url)).rest()
            with suppress(OSError):  # a busy machine has not ended the handshake by then
                await (await Raw.to(url, trusting)).rest()
    async with asyncio.timeout(PATIENCE_S):  # a stop waits for no handshake
        async with serving(tls=tls, stop_s=3_600) as url:
            in_handshake = await Raw.to(url)
            await asyncio.sleep(0.2)
        assert await in_handshake.rest() == b""


async def test_a_certificate_that_is_replaced_is_that_of_the_next_connection(tmp_path: Path) -> None:
    file = certificate(tmp_path)
    tls = Certificate.named(file, None, what="a test", settings="")

    async def is_answered(trusting: ssl.SSLContext) -> bool:
        try:
            return (await (await Raw.to(url, trusting)).get()).startswith(b"HTTP/1.1 200")
        except ssl.SSLCertVerificationError:
            return False

    async with serving(tls=tls) as url, asyncio.timeout(PATIENCE_S):
        former = ssl.create_default_context(cafile=file)
        kept = await Raw.to(url, former)
        kept.ask("/")
        assert b"200" in await kept.head()
        next_one = ssl.create_default_context(cafile=certificate(tmp_path))
        assert await is_answered(next_one)
        assert not await is_answered(former)
        kept.ask("/")
        assert b"200" in await kept.head(), "connections go on"
        file.write_text("half of a file")
        assert await is_answered(next_one)


async def test_the_application_sees_each_request_once_and_whole() -> None:
    seen: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(f"{scope['method']} {scope['path']}?{scope['query_string'].decode()}")
        await small_app(scope, receive, send)

    async with serving(app) as url, asyncio.timeout(PATIENCE_S):
        raw = await Raw.to(url)
        raw.ask("/one?a=1")
        raw.ask("/two")
        assert b"200" in await raw.head()
        await raw.reader.readexactly(3)
        assert b"200" in await raw.head()
    assert seen == ["GET /one?a=1", "GET /two?"]
