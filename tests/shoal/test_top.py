"""`shoal top`: one picture, and one that changes until its user ends it."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import signal
import struct
import sys
import termios
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.api.serving import serving, token_of
from tests.cluster.cluster import PATIENT, Cluster
from tests.eventually import eventually
from tests.shoal.command_line import CommandLine

TASKS = [{"name": "a", "type": "FAKE", "params": {}}]


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(database_url, database_url, tmp_path, PATIENT) as made:
        yield made


class Terminal:
    """A verb on a separate terminal, 30 lines of 100 characters."""

    def __init__(self, process: asyncio.subprocess.Process, side: int) -> None:
        self.process = process
        self._side = side
        os.set_blocking(side, False)

    def shown(self) -> str:
        """What it has printed since the last call."""
        try:
            return os.read(self._side, 1 << 20).decode(errors="replace")
        except OSError:
            return ""

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._side, keys)


@asynccontextmanager
async def on_terminal(shoal: CommandLine, *words: str) -> AsyncIterator[Terminal]:
    side, its_side = pty.openpty()
    fcntl.ioctl(its_side, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    environment = {name: value for name, value in shoal.environment.items() if name != "COLUMNS"} | {"TERM": "xterm"}
    command = (sys.executable, "-m", "shoal", *words)
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, stdin=its_side, stdout=its_side, stderr=its_side
    )
    os.close(its_side)
    try:
        yield Terminal(process, side)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        os.close(side)


async def test_a_picture_shows_masters_workers_the_queue_and_runs(cluster: Cluster, database_url: str) -> None:
    shoal = CommandLine.at(database_url)
    empty = await shoal("top", "--once")
    assert "0 masters, 0 workers; no master is alive" in empty.out
    cluster.define(7, "w", tasks=TASKS)
    cluster.define(8, "waits", tasks=TASKS, worker_group="gpu")
    await cluster.master(SHOAL_NAME="m1")
    await cluster.worker(SHOAL_NAME="w1")
    cluster.start(7, count=5)
    cluster.start(8)
    find = "SELECT count(*) FROM workflow_instance WHERE ended_at IS NOT NULL"
    await eventually(lambda: cluster.one(find), until=5, within_s=20)
    await eventually(lambda: cluster.one("SELECT count(*) FROM task_instance WHERE state = 'QUEUED'"), until=1)
    once, fields, piped = await shoal.each("top --once", "top --json", "top")
    assert "1 master, 1 worker; 0 commands and 1 task wait" in once.out
    rows = {line.split()[0]: line.split() for line in once.out.splitlines() if line}
    assert rows["0"][1] == "m1"
    assert float(rows["0"][6]) > 0.0, rows["0"]
    assert rows["w1"][3] == "ALIVE"
    assert rows["gpu"][1] == "1"
    assert once.out.count("SUCCESS") == 5
    assert fields.json["claims"][0]["taken"] == 6
    assert piped.out.splitlines()[1:3] == once.out.splitlines()[1:3]
    async with serving(database_url) as api:
        token = await token_of(api.backend, "ada")  # without a role: it sees the cluster, and no run
        remote = CommandLine.at(None, SHOAL_SERVER=api.url, SHOAL_TOKEN=token)
        seen = await remote("top", "--once")
        assert "1 master, 1 worker; 0 commands and 1 task wait" in seen.out
        assert "SUCCESS" not in seen.out


async def test_it_goes_on_without_its_server_and_ends_on_a_key(cluster: Cluster, database_url: str) -> None:
    async with serving(database_url) as api:
        token = await token_of(api.backend, "ada", is_admin=True)
        remote = CommandLine.at(None, SHOAL_SERVER=api.url, SHOAL_TOKEN=token)
        async with on_terminal(remote, "top") as terminal, on_terminal(remote, "top") as other:
            await eventually(lambda: "0 masters" in terminal.shown(), within_s=10)
            await cluster.master(SHOAL_NAME="m1")
            await eventually(lambda: "m1" in terminal.shown(), within_s=10)
            await eventually(lambda: "m1" in other.shown(), within_s=10)
            other.process.send_signal(signal.SIGINT)
            assert await asyncio.wait_for(other.process.wait(), 20) == 130
            api.stop.set()
            await eventually(lambda: "it is asked again" in terminal.shown(), within_s=10)
            terminal.type(b"xq")
            assert await asyncio.wait_for(terminal.process.wait(), 20) == 0
