"""The loop in which a node writes: woken, it catches up; and the one place where such a loop meets errors."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import structlog

from dao.errors import BadData, translating
from model.backoff import Backoff
from model.errors import ShoalError, Unavailable, Unknown
from model.means import is_passing
from registry.life import Life

log = structlog.get_logger()


async def run_rounds(
    name: str,
    wake: asyncio.Event,
    catch_up: Callable[[], Awaitable[None]],
    life: Life,
    *,
    shrink: Callable[[], None],
    read_again: Callable[[], None],
    suspect: Callable[[BadData], None] = lambda _error: None,
) -> None:
    """Call `catch_up` whenever `wake` is set, until cancelled. Raises `Fenced`.

    Args:
        name: what the loop does, for its log events.
        shrink: called after each failure: the next round is to do with less, in case it was the size.
        read_again: called after a COMMIT of unknown outcome, once it has certainly ended: memory must be made again
            from the rows.
        suspect: called when a round failed by what is in it: should that have been a single thing, it is to blame.
            For a loop that does not find the culprit by itself.

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
            log.warning(f"{name}_failed", error=str(error), so="what it held is handled in smaller parts")
            suspect(error)
        shrink()
        wake.set()
        await asyncio.sleep(backoff.next_pause_s(random.random()))  # noqa: S311 - jitter


@contextmanager
def blaming_what_is_held() -> Iterator[None]:
    """Raise `BadData` for an error that nobody foresaw, so that what caused it is found out and set aside.

    Else it would end this master's life, and then the next one's who takes the same over.
    """
    try:
        with translating():
            yield
    except ShoalError:
        raise
    except Exception as error:
        if is_passing(error):
            raise Unavailable(f"this machine is short of something: {error}") from error
        log.exception("unforeseen", so="whatever caused it is set aside; please report it")
        raise BadData(f"{type(error).__name__}: {error}") from error
