"""`node` and `node_beat`: which nodes live, which may write, which are fenced.

The row of a node is its permission to write. Every transaction that writes holds its own node's row FOR SHARE
(`hold_alive`). Fencing updates that row, so it waits for all writes in progress and is seen by all later ones. Beats
are in a separate table, because a beat must not wait for a slow write of the same node.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from pydantic import ValidationError
from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection

from dao.cluster.lost_owners import DRIVEN_OR_FAILED_OVER, GONE_MASTERS, GONE_WORKERS
from dao.commands import suspect_commands
from dao.postgres import schema
from dao.postgres.database import Database, FencedTransaction
from dao.postgres.notify import NODE, notify
from dao.tasks.task_events import STRAY_EVENTS
from model.errors import Fenced
from model.ids import Epoch
from model.nodes import Heartbeat, NodeKind, NodeState, ProcessIdentity, Slot
from model.timing import Silence

OUT_OF_REACH = 1 << 40
"""A fence adds this to the beat number. It exceeds any number of unanswered beats, so the next beat is refused."""


BEAT_NO_MAX = 1 << 62
"""No node beats this often; a number written by hand could overflow when something is added to it."""


@dataclass(frozen=True, slots=True)
class Me:
    """What a node needs to prove that a write is its own, and its name."""

    epoch: Epoch
    incarnation: UUID
    kind: NodeKind
    address: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind.lower()} {self.name or self.address} (epoch {self.epoch})"


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A living node according to the database, with its beat."""

    epoch: Epoch
    kind: NodeKind
    address: str
    state: NodeState
    process: ProcessIdentity
    log_url: str | None
    beat_no: int
    beat_age_s: float
    heartbeat: Heartbeat | None
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind.lower()} {self.shown} (epoch {self.epoch})"

    @property
    def shown(self) -> str:
        """Its name, or its address if it has none."""
        return self.name or self.address

    @property
    def is_leaving(self) -> bool:
        """Whether its row has the state LEAVING."""
        return self.state is NodeState.LEAVING

    @property
    def slot(self) -> Slot | None:
        """The slot of a master, from its last beat."""
        told = self.heartbeat
        if told is None or told.slot_current is None or told.slot_total is None:
            return None
        return Slot(told.slot_current, told.slot_total)

    @property
    def silence(self) -> Silence | None:
        """How long it may be silent, from its last beat."""
        return None if self.heartbeat is None else self.heartbeat.silence


class Beaten(NamedTuple):
    """The answer to a beat."""

    beat_no: int
    living: list[NodeRow]
    newer: schema.Newer | None
    """A schema that was recorded since and that this program does not know."""


_ENLIST = text("""
    WITH enlisted AS (
        INSERT INTO node (incarnation, kind, address, process_boot, process_id, process_started, log_url, name)
        VALUES (:incarnation, :kind, :address, :boot, :pid, :started, :log_url, :name)
        RETURNING id
    )
    INSERT INTO node_beat (node_id) SELECT id FROM enlisted RETURNING node_id
""")

# FOR SHARE, not a plain read: a plain check is wrong in 15 of the 20 interleavings of claim and fence.
_HOLD_ALIVE = text("""
    SELECT id FROM node
    WHERE id = :epoch AND incarnation = :incarnation AND kind = :kind AND state IN ('ALIVE', 'LEAVING') FOR SHARE
""")

_BARRIER = text("""
    SELECT state FROM node WHERE id = :epoch AND incarnation = :incarnation AND kind = :kind FOR UPDATE
""")

# A node whose beat row was deleted counts as stopped at 0 and is judged like any other. An infinite time cannot be
# subtracted, and an error here would silence all nodes.
_LIVING = """
    SELECT n.id, n.kind, n.address, n.state, n.process_boot, n.process_id, n.process_started, n.log_url, n.name,
           coalesce(b.beat_no, 0) AS beat_no,
           CASE WHEN isfinite(b.beaten_at) THEN extract(epoch FROM clock_timestamp() - b.beaten_at)::float8 ELSE 0 END
               AS beat_age_s, coalesce(b.heartbeat, '{}') AS heartbeat
    FROM node n LEFT JOIN node_beat b ON b.node_id = n.id
    WHERE n.state IN ('ALIVE', 'LEAVING')          -- index: node_alive
    ORDER BY n.id
"""
_READ_LIVING = text(_LIVING)

