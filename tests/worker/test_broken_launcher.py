"""A worker whose launcher cannot load its libraries, or does not start at all: no task waits for it forever."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from model.runs.states import TaskState
from tests.worker.errand import Errands, claimed
from tests.worker.http_server import http_server, says
from worker.attempts.executor import BROKEN_TRIES_MAX
from worker.launcher import client

ROOT = str(Path(client.__file__).parents[2])
REQUEST = """
import asyncio, sys
from pathlib import Path
from tests.worker.errand import Errands, claimed
from worker.launcher.client import Launcher

async def main(url: str, folder: str) -> None:
    launcher = Launcher()
    end = await Errands(launcher, Path(folder)).run(claimed("HTTP", params={"url": url}))
    await launcher.close()
    print(end.state, end.reason)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_libraries_that_only_pythonpath_names_are_found_below_a_keeper(tmp_path: Path) -> None:
    async with http_server({"*": says("200 OK", b"hello")}) as server:
        bare = [os.path.realpath(sys.executable), "-c", REQUEST, f"{server.address}/", str(tmp_path)]
        libraries = {"PYTHONPATH": os.pathsep.join([ROOT, sysconfig.get_path("purelib")])}
        found = await asyncio.to_thread(
            subprocess.run, bare, env=libraries, cwd="/", capture_output=True, text=True, timeout=60
        )
    assert found.stdout.startswith("SUCCESS"), found.stdout + found.stderr


async def test_a_library_that_cannot_be_loaded_fails_the_task_at_once(
    errands: Errands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_BOOT_WARM", "import sys; sys.modules['pydantic'] = None" + client._BOOT_WARM)
    end = await errands.run(claimed("HTTP", params={"url": "http://127.0.0.1:1/"}))
    assert end.state is TaskState.FAILURE
    assert "no process can be made for it: ModuleNotFoundError" in end.reason
    assert errands.lacked_means == 0


@pytest.mark.parametrize(("end", "code"), [("raise SystemExit(3)", "3"), ("os.kill(os.getpid(), 11)", "-11")])
async def test_a_task_whose_launcher_ends_at_each_start_goes_to_other_workers_a_few_times_and_then_fails(
    errands: Errands, monkeypatch: pytest.MonkeyPatch, end: str, code: str
) -> None:
    monkeypatch.setattr(client, "_BOOT_WARM", f"import os; {end}")
    params = {"url": "http://127.0.0.1:1/"}
    first = await errands.run(claimed("HTTP", params=params))
    assert first.state is TaskState.PAUSE
    assert "gave it back" in first.reason
    last = await errands.run(claimed("HTTP", params=params, attempt=BROKEN_TRIES_MAX))
    assert last.state is TaskState.FAILURE
    assert f"the launcher of this worker ends at each start, with exit code {code}" in last.reason


async def test_a_launcher_that_somebody_kills_lacks_means(errands: Errands, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the kernel does when memory runs out: that passes."""
    monkeypatch.setattr(client, "_BOOT_WARM", "import os; os.kill(os.getpid(), 9)")
    task = claimed("HTTP", params={"url": "http://127.0.0.1:1/"}, attempt=BROKEN_TRIES_MAX)
    end = await errands.run(task)
    assert end.state is TaskState.PAUSE, end.reason


async def test_a_launcher_that_has_worked_and_ends_at_each_start_lacks_means(
    errands: Errands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A launcher that cannot start while memory or descriptors run out does the same: a task must not fail for that."""
    async with http_server({"*": says("200 OK", b"hello")}) as server:
        task = claimed("HTTP", params={"url": f"{server.address}/"}, attempt=BROKEN_TRIES_MAX)
        assert (await errands.run(task)).state is TaskState.SUCCESS
        monkeypatch.setattr(client, "_BOOT_WARM", "raise SystemExit(1)")
        assert errands.launcher.warm_pid is not None
        os.kill(errands.launcher.warm_pid, signal.SIGKILL)
        end = await errands.run(task)
    assert end.state is TaskState.PAUSE, end.reason


@pytest.mark.parametrize("module", ["ssl", "httpx"])
async def test_the_working_directory_of_a_worker_replaces_no_library_below_a_keeper(
    tmp_path: Path, module: str
) -> None:
    """The warm zygote may be root, and the directory may be anybody's. The worker itself has loaded what it needs."""
    (tmp_path / f"{module}.py").write_text("raise ImportError('not the library')")
    here = f"import sys; sys.path.remove(''); import {module}; sys.path.insert(0, '')" + REQUEST
    async with http_server({"*": says("200 OK", b"hello")}) as server:
        worker = [sys.executable, "-c", here, f"{server.address}/", str(tmp_path)]
        found = await asyncio.to_thread(
            subprocess.run, worker, env={}, cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
    assert found.stdout.startswith("SUCCESS"), found.stdout + found.stderr
