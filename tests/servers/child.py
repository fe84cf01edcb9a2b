"""A server process and its folder, neither of which outlives the process that made them, not even after kill -9.

Processes get PR_SET_PDEATHSIG by `setpriv`, which sets it after a change of user (the kernel clears it there). The
kernel sends it when the *thread* that started the child ends, so servers start from the main thread only. A folder
is watched by a small shell that waits for its standard input to end, which it does when we do, and then removes it.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from tests.servers.warm import WarmProcess

_REMOVE_WHEN_ORPHANED = 'cat > /dev/null; for _ in $(seq 100); do rm -rf -- "$0" && exit; sleep 0.1; done'
_REMOVED_S_MAX = 30.0
# Below the ports that the kernel gives to outgoing connections: a client that tries a stopped server again and again
# would otherwise once in a while be connected to itself. Each process of a run has ports of its own: none is given to
# another between the look and its use.
_PORTS = range(20_000 + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 8, 32_000, 8)
_given: set[int] = set()
_IN_MEMORY = "/dev/shm"
_ROOM_BYTES = 8 << 30


class ServerFailed(Exception):
    """A server did not start, or not in time; the text ends with the tail of its log."""


class PrivateFolder:
    """A new folder, readable by its owner only, removed by `close` or after our death.

    Args:
        prefix: how its name begins.
        owner: whose it is; None: ours.
        runs_programs: programs in it must run, which a folder in memory may not allow.
        on_disk: where temporary files lie, also if there is room in memory.
    """

    def __init__(
        self, prefix: str, owner: pwd.struct_passwd | None = None, *, runs_programs: bool = False, on_disk: bool = False
    ) -> None:
        folder = None if on_disk else _folder_in_memory(runs_programs=runs_programs)
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=folder))
        if owner is not None:
            os.chown(self.path, owner.pw_uid, owner.pw_gid)
        self._watcher = subprocess.Popen(
            ["sh", "-c", _REMOVE_WHEN_ORPHANED, str(self.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )

    def close(self) -> None:
        """Remove the folder now."""
        shutil.rmtree(self.path, ignore_errors=True)
        assert self._watcher.stdin is not None
        self._watcher.stdin.close()
        try:
            self._watcher.wait(_REMOVED_S_MAX)
        except subprocess.TimeoutExpired:  # a process that we have forked still has the other end of its standard input
            os.killpg(self._watcher.pid, signal.SIGKILL)
            self._watcher.wait()


def _folder_in_memory(*, runs_programs: bool) -> str | None:
    """Where a folder costs no disk: a test's database is 320 files, which some disks take half a second to make.

    None where memory is short; the folder then lies where temporary files do.
    """
    try:
        facts = os.statvfs(_IN_MEMORY)
    except OSError:
        return None
    if runs_programs and facts.f_flag & os.ST_NOEXEC:
        return None
    room = min(facts.f_bavail * facts.f_frsize, psutil.virtual_memory().available)
    return _IN_MEMORY if room > _ROOM_BYTES and os.access(_IN_MEMORY, os.W_OK) else None


class Child:
    """One process that the tests have started.

    Args:
        process: it.
        log: the file that gets its output.
    """

    def __init__(self, process: subprocess.Popen[bytes] | WarmProcess, log: Path) -> None:
        self._process = process
        self._log = log

    @classmethod
    def of(
        cls,
        command: Sequence[str],
        *,
        cwd: Path,
        log: Path,
        death_signal: signal.Signals = signal.SIGKILL,
        user: pwd.struct_passwd | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Child:
        """Start a program.

        Args:
            command: program and arguments.
            cwd: the folder that it runs in.
            log: the file that gets its output, appended.
            death_signal: what the kernel sends it when we die.
            user: run as this user; needs root.
            environment: the whole environment of the process; None: ours.
        """
        if threading.current_thread() is not threading.main_thread():
            raise ServerFailed("start servers from the main thread: they die with the thread that starts them")
        with log.open("ab") as output:
            process = subprocess.Popen(
                [*as_user(user), "--pdeathsig", death_signal.name.removeprefix("SIG"), "--", *command],
                cwd=cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return cls(process, log)

    @property
    def pid(self) -> int:
        """The server's own process id: setpriv replaces itself by it."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process has not ended yet."""
        return self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """Its exit code once it has ended; minus the signal's number if killed by one."""
        return self._process.poll()

    def wait_until(self, ready: Callable[[], bool], timeout_s: float) -> None:
        """Ask until `ready`; raises `ServerFailed` when the process ends or `timeout_s` passes first."""
        deadline = time.monotonic() + timeout_s
        while not ready():
            if not self.running:
                raise ServerFailed(f"the server ended with {self._process.returncode}:\n{self.log_tail()}")
            if time.monotonic() > deadline:
                raise ServerFailed(f"the server was not ready within {timeout_s} s:\n{self.log_tail()}")
            time.sleep(0.03)

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if the process still lives."""
        self._process.send_signal(number)

    def end(self, number: signal.Signals, timeout_s: float) -> None:
        """Send a signal and wait for the end; after `timeout_s` kill it with all its children."""
        self.send(number)
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """SIGKILL the process and all its children at one blow, as a failing machine would."""
        if not self.running:
            return
        tree = self._send_to_tree(signal.SIGKILL)
        self._process.wait()
        deadline = time.monotonic() + 10
        while any(map(_lives, tree)) and time.monotonic() < deadline:
            time.sleep(0.01)

    def pause(self) -> None:
        """Stop the process and all its children without closing connections: what a cut network looks like."""
        self._send_to_tree(signal.SIGSTOP)

    def resume(self) -> None:
        """Go on after `pause`."""
        self._send_to_tree(signal.SIGCONT)

    def log_tail(self, lines: int = 20) -> str:
        """The last lines of the server's output."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-lines:])

    def _send_to_tree(self, number: signal.Signals) -> list[psutil.Process]:
        try:
            server = psutil.Process(self.pid)
            tree = [server, *server.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []
        for process in tree:
            with contextlib.suppress(psutil.NoSuchProcess):  # a child that just ended
                process.send_signal(number)
        return tree


def _lives(process: psutil.Process) -> bool:
    # A dead child of a dead server stays a zombie until the machine's init looks at it: that may take a second.
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def command_line(process: psutil.Process) -> list[str]:
    """The words that a process was started with; none if it has ended."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def as_user(user: pwd.struct_passwd | None) -> list[str]:
    """The beginning of a command that runs as `user` (None: as ourselves)."""
    if user is None:
        return ["setpriv"]
    return ["setpriv", "--reuid", str(user.pw_uid), "--regid", str(user.pw_gid), "--clear-groups"]


def program(name: str) -> str:
    """The path of an installed program. Raises `ServerFailed`."""
    found = shutil.which(name)
    if found is None:
        raise ServerFailed(f"there is no {name} on this machine; run tests/servers/install")
    return found


def free_port() -> int:
    """A free TCP port of 127.0.0.1 that this process has not returned before."""
    for port in random.sample(sorted(set(_PORTS) - _given), k=100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            _given.add(port)
            return port
    raise ServerFailed("no free TCP port on 127.0.0.1 after 100 tries; close some servers")
