"""Requirements of PYTHON tasks: installed once for each user by the worker's uv, kept, and bounded."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest
from pydantic import ValidationError

from dao.tasks.task_claims import ClaimedTask
from model.ids import TaskInstanceId
from model.runs.states import TaskState
from tests.every import every
from tests.worker.errand import Errands, claimed
from worker.folder import WorkerFolder
from worker.launcher.client import Launcher
from worker.tasks.python import PythonTask

UV = Path(sys.executable).with_name("uv")
HELD = """
import os, time, fish
print("begun", flush=True)
while not os.path.exists({until!r}):
    time.sleep(0.02)
import fish.more
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user of this machine can reach, with a copy of uv, and wheels of `fish`."""
    path = Path(tempfile.mkdtemp(prefix="shoal-requirements-", dir="/tmp"))
    path.chmod(0o755)
    shutil.copy(UV, path / "uv")
    for version in ("1", "2", "3"):
        wheel = path / f"fish-{version}-py3-none-any.whl"
        with ZipFile(wheel, "w") as file:
            file.writestr("fish/__init__.py", f"version = {version}")
            file.writestr("fish/more.py", "")
            about = f"fish-{version}.dist-info"
            file.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: fish\nVersion: {version}\n")
            file.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            file.writestr(f"{about}/RECORD", "")
        wheel.chmod(0o644)
    yield path
    shutil.rmtree(path)


@pytest.fixture
async def worker(folder: Path) -> AsyncIterator[Errands]:
    """A worker with uv."""
    launcher = Launcher(grace_s=0.5)
    launcher.open()
    WorkerFolder(folder / "worker").make()
    yield Errands(launcher, folder / "worker", {"uv": folder / "uv"})
    await launcher.close()


def task(folder: Path, script: str, fish: str = "1", **fields: object) -> ClaimedTask:
    requirement = f"fish @ file://{folder}/fish-{fish}-py3-none-any.whl"
    return claimed("PYTHON", params={"script": script, "requirements": [requirement]}, **fields)


def environments(worker: Errands, uid: int | None = None) -> list[Path]:
    found = worker.folder / "environments" / str(os.getuid() if uid is None else uid)
    return sorted(each for each in found.iterdir() if each.is_dir())


async def test_requirements_are_installed_once_and_the_script_ends_as_itself(worker: Errands, folder: Path) -> None:
    first = await worker.run(task(folder, "import sys, fish; print(sys.prefix, fish.version); sys.exit(7)"))
    assert (first.state, first.reason) == (TaskState.FAILURE, f"exit code 7: {environments(worker)[0]} 1")
    made = environments(worker)[0].stat().st_ino
    again = await worker.run(task(folder, "import fish; print('#{setValue(version=%d)}' % fish.version)"))
    assert (again.state, again.outputs) == (TaskState.SUCCESS, '{"version": "1"}')
    assert [each.stat().st_ino for each in environments(worker)] == [made]


async def test_tasks_that_begin_at_once_make_one_environment(worker: Errands, folder: Path) -> None:
    ids = [TaskInstanceId(number) for number in range(5, 9)]
    ends = await asyncio.gather(*[worker.run(task(folder, "import fish", id=each)) for each in ids])
    assert {end.state for end in ends} == {TaskState.SUCCESS}, [end.reason for end in ends]
    assert len(environments(worker)) == 1
    assert sum("Installed 1 package" in each.read_text() for each in worker.folder.rglob("*.log")) == 1


async def test_what_cannot_be_installed_is_said_and_tried_again(worker: Errands, folder: Path) -> None:
    (folder / "fish-1-py3-none-any.whl").rename(folder / "later")
    failed = await worker.run(task(folder, "import fish"))
    assert failed.state is TaskState.FAILURE
    assert failed.reason.startswith("exit code 1: the requirements fish @ file://")
    assert failed.reason.endswith("could not be installed: what uv said stands above")
    (folder / "later").rename(folder / "fish-1-py3-none-any.whl")
    assert (await worker.run(task(folder, "import fish"))).state is TaskState.SUCCESS


async def test_the_least_recently_used_are_removed_but_none_in_use(worker: Errands, folder: Path) -> None:
    worker.settings["environments_max"] = 1
    until = folder / "until"
    held = asyncio.create_task(worker.run(task(folder, HELD.format(until=str(until)))))
    while "begun" not in worker.log:
        await asyncio.sleep(0.05)
    for fish, count in (("2", 2), ("3", 2)):
        end = await worker.run(task(folder, "import fish", fish, id=TaskInstanceId(6)))
        assert (end.state, len(environments(worker))) == (TaskState.SUCCESS, count), end.reason
    until.touch()
    assert (await held).state is TaskState.SUCCESS
    assert (await worker.run(task(folder, "import fish", "2"))).state is TaskState.SUCCESS
    assert len(environments(worker)) == 1


async def test_a_worker_without_uv_says_what_it_lacks(worker: Errands, folder: Path) -> None:
    worker.settings = {}
    lacks = await worker.run(task(folder, "import fish"))
    assert lacks.reason.startswith("this worker installs no requirements; run the task on one with the setting")
    worker.settings = {"uv": folder / "nowhere"}
    assert "the uv of this worker cannot be run" in (await worker.run(task(folder, "import fish"))).reason


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user; run the tests as root too")
async def test_each_tenant_has_environments_of_its_own(worker: Errands, folder: Path) -> None:
    worker.settings["tenants"] = ("nobody",)
    script = "import fish, os; print(open('/proc/self/status').read().split('Uid:')[1].split()[0], fish.__file__)"
    params = {"interpreter": "/usr/bin/python3", "script": script}
    requirement = f"fish @ file://{folder}/fish-1-py3-none-any.whl"
    end = await worker.run(claimed("PYTHON", params={**params, "requirements": [requirement]}, tenant="nobody"))
    uid = pwd.getpwnam("nobody").pw_uid
    assert end.state is TaskState.SUCCESS, worker.log
    own = environments(worker, uid)[0]
    assert worker.log.splitlines()[-1].startswith(f"{uid} {own}/")
    assert (own.stat().st_uid, own.parent.stat().st_mode & 0o777) == (uid, 0o700)
    assert not (worker.folder / "environments" / "0").exists()


@every("text", ["-r files.txt", "${name}==1", "fish==${version}", "fish\n--pre", ""])
def test_neither_options_nor_parameters_are_requirements(text: str) -> None:
    with pytest.raises(ValidationError, match="must be the name of a package"):
        PythonTask.Params(script="", requirements=(text,))
