"""Errors of the driver, translated in one place, by their SQLSTATE, never by their text.

There are three classes. `Unavailable`: nothing was written and a retry may work. `Unknown`: a COMMIT may or may not
have happened. `BadData`: the given data is to blame. Only `BadData` may ever make an error command, so its SQLSTATEs
are listed explicitly: a table that is just being renamed, or a damaged page, is not the fault of the row that met it.
`LockTaken` is an `Unavailable` of some rows only: all others can continue. `Unfit` is an `Unavailable` that may be
caused by a different schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from sqlalchemy import exc

from model.errors import ShoalError, Unavailable

# Data exceptions, violated constraints, and limits such as too many columns or a too complex statement.
_BLAMED_CLASSES = ("22", "23", "54")
# Syntax errors, and names that do not exist.
_UNFIT_CLASS = "42"


class BadData(ShoalError):
    """The data given to a statement is invalid: a retry would fail again."""

    suspects: Sequence[Any] = ()
    """What the transaction had taken when it failed: one of these alone may be the cause."""


class Unfit(Unavailable):
    """The database does not know a name in a statement: it has another schema, perhaps for a moment only."""


class LockTaken(Unavailable):
    """Another session held a lock for longer than `lock_timeout`; the server works, and other rows are free."""

    suspects: Sequence[Any] = ()
    """What the transaction had taken when it failed: one of these may be locked."""


def translated(error: BaseException) -> ShoalError:
    """Translate an error of SQLAlchemy or psycopg that was raised before COMMIT was sent."""
    cause = error.orig if isinstance(error, exc.DBAPIError) and error.orig is not None else error
    sentence = str(cause).strip().splitlines()[0] if str(cause).strip() else type(cause).__name__
    state = cause.sqlstate if isinstance(cause, psycopg.Error) else None
    if state is not None:
        if state.startswith(_BLAMED_CLASSES):
            return BadData(f"{sentence} ({state})")
        if isinstance(cause, psycopg.errors.LockNotAvailable):
            where = f" {cause.diag.context}" if cause.diag.context else ""
            return LockTaken(f"somebody else holds a lock ({state}): {sentence}{where}")
        refused = Unfit if state.startswith(_UNFIT_CLASS) else Unavailable
        return refused(f"the database refused for now ({state}): {sentence}")
    # Without an SQLSTATE either the value could not be sent at all, or the server did not answer.
    if isinstance(cause, psycopg.DataError | psycopg.ProgrammingError | psycopg.NotSupportedError):
        return BadData(sentence)
    return Unavailable(f"the database does not answer: {sentence}")


@contextmanager
def translating() -> Iterator[None]:
    """Raise `Unavailable` or `BadData` instead of the driver's errors."""
    try:
        yield
    except (exc.SQLAlchemyError, psycopg.Error) as error:
        raise translated(error) from error
