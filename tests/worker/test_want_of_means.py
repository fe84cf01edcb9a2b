"""A machine that is short of something for a moment: no task fails for it that has not begun."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

from model.cluster.means import NO_THREAD
from model.runs.states import TaskState
from tests.no_descriptors import no_descriptors
from tests.worker.errand import Errands, claimed
from tests.worker.http_server import http_server, says
from worker.attempts.executor import TRIES_MAX


@contextmanager
def no_memory(pid: int) -> Iterator[None]:
    """Within this block that process, and what it forks, gets next to no more memory: too little for a thread."""
    before = resource.prlimit(pid, resource.RLIMIT_AS)
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
    resource.prlimit(pid, resource.RLIMIT_AS, (pages * resource.getpagesize() + (4 << 20), before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_AS, before)


@pytest.mark.parametrize(("has_idle_keeper", "needed"), [(True, 4), (False, 6)])
async def test_a_task_that_finds_no_descriptor_is_given_back_and_the_next_one_runs(
    errands: Errands, *, has_idle_keeper: bool, needed: int
) -> None:
    assert (await errands.shell("echo before")).state is TaskState.SUCCESS
    if not has_idle_keeper:
        errands.launcher._idle.close()
    for spare in range(needed):  # at each place where one is needed
        with no_descriptors(spare=spare):
            end = await errands.shell("echo hello")
        assert end.state is TaskState.PAUSE, end.reason
        assert "gave it back" in end.reason
    assert errands.lacked_means == needed
    assert (await errands.shell("echo after")).state is TaskState.SUCCESS


async def test_a_task_that_no_worker_can_begin_fails_at_last_with_the_reason(errands: Errands) -> None:
    assert (await errands.shell("echo before")).state is TaskState.SUCCESS  # what it imports is there
    with no_descriptors():
        end = await errands.shell("echo hello", attempt=TRIES_MAX)
    assert end.state is TaskState.FAILURE
    assert "Too many open files" in end.reason


async def test_a_task_below_a_keeper_that_finds_no_thread_is_given_back_and_nothing_was_sent(errands: Errands) -> None:
    async with http_server({"*": says("200 OK", b"hello")}) as server:
        task = claimed("HTTP", params={"url": f"{server.address}/"})
        assert (await errands.run(task)).state is TaskState.SUCCESS
        warm = errands.launcher.warm_pid
        assert warm is not None
        with no_memory(warm):  # what is forked from it has as little
            end = await errands.run(task)
        assert end.state is TaskState.PAUSE, end.reason
        assert "gave it back" in end.reason
        assert len(server.seen) == 1
        assert errands.lacked_means == 1
        assert (await errands.run(task)).state is TaskState.SUCCESS


async def test_a_task_below_a_keeper_that_finds_no_descriptor_is_given_back(errands: Errands) -> None:
    async with http_server({"*": says("200 OK", b"hello")}) as server:
        task = claimed("HTTP", params={"url": f"{server.address}/"})
        assert (await errands.run(task)).state is TaskState.SUCCESS
        for spare in range(6):
            with no_descriptors(spare=spare):
                end = await errands.run(task)
            assert end.state is TaskState.PAUSE, end.reason
        assert len(server.seen) == 1
        assert (await errands.run(task)).state is TaskState.SUCCESS


async def test_the_end_of_an_attempt_stands_though_no_thread_can_be_made_to_clear_up(errands: Errands) -> None:
    loop = asyncio.get_running_loop()
    pool = NoThreads()
    loop.set_default_executor(pool)
    end = await errands.run(claimed(params={"script": "mkdir -p ${system.task.execute.path}/a/b"}))
    assert pool.asked, "it was to be cleared up in a thread"
    assert end.state is TaskState.SUCCESS, end.reason
    assert not list((errands.folder / "work").iterdir())


class NoThreads(ThreadPoolExecutor):
    """Fails as Python's own pool does at the limit of processes."""

    asked = 0

    def submit(self, *_: object, **__: object) -> NoReturn:
        self.asked += 1
        raise RuntimeError(NO_THREAD)
