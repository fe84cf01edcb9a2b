"""The exit codes of the command line, for supervisors and scripts. docs/reference/cli.md has the table.

Two more belong to processes, and are defined where they occur: 70 in `node/watchdog.py`, 130 in `shoal/process.py`.
"""

from __future__ import annotations

from model.errors import Denied, Forbidden, InvalidSettings, NotFound, Refused, Unavailable

FAILED = 1
"""The request failed: a run, a check or a test failed, a node has not confirmed its drain, or a server was away when a
process started. Wrong usage has another code."""
REFUSED = 2
"""Wrong usage, or refused with a sentence. Typer has the same code."""
UNREACHABLE = 3
"""A server does not answer: the same call may succeed later."""
FORBIDDEN = 4
NOT_FOUND = 5
FENCED = 75
"""Other nodes declared the process dead, and it is configured to exit: a supervisor should start it again."""
OUTDATED = 76
"""The database has a schema with which the process must not continue: start a newer program instead."""
DENIED = 77
"""A server refuses the login or a right, or has no such database: the next start will fail too."""
INVALID_SETTINGS = 78
INTERRUPTED = 130
PERMANENT = (REFUSED, OUTDATED, DENIED, INVALID_SETTINGS)
"""A supervisor must not restart a process after these: only a person can change what is wrong. After all others it
should (`RestartPreventExitStatus` of `deploy/systemd`)."""


def of_error(error: BaseException) -> int:
    """The exit code for an error that ends a verb."""
    match error:
        case NotFound():
            return NOT_FOUND
        case Forbidden():
            return FORBIDDEN
        case InvalidSettings():
            return INVALID_SETTINGS
        case Refused():
            return REFUSED
        case Denied():
            return DENIED
        case Unavailable():
            return UNREACHABLE
        case _:
            return FAILED
