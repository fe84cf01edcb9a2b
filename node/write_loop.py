"""The loop in which a node writes: it catches up when woken; the only place where such a loop handles errors."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import structlog

from dao.postgres.errors import BadData, translating
from model.backoff import Backoff
from model.cluster.means import is_passing
from model.errors import ShoalError, Unavailable, Unknown
from node.life import Life

log = structlog.get_logger()


async def run_rounds(
    name: str,
    wake: asyncio.Event,
    catch_up: Callable[[], Awaitable[None]],
    life: Life,
    *,
    shrink: Callable[[], None],
    read_again: Callable[[], None],
) -> None:
    """Call `catch_up` whenever `wake` is set, until cancelled. Raises `Fenced`.

    Args:
        name: what the loop does, for its log events.
        shrink: called after each failure: the next round should do less, in case the size was the cause.
        read_again: called after a COMMIT of unknown outcome, once it has certainly ended: the state in memory must be
            rebuilt from the rows.

    When a server is unavailable, the round is retried, with growing pauses.
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
            log.warning(f"{name}_failed", error=str(error), so="its items are handled in smaller parts")
        shrink()
        wake.set()
        await asyncio.sleep(backoff.next_pause_s(random.random()))  # noqa: S311 - jitter


@contextmanager
def blaming_the_data() -> Iterator[None]:
    """Raise `BadData` for an unexpected error, so that its cause is found and quarantined.

    Otherwise it would end this master's life, and then that of the next master that takes the same work.
    """
    try:
        with translating():
            yield
    except ShoalError:
        raise
    except Exception as error:
        if is_passing(error):
            raise Unavailable(f"this machine is short of something: {error}") from error
        log.exception("unforeseen", so="whatever caused it is quarantined; please report it")
        raise BadData(f"{type(error).__name__}: {error}") from error
