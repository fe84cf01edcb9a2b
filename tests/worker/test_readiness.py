"""Readiness: what probes find, and when that changes the verdict."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from dao.streams.stream_readiness import Probed
from model.ids import TaskInstanceId, WorkflowInstanceId
from model.streams.streams import Readiness
from worker.attempts.readiness import ReadinessBoard, Verdict, _is_fine


def test_one_success_makes_ready_and_so_many_failures_in_a_row_make_not_ready() -> None:
    verdict = Verdict(failures_max=3)
    results = [False, True, True, False, False, True, False, False, False, False, True]
    news = [verdict.add(is_fine=result) for result in results]
    assert news == [False, True, False, False, False, False, False, False, True, False, True]
    assert verdict.is_ready


@asynccontextmanager
async def _server(answer: bytes) -> AsyncIterator[int]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def _nothing(_argv: list[str]) -> int:
    raise AssertionError("no command is asked for")


@pytest.mark.parametrize(
    ("answer", "is_fine"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", True),
        (b"HTTP/1.1 302 Found\r\n\r\n", True),
        (b"HTTP/1.1 503 Busy\r\n\r\n", False),
        (b"SSH-2.0-OpenSSH\r\n", False),
        (b"", False),
        (b"x" * 20_000, False),
    ],
)
async def test_a_url_is_ready_by_its_status(answer: bytes, is_fine: bool) -> None:
    async with _server(answer) as port:
        probe = Readiness(url=f"http://127.0.0.1:{port}/healthz?deep=1", timeout=1)
        assert await _is_fine(probe, _nothing) is is_fine


async def test_a_port_is_ready_when_it_accepts_a_connection() -> None:
    async with _server(b"") as port:
        assert await _is_fine(Readiness(port=port), _nothing)
    assert not await _is_fine(Readiness(port=port), _nothing)


async def test_a_command_is_ready_by_its_exit_code_and_ended_when_it_takes_too_long() -> None:
    ended = asyncio.Event()

    async def run(argv: list[str]) -> int:
        assert argv[:2] == ["bash", "-c"]
        if argv[2] != "hangs":
            return int(argv[2])
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return 0

    assert await _is_fine(Readiness(command="0"), run)
    assert not await _is_fine(Readiness(command="1"), run)
    assert not await _is_fine(Readiness(command="hangs", timeout=0.1 / 60), run)
    assert ended.is_set()


@dataclass
class Calls:
    count: int = field(default=0)

    def __call__(self) -> None:
        self.count += 1


def test_what_was_not_written_is_put_back_behind_what_came_since() -> None:
    board, calls = ReadinessBoard(), Calls()
    board.on_news = calls
    old, new = (Probed(TaskInstanceId(1), WorkflowInstanceId(1), 1, is_ready) for is_ready in (True, False))
    board.put(old)
    taken = board.take()
    board.put(new)
    board.put_back(taken)
    assert (board.take(), calls.count) == ({1: new}, 2)
