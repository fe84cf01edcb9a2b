"""One life of a node: from its enlistment over its beats to its end.

The beat is a compare-and-set on the database, and each one brings back who else lives. It is written by the loop that
does the node's work, not by a thread of its own: a hung loop must look dead.
"""

from __future__ import annotations

import asyncio
from uuid import UUID

import structlog

from dao import nodes
from dao.database import Database
from dao.nodes import Me, NodeRow
from model.errors import Fenced, Refused, Unavailable, Unknown
from model.nodes import Heartbeat, NodeKind
from model.timing import TASKS_END_S, Timing
from registry.contact import boottime_s
from registry.process import is_gone, this_process

log = structlog.get_logger()


class Life:
    """A node's own row and beats. Make one with `begin`."""

    def __init__(self, database: Database, me: Me, timing: Timing) -> None:
        self.database = database
        self.me = me
        self.timing = timing
        """The cluster's times when this life began. It keeps to them to its end."""
        self.silence = me.kind.silence(timing)
        """What it says of them with each beat."""
        self.living: list[NodeRow] = []
        self.last_beat_s = 0.0
        """Send time, by `boottime_s`, of the last beat that was answered."""
        self._beat_no = 0
        self._unanswered = 0
        # Of its own: a beat must not queue behind one's own work.
        self._beats = Database(database.url, application_name=database.application_name, connections_max=1)

    @classmethod
    async def begin(
        cls, url: str, kind: NodeKind, address: str, incarnation: UUID, *, timing: Timing, log_url: str = ""
    ) -> Life:
        """Enlist under a new epoch. Raises `Refused` when a living node has our address, `Unavailable`."""
        starting = Database(url, application_name=f"shoal-{kind.lower()}-starting", connections_max=1)
        try:
            await _free_address(starting, kind, address, timing)
            async with starting.writing() as connection:
                me = await nodes.enlist(connection, incarnation, kind, address, this_process(), log_url)
        finally:
            await starting.close()
        return cls(Database(url, application_name=nodes.application_name(kind, me.epoch)), me, timing)

    async def beat(self, heartbeat: Heartbeat) -> None:
        """Beat, and refresh `living`. Raises `Fenced`, or `Unavailable` when the database did not answer."""
        sent_s = boottime_s()
        try:
            async with self._beats.reading() as connection:
                self._beat_no, self.living = await nodes.beat(
                    connection, self.me, self._beat_no, unanswered=self._unanswered, heartbeat=heartbeat
                )
        except Fenced:
            raise
        except BaseException:
            self._unanswered += 1
            raise
        self._unanswered = 0
        self.last_beat_s = sent_s

    async def refresh_living(self) -> None:
        """Read who lives, without a beat."""
        async with self.database.reading() as connection:
            self.living = await nodes.living(connection)

    async def barrier(self) -> None:
        """Wait until every write of ours has ended; to be called after `Unknown`. Raises `Fenced`.

        Tries for as long as the database is away.
        """
        pause_s = 0.1
        while True:
            try:
                async with self.database.writing() as connection:
                    await nodes.barrier(connection, self.me)
                return
            except (Unavailable, Unknown) as error:
                log.warning("barrier_waits", error=str(error))
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, 1.0)

    async def close(self) -> None:
        """Close the connections."""
        await self._beats.close()
        await self.database.close()


async def _free_address(database: Database, kind: NodeKind, address: str, timing: Timing) -> None:
    """Make sure that no living node has this address; a former life of it that is dead is fenced.

    One on this machine is dead when its process is gone, any other when its beat stands still for as long as it says
    itself that it may. A worker counts as dead `TASKS_END_S` later: from the fence on its tasks may run elsewhere.
    """
    began_s = boottime_s()
    first_seen: dict[int, int] = {}
    gone_since_s: dict[int, float] = {}
    while True:
        async with database.reading() as connection:
            same = [node for node in await nodes.living(connection) if (node.kind, node.address) == (kind, address)]
        if not same:
            return
        for node in same:
            beat_no = first_seen.setdefault(node.epoch, node.beat_no)
            if is_gone(node.process):
                for_s = boottime_s() - gone_since_s.setdefault(node.epoch, boottime_s())
                if kind is NodeKind.MASTER or for_s >= TASKS_END_S:
                    await nodes.fence(database, node, "a new process has its address", judge=None)
                continue
            if node.beat_no != beat_no:
                raise Refused(
                    f"another {kind.lower()} is alive at {address} (epoch {node.epoch}); "
                    f"stop it, or give this one another --port"
                )
            if boottime_s() - began_s > (node.silence or kind.silence(timing)).fence_s:
                await nodes.fence(database, node, "a new process has its address", judge=None)
        await asyncio.sleep(0.2)


__all__ = ["Fenced", "Life", "boottime_s"]
