"""Ends what a worker on this machine left running, before the worker is fenced.

When a worker dies its keepers end its tasks. A worker that is frozen together with its launcher, its keepers and its
tasks ends nothing, and tasks that thaw after the fence would write at the same time as the next attempt. SIGKILL
reaches stopped processes too. So a node that fences a worker of the same machine first kills every process with the
mark of that life, and its descendants, and waits until they are gone.

The mark is in the environment of tasks, which is inherited by all that they start, and in the arguments of launchers
and keepers, whose environment only root may read. It is made of the worker's process and epoch: no other life of this
boot has it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import NamedTuple

import structlog

from dao.cluster.node_rows import NodeRow
from model.errors import Unavailable
from model.ids import Epoch
from model.means import is_passing
from model.nodes import NodeKind, ProcessIdentity
from registry.process import is_gone, place_of, this_process

log = structlog.get_logger()

VARIABLE = "SHOAL_WORKER_LIFE"
KILL_S_MAX = 1.0
"""A process that SIGKILL did not end within this time hangs in the kernel and runs no code of its own any more; or it
belongs to another user. The caller has to beat meanwhile."""

CHECK_EVERY_S = 0.02


def mark_of(process: ProcessIdentity, epoch: Epoch) -> str:
    """`NAME=value`, as it is in environments and arguments."""
    return f"{VARIABLE}={process.pid}.{process.started}.{epoch}"


def can_end(process: ProcessIdentity) -> bool:
    """Whether this process sees all that a worker left, and may kill it.

    That needs the same machine, its user or root, and a /proc that hides nothing (`hidepid`, systemd's `ProtectProc`).
    """
    place, user = place_of(process)
    mine, me = place_of(this_process())
    return place == mine and (me == 0 or me == user) and sees_all_processes()


def sees_all_processes() -> bool:
    """Whether /proc shows the processes of other users too."""
    return os.access("/proc/1/stat", os.R_OK)


def is_provably_over(node: NodeRow) -> bool:
    """Whether its process is gone, and its tasks are gone or will be.

    A node that cannot end what a worker left has to wait for the worker's silence.
    """
    return is_gone(node.process) and (node.kind is NodeKind.MASTER or can_end(node.process))


def end_what_is_left(mark: str, within_s: float = KILL_S_MAX) -> int:
    """Kill every process with this mark and its descendants, until there are none; returns how many remain."""
    deadline_s = time.monotonic() + within_s
    while (found := _marked(mark)) and time.monotonic() < deadline_s:
        for pid, process in found.items():
            _kill(pid, process.started)
        time.sleep(CHECK_EVERY_S)
    return len(found)


async def end_its_tasks(node: NodeRow) -> None:
    """Before a worker is fenced: end what it left on this machine, as far as this process can.

    Raises `Unavailable` when that cannot be checked now: then the worker may not be fenced.
    """
    if node.kind is not NodeKind.WORKER or not can_end(node.process):
        return
    try:
        left = await asyncio.to_thread(end_what_is_left, mark_of(node.process, node.epoch))
    except (OSError, RuntimeError, MemoryError) as error:
        if not is_passing(error):
            raise
        raise Unavailable(
            f"cannot check what a worker left, since this machine is short of something: {error}"
        ) from error
    if left:
        log.error("tasks_left", epoch=node.epoch, processes=left, so="they may still have effects; end them by hand")


class _Process(NamedTuple):
    parent: int
    started: int


def _marked(mark: str) -> dict[int, _Process]:
    """Living processes that have the mark, and their descendants."""
    living = {pid: stat for pid in _pids() if (stat := _stat(pid)) is not None}
    family = {pid for pid in living if pid != os.getpid() and _carries(pid, mark.encode())}
    grows = bool(family)
    while grows:
        below = {pid for pid, process in living.items() if process.parent in family} - family
        family |= below
        grows = bool(below)
    return {pid: living[pid] for pid in family}


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def _stat(pid: int) -> _Process | None:
    """None for a process that has ended, including a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError as error:
        if is_passing(error):
            raise
        return None
    fields = text[text.rindex(b")") + 2 :].split()
    return None if fields[0] in b"ZX" else _Process(int(fields[1]), int(fields[19]))


def _carries(pid: int, mark: bytes) -> bool:
    for file in ("cmdline", "environ"):
        try:
            if mark in Path(f"/proc/{pid}/{file}").read_bytes().split(b"\0"):
                return True
        except OSError as error:
            if is_passing(error):
                raise
    return False


def _kill(pid: int, started: int) -> None:
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return
    try:
        stat = _stat(pid)
        if stat is not None and stat.started == started:  # the handle is of the intended process
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
    finally:
        os.close(handle)
