"""Starting one of PostgreSQL's programs, so that it ends with us and needs access only to its own folder.

**The folder.** When we are root the program runs as another user, who has no access to the folder's parents (root's
home is private, and stays so). The kernel checks the parents only when it resolves a *path*. So we open the folder,
pass on the descriptor and use the path `/proc/self/fd/N`, a link straight to the open folder. From there on initdb, the
server and all its children use it or their working directory. (`/proc/self/cwd` would do for PostgreSQL 16 and newer;
15 changes its directory to find itself and cannot return.)

**The end.** With PR_SET_PDEATHSIG the kernel signals the program when the *thread* that started it ends, even by
kill -9. A change of user clears it, so it is set last before exec. A separate session keeps the terminal's Ctrl-C away
from the program; otherwise the database would stop before the processes that still use it.
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
"""The whole environment of a program. Ours is not passed on: it may contain secrets, and PG* variables would change the
program's behaviour."""


@contextmanager
def opened(folder: Path) -> Iterator[int]:
    """An open folder's descriptor, to pass to `spawn`; `path_of` gives its path."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def path_of(folder: int) -> str:
    """The path under which a program that inherited the descriptor accesses that folder."""
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
    """Start a program that receives the signal `at_our_end` when the calling thread ends.

    Args:
        program: its absolute path.
        arguments: its arguments.
        kept: descriptors that it inherits and keeps open while it, or a child of it, lives.
        account: the user to run it as; None: ourselves.
        at_our_end: the signal that makes it exit properly.
        stdin: a descriptor, PIPE or DEVNULL.
        output: the target of stdout and stderr, the same for both.
        Unavailable: it failed; the message quotes the end of its output.
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
        if process.returncode is None:  # we were cancelled: kill it and its children
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode != 0:
        raise Unavailable(f"{program} failed: {last_words(said.decode(errors='replace'))}")


def last_words(output: str) -> str:
    """The last errors that a program printed, on one line: its fatal lines, or else the last three."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    fatal = [line for line in lines if "FATAL:" in line or "PANIC:" in line or " error:" in line]
    return " | ".join((fatal or lines)[-3:]) or "it said nothing"


def end_with_us(at_our_end: signal.Signals) -> Callable[[], None]:
    """A `preexec_fn`: runs between fork and exec, so that the child gets a signal when the thread that started it ends.

    It runs in a copy of a process that may have had threads, so it takes no lock: names are resolved before the fork.
    """
    prctl = ctypes.CDLL(None).prctl
    getppid, leave, us, number = os.getppid, os._exit, os.getpid(), int(at_our_end)

    def in_child() -> None:
        prctl(PR_SET_PDEATHSIG, number)
        if getppid() != us:  # we died before it was set: no signal will come
            leave(1)

    return in_child
