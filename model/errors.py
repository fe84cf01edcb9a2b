"""Every error of Shoal, grouped by what the one who catches it must do.

ShoalError
├── Refused       bad input: record the sentence (error command, exit code 2), go on
│   └── NotFound  what was named does not exist (exit code 5)
├── Unavailable   a server is away: back off and try again
├── Unknown       a COMMIT was cut: ask the database what became of it, never guess
├── Fenced        no longer the owner: stop at once, write nothing
└── Outdated      the database's schema is too new: drain, leave, do not come back

Each message is one sentence that says what is wrong, where, and how to mend it.
"""

from __future__ import annotations


class ShoalError(Exception):
    """The root: its text is a sentence made for people."""


class Refused(ShoalError):
    """The input is wrong; the same input will be wrong again."""


class NotFound(Refused):
    """Something was named that does not exist."""


class Unavailable(ShoalError):
    """A server cannot be reached or cannot serve now; the same request may succeed later."""


class Unknown(ShoalError):
    """A transaction was cut while it committed: it may or may not have happened."""


class Fenced(ShoalError):
    """This process was declared dead by the others; whatever it believes to own is no longer its own."""


class Outdated(ShoalError):
    """The database has a schema under which nodes of this program may not go on."""
