"""The keeper of one task: starts it, watches it, and ends only when no process of its tree is left.

It is the tree's subreaper: a process of the tree that loses its parent becomes the keeper's child, however often it
forked and called setsid. So "no process is left" is not a guess from /proc: `waitpid` says that there is no child.

It runs alone in a forked copy of the zygote, single-threaded and blocking.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import resource
import select
import signal
import socket
import time
from pathlib import Path
from typing import NoReturn, Protocol

from model.means import is_passing
from node import prctl
from registry.clock import boottime_s
from worker.launcher import tree, wire
from worker.launcher.deadline import Deadline
from worker.launcher.last_word import LastWord
from worker.launcher.output import Output
from worker.launcher.wire import Cause, End, Ended, Identity, Message, NotStarted, Request, Started

TICK_S = 0.5
"""The maximum delay until a passed deadline is noticed."""

TICK_ENDING_S = 0.02
"""The same for a tree that is to end: the keeper gets no signal when the last grandchild ends."""

KILL_S_MAX = 30.0
"""After this time, processes that SIGKILL did not end (another user's, or hanging in the kernel) are reported and
left."""

KILL_PAUSE_S = 0.0005
KILL_PAUSE_S_MAX = 0.05

NOT_STARTED_CODE = 127

VARIABLE_BYTES_MAX = 131_072
"""Of one variable with its name: MAX_ARG_STRLEN of `execve(2)`."""

OOM_SCORE = 500
"""Of 1000. When memory runs out the kernel kills the largest process; that should be a task, not the worker of all."""


class Body(Protocol):
    """What the task's main process does once it has the right user and folder; it does not return."""

    def __call__(self, request: Request, request_fd: int) -> NoReturn:
        """Raises `OSError` or `ValueError` when it cannot begin."""
        ...


def keep(channel: socket.socket, request_fd: int, output: Output, deadline: Deadline, body: Body) -> None:
    """Run the task to its end.

    Args:
        channel: to the worker; its end means that the worker is dead.
        request_fd: the memory file with the request, and then with the answer if the request is an order.
        output: the task's stdout and stderr; its write end is closed here, so that the reader sees the end of it.
        deadline: of all tasks of this worker.
        body: what the task's main process runs.
    """
    request = Request.from_memory(request_fd)
    os.setsid()
    prctl.become_subreaper()
    prctl.name_process("shoal-keeper")
    if deadline.has_passed():
        _send(channel, Ended(Cause.DEADLINE, NOT_STARTED_CODE, 0))
        return
    stat = tree.stat_of(os.getpid())
    if stat is None or not _send(channel, Started(os.getpid(), stat.started)):
        return  # the worker is dead already: start nothing
    keeper_pid = os.getpid()
    try:
        main_pid = os.fork()
    except OSError as error:
        _send(channel, NotStarted(f'"{request.argv[0]}" cannot be started: {error.strerror}', is_passing(error)))
        _send(channel, Ended(Cause.EXIT, NOT_STARTED_CODE, 0))
        return
    if main_pid == 0:
        _become_task(channel, request, request_fd, output.write_fd, keeper_pid, body)
    os.close(output.write_fd)
    if not request.order:
        os.close(request_fd)
    if request.last_word is None:
        os.close(output.read_fd)
    family = _Family(main_pid)
    cause = _watch(channel, family, deadline)
    left = _kill_all(family)
    ended = Ended(cause, family.exit_code, left)
    if request.last_word is None or cause is not Cause.EXIT or left:
        _send(channel, ended)
        return
    # With another exit code it is not an answer but still the order itself, which may contain a password.
    answer = wire.answer_in(request_fd) if request.order and family.exit_code == 0 else None
    _write_and_say(channel, ended, request.last_word, answer, output)


def _write_and_say(
    channel: socket.socket, ended: Ended, last_word: LastWord, answer: bytes | None, output: Output
) -> None:
    """Record the end before it is reported. If the worker does not read the output, wait until it has read it or is
    dead."""
    is_read = output.is_read()
    if is_read:
        last_word.write(ended.exit_code, answer, b"")
    _send(channel, ended)
    if is_read:
        return
    while _receive(channel) is not None:
        continue
    if rest := output.rest():
        last_word.write(ended.exit_code, answer, rest)


class _Family:
    """The keeper's children: the task's main process and all orphans below it."""

    def __init__(self, main_pid: int) -> None:
        self._main_pid = main_pid
        self.main_handle = os.pidfd_open(main_pid)
        self.main_ended = False
        self.exit_code = 128 + signal.SIGKILL  # used if the main process cannot be killed

    def reap(self) -> bool:
        """Reap all that ended; return whether any process of the tree is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._main_pid:
                self.main_ended = True
                code = os.waitstatus_to_exitcode(status)
                self.exit_code = code if code >= 0 else 128 - code


def _watch(channel: socket.socket, family: _Family, deadline: Deadline) -> Cause:
    """Wait until the rest of the tree is to be killed at once, and return the cause."""
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    poll.register(family.main_handle, select.POLLIN)
    kill_at: float | None = None
    while True:
        tick_s = TICK_S if kill_at is None else TICK_ENDING_S
        ready = [fd for fd, _ in poll.poll(tick_s * 1000)]
        if channel.fileno() in ready:
            asked = _receive(channel)
            if asked is None:
                family.reap()
                return Cause.EXIT if kill_at is None and family.main_ended else Cause.WORKER_GONE
            kill_at = min(kill_at or float("inf"), boottime_s() + asked.grace_s)
            # CONT: a stopped process would sleep through its TERM and its grace.
            tree.signal_descendants(os.getpid(), signal.SIGTERM, signal.SIGCONT)
        any_left = family.reap()
        if family.main_ended and family.main_handle in ready:
            poll.unregister(family.main_handle)
        if kill_at is None and family.main_ended:
            return Cause.EXIT  # also past the deadline: it ended by itself, even if we were frozen
        if deadline.has_passed():
            return Cause.DEADLINE
        if kill_at is not None and (not any_left or boottime_s() >= kill_at):
            return Cause.ASKED


def _kill_all(family: _Family) -> int:
    """Kill until the kernel reports that no child is left; return how many could not be killed."""
    until_s = math.inf
    pause_s = KILL_PAUSE_S
    known: set[int] = set()
    while family.reap():
        # The first comes before the clock: a keeper that was frozen here has killed nothing yet.
        found = tree.signal_descendants(os.getpid(), signal.SIGKILL)
        if boottime_s() >= until_s:
            return len(tree.descendants(os.getpid()))
        until_s = min(until_s, boottime_s() + KILL_S_MAX)
        # New ones: a process forks as fast as we kill, so hurry. The same ones: they only need time to die.
        pause_s = KILL_PAUSE_S if found - known else min(2 * pause_s, KILL_PAUSE_S_MAX)
        known |= found
        time.sleep(pause_s)
    return 0


def _become_task(
    channel: socket.socket, request: Request, request_fd: int, output_fd: int, keeper_pid: int, body: Body
) -> NoReturn:
    """Turn this new child into the task's main process; report to the worker if that is impossible."""
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output_fd, 1)
        os.dup2(output_fd, 2)
        for fd in (channel.fileno(), request_fd):
            os.set_inheritable(fd, False)  # exec closes it; until then it may be needed to report why there was none
        close_all_but(channel.fileno(), request_fd)
        _be_the_first_to_go()
        if request.identity is not None:
            _become_user(request.identity)
        prctl.die_with_parent(signal.SIGKILL)  # after the change of the user, which clears it
        if os.getppid() != keeper_pid:
            os._exit(NOT_STARTED_CODE)  # the parent died before the line above
        if request.no_new_privileges:
            prctl.forbid_new_privileges()
        os.chdir(request.cwd)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        body(request, request_fd)
    except OSError as error:
        if error.errno == errno.E2BIG:
            _send(channel, NotStarted(_too_large(request), is_too_large=True))
            os._exit(NOT_STARTED_CODE)
        where = f" in the folder {request.cwd}" if error.filename == request.cwd else ""
        barred = where and request.identity is not None and error.errno == errno.EACCES
        cure = "; its tenant must be able to enter every folder above it: choose such a worker.folder" if barred else ""
        _send(
            channel,
            NotStarted(f'"{request.argv[0]}" cannot be started{where}: {error.strerror}{cure}', is_passing(error)),
        )
    except ValueError as error:  # a NUL byte in an argument or in the environment
        _send(channel, NotStarted(f'"{request.argv[0]}" cannot be started: {error}'))
    finally:
        os._exit(NOT_STARTED_CODE)


