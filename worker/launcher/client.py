"""The worker's side of the launcher: `ProcessRunner` over one zygote, on the worker's event loop, without threads."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import structlog

from model.means import is_passing
from worker.launcher.deadline import Deadline
from worker.launcher.errors import NoMeans
from worker.launcher.sweep import reap
from worker.launcher.task_process import NeverStarted, TaskProcess
from worker.launcher.wire import Identity, Request
from worker.tasks.plugin import TaskLog

logger = structlog.get_logger()

LAUNCH_VARIABLE = "SHOAL_LAUNCH"
"""Set in every task's environment to a value that is unique on the machine: the mark for `sweep`."""

TRIES_MAX = 3
"""How many zygotes may die over one request."""

FULL_SOCKET_PAUSE_S = 0.002
ZYGOTE_END_S_MAX = 2.0
ZYGOTE_END_PAUSE_S = 0.01

# -I and -S: nothing of the user's environment or of site-packages runs in it, and it starts in 15 ms. The folder of
# Shoal's own packages comes last in the path, so that nothing in there can stand for a standard module.
_BOOT = """
import sys
sys.path.append(sys.argv[1])
from worker.launcher.zygote import main
main(int(sys.argv[2]), int(sys.argv[3]))
"""
_SHOAL = str(Path(__file__).parents[2])


class Launcher:
    """Runs commands in process trees of their own. Belongs to one event loop.

    Between `open` and `close`; if the process that holds it dies or passes its deadline, all its trees are killed.
    """

    def __init__(self, grace_s: float = 5.0, no_new_privileges: bool = False) -> None:
        """`grace_s` is the time between TERM and KILL; `no_new_privileges` takes `sudo` and its like from tasks."""
        self._grace_s = grace_s
        self._no_new_privileges = no_new_privileges
        self._deadline = Deadline()
        self._zygote: _Zygote | None = None
        self._name = secrets.token_hex(8)
        self._count = 0
        self._running: set[TaskProcess] = set()
        self._adopted: set[int] = set()

    def open(self) -> None:
        """Start the zygote now, so that the first task need not wait for it."""
        self._zygote = _Zygote(self._deadline)

    async def close(self) -> None:
        """Kill what still runs, without grace, and end the zygote."""
        await asyncio.gather(*(process.end(0.0) for process in tuple(self._running)))
        if self._zygote is not None:
            await self._zygote.close()
            self._zygote = None
        self._reap_adopted()
        self._deadline.close()

    def set_deadline(self, boottime_s: float) -> None:
        """Let all trees be killed once CLOCK_BOOTTIME has passed this; 0 means never. Moved on while all is well."""
        self._deadline.set(boottime_s)

    @property
    def zygote_pid(self) -> int | None:
        """The process that forks keepers, if it has been started; to be looked at, not for signals."""
        return self._zygote.pid if self._zygote is not None else None

    async def run(
        self, argv: list[str], *, env: Mapping[str, str], cwd: Path, log: TaskLog, identity: Identity | None = None
    ) -> int:
        """Run to its end with both outputs into `log`, and give the exit code (128 + n for signal n).

        With an `identity`, which only root can give, it runs as that user; keepers stay root and can end it. When it
        returns, raises or is cancelled, no process of the tree is left (`TreeLeft` says so if one is).

        Raises:
            CannotStart: no such command or folder.
            LauncherKilled: the keeper was killed.
            DeadlinePassed: this worker was stopped or cut off for too long.
            NoMeans: no process can be made, or zygotes die before they can start it; nothing has run.
            OSError: the log could not be written; the tree has been killed.
        """
        for _ in range(TRIES_MAX):
            self._count += 1
            mark = f"{self._name}.{self._count}"
            request = Request(argv, {**env, LAUNCH_VARIABLE: mark}, str(cwd), self._no_new_privileges, identity)
            process = await self._launch(request, log, f"{LAUNCH_VARIABLE}={mark}")
            self._running.add(process)
            try:
                return await process.exit_code(self._grace_s)
            except NeverStarted:
                continue
            finally:
                self._running.discard(process)
                if process.keeper is not None:
                    self._adopted.add(process.keeper.keeper_pid)
                    self._reap_adopted()
        raise NoMeans(f"the launcher of this worker died {TRIES_MAX} times over one task; see the worker's stderr")

    async def _launch(self, request: Request, log: TaskLog, marker: str) -> TaskProcess:
        try:
            return await self._launch_now(request, log, marker)
        except OSError as error:
            if not is_passing(error):
                raise
            raise NoMeans(f"no process can be made for it: {error.strerror}") from error

    async def _launch_now(self, request: Request, log: TaskLog, marker: str) -> TaskProcess:
        with ExitStack() as theirs, ExitStack() as ours:
            memory_fd = request.to_memory()
            theirs.callback(os.close, memory_fd)
            output_fd, task_output_fd = os.pipe2(os.O_CLOEXEC)
            theirs.callback(os.close, task_output_fd)
            ours.callback(os.close, output_fd)
            channel, keeper_channel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            theirs.enter_context(keeper_channel)
            ours.enter_context(channel)
            channel.setblocking(False)
            os.set_blocking(output_fd, False)
            await self._hand_over([keeper_channel.fileno(), memory_fd, task_output_fd])
            ours.pop_all()
            return TaskProcess(channel, output_fd, log, marker)

    async def _hand_over(self, fds: list[int]) -> None:
        """Give the zygote the descriptors; a dead one is replaced."""
        while True:
            if self._zygote is None:
                self._zygote = _Zygote(self._deadline)
            try:
                socket.send_fds(self._zygote.requests, [b"t"], fds)
            except BlockingIOError:
                await asyncio.sleep(FULL_SOCKET_PAUSE_S)
            except (BrokenPipeError, ConnectionResetError):
                # Forgotten before the await: another run may put a new one there meanwhile.
                dead, self._zygote = self._zygote, None
                logger.warning("zygote_died", pid=dead.pid, so="a new one is started; what runs is not touched")
                await dead.close()
            else:
                return

    def _reap_adopted(self) -> None:
        """Collect keepers that outlived their zygote: children of this process, if it is a subreaper or pid 1."""
        self._adopted = {pid for pid in self._adopted if reap(pid)}


class _Zygote:
    """The zygote as its worker holds it: the request socket, whose end ends it, and the process, to be reaped."""

    def __init__(self, deadline: Deadline) -> None:
        self.requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.requests.setblocking(False)
        with theirs:
            inherited = (theirs.fileno(), deadline.fd)
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-X", "utf8", "-c", _BOOT, _SHOAL, *map(str, inherited)],
                env={},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=inherited,
                start_new_session=True,
            )
        self.pid = self._process.pid

    async def close(self) -> None:
        """End it if it still lives, and reap it. Keepers and tasks are not touched."""
        self.requests.close()
        for _ in range(round(ZYGOTE_END_S_MAX / ZYGOTE_END_PAUSE_S)):
            if self._process.poll() is not None:
                return
            await asyncio.sleep(ZYGOTE_END_PAUSE_S)
        self._process.kill()
        self._process.wait()  # SIGKILL is at once
