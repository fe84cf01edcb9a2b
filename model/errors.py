"""Every error of Shoal, grouped by what the code that catches it must do.

ShoalError
├── Refused       invalid input: record the sentence (error command, exit code 2), continue
│   ├── InvalidSettings  of this process: it does not start (exit code 78)
│   ├── NotFound  the named thing does not exist (exit code 5); Hidden: the caller may not see that it does
│   ├── Forbidden the caller lacks the right (exit code 4); Unauthenticated: no valid login or token
│   ├── Changed   it was changed since the caller read it; VersionNeeded: the caller did not say what it read
│   ├── TooMany   asked too often: the same request may succeed later
│   └── OtherRequest, StillRunning  of its idempotency key: another request has it, or it is being handled
├── Unavailable   a server cannot be reached: back off and retry
│   ├── Denied    it answers and refuses us: only a person can change that
│   └── WentBack  the database is an earlier state of itself: a person says how to go on
├── Unknown       a COMMIT was interrupted: ask the database for the outcome, never guess
├── Fenced        no longer the owner: stop at once, write nothing
└── Outdated      the database's schema is too new: drain, leave, do not come back

Each message is one sentence that states what is wrong, where, and how to fix it.
"""

from __future__ import annotations


class ShoalError(Exception):
    """The base class: its text is a sentence for people."""


class Refused(ShoalError):
    """The input is invalid; the same input will be refused again."""


class InvalidSettings(Refused):
    """A setting of this process is wrong or missing, or a file that it names cannot be used."""


class NotFound(Refused):
    """The named thing does not exist."""


class Hidden(NotFound):
    """It is not there, or the caller may not see it: the answer is the same."""


class Forbidden(Refused):
    """The caller lacks the right."""


class Unauthenticated(Forbidden):
    """The request has no valid login or token."""


class Changed(Refused):
    """Something changed since the caller read it: read it again, then decide."""


class VersionNeeded(Refused):
    """The caller must name the version that it read, so that it overwrites no other change."""


class TooMany(Refused):
    """Asked too often; the same request may succeed after `after_s` seconds."""

    def __init__(self, sentence: str, after_s: float) -> None:
        super().__init__(sentence)
        self.after_s = after_s


class Unavailable(ShoalError):
    """A server cannot be reached or cannot serve now; the same request may succeed later."""


class Denied(Unavailable):
    """A server refuses us: a wrong password, a missing right, no such database.

    Verbs and starting nodes report it at once (exit code 77). A running node retries: a person may restore the right,
    and its work must not be lost meanwhile.
    """


class WentBack(Unavailable):
    """The database is an earlier state of itself: nodes wait for a person's decision."""


class Unknown(ShoalError):
    """A transaction was interrupted during its commit: it may or may not have taken effect."""


class Fenced(ShoalError):
    """The other nodes declared this process dead; it no longer owns anything."""


class Outdated(ShoalError):
    """The database has a schema with which nodes of this program version must not continue."""


class StillRunning(Refused):
    """The first request with this key has not been answered yet."""


class OtherRequest(Refused):
    """The key belongs to another request."""
