"""Large logs in little memory: `pytest -s -m soak tests/api/test_large_logs.py` prints what 1 GB takes."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from dao.postgres.database import Database
from shoal.backend import backend_of
from shoal.config.settings import load_settings
from tests.api.serving import BASE, client_of, token_of
from tests.cluster.cluster import PATIENT, Cluster
from tests.eventually import eventually
from tests.servers.child import Child

BLOCK = ("0123456789 äöü 🐟 " * 8 + "\n").encode() * 4096
MB = 1 << 20


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(database_url, database_url, tmp_path, PATIENT) as made:
        yield made


class Memory:
    """How much more memory processes had than when they were first seen."""

    def __init__(self, **pids: int) -> None:
        self._pids = pids
        self._before = {name: self._read(pid, "VmRSS") for name, pid in pids.items()}
        for pid in pids.values():
            Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak is counted from now

    @staticmethod
    def _read(pid: int, what: str) -> float:
        status = Path(f"/proc/{pid}/status").read_text()
        return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith(f"{what}:"))

    def growth_mb(self) -> dict[str, float]:
        """By process, at its peak."""
        return {name: round(self._read(pid, "VmHWM") - self._before[name], 1) for name, pid in self._pids.items()}


@asynccontextmanager
async def api_process(database_url: str, folder: Path) -> AsyncIterator[tuple[Child, httpx.AsyncClient]]:
    out = folder / "api.out"
    child = Child.of([sys.executable, "-m", "tests.api.process", database_url], cwd=Path.cwd(), log=out)
    try:
        url = await eventually(lambda: next(line for line in out.read_text().splitlines() if line[:4] == "http"))
        database = Database(database_url, application_name="test", connections_max=1)
        backend = backend_of(database, load_settings({"database_url": database_url}))
        token = await token_of(backend, "ada", is_admin=True)
        await database.close()
        async with client_of(url, token) as client:
            yield child, client
    finally:
        child.kill()


async def received(client: httpx.AsyncClient, path: str) -> tuple[int, bytes]:
    """How many bytes came, and the last of them."""
    count, last = 0, b""
    async with client.stream("GET", path) as answer:
        assert answer.status_code == 200
        async for part in answer.aiter_raw():
            count += len(part)
            last = (last + part)[-200:]
    return count, last


@pytest.mark.parametrize(
    ("size_mb", "growth_mb_max"), [pytest.param(1024, 50, marks=[pytest.mark.soak, pytest.mark.timeout(900)]), (64, 20)]
)
async def test_a_large_log_is_followed_and_downloaded_in_little_memory(
    cluster: Cluster, database_url: str, tmp_path: Path, size_mb: int, growth_mb_max: int
) -> None:
    go = tmp_path / "go"
    script = f"echo begun; until [ -e {go} ]; do sleep 0.1; done"
    cluster.define(7, "w", tasks=[{"name": "a", "type": "SHELL", "params": {"script": script}}])
    await cluster.master()
    worker = await cluster.worker()
    cluster.start(7)
    log = await eventually(lambda: next(tmp_path.glob("worker-*/logs/*/7/*/*.log")), within_s=20)
    path = f"{BASE}/task-instances/{log.stem}/log"
    async with api_process(database_url, tmp_path) as (api, client):
        assert (await client.get("/readyz")).status_code == 200
        memory = Memory(api=api.pid, worker=worker.pid)
        begun_s = time.monotonic()
        following = asyncio.create_task(received(client, f"{path}?follow=1"))
        with log.open("ab") as file:
            for _ in range(size_mb * MB // len(BLOCK)):
                await asyncio.to_thread(file.write, BLOCK)
        size = log.stat().st_size
        go.touch()
        _, last = await following
        assert f"event: end\nid: {size}\n" in last.decode(errors="replace")
        followed, followed_s = memory.growth_mb(), time.monotonic() - begun_s
        begun_s = time.monotonic()
        assert (await received(client, path))[0] == size
        downloaded, downloaded_s = memory.growth_mb(), time.monotonic() - begun_s
    said = f"{size / MB:.0f} MB {{}} in {{:.1f}} s; at its peak memory had grown by so many MB: {{}}\n"
    sys.stdout.write(f"\n{said.format('followed', followed_s, followed)}")
    sys.stdout.write(said.format("downloaded", downloaded_s, downloaded))
    assert max(downloaded.values()) < growth_mb_max
