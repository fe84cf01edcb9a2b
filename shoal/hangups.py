"""The meaning of SIGHUP: a closed terminal, or a supervisor that wants files read again."""

from __future__ import annotations

import os
import signal
import sys

ROLES = ("master", "worker", "api", "alert")


def has_terminal() -> bool:
    """Whether this process belongs to an open terminal."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


def bear() -> None:
    """Ignore SIGHUP in roles that start without a terminal: they are about to read all files anyway."""
    is_role = sys.argv[1:2] and sys.argv[1] in ROLES
    if is_role and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL and not has_terminal():
        signal.signal(signal.SIGHUP, lambda *_: None)
