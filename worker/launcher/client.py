"""The worker's side of the launcher: `ProcessRunner` over one zygote, on the worker's event loop, without threads."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import structlog

from model.cluster.means import is_passing
from worker.attempts.order import Order, result_of
from worker.launcher.errors import BrokenLauncher, DeadlinePassed, LauncherKilled, NoMeans, TreeLeft
from worker.launcher.horizon import Deadline
from worker.launcher.idle_keepers import IdleKeepers
from worker.launcher.last_word import NO_END, LastWord, ProcessEnd
from worker.launcher.leftovers import reap
from worker.launcher.task_process import NeverStarted, TaskProcess
from worker.launcher.wire import Identity, Request, answer_in
from worker.tasks.plugin import TaskLog, TaskResult

logger = structlog.get_logger()

LAUNCH_VARIABLE = "SHOAL_LAUNCH"
"""Set in every task's environment to a value that is unique on the machine: the marker for `leftovers`."""

TRIES_MAX = 3
"""How many zygotes may die during one request."""

COMMAND = b"a command"
"""Sent with a task that is a command."""

FULL_SOCKET_PAUSE_S = 0.002
ZYGOTE_END_S_MAX = 2.0
ZYGOTE_END_PAUSE_S = 0.01

# -I and -S: nothing of the user's environment or of site-packages runs in it, and it starts in 15 ms. The folder of
# Shoal's own packages comes last in the path, so that nothing in it can replace a standard module.
_BOOT = f"""
import sys
sys.path.append(sys.argv[1])
from {__package__}.zygote import main
main(int(sys.argv[2]), int(sys.argv[3]))
"""
# With site-packages, where the libraries of task types are.
_BOOT_WARM = f"""
import json, sys
sys.path.append(sys.argv[1])
from {__package__}.warm import main
main(int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4]))
"""
_SHOAL = str(Path(__file__).parents[__package__.count(".") + 1])


