"""A PostgreSQL that belongs to this process: started, awaited, stopped, and never outliving us.

One process owns the folder at a time (locks.py). The server ends with its owner, even by kill -9 (program.py). The
next owner cleans up what that leaves behind (leftover.py, PostgreSQL's own recovery).
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from asyncio.subprocess import Process
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from model.errors import Refused, Unavailable
from shoal.embedded import account, binaries, cluster, locks, route
from shoal.embedded.copies import runnable_by
from shoal.embedded.leftover import POLL_S, end_leftover
from shoal.embedded.place import Place, place_in
from shoal.embedded.program import last_words, opened, path_of, spawn

SETTINGS = {
    "listen_addresses": "",  # no TCP: only the socket, in a private folder
    "unix_socket_directories": ".",
    "cluster_name": "shoal",  # shown by `ps`
    "timezone": "UTC",
    "log_timezone": "UTC",
    "shared_buffers": "128MB",
    "max_connections": "200",
    "client_connection_check_interval": "1000",  # ms; a query whose client died ends with it
    "autovacuum_naptime": "5",  # s; the queue tables are short and change all the time
    "max_wal_size": "1GB",
    "wal_level": "minimal",  # no replication
    "max_wal_senders": "0",
    "dynamic_shared_memory_type": "mmap",  # systemd empties /dev/shm when its user logs out; containers have 64 MB
    "log_error_verbosity": "terse",  # the longer form quotes whole rows, secrets included
}
"""Passed at each start, so that a folder created by an older Shoal uses them too. fsync stays on."""


def _silent(_sentence: str) -> None:
    """The default: no progress is shown."""


class EmbeddedPostgres:
    """The server in one folder.

    `async with EmbeddedPostgres(folder) as server: server.url` starts and stops it; or call `start` and `stop`. It ends
    with the *thread* that called `start` (program.py), so call it from one that lives as long as the server should:
    usually the main thread, which runs the event loop.
    """

    def __init__(self, folder: Path) -> None:
        """Does nothing yet.

        Args:
            folder: created if it does not exist; our files are in its private subfolder `postgres`.
        """
        self.folder = folder
        self.url = ""
        """Set by `start`; contains the password, so do not log it."""
        self.version = ""
        """The running version, like `18.4`; set by `start`."""
        self._place: Place | None = None
        self._process: Process | None = None
        self._owner_lock: int | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self, progress: Callable[[str], None] = _silent) -> str:
        """Start the server, creating its data folder the first time, and wait until it accepts connections.

        There is no time limit: recovery after a crash may take long, and its progress is reported.

        Args:
            progress: called with a sentence whenever something takes longer than a moment.
        Returns:
            the URL for SQLAlchemy, `postgresql+psycopg://shoal:PASSWORD@/shoal?host=/the/socket/folder`.
        Raises:
            Refused: there is no PostgreSQL, it cannot read the data, or another process uses the folder.
            Unavailable: the server ended while starting; the message quotes its log.
        """
        assert self._owner_lock is None, "it was started already"
        place = self._place = await asyncio.to_thread(place_in, self.folder)
        self._owner_lock = _own(place)
        try:
            await self._start(place, progress)
        except BaseException:
            await self.stop()
            raise
        return self.url

    async def stop(self, patience: timedelta = timedelta(seconds=30)) -> None:
        """Stop the server and wait until it has ended; nothing to do if it does not run.

        Args:
            patience: how long a fast shutdown, which ends sessions and writes a checkpoint, may take; then the server
                is killed, which loses no data but makes the next start run recovery.
        """
        try:
            if self._process is not None:
                await _stop(self._process, patience)
        finally:
            self._process = None
            if self._place is not None and self._owner_lock is not None:
                route.remove_link(self._place.data)
                os.close(self._owner_lock)  # last: the next owner may be waiting
                self._owner_lock = None

    async def _start(self, place: Place, progress: Callable[[str], None]) -> None:
        server_lock = await end_leftover(place, progress)
        try:
            installation = await asyncio.to_thread(binaries.choose, cluster.major_in(place.data))
            if cluster.major_in(place.data) is None:
                progress(f"making a database with PostgreSQL {installation.version}")
                await cluster.create(place, installation)
            password = place.password()
            installation = await runnable_by(account.of_server(), installation)
            said_before = _size(place.log)
            self._process = await _launch(installation, place, server_lock)
        finally:
            os.close(server_lock)  # the server has its own copy now
        await _ready(self._process, place, said_before, progress)
        self.version = installation.version
        host = route.socket_folder(place.data)
        self.url = f"postgresql+psycopg://{cluster.ROLE}:{password}@/{cluster.DATABASE}?host={host}"


def _own(place: Place) -> int:
    """Become the folder's owner; returns the descriptor that holds the lock until it is closed or we end."""
    lock = locks.take(place.owner_lock)
    if lock is None:
        raise Refused(
            f"{locks.signature(place.owner_lock)} already runs the database in {place.folder}: stop it, or choose "
            "another folder"
        )
    locks.sign(lock)
    return lock


def _size(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0


async def _launch(installation: binaries.Installation, place: Place, server_lock: int) -> Process:
    """Start the server; if we die it gets the signal for a fast shutdown."""
    settings = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
    log = place.open_log()
    try:
        with opened(place.data) as data:
            return await spawn(
                installation.postgres,
                "-D",
                path_of(data),
                *settings,
                kept=[data, server_lock],
                account=account.of_server(),
                at_our_end=signal.SIGINT,
                output=log,
            )
    finally:
        os.close(log)


async def _ready(process: Process, place: Place, said_before: int, progress: Callable[[str], None]) -> None:
    """Wait until the server's pid file states that it accepts connections."""
    began_s = said_s = time.monotonic()
    while _status(place.data, process.pid) != "ready":
        if process.returncode is not None:
            said = place.log.read_bytes()[said_before:].decode(errors="replace")
            raise Unavailable(f"PostgreSQL ended while it started: {last_words(said)} (log: {place.log})")
        await asyncio.sleep(POLL_S)
        if time.monotonic() - said_s >= 1:
            said_s = time.monotonic()
            progress(f"PostgreSQL is starting, for {said_s - began_s:.0f} s; after a crash it recovers first")


def _status(data: Path, pid: int) -> str:
    """The last line of `postmaster.pid`, as `pg_ctl` reads it; empty while the file is another's, or not whole."""
    with suppress(FileNotFoundError):
        lines = (data / "postmaster.pid").read_text().splitlines()
        if len(lines) >= 8 and lines[0] == str(pid):
            return lines[7].strip()
    return ""


async def _stop(process: Process, patience: timedelta) -> None:
    for how, limit_s in ((signal.SIGINT, patience.total_seconds()), (signal.SIGQUIT, None)):
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.send_signal(how)
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await process.wait()
            return
