"""Which process this is, and whether another one on this machine is gone.

Within one boot and one pid namespace a pid together with its start time names a process for ever. So a neighbour can
prove a death at once instead of waiting for a silence; across machines it cannot, and must not try.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from model.nodes import ProcessIdentity


@cache
def _boot() -> str:
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot_id}/{Path('/proc/self/ns/pid').readlink()}"


def this_process() -> ProcessIdentity:
    """The identity of the running process."""
    started = _started(os.getpid())
    assert started is not None, "/proc shows no process for our own pid"
    return ProcessIdentity(_boot(), os.getpid(), started)


def is_gone(process: ProcessIdentity) -> bool:
    """Whether that process has provably ended. False when it lives, or when nobody here can know."""
    return process.boot == _boot() and _started(process.pid) != process.started


def _started(pid: int) -> int | None:
    """Field 22 of /proc/PID/stat; None when there is no such process, or only its corpse."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command's name may hold spaces and brackets: the fields are counted from its last bracket.
    fields = stat[stat.rindex(")") + 2 :].split()
    return None if fields[0] in "ZX" else int(fields[19])
