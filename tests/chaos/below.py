"""The processes below a worker: its launchers, and a keeper for each running task.

They are found by their names: Shoal's own lists of processes are not used.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from dataclasses import dataclass

import psutil

from tests.chaos.site import Member

LAUNCHER, KEEPER = "shoal-zygote", "shoal-keeper"


@dataclass(frozen=True)
class Kept:
    """A keeper, and what it keeps: the task's key (`instance.task code`) and its attempt."""

    process: psutil.Process
    key: str
    attempt: int


def launchers(worker: Member) -> list[psutil.Process]:
    """Its present launchers."""
    return [process for process in _below(worker) if _name(process) == LAUNCHER]


def keepers(worker: Member) -> list[Kept]:
    """The keepers whose task has begun; the environment of the task tells which one it is."""
    return [kept for process in _below(worker) if _name(process) == KEEPER for kept in _kept(process)]


def freeze(worker: Member) -> list[psutil.Process]:
    """Stop it and all that is below it, tasks too; gives the latter."""
    worker.signal(signal.SIGSTOP)
    frozen: set[psutil.Process] = set()
    while moving := [process for process in _below(worker) if process not in frozen]:
        send(signal.SIGSTOP, moving)
        frozen.update(moving)
    return list(frozen)


def send(number: signal.Signals, processes: list[psutil.Process]) -> None:
    """Signal those that still live; a reused pid is skipped."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def _below(worker: Member) -> list[psutil.Process]:
    if worker.node is None or not worker.lives:
        return []
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(worker.node.pid).children(recursive=True)
    return []


def _name(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.name()
    return ""


def _kept(keeper: psutil.Process) -> Iterator[Kept]:
    with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        for task in keeper.children():
            environment = task.environ()
            if "SHOAL_TASK_KEY" in environment:
                yield Kept(keeper, environment["SHOAL_TASK_KEY"], int(environment["SHOAL_ATTEMPT"]))
                return
