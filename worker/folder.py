"""The folder of a worker: checked and locked at its start; its logs stay at the same address."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import re
import secrets
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from uuid import UUID

import structlog

from dao.cluster.went_back import Place
from model.cluster.means import is_passing
from model.errors import InvalidSettings, Refused, Unavailable
from model.ids import Epoch
from node.address import host_name
from worker.former_life import FormerLife
from worker.logs.service import LogService
from worker.private_folder import make_private
from worker.settings import WorkerSettings

log = structlog.get_logger()

CHECK_EVERY_S = 0.5
LOCK_WAIT_S = 2.0
"""A killed predecessor may take a moment to end."""


class WorkerFolder:
    """Contains `logs/`, `work/`, `log-port` (the last port of the log server), `id` (a part of its worker's name) and
    `life` (the worker's last life, and the mark of the cluster).

    One worker uses it at a time: two would serve each other's logs, and report each other's results.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._lock: int | None = None

    async def wait_until_made(self, stop: asyncio.Event) -> None:
        """Create the folder once there is space or `stop` is set; logs once that it waits. Raises as `make`."""
        is_logged = False
        while not stop.is_set():
            try:
                self.make()
                return
            except Unavailable as error:
                if not is_logged:
                    log.warning("folder_waits", error=str(error), so="starts when there is room")
                is_logged = True
            await asyncio.sleep(CHECK_EVERY_S)

    def make(self) -> None:
        """Create the folder if it is missing, and try to write. Raises `InvalidSettings`, or `Unavailable` for lack of
        space.

        A worker that cannot write would fail every task within milliseconds, and would therefore claim most of them.
        """
        try:
            make_private(self._path)
            with tempfile.TemporaryFile(dir=self._path) as probe:
                probe.write(b"0" * 4096)
        except OSError as error:
            if is_passing(error):
                raise Unavailable(
                    f"the worker's folder {self._path} cannot be written now ({error.strerror}); make room"
                ) from None
            raise InvalidSettings(
                f"the worker's folder {self._path} cannot be written ({error.strerror}); "
                f"make it this user's, or give another by --folder or SHOAL_WORKER__FOLDER"
            ) from None

    def lock(self, name: str | None) -> str:
        """Lock the folder for this process until it ends or calls `unlock`; returns the name of its worker.

        Args:
            name: as configured; None = the host's name and the id in the folder, the same at each start.

        Raises `Refused`, naming the holder, when another process has it.
        """
        file = self._path / "lock"
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        deadline_s = time.monotonic() + LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline_s:
                    os.close(descriptor)
                    raise Refused(
                        f"the worker's folder {self._path} is in use by {_signature(file)}; "
                        f"stop that one, or give this one another by --folder, or a different name by --name"
                    ) from None
            time.sleep(0.05)
        self._lock = descriptor
        name = name or f"{host_name()}-{self._id()}"
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {name}\n".encode(), 0)
        return name

    def unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def log_key(self) -> str:
        """The key that signs requests for its logs, created at the first call and readable by its owner alone.

        Raises `Unavailable` when the machine is short of a resource.
        """
        file = self._path / "log-key"
        try:
            found = file.read_text().strip()
        except OSError as error:
            if is_passing(error):
                raise Unavailable(f"the file {file} cannot be read now: {error.strerror}") from error
            found = ""
        if re.fullmatch(r"[0-9a-f]{64}", found):
            return found
        file.unlink(missing_ok=True)
        made = secrets.token_hex(32)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as opened:
            opened.write(f"{made}\n")
        return made

    async def serve_logs(self, settings: WorkerSettings) -> LogService:
        """Serve the logs; with port 0 on the last port if it is free, else on any.

        Logs of earlier lives are in the same folder, and the database has their address.
        """
        port = settings.log_port
        for wanted in (port or self._last_port(), port):
            logs = LogService(
                self._path / "logs",
                self.log_key(),
                settings.log_host,
                wanted,
                certificate=settings.log_certificate,
                private_key=settings.log_private_key,
            )
            try:
                await logs.start()
            except Refused:
                if wanted == port:
                    raise
                continue
            self._port_file.write_text(str(logs.address[1]))
            return logs
        raise AssertionError("the last address tried is the one that was asked for")

    def former_life(self, mark: str) -> FormerLife | None:
        """The last life of its worker, if it was in this cluster."""
        try:
            found = json.loads((self._path / "life").read_text())
            last = FormerLife(Epoch(found["epoch"]), UUID(found["incarnation"]), Place(**found["began"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return last if found["mark"] == mark else None

    def begin_life(self, mark: str, life: FormerLife) -> None:
        """Write down this life for the next."""
        with suppress(OSError):  # a full disk keeps no worker from its work
            (self._path / "life").write_text(f"{json.dumps({'mark': mark, **asdict(life)}, default=str)}\n")

    def _id(self) -> str:
        """The unique id of this folder, created at the first call."""
        file = self._path / "id"
        if file.exists() and re.fullmatch(r"[0-9a-f]{8}", found := file.read_text(errors="replace").strip()):
            return found
        made = secrets.token_hex(4)
        file.write_text(f"{made}\n")
        return made

    @property
    def _port_file(self) -> Path:
        return self._path / "log-port"

    def _last_port(self) -> int:
        try:
            port = int(self._port_file.read_text())
        except (OSError, ValueError):
            return 0
        return port if 0 < port < 65536 else 0


def _signature(file: Path) -> str:
    """Describe the process that wrote its identity into the file."""
    pid, _, name = file.read_text(errors="replace").strip().partition(" ")
    return f"worker {name} (process {pid})" if pid else "another process"
