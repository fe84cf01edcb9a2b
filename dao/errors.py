"""Errors of the driver, translated once, by their SQLSTATE, never by their text.

Four classes (reliability study 2.3, rule 7): *refused* and *gone* mean that nothing was written (`Unavailable`),
*unknown* that a COMMIT may or may not have happened (`Unknown`), *ours* that the statement or its data is to blame.
Only the last may ever make an error command.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy import exc

from model.errors import ShoalError, Unavailable

# Another transaction was in the way, or the server is going, coming back, read-only or full: the same again may work.
_TRANSIENT_STATES = frozenset(
    {
        "40001",
        "40P01",
        "55P03",
        "57014",
        "57P01",
        "57P02",
        "57P03",
        "57P05",
        "25006",
        "25P02",
        "25P03",
        "53300",
        "53200",
    }
)
_TRANSIENT_CLASSES = ("08", "53", "58")


class BadData(ShoalError):
    """The statement or what it was given is wrong: trying again would fail again."""


def translated(error: BaseException) -> ShoalError:
    """What an error of SQLAlchemy or psycopg means to the caller, before COMMIT was sent."""
    cause = error.orig if isinstance(error, exc.DBAPIError) and error.orig is not None else error
    sentence = str(cause).strip().splitlines()[0] if str(cause).strip() else type(cause).__name__
    state = cause.sqlstate if isinstance(cause, psycopg.Error) else None
    if state is not None:
        if state in _TRANSIENT_STATES or state.startswith(_TRANSIENT_CLASSES):
            return Unavailable(f"the database refused for now ({state}): {sentence}")
        return BadData(f"{sentence} ({state})")
    # Without an SQLSTATE the server did not answer at all: a lost connection, a time-out, an exhausted pool.
    if isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError | OSError | TimeoutError | exc.TimeoutError):
        return Unavailable(f"the database does not answer: {sentence}")
    if isinstance(cause, exc.PendingRollbackError | exc.InvalidRequestError | exc.ResourceClosedError):
        return Unavailable(f"the database connection was lost: {sentence}")
    return BadData(sentence)


@contextmanager
def translating() -> Iterator[None]:
    """Raise `Unavailable` or `BadData` instead of the driver's errors."""
    try:
        yield
    except (exc.SQLAlchemyError, psycopg.Error, OSError, TimeoutError) as error:
        raise translated(error) from error
