"""One life after another: what a process does when its node's life ends before a requested stop."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta

import structlog

from dao.cluster import cluster
from dao.cluster.nodes import NewNode
from dao.postgres import newer_schema
from dao.postgres.database import Database
from metrics import node as metrics
from metrics.health import Health
from model.backoff import Backoff
from model.cluster.means import is_passing
from model.cluster.nodes import NodeKind, WhenFenced
from model.cluster.timing import Timing
from model.errors import Denied, Fenced, Outdated, ShoalError, Unavailable, Unknown, WentBack
from model.repeated import Repeated
from node.joining import Joining
from node.life import Life
from node.remembered import refuse_if_back
from node.watchdog import watched
from registry import belonging
from registry.clock import boottime_s
from registry.connect import make_registry
from registry.process import this_process
from registry.protocol import Registry

log = structlog.get_logger()

HUNG_MIN = timedelta(seconds=5)
"""A slow disk is not a hang, however short the timing settings of a cluster are."""
LOOK_BACK_S = 60.0
"""How long a fenced node tries to find out whether the database went back."""


@asynccontextmanager
async def new_life(
    kind: NodeKind,
    name: str,
    address: str,
    joining: Joining,
    *,
    stop: asyncio.Event,
    log_url: str = "",
) -> AsyncIterator[tuple[Life, Registry]]:
    """One life, from its epoch to the closing of its connections, and its registry.

    If the loop hangs for as long as other nodes wait before they fence it, and for `HUNG_MIN`, the process ends with
    code 70.

    The registry is opened before the epoch is created: a node with an epoch that does not beat counts as dead. A life
    uses the cluster's timing, `Life.timing`, read for each life, not its own in `joining`. `stop` is set when the
    database gets a schema under which this program must not continue. Raises `Refused` for a name that another node
    has, a wrong URL, or timing or a registry that differ from the cluster's, `Unavailable` when a server does not
    answer, `Outdated` before or after the life when that schema is there.
    """
    role = kind.lower()
    database_url = joining.database_url
    timing, url = await _agree(joining)
    registry = make_registry(url, session_timeout=timing.session_timeout, application_name=f"shoal-{role}-registry")
    await registry.open(joining.connect_timeout_s)
    try:
        await _verify_registry(database_url, registry, url)
        new = NewNode(kind, address, this_process(), name, log_url)
        life = await Life.begin(database_url, new, timing=timing, registry=registry)
        life.on_outdated = stop.set
        metrics.lives.inc()
        metrics.beat_age.set_function(lambda: boottime_s() - life.last_beat_s)
        with structlog.contextvars.bound_contextvars(**{role: address, "name": name, "epoch": life.me.epoch}):
            try:
                await refuse_if_back(life, registry)
                with watched(max(timedelta(seconds=life.silence.fence_s), HUNG_MIN)):
                    yield life, registry
            finally:
                await life.close()
    finally:
        await registry.close()
    _refuse(life.newer)


def _refuse(newer: newer_schema.Newer | None) -> None:
    if newer is not None and newer.must_stop:
        raise Outdated(f"{newer}, and its nodes must not continue; install a newer Shoal, and start it")


async def _agree(joining: Joining) -> tuple[Timing, str]:
    """The cluster's timing, and the URL of its registry."""
    database = Database(joining.database_url, application_name="shoal-starting", connections_max=1)
    try:
        _refuse(await database.read(newer_schema.newer))
        async with database.writing() as connection:
            timing = await cluster.agree_on_timing(connection, joining.timing)
            recorded = await cluster.registry(connection)
            return timing, belonging.url_to_use(joining.registry_url, recorded, joining.database_url)
    finally:
        await database.close()


async def _verify_registry(database_url: str, registry: Registry, url: str) -> None:
    database = Database(database_url, application_name="shoal-starting", connections_max=1)
    try:
        await belonging.verify(database, registry, belonging.place_of(url, database_url))
    finally:
        await database.close()


@asynccontextmanager
async def ending_life(
    life: Life, abandon: Callable[[], Awaitable[None]], when_fenced: WhenFenced
) -> AsyncIterator[None]:
    """Log and suppress what ends the work of a life early, except `Fenced` with EXIT, and `Denied` before it has
    joined.

    A fenced node writes nothing more. A node that failed because a server was unavailable while it joined, or by an
    unexpected error, ends its own life by `abandon`, so that other nodes need not wait for missed beats.
    """
    rejoins = when_fenced is WhenFenced.REJOIN
    why = denied = None
    try:
        yield
    except* Fenced as fenced:
        why = str(_first(fenced))
        metrics.fenced.inc()
        log.error("fenced", why=why, so=f"drops everything it owned, and {'joins again' if rejoins else 'ends'}")
        await _look_back(life)
    except* (Unavailable, Unknown) as away:
        error = _first(away)
        if isinstance(error, Denied) and not life.has_joined:
            denied = error
        else:
            log.warning("cannot_join_yet", error=str(error))
        await abandon()
    except* Exception as unforeseen:
        if is_passing(_first(unforeseen)):
            log.warning("out_of_resources", error=str(_first(unforeseen)), so="joins again when there is room")
        else:
            log.error(
                "life_crashed", exc_info=unforeseen, so="fails over what it owned, and joins again; please report it"
            )
        await abandon()
    if why is not None and not rejoins:
        raise Fenced(why)
    if denied is not None:
        raise denied


async def _look_back(life: Life) -> None:
    """Call `Life.look_back`, and retry for a while: a newly promoted server may not answer yet."""
    backoff, deadline_s = Backoff(), boottime_s() + LOOK_BACK_S
    while True:
        try:
            await life.look_back()
            return
        except (Unavailable, Unknown) as away:
            if boottime_s() > deadline_s:
                log.warning("cannot_look_back", error=str(away))
                return
        await asyncio.sleep(backoff.next_pause_s(random.random()))  # noqa: S311 - jitter


async def live_until_stopped(
    live: Callable[[asyncio.Event], Awaitable[None]], stop: asyncio.Event, connect_timeout_s: float, health: Health
) -> None:
    """Call `live(stop)` until `stop` is set. `health` reports waits for a person.

    Raises `Refused` and `Outdated`. Before the first life also `Denied` at once, and `Unavailable` if none can begin
    within `connect_timeout_s`: until then it retries while a server is unavailable, read-only or full, or the machine
    lacks descriptors or threads. Later lives retry without limit, even when a right was withdrawn.
    """
    backoff, repeated, deadline_s, has_lived = Backoff(), Repeated(), boottime_s() + connect_timeout_s, False
    while not stop.is_set():
        try:
            try:
                await live(stop)
            except Exception as error:
                if isinstance(error, ShoalError) or not is_passing(error):
                    raise
                raise Unavailable(f"this machine is short of something: {error}") from error
            has_lived, health.waits_for = True, None
        except (Unavailable, Unknown) as error:
            is_final = isinstance(error, Denied) or (isinstance(error, Unavailable) and boottime_s() > deadline_s)
            if is_final and not has_lived:
                raise
            health.waits_for = str(error) if isinstance(error, WentBack) else None
            if repeated.is_due(str(error), boottime_s()):
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