def _too_large(request: Request) -> str:
    sizes = {name: len(f"{name}={value}".encode(errors="surrogateescape")) for name, value in request.env.items()}
    largest = max(sizes, key=sizes.__getitem__)
    return (
        f'"{request.argv[0]}" cannot be started with an environment of {sum(sizes.values()):,} bytes, of which '
        f"{largest} has {sizes[largest]:,}: Linux allows fewer than {VARIABLE_BYTES_MAX:,} for one variable and about "
        f"2,000,000 for all of them; give the task less or shorter data, such as the name of a file"
    )


def _be_the_first_to_go() -> None:
    """Let the kernel kill this process first when memory runs out. Without a writable /proc it chooses by size
    alone."""
    with contextlib.suppress(OSError), Path("/proc/self/oom_score_adj").open("r+") as score:
        if int(score.read()) < OOM_SCORE:
            score.seek(0)
            score.write(str(OOM_SCORE))


def _become_user(identity: Identity) -> None:
    """Become that user permanently; the log's pipe becomes its own, so that it can open /dev/stdout and /dev/stderr."""
    os.fchown(1, identity.uid, identity.gid)
    os.setgroups(identity.groups)
    os.setresgid(identity.gid, identity.gid, identity.gid)
    os.setresuid(identity.uid, identity.uid, identity.uid)


def close_all_but(*fds: int) -> None:
    """Close every descriptor from 3 on, with these exceptions."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    begin = 3
    for fd in sorted(fds):
        os.closerange(begin, fd)
        begin = fd + 1
    os.closerange(begin, most)


def _send(channel: socket.socket, message: Message) -> bool:
    """Send it; return whether the worker was there to receive it."""
    try:
        channel.send(wire.encode(message))
    except OSError:
        return False
    return True


def _receive(channel: socket.socket) -> End | None:
    """The worker's request; None if it is dead."""
    try:
        data = channel.recv(wire.MESSAGE_BYTES_MAX)
    except ConnectionResetError:  # it died with our messages unread
        return None
    if not data:
        return None
    message = wire.decode(data)
    assert isinstance(message, End)
    return message
