"""Fencing: a node that others declared dead can write nothing from then on."""

from __future__ import annotations

from dao.cluster.node_rows import NodeRow
from dao.cluster.nodes import Me, application_name, hold_alive
from dao.commands import deadly_commands
from dao.postgres.database import Database
from dao.postgres.notify import NODE, announce_everything, changed, notify
from dao.postgres.sql import Sql
from model.changes import Changes

OUT_OF_REACH = 1 << 40
"""A fence adds this to the beat number. It exceeds any number of unanswered beats, so the next beat is refused."""


BEAT_NO_MAX = 1 << 62
"""No node beats this often; a number written by hand could overflow when something is added to it."""

# Both statements check the beat number at which the caller saw the node stop. If the caller slept in between, and the
# node beats again, they do nothing. The fence adds a large number to that beat: while the fence waits for a write in
# progress no later beat succeeds, nor does a beat that waited for the fence and continues after its commit (in the
# snapshot of that beat the node is still alive). Otherwise a worker whose horizon was extended by such a beat would
# start tasks and still be fenced.
_TERMINATE = Sql("""
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = :application_name AND pid <> pg_backend_pid()
      AND (SELECT coalesce(min(b.beat_no), 0) FROM node_beat b WHERE b.node_id = :epoch) = :beat_no
""")
_FENCE = Sql("""
    WITH moved AS (
        UPDATE node_beat SET beat_no = least(beat_no, CAST(:beat_no_max AS bigint)) + :out_of_reach
        WHERE node_id = :epoch AND beat_no = :beat_no
        RETURNING node_id
    ), still AS (
        SELECT node_id FROM moved
        UNION ALL
        SELECT CAST(:epoch AS bigint)
        WHERE CAST(:beat_no AS bigint) = 0 AND NOT EXISTS (SELECT FROM node_beat WHERE node_id = :epoch)
    )
    UPDATE node SET state = 'FENCED', ended_at = clock_timestamp(), ended_why = :why
    FROM still
    WHERE id = still.node_id AND state IN ('ALIVE', 'LEAVING')
    RETURNING id
""")


async def fence(database: Database, dead: NodeRow, why: str, *, by: Me | None) -> bool:
    """Fence a node, unless it has beaten since `dead` was read. Returns whether this call fenced it.

    The commands that a master may have died of are marked as suspect. The node's sessions are ended first: a session
    that was stopped inside a transaction would hold its share lock for as long as it sleeps. `by` is the node that
    fences; None for a process that has no life yet.

    Raises:
        Fenced: `by` itself was fenced meanwhile; its decisions are void.
        Unavailable: the row stays locked, or two nodes fence each other at the same time; call again.
    """
    beat = {"epoch": dead.epoch, "beat_no": dead.beat_no}
    async with database.reading() as connection:
        await connection.execute(_TERMINATE, {**beat, "application_name": application_name(dead.kind, dead.epoch)})
    async with database.writing() as connection:
        if by is not None:
            await hold_alive(connection, by)
        values = {**beat, "out_of_reach": OUT_OF_REACH, "beat_no_max": BEAT_NO_MAX, "why": why}
        fenced = (await connection.execute(_FENCE, values)).first() is not None
        if fenced and dead.slot is not None:
            await deadly_commands.mark_suspects(connection, dead.epoch, dead.slot)
        if fenced:
            await notify(connection, NODE)
            await changed(connection, Changes(nodes=True))
            await announce_everything(connection)
        return fenced
