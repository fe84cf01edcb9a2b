"""Logs over real HTTP."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from model.errors import Refused, Unavailable
from model.ids import TaskInstanceId, WorkflowCode, WorkflowInstanceId
from worker.log_service import SLICE_BYTES_MAX, LogService
from worker.task_log import LogFile, LogName

LOG = "/log/20260131/7/8/9"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    log = LogFile(
        tmp_path / "logs",
        LogName("20260131", WorkflowCode(7), WorkflowInstanceId(8), TaskInstanceId(9)),
        bytes_max=1 << 30,
    )
    log.write(b"0123456789\xff")
    log.close()
    (tmp_path / "secret.log").write_text("secret")
    return tmp_path / "logs"


@asynccontextmanager
async def served(root: Path, token: str | None = None) -> AsyncIterator[httpx.AsyncClient]:
    service = LogService(root, token=token)
    await service.start()
    host, port = service.address
    async with httpx.AsyncClient(base_url=f"http://{host}:{port}", trust_env=False) as client:
        yield client
    await service.stop()


async def test_a_log_is_given_in_parts_with_its_size(root: Path) -> None:
    async with served(root) as client:
        whole = await client.get(LOG)
        assert (whole.status_code, whole.content) == (200, b"0123456789\xff")
        assert whole.headers["X-Shoal-Log-Size"] == "11"
        part = await client.get(LOG, params={"offset": 4, "limit": 3})
        assert (part.content, part.headers["X-Shoal-Log-Size"]) == (b"456", "11")
        assert (await client.get(LOG, params={"offset": 11})).content == b""
        assert (await client.get("/healthz")).text == "ok\n"


async def test_one_call_gives_a_mebibyte_at_most(root: Path) -> None:
    with (root / "20260131/7/8/9.log").open("ab") as file:
        file.truncate(3 * SLICE_BYTES_MAX)
    async with served(root) as client:
        answer = await client.get(LOG, params={"limit": 10 * SLICE_BYTES_MAX})
        assert len(answer.content) == SLICE_BYTES_MAX
        assert answer.headers["X-Shoal-Log-Size"] == str(3 * SLICE_BYTES_MAX)


@pytest.mark.parametrize(
    "path",
    [
        "/log/20260131/7/8/10",
        "/log/../secret",
        "/log/20260131/7/8/..%2f..%2f..%2f..%2fsecret",
        "/log/20260131/7/8/9.log",
        "/log/20260131/7/8/-9",
        "/log/20260131/7/8/%D9%A9",
        "/log/20260131/7/8/9%00",
        "/log/20260131/7/8/+9",
        "/log/20260131/7/8/99999999999999999999",
        "/log/..%2f..%2f/7/8/9",
        "/log/20260131/7/8",
        f"{LOG}?offset=-1",
        f"{LOG}?offset=1e3",
        f"{LOG}?limit=-1",
        "/",
    ],
)
async def test_anything_but_the_numbers_of_a_log_gives_nothing(root: Path, path: str) -> None:
    async with served(root) as client:
        # Sent as raw bytes, because httpx would tidy the path first.
        reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        assert answer.split()[1] in (b"400", b"404")
        assert b"secret" not in answer.partition(b"\r\n\r\n")[2].replace(b"..", b"")


async def test_with_a_token_only_its_bearer_reads(root: Path) -> None:
    async with served(root, token="s3crét") as client:
        for wrong in ["", "Bearer x", "Basic s3crét", "Bearer", "Bearer s3crét2", "s3crét", "Bearer \xfc"]:
            headers = [(b"Authorization", wrong.encode())]
            assert (await client.get(LOG, headers=headers)).status_code == 401
        assert (await client.get(LOG)).status_code == 401
        assert (await client.get(LOG, headers=[(b"Authorization", "Bearer s3crét".encode())])).status_code == 200
        assert (await client.get("/healthz")).status_code == 200


async def test_without_a_token_a_foreign_page_that_names_our_address_its_own_is_turned_away(root: Path) -> None:
    async with served(root) as client:
        assert (await client.get(LOG, headers={"Host": "evil.example"})).status_code == 401
        assert (await client.get(LOG, headers={"Host": "localhost:1"})).status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "worker-1"])
def test_beyond_loopback_it_refuses_to_serve_without_a_token(root: Path, host: str) -> None:
    with pytest.raises(Refused, match="without a token"):
        LogService(root, host)
    LogService(root, host, token="x")


async def test_a_taken_port_is_told(root: Path) -> None:
    first = LogService(root)
    await first.start()
    with pytest.raises(Unavailable, match="cannot be served"):
        await LogService(root, port=first.address[1]).start()
    await first.stop()


async def test_it_leaves_the_signals_alone(root: Path) -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    async with served(root) as client:
        await client.get("/healthz")
        assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
