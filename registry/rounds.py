"""The loop in which a node writes: woken, it catches up; and the one place where such a loop meets errors."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

import structlog

from dao.errors import BadData
from model.backoff import Backoff
from model.errors import Unavailable, Unknown
from registry.life import Life

log = structlog.get_logger()


async def run_rounds(
    name: str,
    wake: asyncio.Event,
    catch_up: Callable[[], Awaitable[None]],
    life: Life,
    *,
    read_again: Callable[[], None],
    suspect: Callable[[BadData], None],
) -> None:
    """Call `catch_up` whenever `wake` is set, until cancelled. Raises `Fenced`.

    Args:
        name: what the loop does, for its log events.
        read_again: called after a COMMIT of unknown outcome, once it has certainly ended: memory must be made again
            from the rows.
        suspect: called when a round failed by what is in it, so that the next one can do with less.

    When a server is away, the round is tried again, with pauses that grow.
    """
    backoff = Backoff()
    while True:
        await wake.wait()
        wake.clear()
        try:
            await catch_up()
            backoff.reset()
            continue
        except Unavailable as error:
            log.warning(f"{name}_waits", error=str(error))
        except Unknown as error:
            log.warning(f"{name}_outcome_unknown", error=str(error), so="waits for its end, then reads the rows again")
            await life.barrier()
            read_again()
        except BadData as error:
            log.warning(f"{name}_failed", error=str(error), so="what it held is handled one by one")
            suspect(error)
        wake.set()
        await asyncio.sleep(backoff.next_pause_s(random.random()))  # noqa: S311 - jitter
