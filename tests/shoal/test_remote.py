"""The client of an API server, when answers are lost on their way."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from model.accounts.rights import Scope
from model.errors import Refused, ShoalError, Unavailable, Unknown
from service.accounts.own_tokens import NewToken, make_token
from service.cluster.clock import read_clock
from service.error_codes import NO_SUCH_ADDRESS, UNAVAILABLE, UNEXPECTED, Kind
from shoal.cli import exit_codes
from shoal.clients.remote import RemoteClient
from shoal.version import shoal_version
from tests.servers.child import free_port
from tests.worker.test_log_service import certificate

Answering = Callable[[int], Awaitable[bytes | None]]
"""The answer to the request with this number, from 1; None: the connection is closed without one."""

NOW = json.dumps({"now": "2026-01-01T00:00:00Z"}).encode()


class Server:
    """`asked` counts the whole requests that it got."""

    def __init__(self) -> None:
        self.asked = 0
        self.url = ""


@asynccontextmanager
async def server_that(answers: Answering, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """A server on loopback."""
    made = Server()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        if b"content-length: " in head:
            await reader.readexactly(int(head.split(b"content-length: ")[1].split(b"\r\n")[0]))
        made.asked += 1
        if (found := await answers(made.asked)) is not None:
            writer.write(found)
            await writer.drain()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    made.url = f"http{'s' * (tls is not None)}://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    async with listening:
        yield made


def answer_of(status: int, body: bytes) -> bytes:
    return b"HTTP/1.1 %d x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


def problem_of(kind: Kind) -> bytes:
    return answer_of(kind.status, json.dumps({"code": kind.code, "detail": "what is wrong"}).encode())


NEW = NewToken(name="ci", scopes=[Scope.RUNS_READ])


@pytest.mark.parametrize("lost", [None, answer_of(502, b"<html>"), answer_of(504, b"")], ids=["cut", "502", "504"])
async def test_a_change_with_a_secret_is_not_repeated_when_its_answer_was_lost(lost: bytes | None) -> None:
    async def lose(_: int) -> bytes | None:
        return lost

    async with server_that(lose) as server, RemoteClient(server.url, "t") as client:
        with pytest.raises(Unknown, match=r"answer to make_token was lost.*check the tokens of http://127\.0\.0\.1"):
            await client.ask(make_token, 1, NEW)
    assert server.asked == 1


async def test_it_is_repeated_when_nothing_was_done() -> None:
    async def cannot(number: int) -> bytes:
        done = {"id": "1", "name": "ci", "token": "shoal_x", "scopes": [], "expires_at": "2026-01-01T00:00:00Z"}
        return problem_of(UNAVAILABLE) if number == 1 else answer_of(422, json.dumps(done).encode())

    async with server_that(cannot) as server, RemoteClient(server.url, "t") as client:
        with pytest.raises(ShoalError):
            await client.ask(make_token, 1, NEW)
    assert server.asked == 2
    async with RemoteClient(f"http://127.0.0.1:{free_port()}", "t", retry_within_s=0.3) as client:
        with pytest.raises(Unavailable, match="does not answer"):
            await client.ask(make_token, 1, NEW)


async def test_a_server_whose_certificate_is_not_trusted_is_told_with_the_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, key = certificate(tmp_path)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(file, key)

    async def answers(_number: int) -> bytes:
        return answer_of(200, NOW)

    async with server_that(answers, tls) as server:
        async with RemoteClient(server.url, "t", retry_within_s=0.1) as client:
            with pytest.raises(Unavailable, match=r"verify failed.*; SSL_CERT_FILE names a file with its CA"):
                await client.ask(read_clock)
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        async with RemoteClient(server.url, "t") as client:
            assert (await client.ask(read_clock)).now


async def test_the_time_for_repetitions_begins_with_the_first_lost_answer() -> None:
    """Method: the first answer is lost only after longer than the client repeats a request."""

    async def slow_first(number: int) -> bytes | None:
        if number == 1:
            await asyncio.sleep(0.6)
            return None
        return answer_of(200, NOW)

    async with server_that(slow_first) as server, RemoteClient(server.url, None, retry_within_s=0.5) as client:
        await client.ask(read_clock)
    assert server.asked == 2


async def test_an_error_of_shoal_has_the_exit_code_that_it_has_on_the_database() -> None:
    async def fails(_: int) -> bytes:
        return problem_of(UNEXPECTED)

    async with server_that(fails) as server, RemoteClient(server.url, None) as client:
        with pytest.raises(ShoalError) as raised:
            await client.ask(read_clock)
    assert (exit_codes.of_error(raised.value), server.asked) == (1, 1)


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (answer_of(200, b'{"now": "soon", "more": 1}'), "its answer cannot be read: now: "),
        (problem_of(NO_SUCH_ADDRESS), "what is wrong"),
    ],
    ids=["answer", "address"],
)
async def test_a_server_of_another_release_is_named_with_both_versions(first: bytes, said: str) -> None:
    answers = [first, answer_of(200, b'{"version": "9.0.0", "more": 1}')]

    async def answer(number: int) -> bytes | None:
        return answers[number - 1]

    async with server_that(answer) as server, RemoteClient(server.url, "t") as client:
        with pytest.raises(Refused) as error:
            await client.ask(read_clock)
    assert said in str(error.value)
    assert str(error.value).endswith(f"of version 9.0.0, and this shoal of {shoal_version()}: use one of that")
