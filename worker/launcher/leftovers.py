"""The last resort: ends what a killed keeper left, found by a marker in its environment.

Needed only when a keeper is killed by SIGKILL. The zygote then kills what it left; but the zygote may be dead too, and
somebody must check that all processes have ended. A marker must be unique on the machine: task instance ids repeat
between two clusters on one machine.
"""

from __future__ import annotations

import math
import os
import signal
import time
from pathlib import Path

from model.cluster.means import is_passing
from worker.launcher import tree

PAUSE_S = 0.1
"""Time until a failed read of /proc is retried."""


def kill_marked(marker: str, within_s: float = 30.0) -> int:
    """Kill every process with `marker` ("NAME=value") in its environment, and all below it, until none is found.

    Args:
        within_s: how long they may take to die after they were found and killed; also how long a failing read of /proc
            is retried.

    Returns:
        How many could not be killed within the time, usually 0. Other users' processes cannot be seen.
    """
    until_s = math.inf
    while found := _marked(marker, within_s):
        if time.monotonic() >= until_s:
            return len(found)
        for pid in found:
            tree.signal_descendants(pid, signal.SIGKILL)
            _kill(pid, marker)
        until_s = min(until_s, time.monotonic() + within_s)
        time.sleep(0.01)
        for pid in found:
            reap(pid)
    return 0


def _marked(marker: str, within_s: float) -> list[int]:
    """The processes with the marker. Raises `OSError` when /proc cannot be read for `within_s`."""
    tries = 1 + math.ceil(within_s / PAUSE_S)
    while True:
        tries -= 1
        try:
            return [pid for pid in tree.processes() if _carries(pid, marker)]
        except OSError as error:
            if not is_passing(error) or not tries:
                raise
        time.sleep(PAUSE_S)


def reap(pid: int) -> bool:
    """Reap an inherited child that has ended; return whether it is still running."""
    try:
        return os.waitpid(pid, os.WNOHANG) == (0, 0)
    except ChildProcessError:
        return False


def _carries(pid: int, marker: str) -> bool:
    """Whether the initial environment of the process contains the marker; a zombie's does not."""
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError as error:
        if is_passing(error):
            raise
        return False
    return marker.encode() in environ.split(b"\0") and pid != os.getpid()


def _kill(pid: int, marker: str) -> None:
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return
    try:
        if _carries(pid, marker):  # still the same process, now that the handle refers to it
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
    finally:
        os.close(handle)
