"""What each API process does beside its requests: once a minute it deletes what has ended of logins and of trials."""

from __future__ import annotations

import asyncio

import structlog

from dao.accounts import expired
from dao.definitions import trials
from dao.postgres.database import Database
from model.errors import ShoalError

log = structlog.get_logger()

EVERY_S = 60.0


async def delete_expired(database: Database, every_s: float = EVERY_S) -> None:
    """Delete them until it is cancelled. Any number of processes may do so at once."""
    while True:
        try:
            async with database.writing() as connection:
                deleted = await expired.delete(connection) + await trials.delete_ended(connection, expired.BATCH_MAX)
        except ShoalError as error:
            log.warning("expired_not_deleted", error=str(error))
            deleted = 0
        await asyncio.sleep(0 if deleted >= expired.BATCH_MAX else every_s)
