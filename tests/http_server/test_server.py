"""The begin and end of a server, in the loop of its caller or in a thread, and its errors."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from dao.secrets.certificate import Certificate
from http_server.asgi import Receive, Scope, Send, answer, host_name
from http_server.limits import Limits
from http_server.server import HttpServer, in_thread, listen
from model.errors import Refused
from tests.every import every
from tests.http_server.raw import Raw, serving, small_app

LIMITS = Limits(connections=10, head_s=60.0, body_s=60.0, head_bytes=16_384)


async def test_an_answer_does_not_wait_until_the_client_has_acknowledged_its_head() -> None:
    """Else each takes 40 ms more on a connection that is kept. Method: the server's end of one, among our files."""
    async with serving() as url:
        raw = await Raw.to(url)
        raw.ask("/")
        assert b"200" in await raw.head()
        ours = raw.writer.get_extra_info("sockname")
        ends = [each for each in _sockets_of_this_process() if each.getpeername() == ours]
        sends_at_once = [each.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0 for each in ends]
        for each in ends:
            each.close()
    assert sends_at_once == [True]


def _sockets_of_this_process() -> Iterator[socket.socket]:
    """Copies of those that are connected by TCP."""
    for descriptor in [each for each in Path("/proc/self/fd").iterdir() if each.is_socket()]:
        copy = socket.socket(fileno=os.dup(int(descriptor.name)))
        if copy.family == socket.AF_INET and copy.type == socket.SOCK_STREAM and _is_connected(copy):
            yield copy
        else:
            copy.close()


def _is_connected(one: socket.socket) -> bool:
    try:
        one.getpeername()
    except OSError:
        return False
    return True


async def test_an_answer_says_its_time_and_not_by_what_it_is_served() -> None:
    async with serving() as url, httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as client:
        headers = (await client.get("/")).headers
    assert abs(parsedate_to_datetime(headers["Date"]).timestamp() - time.time()) < 60
    assert "Server" not in headers


def test_an_address_that_cannot_be_had_is_one_sentence_with_the_setting() -> None:
    with listen("127.0.0.1", 0, LIMITS, what="a test", instead="set another port") as first:
        port = first.getsockname()[1]
        said = rf"^a test cannot be served on 127\.0\.0\.1:{port} \(.+\); stop what .+, or set another port$"
        with pytest.raises(Refused, match=said):
            listen("127.0.0.1", port, LIMITS, what="a test", instead="set another port")
    with pytest.raises(Refused, match=r"cannot be served on 192\.0\.2\.1:0 \("):
        listen("192.0.2.1", 0, LIMITS, what="a test", instead="set another port")


def test_a_certificate_that_is_none_is_refused_with_the_settings(tmp_path: Path) -> None:
    (tmp_path / "c.pem").write_text("none")
    for wrong in (tmp_path / "c.pem", tmp_path / "missing.pem"):
        with pytest.raises(Refused, match=r"^a test cannot .+ x\.log_certificate .+\.pem: .+ x\.log_private_key its"):
            Certificate.named(wrong, None, what="a test", settings="x.log_")
    assert Certificate.named(None, None, what="a test", settings="x.log_") is None


async def test_a_stop_answers_what_has_begun_and_waits_for_nobody_else() -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        await may_end.wait()
        await answer(send, 200, "late\n")

    async with asyncio.timeout(120), serving(app, stop_s=3_600) as url:
        silent, asking = await Raw.to(url), await Raw.to(url)
        asking.ask("/")
        await begun.wait()
        asyncio.get_running_loop().call_later(0.3, may_end.set)
    assert await silent.rest() == b""
    assert (await asking.rest()).endswith(b"late\n")
    with pytest.raises(ConnectionRefusedError):
        await Raw.to(url)


@pytest.mark.parametrize("turns", range(5))
async def test_a_stop_loses_nobody_who_has_just_been_accepted(turns: int) -> None:
    async with serving() as url:
        place = urlsplit(url)
        # Without the loop, in whose next turns they are accepted and get their places.
        waiting = [socket.create_connection((place.hostname, place.port)) for _ in range(5)]
        for _ in range(turns):
            await asyncio.sleep(0)
    async with asyncio.timeout(120):
        for each in waiting:
            with suppress(ConnectionError):
                assert await Raw(*await asyncio.open_connection(sock=each)).rest() == b""


async def test_a_stop_ends_what_never_ends() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with serving(app, stop_s=0.2) as url:
        asking = await Raw.to(url)
        asking.ask("/")
        await begun.wait()
    async with asyncio.timeout(120):
        assert await asking.rest() == b""
        await ended.wait()


async def test_it_leaves_the_signals_alone() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    async with serving() as url:
        assert (await (await Raw.to(url)).get()).startswith(b"HTTP/1.1 200")
        assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


async def test_in_a_thread_it_answers_while_the_loop_of_its_caller_hangs() -> None:
    threads = threading.active_count()
    with listen("127.0.0.1", 0, LIMITS, what="a test", instead="") as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        with in_thread(HttpServer(small_app, listener, replace(LIMITS, stop_s=3_600)), "test"):
            # Without an await: the loop of this test does nothing meanwhile.
            with urllib.request.urlopen(url, timeout=60) as answered:
                assert answered.read() == b"ok\n"
            silent = await Raw.to(url)
    assert threading.active_count() == threads
    assert await silent.rest() == b""


def test_what_prevents_the_start_in_a_thread_is_raised_to_its_caller() -> None:
    listener = listen("127.0.0.1", 0, LIMITS, what="a test", instead="")
    listener.close()
    with pytest.raises((OSError, ValueError)), in_thread(HttpServer(small_app, listener, LIMITS), "test"):
        pass


@every(
    ("header", "name"),
    [("LocalHost:9465", "localhost"), ("[::1]:9465", "[::1]"), ("[::1]", "[::1]"), ("a.b", "a.b"), ("", "")],
)
def test_the_name_of_a_host_has_no_port_and_small_letters(header: str, name: str) -> None:
    assert host_name(header) == name
