"""A node that fences a worker of its machine first ends what that left, or waits for its whole silence."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from dao.cluster.node_rows import NodeRow
from model.cluster.nodes import NodeKind, NodeState
from model.ids import Epoch
from node import left_tasks
from node.left_tasks import VARIABLE, LeftTasks, end_what_is_left, mark_of
from registry.process import this_process
from tests.eventually import eventually

GONE = replace(this_process(), started=1)
EPOCH = Epoch(77)
MARK = mark_of(GONE, EPOCH)


def worker(beat_no: int = 1) -> NodeRow:
    return NodeRow(EPOCH, NodeKind.WORKER, "127.0.0.1:1", NodeState.ALIVE, GONE, None, beat_no, 0.0, None)


@pytest.fixture
def left() -> Iterator[subprocess.Popen[bytes]]:
    """A process that a worker left."""
    process = subprocess.Popen(["sleep", "1000"], env={VARIABLE: MARK.partition("=")[2]}, start_new_session=True)
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine so large, or so busy, that each look at its processes takes longer than killed ones may take to die."""
    pids = left_tasks._pids

    def slowly() -> list[int]:
        time.sleep(0.3)
        return pids()

    monkeypatch.setattr(left_tasks, "_pids", slowly)


@pytest.mark.usefixtures("slow")
def test_however_long_it_takes_to_find_what_a_worker_left_it_is_killed(left: subprocess.Popen[bytes]) -> None:
    assert end_what_is_left(MARK, 0.2) == 0
    assert left.poll() == -signal.SIGKILL


@pytest.mark.usefixtures("slow")
async def test_the_node_goes_on_while_it_looks_for_what_a_worker_left(left: subprocess.Popen[bytes]) -> None:
    woken = asyncio.Event()
    tasks = LeftTasks(woken.set)
    assert not tasks.have_ended(worker())
    assert left.poll() is None
    await asyncio.wait_for(woken.wait(), 30)
    assert tasks.have_ended(worker())
    assert left.poll() == -signal.SIGKILL


async def test_what_begins_after_another_beat_is_looked_for_again(left: subprocess.Popen[bytes]) -> None:
    tasks = LeftTasks(lambda: None)
    await eventually(lambda: tasks.have_ended(worker()))
    again = subprocess.Popen(["sleep", "1000"], env={VARIABLE: MARK.partition("=")[2]})
    await eventually(lambda: tasks.have_ended(worker(beat_no=2)))
    assert again.poll() == -signal.SIGKILL


async def test_what_cannot_be_killed_keeps_the_silence_of_its_worker(
    left: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(left_tasks, "_kill", lambda *_: None)  # as another user's process, or one hung in the kernel
    monkeypatch.setattr(left_tasks, "DIE_S_MAX", 0.1)
    tasks = LeftTasks(lambda: None)
    assert tasks.are_over(worker())
    await eventually(lambda: tasks.have_ended(worker()) or not tasks.are_over(worker()))
    assert not tasks.are_over(worker()), "that its process is gone proves nothing"
    assert left.poll() is None
    await eventually(lambda: tasks.have_ended(worker()))  # asked again, once it has been silent


async def test_what_cannot_be_read_keeps_the_silence_of_its_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable() -> list[int]:
        raise OSError(24, os.strerror(24))

    monkeypatch.setattr(left_tasks, "_pids", unreadable)
    tasks = LeftTasks(lambda: None)
    await eventually(lambda: tasks.have_ended(worker()) or not tasks.are_over(worker()))
    assert not tasks.are_over(worker())
