"""`worker/attempts/attempts.py`: what was claimed is run and its end reported, with as little as one attempt needs."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, cast

import pytest

from dao.postgres.database import Database
from dao.secrets.vault import Vault
from model.ids import Epoch, TaskInstanceId
from model.runs.states import TaskState
from node.overload import Overload
from tests.worker.errand import NOWHERE, claimed
from worker.attempts.attempts import Attempts
from worker.attempts.executor import Executor
from worker.secrets.named import NamedSecrets
from worker.settings import WorkerSettings

NOBODY = cast(Any, None)


def attempts(folder: Path, ended: asyncio.Event) -> Attempts:
    """The attempts of a worker that runs FAKE tasks, which need neither a database nor a launcher."""
    settings = WorkerSettings(folder=folder)
    secrets = NamedSecrets(Database(NOWHERE, application_name="shoal-test"), Vault([]))
    executor = Executor(settings, NOBODY, Epoch(7), secrets, Overload(settings.load, so=""))
    return Attempts(NOBODY, executor, 100, ended.set, lambda _id: None)


@pytest.mark.parametrize("state", [TaskState.RUNNING_EXECUTION, TaskState.DISPATCH])
async def test_what_is_killed_before_its_first_step_is_reported_and_does_nothing(
    tmp_path: Path, state: TaskState
) -> None:
    ended = asyncio.Event()
    mine = attempts(tmp_path, ended)
    mine.start([claimed("FAKE", id=TaskInstanceId(id_), params={"write": "x"}, state=state) for id_ in (1, 2)])
    for id_ in list(mine.running):
        mine.cancel(id_, TaskState.KILL, "it was killed")
    await ended.wait()
    await asyncio.sleep(0)
    assert [(each.state, each.reason) for each in mine.ended.values()] == [(TaskState.KILL, "it was killed")] * 2
    assert not mine.running
    assert list(tmp_path.iterdir()) == []


async def test_an_attempt_of_one_step_takes_one_task_of_the_loop(tmp_path: Path) -> None:
    """The work for each attempt limits how many a worker can run."""
    ended, begun = asyncio.Event(), 0
    mine = attempts(tmp_path, ended)

    def counting(loop: asyncio.AbstractEventLoop, work: Any, **named: Any) -> asyncio.Task[Any]:
        nonlocal begun
        begun += 1
        return asyncio.Task(cast(Coroutine[Any, Any, Any], work), loop=loop, **named)

    asyncio.get_running_loop().set_task_factory(counting)
    mine.start([claimed("FAKE", id=TaskInstanceId(id_), params={"write": "x"}) for id_ in range(1, 11)])
    while len(mine.ended) < 10:
        ended.clear()
        await ended.wait()
    asyncio.get_running_loop().set_task_factory(None)
    assert {each.state for each in mine.ended.values()} == {TaskState.SUCCESS}
    assert begun == 10
