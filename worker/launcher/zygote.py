"""The zygote: a small process without threads that forks a keeper for every request of its worker.

Forking the worker itself would copy its threads' locks and its secrets; a new Python for every task takes 20 ms and
more. The zygote is started with an empty environment and holds nothing worth stealing. It ends with its worker's
socket. If it dies, keepers and tasks go on: nothing of theirs passes through it.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import socket
import traceback

from worker.launcher import prctl
from worker.launcher.deadline import Deadline
from worker.launcher.keeper import keep
from worker.launcher.wire import NotStarted, Request, encode

DESCRIPTORS = 3
"""A request carries the keeper's end of the channel, the request's memory file, and the task's output."""

UNTOUCHED_BY = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
"""A task's stray signal, or ^C in the worker's terminal, must not end a keeper; tasks get the defaults back."""


def serve(requests: socket.socket, deadline: Deadline) -> None:
    """Fork keepers until the worker's end of the socket is closed."""
    prctl.hide_from_own_user()
    prctl.name_process("shoal-zygote")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(0o077)
    for number in UNTOUCHED_BY:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps keepers; the worker hears of them by channel
    gc.disable()  # a collection would write to every shared page, in every keeper
    gc.freeze()
    while True:
        data, fds, _, _ = socket.recv_fds(requests, 1, DESCRIPTORS)
        if not data:
            return
        _fork_keeper(requests, fds, deadline)
        for fd in fds:
            os.close(fd)


def _fork_keeper(requests: socket.socket, fds: list[int], deadline: Deadline) -> None:
    channel_fd, request_fd, output_fd = fds
    try:
        if os.fork() != 0:
            return
    except OSError as error:  # no memory, or the limit of processes: this task cannot start, others run
        with socket.socket(fileno=os.dup(channel_fd)) as channel:
            channel.send(encode(NotStarted(f"no process can be made for it: {error.strerror}")))
        return
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        requests.close()
        keep(socket.socket(fileno=channel_fd), Request.from_memory(request_fd), output_fd, deadline)
    except BaseException:  # noqa: BLE001  nothing may return into the zygote's loop
        traceback.print_exc()
    finally:
        os._exit(0)


def main(requests_fd: int, deadline_fd: int) -> None:
    """Run on two inherited descriptors."""
    serve(socket.socket(fileno=requests_fd), Deadline.shared(deadline_fd))
