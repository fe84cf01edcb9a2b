"""Errors of the driver, translated in one place, by their SQLSTATE, never by their text.

There are three classes. `Unavailable`: nothing was written and a retry may work. `Unknown`: a COMMIT may or may not
have happened. `BadData`: the given data is to blame. Only `BadData` may ever make an error command, so its SQLSTATEs
are listed explicitly: a table that is just being renamed, or a damaged page, is not the fault of the row that met it.
`LockTaken` is an `Unavailable` of some rows only: all others can continue. `Unfit` is an `Unavailable` that may be
caused by a different schema. `model.errors.Denied` is one that lasts until a person changes it. Of a refused login the
client library gives no SQLSTATE (psycopg/psycopg#1188), so that alone is known by its text. In a language other than
English it is `Unavailable`, since nothing distinguishes it from a server that has no room or shuts down; the message
names what it may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from model.errors import Denied, ShoalError, Unavailable

# Data exceptions, violated constraints, and limits such as too many columns or a too complex statement.
_BLAMED_CLASSES = ("22", "23", "54")
# Syntax errors, and names that do not exist.
_UNFIT_CLASS = "42"
_NO_RIGHT = "42501"
_LOGIN_REFUSED = {
    r'database ".*" does not exist|no such database': "create it, or fix its name in the database URL",
    r"permission denied for database": "grant this user CONNECT on it, or name another user in the database URL",
    r"no pg_hba\.conf entry": "allow it in the server's pg_hba.conf, or fix the database URL",
    r"(password|SASL|Peer|Ident|certificate) authentication failed|no password supplied|no such user|"
    r'role ".*" (does not exist|is not permitted to log in)': "fix user and password in the database URL",
}


class BadData(ShoalError):
    """The data given to a statement is invalid: a retry would fail again."""

    suspects: Sequence[Any] = ()
    """What the transaction had taken when it failed: one of these alone may be the cause."""


class Unfit(Unavailable):
    """The database does not know a name in a statement: it has another schema, perhaps for a moment only."""


class LockTaken(Unavailable):
    """Another session held a lock for longer than `lock_timeout`, or each waited for the other; the server works, and
    other rows are free."""

    suspects: Sequence[Any] = ()
    """What the transaction had taken when it failed: one of these may be locked."""


def translated(error: BaseException) -> ShoalError:
    """Translate an error of psycopg that was raised before COMMIT was sent."""
    sentence = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    state = error.sqlstate if isinstance(error, psycopg.Error) else None
    if state is not None:
        if state.startswith(_BLAMED_CLASSES):
            return BadData(f"{sentence} ({state})")
        if isinstance(error, psycopg.errors.LockNotAvailable | psycopg.errors.DeadlockDetected):
            where = f" {error.diag.context}" if error.diag.context else ""
            return LockTaken(f"somebody else holds a lock ({state}): {sentence}{where}")
        if state == _NO_RIGHT:
            return Denied(
                f"this user of the database lacks a right ({state}): {sentence}; "
                "grant it (docs/reference/roles.md), or name another user in the database URL"
            )
        if state.startswith(_UNFIT_CLASS):
            return Unfit(
                f"the database does not take a statement of this program ({state}): {sentence}; "
                "is its schema as sql/schema.sql makes it? shoal doctor"
            )
        return Unavailable(f"the database refused for now ({state}): {sentence}")
    # Without an SQLSTATE either the value could not be sent at all, or the server did not answer.
    if isinstance(error, psycopg.DataError | psycopg.ProgrammingError | psycopg.NotSupportedError):
        return BadData(sentence)
    if (denied := login_refused(str(error))) is not None:
        return denied
    if isinstance(error, psycopg.Error) and error.pgconn is not None and error.pgconn.used_password:
        return Unavailable(
            f"the database took the password and then ended the connection: {sentence}; "
            "if this does not pass, fix user, password or database name in the database URL"
        )
    return Unavailable(f"the database does not answer: {sentence}")


def login_refused(said: str) -> Denied | None:
    """What the text of a failed connection says, if it says that the server does not let this user in."""
    for line in said.splitlines():
        for pattern, cure in _LOGIN_REFUSED.items():
            if re.search(pattern, line):
                return Denied(f"login refused: {line.partition('FATAL:')[2].strip() or line}; {cure}")
    return None


@contextmanager
def translating() -> Iterator[None]:
    """Raise `Unavailable` or `BadData` instead of the driver's errors."""
    try:
        yield
    except psycopg.Error as error:
        raise translated(error) from error
