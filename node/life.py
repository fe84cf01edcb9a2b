"""One life of a node: its enlistment, its beats and its end.

The beat is a compare-and-set on the database, and each one returns which other nodes live. It is written by the loop
that does the node's work, not by a separate thread: a node with a hung loop must look dead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar
from uuid import uuid4

import structlog

from dao.cluster import nodes, went_back
from dao.cluster.node_rows import NodeRow
from dao.cluster.nodes import Me, NewNode
from dao.postgres import newer_schema
from dao.postgres.database import Database, FencedTransaction
from dao.postgres.errors import Unfit
from dao.postgres.notify import changed
from dao.postgres.pool import AsyncConnection
from metrics import node as metrics
from metrics.database import DatabaseMetrics
from model.changes import Changes
from model.cluster.nodes import Heartbeat, NodeStatus
from model.cluster.slots import Slot
from model.cluster.timing import Timing
from model.errors import Denied, Fenced, Unavailable, Unknown
from node.namesakes import Namesakes
from registry.clock import boottime_s
from registry.protocol import Registry

log = structlog.get_logger()

P = ParamSpec("P")
R = TypeVar("R")
BEAT_SHARE = 1 / 3
"""The share of the session time-out that one beat may take: two can fail before the node counts as dead."""


class Life:
    """A node's own row and beats. Make one with `begin`."""

    def __init__(self, database: Database, me: Me, timing: Timing, began: went_back.Place | None = None) -> None:
        self.database = database
        self.me = me
        self.began = began
        """Where the database was in its history when this life began; None: not compared."""
        self.known: Callable[[], Awaitable[went_back.Known]] = _knows_nothing
        """What this node knows that the database must contain."""
        self.timing = timing
        """The cluster's timing when this life began. It applies until the life ends."""
        self.silence = me.kind.silence(timing)
        """The part of the timing that it reports with each beat."""
        self.living: list[NodeRow] = []
        """The nodes that the last beat read: all living ones for a master, only itself for a worker."""
        self.is_leaving = False
        """Whether it is about to leave; set before the row shows it."""
        self.drained = asyncio.Event()
        """Set while its beats say that it must drain. `_drain` of its server then acts."""
        self.undrained = asyncio.Event()
        """The opposite of `drained`."""
        self.undrained.set()
        self.drain_id = 0
        """The id of the drain that its beats read; 0 = none."""
        self.beat_now = asyncio.Event()
        """Set it to beat at once."""
        self.has_joined = False
        """Whether its work has begun. From then on it retries when a right is withdrawn, as when a server is away."""
        self.newer: newer_schema.Newer | None = None
        """A schema that was recorded during this life and that this program does not know."""
        self.on_outdated: Callable[[], None] = lambda: None
        """Called when a node of this program must stop because of that schema."""
        self.last_beat_s = 0.0
        """Send time, by `boottime_s`, of the last beat that was answered."""
        self.last_try_s = boottime_s()
        """Send time of the last beat, answered or not."""
        self.beats_settled = 0
        """The number of the last beat to a database that has not gone back, as far as is known."""
        self._beat_no = 0
        self._unanswered = 0
        self._away_since_s: float | None = None
        """Send time of the last beat before an outage, until `look_back` was done."""
        self._timeline = began.timeline if began is not None else None
        """The timeline of the server that answers our beats, as far as is known."""
        self._shown: tuple[Slot | None, NodeStatus, int | None] | None = None
        """What watchers have seen of its beats."""
        # A separate pool for beats: a beat must not queue behind the node's own work, nor wait long for a dead link.
        self._beats = Database(
            database.url,
            application_name=database.application_name,
            connections_max=1,
            answer_within_s=timing.session_timeout.total_seconds() * BEAT_SHARE,
            keeps_plans=True,
        )
        self._beats.admits = partial(self._meet, is_beat=True)
        self.database.admits = partial(self._meet, is_beat=False)

    @classmethod
    async def begin(cls, url: str, new: NewNode, *, timing: Timing, registry: Registry) -> Life:
        """Enlist under a new epoch. Raises `Refused` when a living node has our name, `Unavailable`.

        `registry` is open; it shows whether a former life of that name still lives.
        """
        incarnation = uuid4()
        starting = Database(url, application_name=f"shoal-{new.kind.lower()}-starting", connections_max=1)
        try:
            await Namesakes(starting, registry, new.kind, new.name, timing).give_way()
            async with starting.writing() as connection:
                me = await nodes.enlist(connection, incarnation, new)
                began = await went_back.place(connection)
        finally:
            await starting.close()
        own = Database(
            url,
            application_name=nodes.application_name(new.kind, me.epoch),
            announces_together=True,
            keeps_plans=True,
            measures=DatabaseMetrics(),
        )
        return cls(own, me, timing, began)

    @property
    def takes_nothing(self) -> bool:
        """Whether it begins nothing new: it drains on request, or is about to leave."""
        return self.is_leaving or self.drained.is_set()

    def writing(self) -> AbstractAsyncContextManager[FencedTransaction]:
        """See `nodes.fenced_transaction`.

        Raises `Unavailable` also after an outage until `look_back` was done: an earlier state of the database would
        assign ids again.
        """
        self._refuse_if_away()
        return nodes.fenced_transaction(self.database, self.me)

    async def write(
        self, function: Callable[Concatenate[FencedTransaction, P], Awaitable[R]], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Call a single-statement function in such a transaction."""
        async with self.writing() as connection:
            return await function(connection, *args, **kwargs)

    def _refuse_if_away(self) -> None:
        if self._away_since_s is not None and self.began is not None:
            self.beat_now.set()
            raise Unavailable("the database was away: it is first compared with what this node knows")

    def _meet(self, timeline: str | None, *, is_beat: bool) -> None:
        """Check a new connection: another timeline means that a standby was promoted, perhaps between two beats."""
        if timeline != self._timeline:
            self._away_since_s = self.last_beat_s if self._away_since_s is None else self._away_since_s
            if is_beat:
                self._timeline = timeline
            else:
                self._refuse_if_away()

    async def beat(self, heartbeat: Heartbeat) -> None:
        """Beat, and refresh `living`. Raises `Fenced`, or `Unavailable` when the database did not answer."""
        sent_s = self.last_try_s = boottime_s()
        try:
            async with self._beats.reading() as connection:
                self._beat_no, self.living, newer = await nodes.beat(
                    connection, self.me, self._beat_no, unanswered=self._unanswered, heartbeat=heartbeat
                )
                if self._shown != (shown := (heartbeat.slot, heartbeat.status, heartbeat.drained)):
                    await changed(connection, Changes(nodes=True))
                    self._shown = shown
        except Fenced:
            raise
        except BaseException as error:
            self._unanswered += 1
            if self._away_since_s is None:
                self._away_since_s = self.last_beat_s
            metrics.beats_failed.inc()
            if isinstance(error, Unavailable):
                self.database.doubt()  # the fault that hit the beat may have hit other connections too
            if isinstance(error, Unfit | Denied):
                await self._ask_for_schema()
            raise
        self._unanswered = 0
        self.last_beat_s = sent_s
        metrics.beats.inc()
        metrics.beat_seconds.observe(boottime_s() - sent_s)
        metrics.busy.set(heartbeat.is_overloaded)
        self._compare_schema(newer)
        self._note_drain()
        if self._away_since_s is not None:
            await self.look_back()
            self._away_since_s = None
        self.beats_settled = self._beat_no
        if not self.is_leaving and any(node.epoch == self.me.epoch and node.is_leaving for node in self.living):
            log.warning(
                "not_leaving", epoch=self.me.epoch, so="its row said that it is about to leave; the row is corrected"
            )
            await self._beats.read(nodes.set_alive, self.me)

    def _note_drain(self) -> None:
        drain = next((node.drain for node in self.living if node.epoch == self.me.epoch), None)
        if (drain.id if drain else 0) == self.drain_id:
            return
        self.drain_id = drain.id if drain else 0
        metrics.drained.set(drain is not None)
        if drain is None:
            self.drained.clear()
            self.undrained.set()
            log.info("undrained", so="takes work again")
        else:
            self.undrained.clear()
            self.drained.set()
            log.info("drained", asked_by=drain.asked_by, so="takes nothing new until it is undrained")
        self.beat_now.set()  # to confirm it

    async def _ask_for_schema(self) -> None:
        """Read the recorded version only: a newer schema may have changed all other tables."""
        with suppress(Unavailable):
            self._compare_schema(await self._beats.read(newer_schema.newer))

    def _compare_schema(self, newer: newer_schema.Newer | None) -> None:
        if newer is None or newer == self.newer:
            return
        self.newer = newer
        if newer.must_stop:
            log.error("outdated", why=str(newer), so="drains, leaves and ends; install a newer Shoal, and start it")
            self.on_outdated()
        else:
            log.warning("schema_is_newer", why=str(newer), so="continues, and may be started again")

    async def refresh_living(self) -> None:
        """Read which nodes live, without a beat."""
        self.living = await self.database.read(nodes.living)

    async def barrier(self) -> None:
        """Wait until every write of ours has ended; call it after `Unknown`. Raises `Fenced`.

        Retries for as long as the database is unavailable.
        """
        pause_s = 0.1
        while True:
            try:
                await self.database.write(nodes.barrier, self.me)
                return
            except (Unavailable, Unknown) as error:
                log.warning("barrier_waits", error=str(error))
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, 1.0)

    async def look_back(self) -> None:
        """Stop the whole cluster if the database is an earlier state of the one in which this life began.

        Call it after `Fenced`, and after an outage. Raises `Unavailable` or `Unknown`: call again.
        """
        if self.began is None:
            return
        last_beat_s = self.last_beat_s if self._away_since_s is None else self._away_since_s
        known = await self.known()
        silent_s = boottime_s() - last_beat_s
        await self.stop_all_if(
            partial(
                went_back.why_back,
                me=self.me,
                began=self.began,
                beat_no=self._beat_no,
                silent_s=silent_s,
                known=known,
            ),
            known,
        )

    async def stop_all_if(
        self, why_back: Callable[[AsyncConnection], Awaitable[str | None]], known: went_back.Known
    ) -> str | None:
        """Stop all nodes until a person decides, if the database went back. Returns why, None if it did not.

        The transaction that records it checks once more: a former primary that thaws answers for a moment and is
        behind, while its replacement is not. Raises `Unavailable` or `Unknown`: call again.
        """
        async with self._beats.reading() as connection:
            if await why_back(connection) is None:
                return None
        async with self.database.writing() as connection:
            why = await why_back(connection)
            if why is None:
                return None
            gone = await went_back.record(connection, self.me, why, known)
        log.error(
            "database_went_back",
            why=why,
            runs=gone.runs,
            attempts=gone.attempts,
            so="no node works until a person runs shoal db restored",
        )
        return why

    async def close(self) -> None:
        await self._beats.close()
        await self.database.close()


async def _knows_nothing() -> went_back.Known:
    return went_back.Known()
