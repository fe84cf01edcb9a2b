"""`shoal up`: everything starts, is found, is kept running, and ends with it."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import psutil
import pytest

from dao.postgres.database import Database
from dao.runs import lookups
from model.errors import Refused
from service.callers import Caller
from shoal.backend import backend_of
from shoal.clients.direct import DirectClient
from shoal.config.settings import load_settings
from shoal.config.whereabouts import FILE_NAME, read_whereabouts
from shoal.local import sample
from shoal.local.up import _free_port
from tests.dao.scene import Scene
from tests.eventually import eventually
from tests.servers.child import command_line
from tests.shoal.command_line import CommandLine


class RunningUp:
    """A `shoal up` in a process of its own, with its output so far."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        self.process = process
        self.folder = folder
        self.said = ""
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            self.said += line.decode()

    async def says(self, what: str, within_s: float = 40) -> str:
        """Wait for a line that matches; the match."""
        await eventually(lambda: re.search(what, self.said) or self.process.returncode is not None, within_s=within_s)
        found = re.search(what, self.said)
        assert found, self.said
        return found[0]

    def family(self) -> list[psutil.Process]:
        """All that it started, and what those started."""
        return psutil.Process(self.process.pid).children(recursive=True)


@pytest.fixture
async def up(tmp_path: Path) -> AsyncIterator[RunningUp]:
    """A running `shoal up` that has reported to be ready."""
    shoal = CommandLine.at(PYTHONUNBUFFERED="1")
    process = await shoal.start("up", "--masters", "2", "--workers", "1", "--folder", str(tmp_path / "data"))
    running = RunningUp(process, tmp_path / "data")
    try:
        await running.says("In another terminal")
        yield running
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_a_new_database_is_left_without_the_sample_if_that_is_asked(tmp_path: Path) -> None:
    shoal = CommandLine.at(PYTHONUNBUFFERED="1")
    folder = tmp_path / "data"
    process = await shoal.start("up", "--masters", "1", "--no-sample", "--folder", str(folder))
    running = RunningUp(process, folder)
    try:
        await running.says(r"In another terminal: export SHOAL_FOLDER=/\S+   shoal workflow apply FILE")
        assert "Sample" not in running.said
        assert (await CommandLine.at(SHOAL_FOLDER=str(folder))("workflow", "list", "--json")).json == []
        process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(process.wait(), 40) == 0
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_the_examples_of_a_folder_are_saved_and_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    task = "{name: one, type: SHELL, params: {script: 'exit %s'}}"
    for name, code in (("good", 0), ("bad", 1)):
        (folder / f"{name}.yaml").write_text(f"name: {name}\ntasks: [{task % code}]\n", "utf-8")
    sql = "{name: one, type: SQL, params: {datasource: none, sql: SELECT 1}}"
    (folder / "source.yaml").write_text(f"name: source\ntasks: [{sql}]\n", "utf-8")
    monkeypatch.delenv("DISPLAY", raising=False)
    shoal = CommandLine.at(PYTHONUNBUFFERED="1")
    for ends in ("1 FAILURE, 1 SUCCESS", "none is new"):
        words = (
            "--masters",
            "1",
            "--no-sample",
            "--examples",
            str(folder),
            "--open",
            "--folder",
            str(tmp_path / "data"),
        )
        process = await shoal.start("up", *words)
        running = RunningUp(process, tmp_path / "data")
        try:
            await running.says(rf"examples +3 workflows of {folder}; runs: {ends}")
            process.send_signal(signal.SIGINT)
            assert await asyncio.wait_for(process.wait(), 40) == 0
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def test_a_deleted_sample_does_not_come_back(database_url: str) -> None:
    database = Database(database_url, application_name="shoal-test")
    async with database.reading() as connection:
        assert await lookups.is_unused(connection)
    scene = Scene(database)
    await scene.sql(
        "INSERT INTO command_history (command_id, type, outcome, master_id, created_at) "
        "VALUES (1, 'START_PROCESS', 'DONE', 1, now())"
    )
    client = DirectClient(
        backend_of(database, load_settings({"database_url": database_url})), Caller.of_system_user("x")
    )
    assert await sample.run_once(database, client) is None
    assert await scene.sql("SELECT code FROM workflow_definition") == []
    await database.close()


