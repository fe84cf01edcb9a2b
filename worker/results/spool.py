"""Ends of tasks that could not be reported, on the worker's disk: `<folder>/results/<epoch>`, one file per life.

Its first line identifies that life, each further line is a report. The file exists only while a report in it is
undelivered. Its writer holds its lock, which the kernel releases when the process ends, in any way and in any
container: so a file with a free lock was left by a life that is over, and any other is not touched. A file gets its
name only once it is locked and on the disk.

A line that a crash or a full disk cut short is overwritten by the next try, or skipped by the reader.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Collection
from contextlib import ExitStack, suppress
from pathlib import Path

import structlog
from pydantic import TypeAdapter, ValidationError

from dao.cluster.nodes import Me
from dao.tasks.task_claims import Report
from model.ids import TaskInstanceId
from worker.private_folder import make_private

log = structlog.get_logger()

_ME = TypeAdapter(Me)
_REPORT = TypeAdapter(Report)
_UNFINISHED = ".new"
_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


class Spool:
    """The file of one life. Its methods block on the disk, so they are for threads; one runs at a time."""

    def __init__(self, folder: Path, me: Me) -> None:
        self._path = folder / str(me.epoch)
        self._me = me
        self._fd: int | None = None
        self._size = 0
        self._lines = 0
        self._turn = threading.Lock()
        self._is_closed = False

    @property
    def lines(self) -> int:
        """How many reports the file contains, including delivered ones; 0 without a file."""
        return self._lines

    def store(self, reports: Collection[Report]) -> None:
        """Add reports; they are on the disk when it returns. Raises `OSError`; then none of them counts as stored."""
        with self._turn:
            if self._fd is None:
                self._make(reports)
                return
            data = _text(reports)
            os.ftruncate(self._fd, self._size)  # the incomplete rest of an earlier try
            _write(self._fd, data, self._size)
            self._size += len(data)
            self._lines += len(reports)

    def store_only(self, reports: Collection[Report]) -> None:
        """Replace the reports in the file. Raises `OSError`; then its content is unchanged."""
        with self._turn:
            self._make(reports)

    def remove(self) -> None:
        """Remove the file after everything was reported. Raises `OSError`."""
        with self._turn:
            self._remove()

    def close(self, *, is_all_reported: bool = False) -> None:
        """Release the file; unless all is reported, the next life reports it. No calls may follow.

        Raises `OSError` when it cannot be removed.
        """
        with self._turn:
            self._is_closed = True
            try:
                if is_all_reported:
                    self._remove()
            finally:
                self._close()

    def _remove(self) -> None:
        if self._fd is not None:
            self._path.unlink(missing_ok=True)
            self._close()

    def _make(self, reports: Collection[Report]) -> None:
        if self._is_closed:
            return  # by a thread that nobody awaits: a lock taken now would be held forever
        make_private(self._path.parent)
        unfinished = self._path.with_name(self._path.name + _UNFINISHED)
        data = _ME.dump_json(self._me) + b"\n" + _text(reports)
        fd = os.open(unfinished, _FLAGS | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _write(fd, data, 0)
            unfinished.rename(self._path)
            _sync_folder(self._path.parent)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            os.close(fd)
            raise
        self._close()
        self._fd, self._size, self._lines = fd, len(data), len(reports)

    def _close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd, self._lines = None, 0


class Left:
    """A former life's identity and unreported ends. Locked until `close`."""

    NAME = "left_results"
    """Its name in log lines."""

    def __init__(self, path: Path, fd: int, me: Me, reports: list[Report]) -> None:
        self.me = me
        self.reports = reports
        self._path = path
        self._fd = fd

    def remove(self) -> None:
        """Remove the file: it is reported, or no longer needed."""
        _remove(self._path)

    def close(self) -> None:
        os.close(self._fd)


def left_by_former_lives(folder: Path) -> list[Left]:
    """The files in the folder that belong to no living process, by epoch. Blocks on the disk; raises `OSError`.

    Unreadable files are logged and left out. A file without a readable first line is removed, since its owner can never
    be found out.
    """
    try:
        paths = list(folder.iterdir())
    except FileNotFoundError:
        return []
    found = [left for path in paths if (left := _take(path)) is not None]
    return sorted(found, key=lambda left: left.me.epoch)


def _take(path: Path) -> Left | None:
    with ExitStack() as opened:
        try:
            fd = os.open(path, _FLAGS)
            opened.callback(os.close, fd)
            if not _is_left(path, fd):
                return None
            if path.suffix == _UNFINISHED:
                _remove(path)
                return None
            me, reports = _read(path, fd)
        except FileNotFoundError:
            return None
        except OSError as error:
            log.warning("left_results_unreadable", file=str(path), error=str(error))
            return None
        except ValidationError:
            log.warning("left_results_unreadable", file=str(path), error="its first line does not say whose it is")
            _remove(path)
            return None
        opened.pop_all()
    return Left(path, fd, me, reports)


def _is_left(path: Path, fd: int) -> bool:
    """Whether its writer has ended; from then on it is ours."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return os.path.samestat(os.fstat(fd), path.stat())  # its writer may have replaced the file


def _read(path: Path, fd: int) -> tuple[Me, list[Report]]:
    with os.fdopen(os.dup(fd), "rb") as file:
        first, *lines = file.read().split(b"\n")
    me = _ME.validate_json(first)
    reports: dict[TaskInstanceId, Report] = {}
    torn = 0
    for line in filter(None, lines):
        try:
            report = _REPORT.validate_json(line)
        except ValidationError:
            torn += 1
        else:
            reports[report.id] = report
    if torn:
        log.warning("left_results_torn", file=str(path), lines=torn, so="they are skipped: their tasks may run again")
    return me, list(reports.values())


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("left_results_stay", file=str(path), error=str(error), so="reporting them again changes nothing")


def _text(reports: Collection[Report]) -> bytes:
    return b"".join(_REPORT.dump_json(report) + b"\n" for report in reports)


def _write(fd: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, offset)
        view, offset = view[written:], offset + written
    os.fsync(fd)


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # some file systems cannot sync a folder; the file itself is on the disk
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