class Launcher:
    """Runs commands in process trees of their own. Belongs to one event loop.

    Use between `open` and `close`; if the process that owns it dies or passes its deadline, all its trees are killed.
    """

    def __init__(self, grace_s: float = 5.0, no_new_privileges: bool = False, life: str | None = None) -> None:
        """`grace_s` is the time between TERM and KILL; `no_new_privileges` disables `sudo` and the like for tasks;
        `life` is the marker, `NAME=value`, that identifies all started processes (`node/left_tasks.py`)."""
        self._grace_s = grace_s
        self.has_left = False
        """Whether a task left processes that could not be killed."""
        self._life = life
        self._no_new_privileges = no_new_privileges
        self._marks = dict([life.split("=", 1)]) if life is not None else {}
        self._deadline = Deadline()
        self._zygotes: dict[bool, _Zygote] = {}
        """The plain one (False) and the warm one (True), each started when first needed."""
        self._name = secrets.token_hex(8)
        self._count = 0
        self._deaths: dict[bool, int] = {False: 0, True: 0}
        """How many zygotes of each kind died."""
        self._last_end = 0
        """The exit code of the zygote that died last."""
        self._has_worked: set[bool] = set()
        """The kinds of zygotes that have started a task."""
        self._running: set[TaskProcess] = set()
        self._idle = IdleKeepers()
        self._restored: set[int] = set()

    def open(self) -> None:
        """Start the zygote now, so that the first task need not wait."""
        self._zygotes[False] = _Zygote(self._deadline, self._life)

    async def close(self) -> None:
        """Kill what still runs, without grace, and end the zygotes."""
        await asyncio.gather(*(process.end(0.0) for process in tuple(self._running)))
        self._idle.close()
        for is_warm in tuple(self._zygotes):
            await self._zygotes.pop(is_warm).close()
        self._reap_orphans()
        self._deadline.close()

    def set_deadline(self, boottime_s: float) -> None:
        """Kill all trees once CLOCK_BOOTTIME has passed this; 0 means never. Moved forward while all is well."""
        self._deadline.set(boottime_s)

    def may_go_on(self) -> None:
        """Raises `DeadlinePassed`; code in this process calls it before each effect."""
        if self._deadline.has_passed():
            raise DeadlinePassed("it was ended because its worker was stopped or cut off for too long")

    @property
    def zygote_pid(self) -> int | None:
        """The process that forks keepers, if it has been started; for inspection, not for signals."""
        return self._zygotes[False].pid if False in self._zygotes else None

    @property
    def warm_pid(self) -> int | None:
        """The zygote with task types loaded, if it has been started."""
        return self._zygotes[True].pid if True in self._zygotes else None

    async def run(
        self,
        argv: list[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        log: TaskLog,
        identity: Identity | None = None,
        end: ProcessEnd = NO_END,
    ) -> int:
        """Run to its end with both outputs into `log`, and return the exit code (128 + n for signal n).

        With an `identity`, which only root can use, it runs as that user; keepers stay root and can end it. When it
        returns, raises or is cancelled, no process of the tree is left (`TreeLeft` if one is).

        Raises:
            CannotStart: no such command or folder.
            TooLarge: its environment is larger than Linux allows.
            LauncherKilled: the keeper was killed.
            DeadlinePassed: this worker was stopped or cut off for too long.
            NoMeans: no process can be made, or zygotes die before they can start it; nothing has run.
            BrokenLauncher: no zygote of its kind has ever started a task, and they end though nobody kills them.
            OSError: the log could not be written; the tree has been killed.
        """
        request = Request(argv, dict(env), str(cwd), self._no_new_privileges, identity, last_word=end.last_word)
        code, _ = await self._run(request, log, None, self._grace_s, is_all=end.is_all)
        return code

    async def carry_out(
        self,
        order: Order,
        *,
        env: Mapping[str, str],
        cwd: Path,
        log: TaskLog,
        identity: Identity | None = None,
        last_word: LastWord | None = None,
    ) -> tuple[int, TaskResult | None]:
        """Run an attempt of a type's own code in such a tree; returns its exit code and its result, if it gave one.

        The process is the whole attempt. Raises the same as `run`.
        """
        request = Request(
            [order.name], dict(env), str(cwd), self._no_new_privileges, identity, order.to_text(), last_word
        )
        grace_s = max(self._grace_s, order.task.grace_s)
        code, answer = await self._run(request, log, order.name, grace_s, is_all=True)
        return code, result_of(answer)

    async def _run(
        self, request: Request, log: TaskLog, type_name: str | None, grace_s: float, *, is_all: bool
    ) -> tuple[int, bytes]:
        """The exit code, and the final content of the request's memory; `type_name` is that of an order."""
        is_warm = type_name is not None
        deaths = self._deaths[is_warm]
        for _ in range(TRIES_MAX):
            self._count += 1
            mark = f"{self._name}.{self._count}"
            with ExitStack() as opened:
                memory_fd = _in_memory(request._replace(env={**request.env, LAUNCH_VARIABLE: mark, **self._marks}))
                opened.callback(os.close, memory_fd)
                process = await self._launch(memory_fd, log, f"{LAUNCH_VARIABLE}={mark}", type_name)
                if type_name is None:
                    opened.close()  # a command writes no answer into it
                self._running.add(process)
                try:
                    code = await process.exit_code(grace_s, is_all=is_all)
                    return code, answer_in(memory_fd) if type_name is not None else b""
                except NeverStarted:
                    continue
                except TreeLeft:
                    self.has_left = True
                    raise
                except LauncherKilled:
                    if self._deadline.has_passed():  # by another node, which rightly considered this worker dead
                        raise DeadlinePassed("it was killed after its worker was cut off for too long") from None
                    raise
                finally:
                    self._running.discard(process)
                    if process.keeper is not None:
                        self._has_worked.add(is_warm)
                        self._restored.add(process.keeper.keeper_pid)
                        self._reap_orphans()
        if is_warm in self._has_worked or self._deaths[is_warm] == deaths or self._last_end == -signal.SIGKILL:
            raise NoMeans(f"the launcher of this worker died {TRIES_MAX} times over one task; see its standard error")
        raise BrokenLauncher(
            f"the launcher of this worker ends at each start, with exit code {self._last_end}; its standard error says "
            f"why: check the Python of this worker ({sys.executable}) and what it loads"
        )

    async def _launch(self, memory_fd: int, log: TaskLog, marker: str, type_name: str | None) -> TaskProcess:
        try:
            return await self._launch_now(memory_fd, log, marker, type_name)
        except OSError as error:
            if not is_passing(error):
                raise
            raise NoMeans(f"no process can be made for it: {error.strerror}") from error

    async def _launch_now(self, memory_fd: int, log: TaskLog, marker: str, type_name: str | None) -> TaskProcess:
        with ExitStack() as theirs, ExitStack() as ours:
            output_fd, task_output_fd = os.pipe2(os.O_CLOEXEC)
            theirs.callback(os.close, task_output_fd)
            ours.callback(os.close, output_fd)
            os.set_blocking(output_fd, False)
            given = [memory_fd, task_output_fd, output_fd]
            channel = self._sent_to_idle(given) if type_name is None else None
            if channel is None:
                channel, keeper_channel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                theirs.enter_context(keeper_channel)
                ours.enter_context(channel)
                channel.setblocking(False)
                await self._send([keeper_channel.fileno(), *given], type_name)
            ours.pop_all()
            return TaskProcess(channel, output_fd, log, marker, self._idle.put if type_name is None else None)

    def _sent_to_idle(self, given: list[int]) -> socket.socket | None:
        """Send the task to an idle keeper and return its channel; None if there is none."""
        if False not in self._zygotes or not self._zygotes[False].lives:
            self._idle.close()  # if they were killed, nothing would kill what they left
            return None
        while (channel := self._idle.take()) is not None:
            try:
                socket.send_fds(channel, [COMMAND], given)
            except OSError:  # somebody killed it
                channel.close()
            else:
                return channel
        return None

    async def _send(self, fds: list[int], type_name: str | None) -> None:
        """Send the descriptors to the right zygote; a dead one is replaced."""
        is_warm = type_name is not None
        name = COMMAND if type_name is None else type_name.encode()
        while True:
            if is_warm not in self._zygotes:
                self._zygotes[is_warm] = _Zygote(self._deadline, self._life, is_warm=is_warm)
            try:
                socket.send_fds(self._zygotes[is_warm].requests, [name], fds)
            except BlockingIOError:
                await asyncio.sleep(FULL_SOCKET_PAUSE_S)
            except (BrokenPipeError, ConnectionResetError):
                # Removed before the await: another run may start a new one meanwhile.
                dead = self._zygotes.pop(is_warm)
                self._last_end = await dead.close()
                self._deaths[is_warm] += 1
                logger.warning(
                    "zygote_died",
                    pid=dead.pid,
                    exit_code=self._last_end,
                    so="a new one is started; running tasks are not affected",
                )
            else:
                return

    def _reap_orphans(self) -> None:
        """Reap keepers that outlived their zygote: children of this process, if it is a subreaper or pid 1."""
        self._restored = {pid for pid in self._restored if reap(pid)}


def _in_memory(request: Request) -> int:
    try:
        return request.to_memory()
    except OSError as error:
        if not is_passing(error):
            raise
        raise NoMeans(f"no process can be made for it: {error.strerror}") from error


def _import_path() -> list[str]:
    """This process's library paths. The working directory comes last: it may be anybody's."""
    here = str(Path.cwd())
    path = [str(Path(each).absolute()) for each in sys.path]
    return sorted(path, key=lambda each: each == here)


class _Zygote:
    """The zygote as its worker sees it: the request socket, whose end ends it, and the process to reap."""

    def __init__(self, deadline: Deadline, life: str | None, *, is_warm: bool = False) -> None:
        boot = ["-c", _BOOT_WARM] if is_warm else ["-S", "-c", _BOOT]
        more = [json.dumps(_import_path())] if is_warm else []
        self.requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.requests.setblocking(False)
        with theirs:
            inherited = (theirs.fileno(), deadline.fd)
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-X", "utf8", *boot, _SHOAL, *map(str, inherited), *more, life or ""],
                env={},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=inherited,
                start_new_session=True,
            )
        self.pid = self._process.pid

    @property
    def lives(self) -> bool:
        try:
            return bool(self.requests.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return True
        except OSError:
            return False

    async def close(self) -> int:
        """End it if it is still alive, and reap it; returns its exit code. Keepers and tasks are not affected."""
        self.requests.close()
        for _ in range(round(ZYGOTE_END_S_MAX / ZYGOTE_END_PAUSE_S)):
            if (code := self._process.poll()) is not None:
                return code
            await asyncio.sleep(ZYGOTE_END_PAUSE_S)
        self._process.kill()
        return self._process.wait()  # SIGKILL takes effect at once
