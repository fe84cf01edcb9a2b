"""The processes below a process: finds and signals them, never an unrelated one. `keeper.py` decides when.

Pids are reused, so a pid identifies a process only for a time. A signal therefore goes through a pidfd, after a check
that the process behind it still belongs to the tree. A list of descendants is outdated once complete: to end them all,
repeat until the kernel reports none (`keeper` is their reaper, so `waitpid` knows).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")


class ProcessStat(NamedTuple):
    """Facts of /proc/PID/stat. `started` (clock ticks since boot) and the pid together identify a process."""

    parent: int
    started: int


def stat_of(pid: int) -> ProcessStat | None:
    """The facts of a process, a zombie included; None if there is none."""
    try:
        text = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    fields = text[text.rindex(b")") + 2 :].split()  # the name before may contain blanks and brackets
    return ProcessStat(parent=int(fields[1]), started=int(fields[19]))


def processes() -> Iterator[int]:
    """The pids of all processes that this one can see."""
    return (int(entry.name) for entry in _PROC.iterdir() if entry.name.isdecimal())


def children(pid: int) -> list[int]:
    """The processes whose parent is `pid`, zombies included."""
    if not _kernel_lists_children():
        return [other for other in processes() if (stat := stat_of(other)) is not None and stat.parent == pid]
    found: list[int] = []
    try:
        for thread in (_PROC / str(pid) / "task").iterdir():
            found.extend(map(int, (thread / "children").read_bytes().split()))
    except OSError:  # the thread or the whole process ended: its children have another parent now
        pass
    return found


def descendants(root: int) -> list[int]:
    """All processes below `root`, parents before their children, without `root`."""
    found = [root]
    seen = {root}
    for pid in found:  # grows during the iteration
        fresh = [child for child in children(pid) if child not in seen]
        seen.update(fresh)
        found.extend(fresh)
    return found[1:]


def signal_descendants(root: int, *signals: signal.Signals) -> set[int]:
    """Send the signals to all processes below `root` now, and return their pids.

    Another user's processes (sudo) are skipped silently.
    """
    members = descendants(root)
    family = {root, *members}
    for pid in members:
        try:
            handle = os.pidfd_open(pid)
        except OSError:
            continue
        try:
            # The check comes after the handle: if the pid was reused, the process's parent is not in the tree.
            stat = stat_of(pid)
            if stat is not None and stat.parent in family:
                for number in signals:
                    signal.pidfd_send_signal(handle, number)
        except (ProcessLookupError, PermissionError):
            continue
        finally:
            os.close(handle)
    return set(members)


@cache
def _kernel_lists_children() -> bool:
    """Whether /proc/PID/task/TID/children exists (CONFIG_PROC_CHILDREN); without it every process must be read."""
    return (_PROC / "self" / "task" / str(os.getpid()) / "children").exists()
