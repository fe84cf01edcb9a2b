"""Ends what a worker on this machine left running, before the worker is fenced.

When a worker dies, its keepers end its tasks. A worker that is frozen together with its launcher, keepers and tasks
ends nothing, and tasks that thaw after the fence would write at the same time as the next attempt. SIGKILL reaches
stopped processes too. So a node that fences a worker on its own machine first kills every process with the mark of that
life, and its descendants, and waits until they are gone.

This may take long, since /proc of a busy machine is slow to read; the node beats meanwhile. If something could not be
killed or read, the worker is fenced only after its silence, like a worker on another machine.

The mark is in the environment of tasks, which all their processes inherit, and in the arguments of launchers and
keepers, whose environment only root may read. It contains the worker's process and epoch, so no other life of this boot
has it.
"""

from __future__ import annotations

import asyncio
import math
import os
import signal
import time
from collections.abc import Callable, Container
from functools import partial
from pathlib import Path
from typing import NamedTuple

import structlog

from dao.cluster.node_rows import NodeRow
from model.cluster.means import is_passing
from model.cluster.nodes import NodeKind, ProcessIdentity
from model.ids import Epoch
from registry.process import Stat, is_gone, place_of, stat_of, this_process

log = structlog.get_logger()

VARIABLE = "SHOAL_WORKER_LIFE"
DIE_S_MAX = 5.0
"""How long killed processes may take to die. The rest hang in the kernel, or belong to another user."""

CHECK_EVERY_S = 0.02
SCANS = 2
"""How many scans of /proc in a row must find nothing: a process may fork and end while its parent's list is read."""


def mark_of(process: ProcessIdentity, epoch: Epoch) -> str:
    """The mark as `NAME=value`, as found in environments and arguments."""
    return f"{VARIABLE}={process.pid}.{process.started}.{epoch}"


def can_end(process: ProcessIdentity) -> bool:
    """Whether this process sees everything that a worker left, and may kill it.

    That needs the same machine, its user or root, and a /proc that hides nothing (`hidepid`, systemd's `ProtectProc`).
    """
    place, user = place_of(process)
    mine, me = place_of(this_process())
    return place == mine and (me == 0 or me == user) and sees_all_processes()


def sees_all_processes() -> bool:
    """Whether /proc shows the processes of other users too."""
    return os.access("/proc/1/stat", os.R_OK)


def is_provably_over(node: NodeRow) -> bool:
    """Whether the node's process is gone, and its tasks are gone or soon will be.

    Otherwise, a node that cannot end what a worker left waits for the worker's silence.
    """
    return is_gone(node.process) and (node.kind is NodeKind.MASTER or can_end(node.process))


def end_what_is_left(mark: str, die_s_max: float = DIE_S_MAX, *, since: int = 0) -> int:
    """Kill every process with this mark and its descendants, until there are none; returns how many remain.

    Args:
        since: when the worker's process started, in clock ticks since boot: what is older is not read.
    """
    search, until_s, empty = _Search(mark.encode(), since), math.inf, 0
    while empty < SCANS:
        found = search.living()
        empty = 0 if found else empty + 1
        if found and time.monotonic() >= until_s:
            return len(found)
        for pid, process in found.items():
            _kill(pid, process.started)
        if found:
            until_s = min(until_s, time.monotonic() + die_s_max)
        time.sleep(CHECK_EVERY_S)
    return 0


def ending_of(node: NodeRow) -> asyncio.Future[int]:
    """Start `end_what_is_left` for a worker, in a thread."""
    work = partial(end_what_is_left, mark_of(node.process, node.epoch), DIE_S_MAX, since=node.process.started)
    return asyncio.get_running_loop().run_in_executor(None, work)


class _Ending(NamedTuple):
    """The work for one worker; it counts for one beat only, since a worker that beats again may start tasks."""

    beat_no: int
    future: asyncio.Future[int]


