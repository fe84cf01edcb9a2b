"""The identity of this process, and whether another one on this machine is gone.

Within one boot and one pid namespace a pid and its start time identify a process permanently. So a node on the same
machine can prove a death at once instead of waiting for silence; across machines it cannot, and must not try.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

from model.cluster.nodes import ProcessIdentity


@cache
def _boot() -> str:
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot_id}/{Path('/proc/self/ns/pid').readlink()}"


def this_process() -> ProcessIdentity:
    return ProcessIdentity(f"{_boot()}/{os.geteuid()}", os.getpid(), stat_of(os.getpid()).started)


def place_of(process: ProcessIdentity) -> tuple[str, int | None]:
    """The scope in which its pid is valid, and its user id; None for a process that does not report it."""
    place, _, user = process.boot.rpartition("/")
    return (place, int(user)) if user.isdecimal() else (process.boot, None)


def is_here(process: ProcessIdentity) -> bool:
    """Whether it runs, or ran, on this machine since its boot, in our pid namespace."""
    return place_of(process)[0] == _boot()


def is_gone(process: ProcessIdentity) -> bool:
    """Whether that process has provably ended. False when it lives, or when that cannot be known here."""
    if not is_here(process):
        return False
    try:
        stat = stat_of(process.pid)
    except OSError:
        return not _is_taken(process.pid)
    return stat.is_corpse or stat.started != process.started


class Stat(NamedTuple):
    """Facts of /proc/PID/stat; `started` is its field 22."""

    is_corpse: bool
    parent: int
    started: int


def stat_of(pid: int) -> Stat:
    """Raises OSError when there is no such process, or we may not see it."""
    stat = Path(f"/proc/{pid}/stat").read_bytes()
    # The command's name may be any bytes, spaces and brackets too: the fields are counted from its last bracket.
    fields = stat[stat.rindex(b")") + 2 :].split()
    return Stat(fields[0] in b"ZX", int(fields[1]), int(fields[19]))


def _is_taken(pid: int) -> bool:
    """Whether the kernel has a process with this pid, even one that /proc hides.

    Mounted with hidepid (systemd: ProtectProc), /proc answers with an error, or as if there were none, for processes of
    other users and for those of our own that are not dumpable, such as workers. Sending a signal gives the correct
    answer.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