# A compare-and-set: no row means that we were fenced, or that the database's history changed (a restored backup, a
# cloned machine).
_BEAT = text(f"""
    WITH beaten AS (
        UPDATE node_beat b SET beat_no = b.beat_no + 1, beaten_at = clock_timestamp(), heartbeat = :heartbeat
        FROM node n
        WHERE b.node_id = :epoch AND b.beat_no BETWEEN :beat_no AND :beat_no_max
          AND n.id = b.node_id AND n.incarnation = :incarnation AND n.kind = :kind
          AND n.state IN ('ALIVE', 'LEAVING')
        RETURNING b.beat_no
    )
    SELECT (SELECT beat_no FROM beaten) AS my_beat_no, newer.*, living.*
    FROM ({schema.NEWER}) AS newer LEFT JOIN ({_LIVING}) AS living ON true
""")  # noqa: S608 - the parts are constants

# Both statements check the beat number at which the judge saw the node stop. If the judge slept between its verdict and
# this statement, it finds that the node beats again and does nothing. The fence adds a large number to that beat: while
# the fence waits for a write in progress no later beat succeeds, nor does a beat that waited for the fence and
# continues after its commit (in the snapshot of that beat the node is still alive). Otherwise a worker whose horizon
# was extended by such a beat would start tasks and still be fenced.
_TERMINATE = text("""
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = :application_name AND pid <> pg_backend_pid()
      AND (SELECT coalesce(min(b.beat_no), 0) FROM node_beat b WHERE b.node_id = :epoch) = :beat_no
""")
_FENCE = text("""
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
# What `fail_over`, `mark_lost` and `drop_stale` would find, in one statement that takes no locks and wakes nobody. It
# reads the unfinished work of each owner that is gone. There are few events, so it checks the owner of each event.
_ANYTHING_LEFT = text(f"""
    WITH RECURSIVE {GONE_MASTERS}, {GONE_WORKERS}, {STRAY_EVENTS}
    SELECT EXISTS (
               SELECT FROM gone_master g
               CROSS JOIN LATERAL (
                   SELECT min(i.id) AS id FROM workflow_instance i             -- index: workflow_instance_unfinished
                   WHERE i.master_id = g.id AND i.ended_at IS NULL AND i.state IN {DRIVEN_OR_FAILED_OVER}
                     AND NOT EXISTS (SELECT FROM command c                      -- index: command_one_recover
                                     WHERE c.type = 'RECOVER_TOLERANCE_FAULT_PROCESS'
                                       AND c.workflow_instance_id = i.id)
               ) AS unfinished
               WHERE unfinished.id IS NOT NULL)
        OR EXISTS (SELECT FROM gone_worker)
        OR EXISTS (SELECT FROM stray WHERE NOT is_owned AND (has_ended OR run IS NULL))
""")  # noqa: S608 - the parts are constants
_SET_ALIVE = text("UPDATE node SET state = 'ALIVE' WHERE id = :epoch AND state = 'LEAVING'")
_SET_LEAVING = text("UPDATE node SET state = 'LEAVING' WHERE id = :epoch AND state = 'ALIVE'")
# A node that broke counts as FENCED: a run that it drove may be the cause (`dao.runs.workflow_instances`,
# TAKEOVERS_MAX).
_SET_LEFT = text("""
    UPDATE node SET state = CASE WHEN :broke THEN 'FENCED' ELSE 'LEFT' END, ended_at = clock_timestamp(),
                    ended_why = CASE WHEN :broke THEN 'it broke' ELSE 'stopped' END
    WHERE id = :epoch AND incarnation = :incarnation AND state IN ('ALIVE', 'LEAVING')
""")


# In batches, oldest first. A node that still has unfinished work keeps its row until the failover of that work.
_FORGET_ENDED = text("""
    WITH old AS MATERIALIZED (
        SELECT n.id FROM node n                                                  -- index: node_ended
        WHERE n.state IN ('LEFT', 'FENCED') AND n.ended_at < now() - CAST(:kept AS interval)
          AND (SELECT 1 FROM workflow_instance i WHERE i.master_id = n.id AND i.ended_at IS NULL LIMIT 1) IS NULL
          AND (SELECT 1 FROM task_instance t
               WHERE t.worker_id = n.id AND t.state IN ('DISPATCH', 'RUNNING_EXECUTION') LIMIT 1) IS NULL
        ORDER BY n.ended_at LIMIT :limit FOR UPDATE OF n SKIP LOCKED
    ), beats AS (
        DELETE FROM node_beat WHERE node_id = ANY(ARRAY(SELECT id FROM old))
    )
    DELETE FROM node WHERE id = ANY(ARRAY(SELECT id FROM old))
""")


def application_name(kind: NodeKind, epoch: Epoch) -> str:
    """The application_name of a node's sessions, by which fencing finds them."""
    return f"shoal-{kind.lower()}-{epoch}"


async def enlist(
    connection: AsyncConnection,
    incarnation: UUID,
    kind: NodeKind,
    address: str,
    process: ProcessIdentity,
    log_url: str,
    name: str = "",
) -> Me:
    """Begin a life: a new row, a new epoch."""
    values = {
        "incarnation": incarnation,
        "kind": kind,
        "address": address,
        "boot": process.boot,
        "pid": process.pid,
        "started": process.started,
        "log_url": log_url or None,
        "name": name,
    }
    return Me(Epoch((await connection.execute(_ENLIST, values)).scalar_one()), incarnation, kind, address, name)


async def hold_alive(connection: AsyncConnection, me: Me) -> None:
    """Hold our permission to write until this transaction ends. Raises `Fenced` if we no longer have it."""
    row = await connection.execute(_HOLD_ALIVE, _of(me))
    if row.first() is None:
        raise Fenced(f"{me} was fenced: others took it for dead")


@asynccontextmanager
async def fenced_transaction(database: Database, me: Me) -> AsyncIterator[FencedTransaction]:
    """A transaction that holds our row until it ends, so that nobody can fence us meanwhile.

    Raises:
        Fenced: we have been fenced; nothing was written.
        Unavailable, BadData, Unknown: as `Database.writing`.
    """
    async with database.writing() as connection:
        await hold_alive(connection, me)
        yield FencedTransaction(connection)


async def anything_left(connection: AsyncConnection) -> bool:
    """Whether nodes that are gone left work that needs failover. A hint: the caller checks again under locks."""
    return bool((await connection.execute(_ANYTHING_LEFT)).scalar_one())


async def forget_ended(connection: FencedTransaction, kept: timedelta, limit: int) -> int:
    """Delete up to `limit` nodes that ended more than `kept` ago and left nothing unfinished. Returns how many.

    Their epochs are not used again. A node without a row counts as gone, like a fenced one.
    """
    return (await connection.execute(_FORGET_ENDED, {"kept": kept, "limit": limit})).rowcount


async def barrier(connection: AsyncConnection, me: Me) -> None:
    """Wait until every earlier write of ours has committed or rolled back. Raises `Fenced`.

    After a COMMIT with an unknown outcome the old backend may still be committing. A read at once could find nothing,
    and the commit could complete a second later. Every write holds the row FOR SHARE; FOR UPDATE waits for it.
    """
    state = (await connection.execute(_BARRIER, _of(me))).scalar()
    if state not in (NodeState.ALIVE, NodeState.LEAVING):
        raise Fenced(f"{me} was fenced: others took it for dead")


async def beat(connection: AsyncConnection, me: Me, beat_no: int, *, unanswered: int, heartbeat: Heartbeat) -> Beaten:
    """Beat once and read which nodes live: our new beat number, the living nodes by epoch, and any newer schema.

    `beat_no` is our last known number; up to `unanswered` later beats may have been counted too. Raises `Fenced` when
    the row is no longer ours.
    """
    values = {
        **_of(me),
        "beat_no": beat_no,
        "beat_no_max": beat_no + unanswered,
        "heartbeat": heartbeat.model_dump_json(),
        "knows": schema.known_version(),
    }
    rows = (await connection.execute(_BEAT, values)).all()
    if rows[0].my_beat_no is None:
        raise Fenced(f"{me} was fenced: others took it for dead")
    seen = [_node_row(row) for row in rows if row.id is not None]
    return Beaten(int(rows[0].my_beat_no), seen, schema.newer_of(rows[0].newest_schema, rows[0].forbidding_schema))


async def living(connection: AsyncConnection) -> list[NodeRow]:
    """All nodes that are ALIVE or LEAVING, by epoch."""
    return [_node_row(row) for row in (await connection.execute(_READ_LIVING)).all()]


async def fence(database: Database, dead: NodeRow, why: str, *, judge: Me | None) -> bool:
    """Fence a node, unless it has beaten since `dead` was read. Returns whether this call fenced it.

    The commands that a master may have died of are marked as suspect. The node's sessions are ended first: a session
    that was stopped inside a transaction would hold its share lock for as long as it sleeps. `judge` is the node that
    fences; None for a process that has no life yet.

    Raises:
        Fenced: the judge itself was fenced meanwhile; its verdicts are void.
        Unavailable: the row stays locked, or two nodes judge each other at the same time; call again.
    """
    beat = {"epoch": dead.epoch, "beat_no": dead.beat_no}
    async with database.reading() as connection:
        await connection.execute(_TERMINATE, {**beat, "application_name": application_name(dead.kind, dead.epoch)})
    async with database.writing() as connection:
        if judge is not None:
            await hold_alive(connection, judge)
        values = {**beat, "out_of_reach": OUT_OF_REACH, "beat_no_max": BEAT_NO_MAX, "why": why}
        fenced = (await connection.execute(_FENCE, values)).first() is not None
        if fenced and dead.slot is not None:
            await suspect_commands.mark_suspects(connection, dead.epoch, dead.slot)
        if fenced:
            await notify(connection, NODE)
        return fenced


async def set_alive(connection: AsyncConnection, me: Me) -> None:
    """Set our state to ALIVE, whoever set it to LEAVING: a master that leaves gets no slot."""
    await connection.execute(_SET_ALIVE, {"epoch": me.epoch})


async def set_leaving(connection: AsyncConnection, me: Me) -> None:
    """Set our state to LEAVING: we still write, but take nothing new."""
    await connection.execute(_SET_LEAVING, {"epoch": me.epoch})


async def set_left(connection: AsyncConnection, me: Me, *, broke: bool = False) -> None:
    """End our own life: whatever we still own is free for others from this commit on."""
    await connection.execute(_SET_LEFT, {"epoch": me.epoch, "incarnation": me.incarnation, "broke": broke})
    await notify(connection, NODE)


def _of(me: Me) -> dict[str, object]:
    """The values that identify our own row, including the kind: a row of another kind is never ours."""
    return {"epoch": me.epoch, "incarnation": me.incarnation, "kind": me.kind}


def _node_row(row: Row[Any]) -> NodeRow:
    values = row._mapping
    try:
        heartbeat = Heartbeat.model_validate_json(values["heartbeat"])
    except ValidationError:
        heartbeat = None  # it has not beaten yet
    return NodeRow(
        Epoch(values["id"]),
        NodeKind(values["kind"]),
        values["address"],
        NodeState(values["state"]),
        ProcessIdentity(values["process_boot"], values["process_id"], values["process_started"]),
        values["log_url"],
        values["beat_no"],
        values["beat_age_s"],
        heartbeat,
        values["name"],
    )
