"""Trouble of a worker that checks resources of a pool says nothing about the resources."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

import worker.check_runner
from dao.pools.pool_checks import CHECKS_AT_ONCE
from dao.postgres.database import Database
from dao.postgres.sql import Sql
from model.cluster.timing import Timing
from model.errors import Refused, Unavailable, Unknown
from node.life import Life
from tests.dao.pool_scene import PoolScene
from tests.eventually import eventually
from worker.check_runner import PoolChecks
from worker.launcher.errors import DeadlinePassed, LauncherKilled, NoMeans
from worker.settings import WorkerSettings

STATE = "SELECT name, set_aside_why, checked_at IS NOT NULL, checking_by IS NOT NULL FROM pool_resource ORDER BY name"


class Launches:
    """A launcher that fails as told, as often as told; then everything that it starts ends well."""

    def __init__(self) -> None:
        self.errors: list[Exception] = []
        self.begun = 0
        self.folders: list[Path] = []
        self.gate: asyncio.Event | None = None
        self.ends_slowly: asyncio.Event | None = None
        """Set while what it has started is being ended."""

    async def run(self, *_: object, cwd: Path, **__: object) -> int:
        self.begun += 1
        self.folders.append(cwd)
        if self.errors:
            raise self.errors.pop(0)
        try:
            if self.gate is not None:
                await self.gate.wait()
        finally:
            if self.ends_slowly is not None:
                self.ends_slowly.set()
        return 0


@pytest_asyncio.fixture
async def pools(database_url: str) -> AsyncIterator[PoolScene]:
    """A database, and sentences for what a test wants to be there."""
    database = Database(database_url, application_name="shoal-test")
    yield PoolScene(database)
    await database.close()


@pytest.fixture
def launches() -> Launches:
    return Launches()


@pytest_asyncio.fixture
async def checks(
    pools: PoolScene, launches: Launches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[PoolChecks]:
    """The checks of a running worker."""
    monkeypatch.setattr(worker.check_runner.REST, "first_s", 0.01)
    monkeypatch.setattr(worker.check_runner.REST, "max_s", 0.01)
    await pools.pool("a", 1, {"script": "true", "every_s": 3600})
    processes: Any = launches
    made = PoolChecks(
        Life(pools.database, await pools.worker(), Timing()), processes, WorkerSettings(folder=tmp_path), lambda: True
    )
    running = asyncio.create_task(made.run())
    yield made
    running.cancel()
    await asyncio.wait([running])


@pytest.mark.parametrize(
    "error",
    [
        DeadlinePassed("it slept past its horizon"),
        LauncherKilled("its keeper was killed"),
        NoMeans("no process can be made"),
        OSError(errno.EMFILE, "Too many open files"),
        OSError(errno.ENOSPC, "No space left on device"),
        Unavailable("it cannot be reached now"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_a_worker_that_cannot_check_sets_nothing_aside_and_checks_again(
    pools: PoolScene, checks: PoolChecks, launches: Launches, error: Exception
) -> None:
    launches.errors = [error]
    checks.notice()
    await eventually(lambda: pools.sql(STATE), until=[("a-1", None, True, False)])
    assert launches.begun == 2


async def test_a_check_that_takes_its_process_with_it_each_time_is_to_blame(
    pools: PoolScene, checks: PoolChecks, launches: Launches
) -> None:
    launches.errors = [LauncherKilled("its keeper was killed")] * 3
    checks.notice()
    why = "its check could not run: its keeper was killed"
    await eventually(lambda: pools.sql(STATE), until=[("a-1", why, True, False)])


async def test_what_is_wrong_with_the_check_sets_its_resource_aside(
    pools: PoolScene, checks: PoolChecks, launches: Launches
) -> None:
    launches.errors = [Refused("no such thing")]
    checks.notice()
    why = "its check could not run: no such thing"
    await eventually(lambda: pools.sql(STATE), until=[("a-1", why, True, False)])


async def test_a_check_that_ends_long_after_its_timeout_was_held_up_by_its_worker(
    pools: PoolScene, checks: PoolChecks, launches: Launches, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It slept: its clock says when it began, and a minute later that the time is over."""
    launches.gate = asyncio.Event()
    clock_s = 0.0

    def now_s() -> float:
        nonlocal clock_s
        clock_s += 60
        return clock_s

    monkeypatch.setattr(worker.check_runner, "boottime_s", now_s)
    await pools.sql("UPDATE resource_pool SET validity_check = validity_check || '{\"timeout_s\": 0.05}'")
    checks.notice()
    await eventually(lambda: launches.begun >= 2)
    launches.gate.set()
    await eventually(lambda: pools.sql(STATE), until=[("a-1", None, True, False)])


