"""Process attributes that only Linux's `prctl` can set. Each call applies to the calling process.

Inherited by a forked child: no new privileges, dumpable. Not inherited: subreaper, parent-death signal, name. An `exec`
preserves "no new privileges", the parent-death signal (unless it changes the user) and the subreaper.
"""

from __future__ import annotations

import ctypes
import os

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37
_PR_SET_NO_NEW_PRIVS = 38

# Loaded with the module: a forked child must not load libraries between fork and exec.
_libc = ctypes.CDLL(None, use_errno=True)
_libc.prctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong]


def become_subreaper() -> None:
    """Make this process the parent of every descendant that loses its own, instead of init.

    The caller must reap children that it never started, or they stay zombies. Keepers and zygotes do. A worker need not
    call it: what a dead zygote leaves is found by its marker (`leftovers.kill_marked`), and init reaps better.
    """
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def can_become_subreaper() -> bool:
    """Whether the kernel would let it; a container may forbid it."""
    answer = ctypes.c_int()
    return int(_libc.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.addressof(answer), 0, 0, 0)) == 0


def die_with_parent(signal_number: int) -> None:
    """Get this signal when the parent (more exactly: its thread that forked us) ends.

    The parent may have ended before the call: check `os.getppid()` afterwards.
    """
    _prctl(_PR_SET_PDEATHSIG, signal_number)


def hide_from_own_user() -> None:
    """Hide environment, memory and descriptors in /proc from other processes of the same user; no core dumps.

    A worker calls it at its start, since its tasks may run as its own user and its environment may contain the database
    password. Signals and its own children are not affected. It also prevents py-spy and gdb.
    """
    _prctl(_PR_SET_DUMPABLE, 0)


def forbid_new_privileges() -> None:
    """Disable setuid programs from here on, including `sudo`. Irreversible."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def name_process(name: str) -> None:
    """Set the name that `ps -e` and `top` show; the kernel stores 15 bytes."""
    text = ctypes.create_string_buffer(name.encode())
    _prctl(_PR_SET_NAME, ctypes.addressof(text))


def _prctl(option: int, value: int) -> None:
    """Raises OSError with the kernel's reason."""
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}): {os.strerror(number)}")