def _living(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [each for each in processes if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]


async def test_it_serves_the_other_verbs_keeps_its_children_and_stops_cleanly(up: RunningUp) -> None:
    """One long story, because each start costs seconds."""
    assert re.search(r"PostgreSQL +\d+\.\d+ +started in \d+\.\d s", up.said)
    assert re.search(r"master m1 +slot \d of 2", up.said)
    assert re.search(r"worker w1 +group default, 8 places", up.said)
    assert re.search(r'Sample workflow "hello": SUCCESS, 4 tasks, \d+\.\d s\.', up.said)
    assert "password" not in up.said
    assert up.said.count("you are root, and so is each task without a tenant") == (os.geteuid() == 0)
    await _the_link_logs_in(up)

    shoal = CommandLine.at(SHOAL_FOLDER=str(up.folder))
    run, slots, second = await asyncio.gather(
        shoal("run", "hello", "--wait"), shoal("master", "list", "--json"), shoal("up", "--folder", str(up.folder))
    )
    assert run.code == 0, run.err
    assert slots.json["total"] == 2
    assert (second.code, "already runs the database" in second.sentence) == (2, True)

    victim = next(each for each in up.family() if command_line(each)[1:] == ["-P", "-m", "shoal", "master"])
    victim.kill()
    assert "starting it again in" in await up.says(r"m\d ended with -9: .*")
    await eventually(lambda: _total(shoal), within_s=30, until=2)
    next(each for each in up.family() if command_line(each)[1:] == ["-P", "-m", "shoal", "api"]).kill()
    await up.says(r"a1 ended with -9: [\s\S]*api a1 +http")

    family = up.family()
    up.process.send_signal(signal.SIGINT)
    assert await asyncio.wait_for(up.process.wait(), 40) == 0
    await up.says(r"Masters and workers stopped in")
    assert not _living(family)
    assert not (up.folder / FILE_NAME).exists()
    assert (await shoal("runs")).code == 78


async def _the_link_logs_in(up: RunningUp) -> None:
    """Once, at the address that is known to who finds the database."""
    found = re.search(r"first login +(http://127\.0\.0\.1:\d+)/login\?link=(\S+) +\(once, within 5 minutes\)", up.said)
    assert found, up.said
    url, link = found.groups()
    assert re.search(rf"api a1 +{url}\n", up.said)
    running = read_whereabouts(up.folder)
    assert running is not None
    assert running.api_url == url
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as client:
        for status in (200, 401):
            assert (await client.post("/login", data={"link": link})).status_code == status
        assert (await client.get("/api/v1/me")).json()["is_admin"]


def test_the_port_is_the_usual_one_or_another_if_that_is_taken_and_the_wanted_one_or_none() -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        taken = holder.getsockname()[1]
        assert _free_port("127.0.0.1", taken, None) not in (0, taken)
        with pytest.raises(Refused, match=f"127.0.0.1:{taken}; stop what has that address"):
            _free_port("127.0.0.1", 0, taken)
    assert _free_port("127.0.0.1", taken, None) == taken
    assert _free_port("127.0.0.1", 0, taken) == taken


async def _total(shoal: CommandLine) -> int:
    found = (await shoal("master", "list", "--json")).json
    return sum(master["agrees"] for master in found["masters"] if master["slot"] is not None)


async def test_nothing_outlives_it_when_it_is_killed(up: RunningUp) -> None:
    family = up.family()
    assert len(family) >= 4
    up.process.kill()
    await up.process.wait()
    await eventually(lambda: not _living(family), within_s=20)


async def test_another_database_is_refused_and_not_ignored() -> None:
    found = await CommandLine.at("postgresql+psycopg://a:b@127.0.0.1/c")("up")
    assert found.code == 2
    assert found.sentence.startswith("`shoal up` brings its own database and registry: take --database-url")


async def test_a_signal_while_it_starts_stops_it_too(tmp_path: Path) -> None:
    shoal = CommandLine.at(PYTHONUNBUFFERED="1")
    process = await shoal.start("up", "--folder", str(tmp_path / "data"))
    assert process.stdout is not None
    await process.stdout.readuntil(b"started in")
    os.kill(process.pid, signal.SIGTERM)
    assert await asyncio.wait_for(process.wait(), 40) == 0
