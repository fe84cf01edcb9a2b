"""One call of the command line: its database and its output format."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from pwd import getpwuid
from typing import Any, ParamSpec, TypeVar

from dao.postgres import database as postgres
from dao.postgres import pool, schema
from model.errors import Denied, Refused, Unavailable
from model.runs import traces
from service import operation as operations
from service.secrets import key_settings
from shoal.clients.client import Client
from shoal.config import logins, whereabouts
from shoal.config import settings as configuration

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Reading:
    """An open database: a connection for single reads, and the database's time when it was opened."""

    database: postgres.Database
    connection: pool.AsyncConnection
    now: datetime


def system_user() -> str:
    """The name of the user of this process; its number if it has none."""
    try:
        return getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


@dataclass(frozen=True)
class Invocation:
    """The arguments of every verb besides its own options."""

    database_url: str | None = None
    registry_url: str | None = None
    server: str | None = None
    config: Path | None = None
    as_json: bool = False
    utc: bool = False

    @cached_property
    def settings(self) -> configuration.Settings:
        """The settings of a verb without its own flags. Raises `Refused`."""
        return self.settings_with({})

    def settings_with(self, flags: dict[str, Any]) -> configuration.Settings:
        """The settings with `flags` on top, and below them the database and keys of a running `shoal up`.

        Raises `Refused`.
        """
        settings = self.own_settings(flags)
        if (
            settings.database_url is None
            and (running := whereabouts.read_whereabouts(settings.data_folder)) is not None
        ):
            of_up: dict[str, Any] = {"database_url": running.database_url}
            if settings.secrets.key_file is None:
                of_up["secrets"] = {"key_file": settings.data_folder / key_settings.FILE_NAME}
            if settings.log_store.url is None:
                of_up["log_store"] = {"url": (settings.data_folder / whereabouts.LOG_STORE).absolute().as_uri()}
            settings = self.own_settings({**flags, **of_up})
        return settings

    def own_settings(self, flags: dict[str, Any]) -> configuration.Settings:
        """The settings as given, without those of a running `shoal up`. Raises `Refused`."""
        if self.config is not None:
            # In the environment, so that the processes that `up` starts read the same file.
            os.environ["SHOAL_CONFIG"] = str(self.config.absolute())
        urls = {"database_url": self.database_url, "registry_url": self.registry_url, "server": self.server}
        return configuration.load_settings({**urls, **flags})

    @asynccontextmanager
    async def client(self, *, checks: bool = True) -> AsyncIterator[Client]:
        """A client: of the API if one is named, else of the database; without `checks` one that may not answer.

        Raises as `checked_database`, and `Refused` if options name both.
        """
        if self.server is not None and self.database_url is not None:
            raise Refused("--server and --database-url are two ways to ask; keep one of them")
        settings = self.own_settings({})
        if settings.server is not None and self.database_url is None:
            # Here, as below: a process runs what is imported above, and asks nobody.
            from shoal.clients.remote import RemoteClient

            given = settings.token
            token = given.get_secret_value() if given is not None else logins.stored_token(settings.server)
            async with RemoteClient(settings.server, token) as remote:
                yield remote
            return
        from service.callers import Caller
        from shoal.backend import backend_of
        from shoal.clients.direct import DirectClient

        async with self.checked_database() if checks else self._unchecked_database() as database:
            backend = backend_of(database, self.settings)
            try:
                trace = traces.read_traceparent(os.environ.get("TRACEPARENT"))
                who = Caller.of_system_user(system_user(), traceparent=None if trace is None else str(trace))
                yield DirectClient(backend, who)
            finally:
                backend.passwords.close()

    async def ask(self, operation: operations.Operation[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """The answer of one operation. Raises as `client`, and what the operation raises."""
        async with self.client() as client:
            return await client.ask(operation, *args, **kwargs)

    @asynccontextmanager
    async def database(self) -> AsyncIterator[postgres.Database]:
        """Open the database, whatever its schema.

        Raises:
            Refused: no database is configured.
            Denied: the login is refused.
            Unavailable: it cannot be reached; the sentence names it, without its password.
        """
        async with self._unchecked_database() as database:
            try:
                async with database.reading():
                    pass
            except Denied as error:
                raise Denied(f"cannot use the database {database.shown}: {error}") from error
            except Unavailable as error:
                raise Unavailable(
                    f"cannot reach the database {database.shown}: {error}; is it running, and is the URL right?"
                ) from error
            yield database

    @asynccontextmanager
    async def _unchecked_database(self) -> AsyncIterator[postgres.Database]:
        """The database, which may not answer. Raises `Refused` if none is configured."""
        database = postgres.Database(self.settings.database(), application_name="shoal-cli", connections_max=2)
        try:
            yield database
        finally:
            await database.close()

    @asynccontextmanager
    async def checked_database(self) -> AsyncIterator[postgres.Database]:
        """Open the database and check its schema. Raises as `database`, and for the schema."""
        async with self.database() as database:
            await schema.check(database)
            yield database

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Reading]:
        """Open the database, check its schema, and give a connection. Raises as `checked_database`."""
        async with self.checked_database() as database, database.reading() as connection:
            now = await postgres.database_time(connection)
            yield Reading(database, connection, now)
