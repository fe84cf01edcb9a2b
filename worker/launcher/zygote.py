"""The zygote: a small process without threads that forks a keeper when its worker has no idle one.

Forking the worker itself would copy its threads' locks and its secrets; a new Python for every task takes 20 ms and
more. The zygote is started with an empty environment and contains nothing worth stealing. It ends when its worker
is gone and all its keepers are. If it dies, keepers and tasks continue: nothing of theirs passes through it.

It is a subreaper too. Its children are its keepers; any other child is a stray, the orphan of a keeper that was killed
(by hand, or for lack of memory), and the zygote kills it instead of that keeper.
"""

from __future__ import annotations

import gc
import os
import resource
import select
import signal
import socket
import traceback
from contextlib import suppress
from enum import Enum, auto
from typing import NoReturn, Protocol

from model.cluster.means import is_passing
from node import prctl
from worker.launcher import tree
from worker.launcher.horizon import Deadline
from worker.launcher.keeper import keep
from worker.launcher.output import GIVEN_FDS, GivenTask
from worker.launcher.wire import NotStarted, Request, encode, receive_given

DESCRIPTORS = 1 + GIVEN_FDS
"""A request carries the keeper's end of the channel, and the descriptors of its first task."""

UNTOUCHED_BY = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
"""A stray signal from a task, or ^C in the worker's terminal, must not end a keeper; tasks get the defaults back."""

STRAYS_TICK_S = 0.01
"""Time between two checks of strays that are being killed."""


NAME_BYTES_MAX = 1_000
"""The maximum length of the text in a request: what the zygote must prepare for."""


class _After(Enum):
    """What follows a request: the next one, nothing because the worker is gone, or a new zygote in this one's place."""

    NEXT = auto()
    END = auto()
    SUCCESSOR = auto()


class Work(Protocol):
    """What the tasks of one zygote run."""

    def prepare(self, name: str) -> None:
        """Called in the zygote before the fork, for each request. May raise anything: then that task cannot start."""
        ...

    def run(self, request: Request, request_fd: int) -> NoReturn:
        """Called in the task's main process. Raises `OSError` or `ValueError` when it cannot begin."""
        ...


class Commands:
    """The work of the plain zygote: executing the requested command."""

    def prepare(self, name: str) -> None:
        """Nothing to prepare."""

    def run(self, request: Request, request_fd: int) -> NoReturn:  # noqa: ARG002 - exec closes it
        """Raises `OSError` or `ValueError`."""
        os.execvpe(request.argv[0], request.argv, request.env)  # noqa: S606  no shell is wanted


class Zygote:
    """The process itself: made and run once in it."""

    def __init__(self, requests: socket.socket, deadline: Deadline, work: Work) -> None:
        self._requests = requests
        requests.set_inheritable(False)
        self._deadline = deadline
        self._work = work
        self._keepers: set[int] = set()
        self._has_strays = False

    def serve(self) -> None:
        """Fork keepers until the worker's end of the socket is closed, then wait for the rest to end: if a keeper is
        killed together with the worker, only this process can end its tree."""
        prctl.hide_from_own_user()
        prctl.become_subreaper()
        prctl.name_process("shoal-zygote")
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.umask(0o077)
        for number in UNTOUCHED_BY:
            signal.signal(number, signal.SIG_IGN)
        children_changed = _wake_by_sigchld()
        gc.disable()  # a collection would write to every shared page, in every keeper
        gc.freeze()
        poll = select.poll()
        poll.register(self._requests, select.POLLIN)
        poll.register(children_changed, select.POLLIN)
        is_left = False
        while True:
            ready = dict(poll.poll(STRAYS_TICK_S * 1000 if self._has_strays else None))
            if children_changed.fileno() in ready:
                children_changed.recv(4096)
            self._reap()
            if self._requests.fileno() in ready:
                match self._take_request():
                    case _After.SUCCESSOR:
                        return
                    case _After.END:
                        poll.unregister(self._requests)
                        is_left = True
            if self._has_strays:
                self._kill_strays()
            if is_left and not self._keepers and not self._has_strays:
                return

    def _take_request(self) -> _After:
        """Fork a keeper for the next request."""
        data, fds = receive_given(self._requests, NAME_BYTES_MAX, DESCRIPTORS)
        if not data:
            return _After.END
        channel_fd, *given = fds
        after = _After.NEXT
        try:
            self._work.prepare(data.decode())
        except Exception as error:  # noqa: BLE001 - an import may raise anything
            _say(channel_fd, error)
            if is_passing(error):  # what is half loaded may not load again in this process
                after = _After.SUCCESSOR
        else:
            try:
                pid = os.fork()
            except OSError as error:  # no memory, or the process limit: this task cannot start, others run
                _say(channel_fd, error)
            else:
                if pid == 0:
                    self._become_keeper(channel_fd, GivenTask.of(given))
                self._keepers.add(pid)
        for fd in fds:
            os.close(fd)
        return after

    def _become_keeper(self, channel_fd: int, task: GivenTask) -> None:
        """Run a keeper in this process. Never returns into the zygote's loop."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._requests.close()
            channel = socket.socket(fileno=channel_fd)
            keep(channel, task, self._deadline, self._work.run)
            code = 0
        except BaseException:  # noqa: BLE001  a bug of ours; its tree is killed as that of a killed keeper
            traceback.print_exc()
        finally:
            os._exit(code)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self._keepers:
                self._keepers.discard(pid)
                self._has_strays |= status != 0

    def _kill_strays(self) -> None:
        self._has_strays = False
        for pid in tree.children(os.getpid()):
            if pid in self._keepers:
                continue
            tree.signal_descendants(pid, signal.SIGKILL)
            with suppress(PermissionError):  # another user's (sudo): not ours to end
                os.kill(pid, signal.SIGKILL)  # a child that is not reaped yet: its pid is still its own
                self._has_strays = True  # check again until it has ended


def _say(channel_fd: int, error: Exception) -> None:
    what = error.strerror if isinstance(error, OSError) else repr(error)
    with socket.socket(fileno=os.dup(channel_fd)) as channel:
        channel.send(encode(NotStarted(f"no process can be made for it: {what}", is_passing(error))))


def _wake_by_sigchld() -> socket.socket:
    """A socket that becomes readable when a child ends."""
    wake, woken = socket.socketpair()
    wake.setblocking(False)
    woken.setblocking(False)
    signal.set_wakeup_fd(wake.detach(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    return woken


def main(requests_fd: int, deadline_fd: int) -> None:
    """Run on two inherited descriptors."""
    Zygote(socket.socket(fileno=requests_fd), Deadline.shared(deadline_fd), Commands()).serve()
