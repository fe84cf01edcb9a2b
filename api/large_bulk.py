"""What each API process does beside its requests for large bulk changes: their next parts, also of others."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import structlog

from dao.postgres.database import Database
from model.errors import ShoalError
from service.runs.large_bulk import do_part

log = structlog.get_logger()

LOOK_EVERY_S = 5.0
"""How soon an operation is gone on with whose process was killed."""


async def go_on(database: Database, begun: asyncio.Event, look_every_s: float = LOOK_EVERY_S) -> None:
    """Do parts until it is cancelled, as long as there are some; `begun`: one began in this process."""
    while True:
        begun.clear()
        try:
            while await do_part(database):
                pass
        except ShoalError as error:
            log.warning("bulk_part_not_done", error=str(error), tried_again_after_s=look_every_s)
        except Exception:
            log.exception("bulk_operation_failed")
        with suppress(TimeoutError):
            async with asyncio.timeout(look_every_s):
                await begun.wait()
