"""Logs over real HTTP."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from model.errors import Refused
from model.ids import TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.logs.name import LogName
from model.logs.signature import LIVES_S, TIME_HEADER, signed
from registry.clock import boottime_s
from tests.http_server.raw import Raw
from worker.folder import WorkerFolder
from worker.logs import service as log_service
from worker.logs.service import SLICE_BYTES_MAX, LogService
from worker.logs.task_log import LogFile

LOG = "/log/20260131/7/8/9"
KEY = "a" * 64


def ask(path: str = LOG, offset: int = 0, limit: int = SLICE_BYTES_MAX, **given: Any) -> str:
    """A signed request; `given` overrides what was signed."""
    key, now_s = given.pop("key", KEY), given.pop("now_s", boottime_s())
    return f"{given.pop('at', path)}?{urlencode({**signed(key, path, offset, limit, now_s), **given})}"


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
async def served(root: Path) -> AsyncIterator[httpx.AsyncClient]:
    service = LogService(root, KEY)
    await service.start()
    host, port = service.address
    async with httpx.AsyncClient(base_url=f"http://{host}:{port}", trust_env=False, timeout=60) as client:
        yield client
    await service.stop()


async def test_a_log_is_given_in_parts_with_its_size(root: Path) -> None:
    async with served(root) as client:
        whole = await client.get(ask())
        assert (whole.status_code, whole.content) == (200, b"0123456789\xff")
        assert whole.headers["X-Shoal-Log-Size"] == "11"
        part = await client.get(ask(offset=4, limit=3))
        assert (part.content, part.headers["X-Shoal-Log-Size"]) == (b"456", "11")
        assert (await client.get(ask(offset=11))).content == b""
        assert (await client.get("/healthz")).text == "ok\n"


async def test_one_call_gives_a_mebibyte_at_most(root: Path) -> None:
    with (root / "20260131/7/8/9.log").open("ab") as file:
        file.truncate(3 * SLICE_BYTES_MAX)
    async with served(root) as client:
        answer = await client.get(ask(limit=10 * SLICE_BYTES_MAX))
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
        "/",
    ],
)
async def test_anything_but_the_numbers_of_a_log_gives_nothing(root: Path, path: str) -> None:
    async with served(root) as client:
        # Sent as raw bytes, because httpx would tidy the path first.
        reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
        query = urlencode(signed(KEY, unquote(path), 0, 10, boottime_s()))
        writer.write(f"GET {path}?{query} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        assert answer.split()[1] in (b"400", b"404")
        assert b"secret" not in answer.partition(b"\r\n\r\n")[2].replace(b"..", b"")


async def test_numbers_that_are_none_are_refused_though_signed(root: Path) -> None:
    async with served(root) as client:
        for offset, limit in ((-1, 10), ("1e3", 10), (0, -1), (0, "")):
            assert (await client.get(ask(offset=offset, limit=limit))).status_code == 400  # type: ignore[arg-type]


async def test_only_what_is_signed_is_given_and_only_in_its_time(root: Path) -> None:
    other = LogName("20260131", WorkflowCode(7), WorkflowInstanceId(8), TaskInstanceId(10))
    LogFile(root, other, bytes_max=100).write(b"of another")
    async with served(root) as client:
        for wrong in (
            LOG,
            f"{LOG}?offset=0&limit=10",
            ask(key="b" * 64),
            ask(at="/log/20260131/7/8/10"),
            ask(offset=5) + "&offset=0",
            ask(signature=""),
            ask(signature="ü"),
            ask(limit=3).replace("limit=3", "limit=9"),
            ask(expires=int(boottime_s()) + 10_000),
            ask(now_s=boottime_s() - LIVES_S - 2),
            ask(now_s=boottime_s() + 10_000),
        ):
            answer = await client.get(wrong, headers={"Authorization": f"Bearer {KEY}"})
            assert (answer.status_code, "0123" in answer.text) == (401, False), wrong
            assert abs(float(answer.headers[TIME_HEADER]) - boottime_s()) < 60
        assert (await client.get(ask())).status_code == 200
        assert (await client.get(ask("/log/20260131/7/8/10"))).content == b"of another"
        assert (await client.get("/healthz")).status_code == 200


async def test_a_connection_has_one_answer_and_little_time(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = log_service.LIMITS
    assert (limits.connections, limits.head_s, limits.connection_s) == (100, 5.0, 30.0)
    monkeypatch.setattr(log_service, "LIMITS", replace(limits, connections=2, head_s=0.5))
    async with served(root) as client, asyncio.timeout(20):
        for path in (ask(), LOG, "/nowhere"):
            assert (await client.get(path)).headers["Connection"] == "close"
        silent = [await Raw.to(str(client.base_url)) for _ in range(3)]
        await silent[0].rest()
        assert (await client.get(ask())).status_code == 200
        for each in silent:
            assert await each.rest() == b""


def certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "worker")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(address, critical=False)
        .sign(key, hashes.SHA256())
    )
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return files


async def test_with_a_certificate_logs_are_given_by_tls_alone(root: Path, tmp_path: Path) -> None:
    file, key = certificate(tmp_path)
    service = LogService(root, KEY, certificate=file, private_key=key)
    await service.start()
    host, port = service.address
    trusting = ssl.create_default_context(cafile=file)
    async with httpx.AsyncClient(
        base_url=f"https://{host}:{port}", verify=trusting, trust_env=False, timeout=60
    ) as client:
        assert (await client.get(ask())).content == b"0123456789\xff"
    async with httpx.AsyncClient(base_url=f"https://{host}:{port}", trust_env=False, timeout=60) as stranger:
        with pytest.raises(httpx.ConnectError):
            await stranger.get(ask())
    async with httpx.AsyncClient(base_url=f"http://{host}:{port}", trust_env=False, timeout=60) as plain:
        with pytest.raises(httpx.HTTPError):
            await plain.get(ask())
    await service.stop()


def test_a_certificate_that_is_none_is_refused_with_the_setting(root: Path, tmp_path: Path) -> None:
    (tmp_path / "c.pem").write_text("none")
    for wrong in (tmp_path / "c.pem", tmp_path / "missing.pem"):
        with pytest.raises(Refused, match=r"worker\.log_certificate"):
            LogService(root, KEY, certificate=wrong)


def test_a_workers_key_is_made_once_and_its_owners_alone(tmp_path: Path) -> None:
    folder = WorkerFolder(tmp_path)
    key = folder.log_key()
    assert (tmp_path / "log-key").stat().st_mode & 0o777 == 0o600
    assert WorkerFolder(tmp_path).log_key() == key
    (tmp_path / "log-key").write_text("short")
    assert len(folder.log_key()) == 64


async def test_a_taken_port_is_told(root: Path) -> None:
    first = LogService(root, KEY)
    await first.start()
    with pytest.raises(Refused, match=r"^logs cannot be served on .+ worker\.log_port$"):
        await LogService(root, KEY, port=first.address[1]).start()
    await first.stop()
