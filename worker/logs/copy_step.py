"""Copies some logs from the disk of a worker into the log store. It blocks, so it is for threads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from dao.tasks.stored_logs import StoredLog
from logstore.protocol import Advanced, LogStore
from model.errors import ShoalError
from model.logs.name import LogName
from worker.logs import holes
from worker.logs.task_log import first_line_from, open_log

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Measured:
    """A log and its remaining bytes, from `first` to `size`; None: it does not exist."""

    name: LogName
    size: int | None
    first: int = 0

    @property
    def has_no_copy(self) -> bool:
        return not self.size

    @property
    def key(self) -> str:
        return self.name.key(self.first)

    @property
    def stored(self) -> StoredLog:
        return StoredLog(self.name.task_instance_id, self.size, self.first or None)


def measured(root: Path, names: Sequence[LogName]) -> list[Measured]:
    """Measure these logs; unreadable ones are logged and left out."""
    return [each for name in names if (each := _measured(root, name)) is not None]


def _measured(root: Path, name: LogName) -> Measured | None:
    try:
        fd = open_log(root, name)
    except FileNotFoundError:
        return Measured(name, None)
    except OSError as error:
        log.warning("log_not_copied", task_instance=name.task_instance_id, error=str(error), so="it is tried again")
        return None
    try:
        size = os.fstat(fd).st_size
        return Measured(name, size, first_line_from(fd, holes.first_byte(fd, size)))
    except OSError as error:
        log.warning("log_not_copied", task_instance=name.task_instance_id, error=str(error), so="it is tried again")
        return None
    finally:
        os.close(fd)


def put_all(
    root: Path, logs: Sequence[Measured], store: LogStore, advanced: Advanced
) -> tuple[list[Measured], str | None]:
    """Copy these logs into the store, one after the other; returns the copied ones, and why the next one failed."""
    done: list[Measured] = []
    for each in logs:
        assert each.size is not None
        try:
            fd = open_log(root, each.name)
            try:
                if each.first < each.size:
                    store.put(each.key, fd, each.first, each.size, advanced)
            finally:
                os.close(fd)
        except ShoalError as error:
            return done, str(error)
        except FileNotFoundError:
            continue  # deleted since it was measured: the next round finds that
        except OSError as error:
            return done, f"the log of task instance {each.name.task_instance_id} cannot be read: {error.strerror}"
        done.append(each)
        advanced()
    return done, None
