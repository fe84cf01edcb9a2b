"""One life after another: what a process does when a life of its node ends before it was asked to stop."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta
from uuid import uuid4

import structlog

from dao import cluster, schema
from dao.database import Database
from model.backoff import Backoff
from model.errors import Fenced, Outdated, ShoalError, Unavailable, Unknown
from model.means import is_passing
from model.nodes import NodeKind, WhenFenced
from model.timing import Timing
from registry import belonging
from registry.connect import make_registry
from registry.contact import boottime_s
from registry.life import Life
from registry.protocol import Registry
from registry.watchdog import watched

log = structlog.get_logger()

HUNG_MIN = timedelta(seconds=5)
"""A disk that takes its time is no hang, however short the times of a cluster are."""


@asynccontextmanager
async def new_life(
    kind: NodeKind,
    name: str,
    address: str,
    database_url: str,
    registry_url: str | None,
    *,
    timing: Timing,
    connect_timeout_s: float,
    stop: asyncio.Event,
    log_url: str = "",
) -> AsyncIterator[tuple[Life, Registry]]:
    """One life, from its epoch to the end of its connections, and the registry that it is to join.

    If the loop hangs meanwhile for as long as the others wait before they fence it, and for `HUNG_MIN`, the process
    ends with code 70.

    The registry is opened before the epoch is made: a node that has one and does not beat is taken for dead.
    `timing` and `registry_url` are what this node's settings say; it lives by the cluster's, `Life.timing`, read again
    for each life. `stop` is set when the database gets a schema under which this program must not go on.
    Raises `Refused` for a name that another has, a wrong URL, times or a registry that are not the cluster's,
    `Unavailable` when a server stays away, `Outdated` before or after the life when that schema is there.
    """
    role = kind.lower()
    timing, url = await _agree(database_url, registry_url, timing)
    registry = make_registry(url, session_timeout=timing.session_timeout, application_name=f"shoal-{role}-registry")
    await registry.open(connect_timeout_s)
    try:
        await _settle(database_url, registry, url)
        life = await Life.begin(
            database_url, kind, address, uuid4(), name=name, timing=timing, registry=registry, log_url=log_url
        )
        life.on_outdated = stop.set
        with structlog.contextvars.bound_contextvars(**{role: address, "name": name, "epoch": life.me.epoch}):
            try:
                with watched(max(timedelta(seconds=life.silence.fence_s), HUNG_MIN)):
                    yield life, registry
            finally:
                await life.close()
    finally:
        await registry.close()
    _refuse(life.newer)


def _refuse(newer: schema.Newer | None) -> None:
    if newer is not None and newer.must_stop:
        raise Outdated(f"{newer}, and its nodes must not go on; install a newer Shoal, and start that")


async def _agree(database_url: str, registry_url: str | None, given: Timing) -> tuple[Timing, str]:
    """The cluster's times, and the URL of its registry."""
    database = Database(database_url, application_name="shoal-starting", connections_max=1)
    try:
        async with database.reading() as connection:
            _refuse(await schema.newer(connection))
        async with database.writing() as connection:
            timing = await cluster.agree_on_timing(connection, given)
            recorded = await cluster.registry(connection)
            return timing, belonging.url_to_use(registry_url, recorded, database_url)
    finally:
        await database.close()


async def _settle(database_url: str, registry: Registry, url: str) -> None:
    database = Database(database_url, application_name="shoal-starting", connections_max=1)
    try:
        await belonging.settle(database, registry, belonging.place_of(url, database_url))
    finally:
        await database.close()


@asynccontextmanager
async def ending_well(give_up: Callable[[], Awaitable[None]], when_fenced: WhenFenced) -> AsyncIterator[None]:
    """Around the work of one life: what ends it early is logged, and does not come out; but `Fenced` does with EXIT.

    A node that was fenced writes nothing more. One that a server left alone while it joined, or that failed in a way
    that nobody foresaw, ends its own life by `give_up`, so that others need not wait until its beats are missed.
    """
    rejoins = when_fenced is WhenFenced.REJOIN
    why = None
    try:
        yield
    except* Fenced as fenced:
        why = str(_first(fenced))
        log.error("fenced", why=why, so=f"drops all it owned, and {'joins anew' if rejoins else 'ends'}")
    except* (Unavailable, Unknown) as away:
        log.warning("cannot_join_yet", error=str(_first(away)))
        await give_up()
    except* Exception as unforeseen:
        if is_passing(_first(unforeseen)):
            log.warning("short_of_means", error=str(_first(unforeseen)), so="joins again when there is room")
        else:
            log.error("broke", exc_info=unforeseen, so="hands on what it owned, and joins anew; please report it")
        await give_up()
    if why is not None and not rejoins:
        raise Fenced(why)


async def live_again_and_again(
    live: Callable[[asyncio.Event], Awaitable[None]], stop: asyncio.Event, connect_timeout_s: float
) -> None:
    """Call `live(stop)` until `stop` is set.

    Raises `Refused`, `Outdated`, and `Unavailable` if no life can begin within `connect_timeout_s`: a server that is
    away for a moment, read-only or full, is waited for, and so is a machine that is short of descriptors or threads.
    Once there was a life, later ones wait however long that takes.
    """
    backoff, deadline_s, has_lived = Backoff(), boottime_s() + connect_timeout_s, False
    while not stop.is_set():
        try:
            try:
                await live(stop)
            except Exception as error:
                if isinstance(error, ShoalError) or not is_passing(error):
                    raise
                raise Unavailable(f"this machine is short of something: {error}") from error
            has_lived = True
        except (Unavailable, Unknown) as error:
            if not has_lived and isinstance(error, Unavailable) and boottime_s() > deadline_s:
                raise
            log.warning("cannot_join_yet", error=str(error))
        if not stop.is_set():
            await asyncio.sleep(backoff.next_pause_s(random.random()))  # noqa: S311 - jitter


async def end_all(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel the parts of a life, and wait until all have ended."""
    ending = list(tasks)
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)


def _first(group: BaseExceptionGroup[Exception]) -> BaseException:
    first: BaseException = group
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return first
