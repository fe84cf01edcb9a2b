"""The keeper of a task: starts it, ends it (SIGTERM, grace, SIGKILL), and waits until no process of its tree is left.

It is the tree's subreaper: a process of the tree that loses its parent becomes the keeper's child, however often it
forked and called setsid. So "no process is left" is not a guess from /proc: `waitpid` says that there is no child.

It runs alone in a forked copy of the zygote, single-threaded and blocking. A keeper of commands is used for one task
after the other; the next task is another program, so it cannot read what the keeper knows of former ones.
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
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NoReturn, Protocol

from model.cluster.means import is_passing
from node import prctl
from registry.clock import boottime_s
from worker.launcher import tree, wire
from worker.launcher.horizon import Deadline
from worker.launcher.output import GIVEN_FDS, GivenTask
from worker.launcher.spawn import OOM_SCORE, spawn
from worker.launcher.wire import Cause, End, Ended, Identity, Message, NotStarted, Request, Started

TICK_S = 0.5
"""The maximum delay until a passed deadline is noticed."""

TICK_ENDING_S = 0.02
"""The same for a tree that is ending: the keeper gets no signal when the last grandchild ends."""

KILL_S_MAX = 30.0
"""After this time, processes that survived SIGKILL (another user's, or hanging in the kernel) are reported and left."""

KILL_PAUSE_S = 0.0005
KILL_PAUSE_S_MAX = 0.05

NOT_STARTED_CODE = 127

VARIABLE_BYTES_MAX = 131_072
"""For one variable with its name: MAX_ARG_STRLEN of `execve(2)`."""


class Body(Protocol):
    """The code of the task's main process once it has the right user and folder; it does not return."""

    def __call__(self, request: Request, request_fd: int) -> NoReturn:
        """Raises `OSError` or `ValueError` when it cannot begin."""
        ...


def keep(channel: socket.socket, task: GivenTask, deadline: Deadline, body: Body) -> None:
    """Run the task to its end, then each that the worker sends next.

    Args:
        channel: to the worker; its end means that the worker is dead, or no longer needs this keeper.
        deadline: of all tasks of this worker.
        body: the code of the task's main process, unless it is a command of the worker's own user.
    """
    os.setsid()
    prctl.become_subreaper()
    prctl.name_process("shoal-keeper")
    stat = tree.stat_of(os.getpid())
    if stat is None:
        return
    me = Started(os.getpid(), stat.started)
    following: GivenTask | None = task
    while following is not None:
        task = following
        unsaid = _keep_one(channel, me, task, deadline, body)
        if unsaid is None:
            task.close()  # while it waits it has nothing of a task, which may be secret
        following = _next(channel)
        if unsaid is not None:
            if following is None and (rest := task.output.rest()):
                unsaid(rest)
            task.close()


def _keep_one(
    channel: socket.socket, me: Started, task: GivenTask, deadline: Deadline, body: Body
) -> Callable[[bytes], None] | None:
    """Run a task to its end. If the worker does not read its output, return a function that records the end."""
    request = Request.from_memory(task.request_fd)
    if deadline.has_passed():
        _send(channel, Ended(Cause.DEADLINE, NOT_STARTED_CODE, 0))
        return None
    if not _send(channel, me):
        return None  # the worker is dead already: start nothing
    main_pid = _start(channel, request, task, body)
    if main_pid is None:
        _send(channel, Ended(Cause.EXIT, NOT_STARTED_CODE, 0))
        return None
    os.close(task.output.write_fd)
    family = _Family(main_pid)
    cause = _watch(channel, family, deadline)
    left = _kill_all(family)
    os.close(family.main_handle)
    ended = Ended(cause, family.exit_code, left)
    if request.last_word is None or cause is not Cause.EXIT or left:
        _send(channel, ended)
        return None
    # With another exit code it is not an answer but still the order itself, which may contain a password.
    answer = wire.answer_in(task.request_fd) if request.order and family.exit_code == 0 else None
    record = partial(request.last_word.write, ended.exit_code, answer)
    # Recorded before it is reported. What the worker does not read is recorded once it is dead.
    is_read = task.output.is_read()
    if is_read:
        record(b"")
    _send(channel, ended)
    return None if is_read else record


def _next(channel: socket.socket) -> GivenTask | None:
    """The next task; None if the worker is dead, or no longer needs this keeper."""
    while True:
        try:
            data, fds = wire.receive_given(channel, wire.MESSAGE_BYTES_MAX, GIVEN_FDS)
        except ConnectionResetError:
            return None
        if not data:
            return None
        if fds:
            return GivenTask.of(fds)
        # Else it is an `End` that has crossed our `Ended`: there is nothing to end.


def _start(channel: socket.socket, request: Request, task: GivenTask, body: Body) -> int | None:
    """The pid of the task's main process; None if it could not start, which the worker has been told."""
    try:
        if not request.order and request.identity is None:
            return spawn(request, task.output.write_fd)
        keeper_pid = os.getpid()
        main_pid = os.fork()
    except (OSError, ValueError) as error:
        _send(channel, _why_not(request, error))
        return None
    if main_pid == 0:
        _become_task(channel, request, task, keeper_pid, body)
    return main_pid


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
    """Kill until the kernel reports no child; return how many could not be killed."""
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


def _become_task(channel: socket.socket, request: Request, task: GivenTask, keeper_pid: int, body: Body) -> NoReturn:
    """Turn this new child into the task's main process; report to the worker if that is impossible."""
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(task.output.write_fd, 1)
        os.dup2(task.output.write_fd, 2)
        # Exec closes these two; until then they may be needed to report why there was none.
        close_all_but(channel.fileno(), task.request_fd)
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
        body(request, task.request_fd)
    except (OSError, ValueError) as error:
        _send(channel, _why_not(request, error))
    finally:
        os._exit(NOT_STARTED_CODE)


def _why_not(request: Request, error: OSError | ValueError) -> NotStarted:
    if not isinstance(error, OSError):  # a NUL byte in an argument or in the environment
        return NotStarted(f'"{request.argv[0]}" cannot be started: {error}')
    if error.errno == errno.E2BIG:
        return NotStarted(_too_large(request), is_too_large=True)
    where = f" in the folder {request.cwd}" if error.filename == request.cwd else ""
    barred = where and request.identity is not None and error.errno == errno.EACCES
    cure = "; its tenant must be able to enter every folder above it: choose such a worker.folder" if barred else ""
    return NotStarted(f'"{request.argv[0]}" cannot be started{where}: {error.strerror}{cure}', is_passing(error))


def _too_large(request: Request) -> str:
    sizes = {name: len(f"{name}={value}".encode(errors="surrogateescape")) for name, value in request.env.items()}
    largest = max(sizes, key=sizes.__getitem__)
    return (
        f'"{request.argv[0]}" cannot be started with an environment of {sum(sizes.values()):,} bytes, of which '
        f"{largest} has {sizes[largest]:,}: Linux allows fewer than {VARIABLE_BYTES_MAX:,} for one variable and about "
        f"2,000,000 for all of them; give the task less or shorter data, such as the name of a file"
    )


def _be_the_first_to_go() -> None:
    """Make this process the OOM killer's first choice. Without a writable /proc the kernel chooses by size alone."""
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
    """Send a message; return whether the worker was there to receive it."""
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