class LeftTasks:
    """What workers left on this machine; one node ends it before it fences them.

    Args:
        wake: called when some of it has ended, so that the node asks again at once.
    """

    def __init__(self, wake: Callable[[], object]) -> None:
        self._wake = wake
        self._ending: dict[Epoch, _Ending] = {}
        self._unended: set[Epoch] = set()
        """Workers with leftovers that could not be ended: only their silence counts."""

    def are_over(self, node: NodeRow) -> bool:
        """Whether the node's process is gone, and its tasks are gone or soon will be."""
        return node.epoch not in self._unended and is_provably_over(node)

    def have_ended(self, node: NodeRow) -> bool:
        """Whether nothing that it left prevents its fence. If False, the work has begun: ask again at the next beat. If
        something remains, ask again once the node has been silent for long enough."""
        if node.kind is not NodeKind.WORKER or not can_end(node.process):
            return True
        ending = self._ending.get(node.epoch)
        if ending is None or ending.beat_no != node.beat_no:
            ending = self._ending[node.epoch] = _Ending(node.beat_no, self._begin(node))
        if not ending.future.done():
            return False
        why = _what_remains(ending.future)
        if why is None or node.epoch in self._unended:
            return True
        del self._ending[node.epoch]  # to try again after its silence
        self._unended.add(node.epoch)
        log.error(
            "tasks_left",
            epoch=node.epoch,
            why=why,
            so="it is fenced after its silence, like one on another machine; end by hand what it left",
        )
        return False

    def restrict_to(self, living: Container[Epoch]) -> None:
        """Forget nodes that are not in `living`."""
        self._ending = {epoch: ending for epoch, ending in self._ending.items() if epoch in living}
        self._unended = {epoch for epoch in self._unended if epoch in living}

    def _begin(self, node: NodeRow) -> asyncio.Future[int]:
        try:
            future = ending_of(node)
        except RuntimeError as error:  # no thread can be started
            future = asyncio.get_running_loop().create_future()
            future.set_exception(error)
        future.add_done_callback(self._on_done)
        return future

    def _on_done(self, future: asyncio.Future[int]) -> None:
        if not future.cancelled():
            future.exception()  # retrieved, even if nobody asks again
        self._wake()


def _what_remains(ending: asyncio.Future[int]) -> str | None:
    """Describe what remains; None if nothing does. Raises errors that are bugs."""
    try:
        left = ending.result()
    except (OSError, RuntimeError, MemoryError) as error:
        if not is_passing(error):
            raise
        return f"this machine is short of something, so what the worker left cannot be found: {error}"
    return f"{left} processes could not be killed" if left else None


class _Search:
    """Searches for living processes with the mark, and their descendants.

    A process is identified by its pid and start time. Once found, it stays found even if it clears its environment or
    its parent ends. One without the mark is not read again, since no process gets a mark from outside. While a process
    replaces its program, its environment is empty for a moment: then it is read again.
    """

    def __init__(self, mark: bytes, since: int) -> None:
        self._mark = mark
        self._since = since
        self._known: dict[tuple[int, int], bool] = {}

    def living(self) -> dict[int, Stat]:
        living = {pid: stat for pid in _pids() if (stat := _stat(pid)) is not None and stat.started >= self._since}
        family = {pid for pid, process in living.items() if pid != os.getpid() and self._is_marked(pid, process)}
        grows = bool(family)
        while grows:
            below = {pid for pid, process in living.items() if process.parent in family} - family
            family |= below
            grows = bool(below)
        self._known |= {(pid, living[pid].started): True for pid in family}
        return {pid: living[pid] for pid in family}

    def _is_marked(self, pid: int, process: Stat) -> bool:
        key = (pid, process.started)
        if key not in self._known:
            found = _carries(pid, self._mark)
            if found is None:
                return False
            self._known[key] = found
        return self._known[key]


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def _stat(pid: int) -> Stat | None:
    """The facts of a process; None if it has ended, even as a zombie."""
    try:
        stat = stat_of(pid)
    except OSError as error:
        if is_passing(error):
            raise
        return None
    return None if stat.is_corpse else stat


def _carries(pid: int, mark: bytes) -> bool | None:
    """Whether it has the mark; None: its environment is empty, perhaps for a moment."""
    text = b""
    for file in ("cmdline", "environ"):
        try:
            text = Path(f"/proc/{pid}/{file}").read_bytes()
            if mark in text.split(b"\0"):
                return True
        except OSError as error:
            if is_passing(error):
                raise
            text = b"?"
    return False if text else None


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
