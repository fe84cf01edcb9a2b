"""Starts a command without forking its keeper: a fork of a Python process costs as much as a small task.

`posix_spawn` lends the keeper's memory to the new process until that executes the command.

It cannot change the user, and none of our code runs in the new process, so it gets no parent-death signal. When a
keeper is killed, its zygote kills what it left.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache

from node import prctl
from worker.launcher.wire import Request

OOM_SCORE = 500
"""Of 1000. When memory runs out the kernel kills the largest process; that should be a task, not its worker."""

_SIGNALS = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}


def spawn(request: Request, output_fd: int) -> int:
    """The pid of the command, which leads a session of its own. All other descriptors close themselves.

    Raises `OSError` or `ValueError` when it cannot begin.
    """
    if request.no_new_privileges:
        prctl.forbid_new_privileges()  # for this keeper too: all that its launcher starts is to have none
    os.chdir(request.cwd)
    try:
        with _first_to_go():
            return _spawn_first(_files(request), request, output_fd)
    finally:
        os.chdir("/")  # the task's folder is deleted after it


def _spawn_first(files: Sequence[str], request: Request, output_fd: int) -> int:
    """Spawn the first file that can be executed, as `execvpe` does."""
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, output_fd, 1),
        (os.POSIX_SPAWN_DUP2, output_fd, 2),
    ]
    errors: list[OSError] = []
    for file in files:
        try:
            return os.posix_spawn(
                file,
                request.argv,
                request.env,
                file_actions=actions,
                setsid=True,
                setsigmask=(),
                setsigdef=_SIGNALS,
            )
        except OSError as error:
            errors.append(error)
    raise next((error for error in errors if not isinstance(error, FileNotFoundError)), errors[-1])


def _files(request: Request) -> list[str]:
    """The files that the command may mean; at least one. Names that exist in no folder are left out."""
    command = request.argv[0]
    if "/" in command:
        return [command]
    paths = [os.path.join(folder, command) for folder in os.get_exec_path(request.env)]  # noqa: PTH118
    return [path for path in paths if os.access(path, os.F_OK)] or [command]


@contextmanager
def _first_to_go() -> Iterator[None]:
    """Make processes started in this block the OOM killer's first choice. Without a writable /proc the kernel chooses
    by size alone."""
    fd, own = _score()
    if fd is None or own >= OOM_SCORE:
        yield
        return
    with suppress(OSError):
        os.pwrite(fd, str(OOM_SCORE).encode(), 0)
    try:
        yield
    finally:
        with suppress(OSError):
            os.pwrite(fd, str(own).encode(), 0)


@cache
def _score() -> tuple[int | None, int]:
    """The file with this process's score, and its value."""
    try:
        fd = os.open("/proc/self/oom_score_adj", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None, 0
    return fd, int(os.pread(fd, 20, 0))
