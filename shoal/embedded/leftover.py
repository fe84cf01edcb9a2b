"""A server that outlived its owner: wait for its end, or stop it, before the next one starts.

The kernel signals the server when its owner dies (program.py), so a leftover server is usually about to exit. The lock
that it holds shows whether any of its processes is left. `postmaster.pid` is used only to speed up its end, and only
if the process was started at the time that the file states.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from model.errors import Refused
from shoal.embedded import locks
from shoal.embedded.place import Place
from shoal.embedded.route import SOCKET

START_DIFFERS_S_MAX = 5.0
"""postmaster.pid has whole seconds, written a moment after the start; a clock adjustment may add to that."""
POLL_S = 0.02
GOING_S_MAX = 2.0
"""On a busy machine the kernel may take this long to free the memory of a killed process."""


async def end_leftover(place: Place, progress: Callable[[str], None]) -> int:
    """Wait until no previous server is left.

    Args:
        place: we hold its owner's lock.
        progress: called once a second with the reason for the wait.
    Returns:
        the descriptor of the server's lock, for the next server to inherit.
    Raises:
        Refused: a server that Shoal did not start uses the data folder.
    """
    lock = locks.take(place.server_lock)
    if lock is None:
        lock = await _ended(place, progress)
    postmaster = await _after_a_moment(place.data)
    if postmaster is not None:
        os.close(lock)
        raise Refused(
            f"a PostgreSQL that Shoal did not start (process {postmaster.pid}) uses {place.data}: stop it first"
        )
    for stale in ("postmaster.pid", f"{SOCKET}.lock"):  # a recycled pid, or a zombie, would count as alive
        (place.data / stale).unlink(missing_ok=True)
    return lock


def living_postmaster(data: Path) -> psutil.Process | None:
    """The process that `postmaster.pid` names, if it is alive and wrote the file."""
    try:
        pid, _, started_at, *_ = (data / "postmaster.pid").read_text().splitlines()
        process = psutil.Process(int(pid))
        same = abs(process.create_time() - int(started_at)) <= START_DIFFERS_S_MAX
        alive = process.status() != psutil.STATUS_ZOMBIE
    except (FileNotFoundError, ValueError, psutil.NoSuchProcess):
        return None
    return process if same and alive and process.name() == "postgres" else None


async def _after_a_moment(data: Path) -> psutil.Process | None:
    """The living postmaster. A killed one releases its lock shortly before its process disappears."""
    until_s = time.monotonic() + GOING_S_MAX
    while True:
        postmaster = living_postmaster(data)
        if postmaster is None or time.monotonic() >= until_s:
            return postmaster
        await asyncio.sleep(POLL_S)


async def _ended(place: Place, progress: Callable[[str], None]) -> int:
    """Wait for the lock, after requesting a fast shutdown."""
    began_s = said_s = time.monotonic()
    postmaster = living_postmaster(place.data)
    if postmaster is not None:
        with suppress(psutil.NoSuchProcess):
            postmaster.send_signal(signal.SIGINT)
    progress("a PostgreSQL whose owner died is still ending")
    while (lock := locks.take(place.server_lock)) is None:
        await asyncio.sleep(POLL_S)
        if time.monotonic() - said_s >= 1:
            said_s = time.monotonic()
            progress(f"a PostgreSQL whose owner died is still ending, for {said_s - began_s:.0f} s")
    return lock
