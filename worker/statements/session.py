"""One connection to a data source for one attempt: opened, used and closed in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from dao.secrets.data_source_url import parse_data_source_url, secrets_of, shown_url
from model.errors import Refused, ShoalError, Unavailable
from worker.statements.binding import Statement
from worker.statements.driver import Driver, Result
from worker.statements.drivers import driver_for
from worker.statements.files import ANYWHERE, Files
from worker.statements.thread import run_in_thread

T = TypeVar("T")

PATIENCE_S = 5.0
"""How long a cancelled statement may take to end before its thread is abandoned."""


class Session:
    """Runs statements on one connection. Its methods belong to its thread."""

    def __init__(self, driver: Driver, name: str, may_go_on: Callable[[], None]) -> None:
        self.driver = driver
        self._name = name
        self._may_go_on = may_go_on
        self._raw: Any = None
        self._stopped = threading.Event()

    def run(self, statement: Statement, limit: int) -> Result:
        """Run one statement, and retain at most `limit` rows of its result.

        Raises:
            Refused: the database refused it, in its own words, on one line and without the password. The line is not
                cut here but after masking (`worker/attempts/child.py`).
        """
        self._check()
        try:
            return self.driver.run(self._raw, statement, limit)
        except ShoalError:
            raise
        except Exception as error:  # noqa: BLE001 - drivers' exceptions have no common base, even within one
            raise Refused(self._sentence(error)) from None

    def ask_for_one(self) -> str:
        """Run a query that nearly all databases support; returns the kind of database. Raises as `run`."""
        self.run(Statement(("SELECT 1",)), 1)
        return self.driver.url.get_backend_name()

    def _check(self) -> None:
        if self._stopped.is_set():
            raise Refused("it was stopped")
        self._may_go_on()

    def _sentence(self, error: BaseException) -> str:
        cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
        said = str(cause.args[1] if len(cause.args) == 2 and isinstance(cause.args[0], int) else cause).strip()
        line = said.splitlines()[0] if said else type(cause).__name__
        state = getattr(cause, "sqlstate", None)
        for secret in secrets_of(self.driver.url):
            line = line.replace(secret, "***")
        return line + (f" ({state})" if state else "")

    def _whole(self, work: Callable[[Session], T], transaction: bool) -> T:
        """Connect, do the work, commit, close."""
        engine = self.driver.engine()
        try:
            with self._connected(engine) as connection:
                self._check()
                if not transaction:
                    self._raw = self.driver.without_transaction(connection).connection.dbapi_connection
                    return work(self)
                self._raw = connection.connection.dbapi_connection
                try:
                    with connection.begin():
                        result = work(self)
                        self._check()
                except DBAPIError as error:
                    raise Refused(f"the transaction could not be committed: {self._sentence(error)}") from None
                return result
        finally:
            self._raw = None
            engine.dispose()

    @contextmanager
    def _connected(self, engine: Engine) -> Any:
        try:
            connection: Connection = engine.connect()
        except Exception as error:  # noqa: BLE001 - see run
            sentence = f'cannot reach the data source "{self._name}" ({shown_url(self.driver.url)}): '
            raise Unavailable(sentence + self._sentence(error)) from None
        with connection:
            yield connection

    def _interrupt(self) -> None:
        """Interrupt the running statement, from another thread."""
        self._stopped.set()
        raw = self._raw
        if raw is not None:
            self.driver.interrupt(raw)


async def in_session(
    name: str,
    url: str,
    work: Callable[[Session], T],
    *,
    transaction: bool = True,
    may_go_on: Callable[[], None] = lambda: None,
    files: Files = ANYWHERE,
) -> T:
    """Do blocking work on a data source; a cancellation cancels the running statement on the server, and rolls back.

    Args:
        name: of the data source, for messages.
        url: with its password.
        work: receives the session, in the session's thread.
        transaction: one for everything, committed at the end; else each statement is committed by itself.
        may_go_on: raises when no further effect is allowed; called before each statement and before the commit.
        files: the local files that statements may access, if the database runs in this process.

    Raises:
        Refused: a wrong URL, a driver that is not installed, or what `work` raises.
        Unavailable: the database cannot be reached.
    """
    session = Session(driver_for(parse_data_source_url(url), files), name, may_go_on)
    return await run_in_thread(lambda: session._whole(work, transaction), session._interrupt, PATIENCE_S)