async def test_a_check_whose_processes_end_slowly_sets_its_resource_aside(
    pools: PoolScene, checks: PoolChecks, launches: Launches, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ignores SIGTERM, so it ends long after its time was up."""
    launches.gate = asyncio.Event()
    launches.ends_slowly = ending = asyncio.Event()
    monkeypatch.setattr(worker.check_runner, "boottime_s", lambda: 60.0 * ending.is_set())
    await pools.sql("UPDATE resource_pool SET validity_check = validity_check || '{\"timeout_s\": 0.05}'")
    checks.notice()
    why = "its check took longer than 0.05 s"
    await eventually(lambda: pools.sql(STATE), until=[("a-1", why, True, False)])


async def test_a_row_that_somebody_has_locked_holds_up_no_other_check(
    pools: PoolScene, checks: PoolChecks, launches: Launches
) -> None:
    launches.gate = asyncio.Event()
    await pools.pool("b", 2, {"script": "true", "every_s": 3600})
    checks.notice()
    await eventually(lambda: launches.begun, until=3)
    sound = [(name, None, True, False) for name in ("a-1", "b-1", "b-2")]
    async with pools.writing() as stranger:
        await stranger.execute(Sql("SELECT FROM pool_resource WHERE name = 'a-1' FOR UPDATE"))
        launches.gate.set()
        await eventually(lambda: pools.sql(STATE), until=[("a-1", None, False, True), *sound[1:]])
        await pools.pool("c", 1, {"script": "true", "every_s": 3600})
        checks.notice()
        sound.append(("c-1", None, True, False))
        await eventually(lambda: pools.sql(STATE), until=[("a-1", None, False, True), *sound[1:]])
    await eventually(lambda: pools.sql(STATE), until=sound)


async def test_a_resource_that_changes_while_it_is_checked_is_checked_beside_itself_a_few_at_once(
    pools: PoolScene, checks: PoolChecks, launches: Launches
) -> None:
    launches.gate = asyncio.Event()
    for begun in range(1, CHECKS_AT_ONCE + 1):
        checks.notice()
        await eventually(lambda: launches.begun, until=begun)
        await pools.sql("UPDATE pool_resource SET checked_at = NULL, checking_by = NULL, checking_since = NULL")
    checks.notice()
    assert len(set(launches.folders)) == CHECKS_AT_ONCE
    await pools.pool("b", 1, {"script": "true", "every_s": 3600})
    checks.notice()
    await pools.sql("SELECT pg_sleep(0.2)")
    assert launches.begun == CHECKS_AT_ONCE
    launches.gate.set()
    await eventually(lambda: pools.sql(STATE), until=[("a-1", None, True, False), ("b-1", None, True, False)])


async def test_results_of_what_was_and_is_one_resource_wait_for_its_row_without_haste(
    pools: PoolScene, checks: PoolChecks, launches: Launches, monkeypatch: pytest.MonkeyPatch
) -> None:
    launches.gate = asyncio.Event()
    checks.notice()
    await eventually(lambda: launches.begun, until=1)
    await pools.sql("UPDATE pool_resource SET checked_at = NULL, checking_by = NULL, checking_since = NULL")
    checks.notice()
    await eventually(lambda: launches.begun, until=2)
    rounds, writing = 0, checks._life.writing

    def counted() -> Any:
        nonlocal rounds
        rounds += 1
        return writing()

    monkeypatch.setattr(checks._life, "writing", counted)
    async with pools.writing() as stranger:
        await stranger.execute(Sql("SELECT FROM pool_resource FOR UPDATE"))
        launches.gate.set()
        for _ in range(20):  # as polls do
            checks.notice()
            await stranger.execute(Sql("SELECT pg_sleep(0.1)"))
        noticed = rounds
        await stranger.execute(Sql("SELECT pg_sleep(2.5)"))
        assert noticed <= 30
        assert rounds - noticed <= 4, "one timer, whoever has noticed what"
    await eventually(lambda: pools.sql(STATE), until=[("a-1", None, True, False)])


async def test_what_a_commit_without_an_answer_took_is_checked_at_once(
    pools: PoolScene, checks: PoolChecks, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = [True]
    writing = checks._life.writing

    def unanswered() -> Any:
        return _Unanswered(writing()) if lost and lost.pop() else writing()

    monkeypatch.setattr(checks._life, "writing", unanswered)
    checks.notice()
    await eventually(lambda: pools.sql(STATE), until=[("a-1", None, True, False)])
    assert not lost


class _Unanswered:
    """A transaction whose COMMIT is done, and whose answer is lost."""

    def __init__(self, transaction: Any) -> None:
        self._transaction = transaction

    async def __aenter__(self) -> Any:
        return await self._transaction.__aenter__()

    async def __aexit__(self, *error: Any) -> None:
        await self._transaction.__aexit__(*error)
        raise Unknown("no answer to COMMIT in time")
