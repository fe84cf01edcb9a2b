"""Waits at start for a database that is not up yet; refuses one with another schema, or a user without the rights."""

from __future__ import annotations

import asyncio
import random
import time

import structlog

from dao.postgres import rights, schema
from dao.postgres.database import Database
from model.backoff import Backoff
from model.errors import Denied, Unavailable
from model.repeated import Repeated

log = structlog.get_logger()


async def wait_until_ready(url: str, part: str, timeout_s: float) -> None:
    """Return once the database answers, its schema is this program's, and this part of Shoal has its rights.

    Raises `Refused` at once for another schema, `Denied` at once when it does not let us, `Unavailable` when there
    is no answer for `timeout_s` seconds.
    """
    database = Database(url, application_name="shoal-starting", connections_max=1)
    backoff, repeated, deadline_s = Backoff(), Repeated(), time.monotonic() + timeout_s
    try:
        while True:
            try:
                await schema.check(database)
                await rights.check(database, part)
                return
            except Denied as error:
                raise Denied(f"cannot use the database {database.shown}: {error}") from error
            except Unavailable as error:
                if time.monotonic() > deadline_s:
                    raise Unavailable(f"timed out after {timeout_s:g} s: {database.shown}: {error}") from error
                if repeated.is_due(str(error), time.monotonic()):
                    log.warning("database_not_ready", database=database.shown, error=str(error))
                await asyncio.sleep(backoff.next_pause_s(random.random()))  # noqa: S311 - jitter
    finally:
        await database.close()
