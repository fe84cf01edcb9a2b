"""Starting one of PostgreSQL's programs, so that it ends with us and needs to see nothing but its own folder.

**The folder.** When we are root the program runs as somebody else, who may not pass the folder's parents (root's home
is closed, and stays so). The kernel checks that way only when a *path* is walked. So we open the folder, hand the
descriptor down and call it `/proc/self/fd/N`: a link that leads straight to the open folder. initdb, the server and
all its children use it or their working directory from there on. (`/proc/self/cwd` would do for PostgreSQL 16 and
newer; 15 changes its directory to find itself and cannot come back.)

**The end.** PR_SET_PDEATHSIG has the kernel signal the program when the *thread* that started it ends, even by
kill -9, and is cleared by a change of user: hence it is set last before exec. A session of its own keeps the
terminal's Ctrl-C away from it, or the database would go before those that still use it.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from model.errors import Unavailable
from shoal.embedded.account import Account

PR_SET_PDEATHSIG = 1
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
"""Ours stays ours: it may hold secrets, and PG* variables that would change what the programs do."""


@contextmanager
def opened(folder: Path) -> Iterator[int]:
    """An open folder's descriptor, to be given to `spawn` and told by `path_of`."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def path_of(folder: int) -> str:
    """How a program that was given the descriptor calls that folder."""
    return f"/proc/self/fd/{folder}"


async def spawn(
    program: Path,
    *arguments: str,
    kept: Sequence[int] = (),
    account: Account | None,
    at_our_end: signal.Signals,
    stdin: int = DEVNULL,
    output: int,
) -> Process:
    """Start a program that gets `at_our_end` when the calling thread ends.

    Args:
        program: its absolute path.
        arguments: what it is told.
        kept: descriptors that it inherits and holds while it, or a child of its, lives.
        account: whom to run it as; None: as ourselves.
        at_our_end: the signal by which it ends as it ought to.
        stdin: a descriptor, PIPE or DEVNULL.
        output: where stdout and stderr go, likewise.
    Raises:
        OSError: it cannot be executed; PermissionError if `account` may not.
    """
    identity: dict[str, Any] = {"user": account.uid, "group": account.gid, "extra_groups": []} if account else {}
    return await asyncio.create_subprocess_exec(
        program,
        *arguments,
        cwd="/",
        env=ENVIRONMENT,
        stdin=stdin,
        stdout=output,
        stderr=STDOUT,
        pass_fds=kept,
        start_new_session=True,
        umask=0o077,
        preexec_fn=end_with_us(at_our_end),
        **identity,
    )


async def run(
    program: Path, *arguments: str, kept: Sequence[int] = (), account: Account | None, given: str = ""
) -> None:
    """Run a program to its end, with `given` as its input.

    Raises:
        Unavailable: it failed; the sentence quotes its last words.
        OSError: it cannot be executed.
    """
    process = await spawn(
        program, *arguments, kept=kept, account=account, at_our_end=signal.SIGKILL, stdin=PIPE, output=PIPE
    )
    try:
        said, _ = await process.communicate(given.encode())
    finally:
        if process.returncode is None:  # we were cancelled: it, and those that it started, go too
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode != 0:
        raise Unavailable(f"{program} failed: {last_words(said.decode(errors='replace'))}")


def last_words(output: str) -> str:
    """What a program complained of at its end, in one line: its fatal lines, or else the last three."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    fatal = [line for line in lines if "FATAL:" in line or "PANIC:" in line or " error:" in line]
    return " | ".join((fatal or lines)[-3:]) or "it said nothing"


def end_with_us(at_our_end: signal.Signals) -> Callable[[], None]:
    """A `preexec_fn`: what a child does between fork and exec to get a signal when the thread that started it ends.

    It runs in a copy of a process that may have had threads, so it takes no lock: all is looked up before the fork.
    """
    prctl = ctypes.CDLL(None).prctl
    getppid, leave, us, number = os.getppid, os._exit, os.getpid(), int(at_our_end)

    def in_child() -> None:
        prctl(PR_SET_PDEATHSIG, number)
        if getppid() != us:  # we died before it was set: nobody will signal
            leave(1)

    return in_child
