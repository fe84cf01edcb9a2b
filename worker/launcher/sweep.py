"""The last broom: ends what a killed keeper left, found by a marker in its environment.

Needed only when a keeper is killed by SIGKILL. The task's main process then dies by itself (PDEATHSIG) and the zygote
kills the rest, but perhaps the zygote is dead too, and somebody must see that all are gone. A marker must be unique
on the machine: two clusters on one machine have the same task instance ids, so it is not one of those.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from model.means import is_passing
from worker.launcher import tree

PAUSE_S = 0.1
"""Until /proc is tried again, which could not be read."""


def sweep(marker: str, within_s: float = 30.0) -> int:
    """Kill every process with `marker` ("NAME=value") in its environment, and all below it, until none is found.

    Returns:
        How many could not be killed within the time, usually 0. Other users' processes cannot be seen.
    """
    give_up_at = time.monotonic() + within_s
    while found := _marked(marker, give_up_at):
        if time.monotonic() >= give_up_at:
            return len(found)
        for pid in found:
            tree.signal_descendants(pid, signal.SIGKILL)
            _kill(pid, marker)
        time.sleep(0.01)
        for pid in found:
            reap(pid)
    return 0


def _marked(marker: str, give_up_at: float) -> list[int]:
    """Those that carry it. Raises `OSError` when /proc cannot be read until then: nobody knows what is left."""
    while True:
        try:
            return [pid for pid in tree.processes() if _carries(pid, marker)]
        except OSError as error:
            if not is_passing(error) or time.monotonic() >= give_up_at:
                raise
        time.sleep(PAUSE_S)


def reap(pid: int) -> bool:
    """Collect an adopted child that has ended; give whether it is still to come."""
    try:
        return os.waitpid(pid, os.WNOHANG) == (0, 0)
    except ChildProcessError:
        return False


def _carries(pid: int, marker: str) -> bool:
    """Whether the environment that the process was started with holds the marker; a zombie's does not."""
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
        if _carries(pid, marker):  # still the same one, now that the handle holds it
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
    finally:
        os.close(handle)
