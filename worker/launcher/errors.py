"""How a run can end without an exit code. Each text becomes the reason of the task instance.

ShoalError
├── LauncherKilled     its keeper was killed; its tree was killed
├── TreeLeft           processes that even SIGKILL did not end
├── Refused
│   ├── CannotStart    no such command or folder
│   └── TooLarge       its environment is larger than the kernel allows
├── Unavailable        the zygote cannot be started (its own sentence)
│   └── NoMeans        no descriptor, process or memory is left for it; nothing has run
│       └── BrokenLauncher  the zygote has always ended at its start, and nobody kills it
└── Fenced
    └── DeadlinePassed the worker was stopped or cut off for too long
"""

from __future__ import annotations

from model.errors import Fenced, Refused, ShoalError, Unavailable


class LauncherKilled(ShoalError):
    """The keeper ended without a report, so the exit code is unknown."""


class TreeLeft(ShoalError):
    """Processes of the task still exist: another user's, or hanging in the kernel."""


class CannotStart(Refused):
    """The command could not be executed; nothing has run."""


class TooLarge(Refused):
    """The kernel starts no command with so large an environment (`execve(2)`, E2BIG); nothing has run."""


class NoMeans(Unavailable):
    """The worker's machine lacks a resource that each start needs; nothing has run."""


class BrokenLauncher(NoMeans):
    """The zygote has always ended at its start though nobody kills it. Another worker may be able to run the task."""


class DeadlinePassed(Fenced):
    """The keeper ended the task because the worker's deadline passed."""
