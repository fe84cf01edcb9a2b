"""`node` and `node_beat`: which nodes live, which may write, which are fenced.

The row of a node is its permission to write. Every transaction that writes holds its own node's row FOR SHARE
(`hold_alive`). Fencing updates that row, so it waits for all writes in progress and is seen by all later ones. Beats
are in a separate table, because a beat must not wait for a slow write of the same node.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from dao.cluster.node_rows import NodeRow, node_row
from dao.postgres import newer_schema
from dao.postgres.database import Database, FencedTransaction
from dao.postgres.notify import NODE, announce_last_changes, changed, notify
from dao.postgres.pipeline import Opening, Statement
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import changing, made_by, statement
from model.changes import Changes
from model.cluster.nodes import Heartbeat, NodeKind, NodeState, ProcessIdentity
from model.errors import Fenced, WentBack
from model.ids import Epoch


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
class NewNode:
    """A node whose life begins; a worker shows its logs at `log_url`."""

    kind: NodeKind
    address: str
    process: ProcessIdentity
    name: str = ""
    log_url: str = ""


class Beaten(NamedTuple):
    """The answer to a beat."""

    beat_no: int
    living: list[NodeRow]
    newer: newer_schema.Newer | None
    """A schema that was recorded since and that this program does not know."""


_ENLIST = Sql("""
    WITH enlisted AS (
        INSERT INTO node (incarnation, kind, address, process_boot, process_id, process_started, log_url, name)
        SELECT :incarnation, :kind, :address, :boot, :pid, :started, :log_url, :name
        WHERE NOT EXISTS (SELECT FROM went_back)
        RETURNING id
    )
    INSERT INTO node_beat (node_id) SELECT id FROM enlisted RETURNING node_id
""")

# FOR SHARE, not a plain read: a plain check is wrong in 15 of the 20 interleavings of claim and fence.
_HOLD_ALIVE = Sql("""
    SELECT id FROM node                                                                      -- index: node_pkey
    WHERE id = :epoch AND incarnation = :incarnation AND kind = :kind
      AND coalesce(state IN ('ALIVE', 'LEAVING'), false) FOR SHARE
""")

_BARRIER = Sql("""
    SELECT state FROM node WHERE id = :epoch AND incarnation = :incarnation AND kind = :kind FOR UPDATE
""")


def _beat(seen: str) -> Sql:
    """The statement of a beat, which also reads the living nodes `seen`, and whether there is a newer schema as
    `dao/postgres/newer_schema.py` does.

    A compare-and-set: no row means that we were fenced, or that the database's history changed (a restored backup, a
    cloned machine).
    """
    return Sql(f"""
        WITH beaten AS (
            UPDATE node_beat b SET beat_no = b.beat_no + 1, beaten_at = clock_timestamp(), heartbeat = :heartbeat
            FROM node n
            WHERE b.node_id = :epoch AND b.beat_no BETWEEN :beat_no AND :beat_no_max
              AND n.id = b.node_id AND n.incarnation = :incarnation AND n.kind = :kind
              AND n.state IN ('ALIVE', 'LEAVING')
            RETURNING b.beat_no
        )
        SELECT (SELECT beat_no FROM beaten) AS my_beat_no, newer.*, seen.*
        FROM (
            SELECT max(version) AS newest_schema,
                   max(version) FILTER (WHERE NOT old_nodes_may_run) AS forbidding_schema
            FROM schema_version
            WHERE version > :knows AND EXISTS (SELECT FROM schema_version WHERE version = :knows)
        ) AS newer
        LEFT JOIN (
            SELECT n.id, n.kind, n.address, n.state, n.process_boot, n.process_id, n.process_started, n.log_url, n.name,
                   coalesce(b.beat_no, 0) AS beat_no,
                   CASE WHEN isfinite(b.beaten_at) THEN extract(epoch FROM clock_timestamp() - b.beaten_at)::float8
                        ELSE 0 END AS beat_age_s,
                   CASE WHEN isfinite(b.beaten_at) THEN extract(epoch FROM b.beaten_at)::float8 ELSE 0 END AS beaten_s,
                   coalesce(b.heartbeat, '{{}}') AS heartbeat,
                   CASE WHEN isfinite(d.asked_at) THEN extract(epoch FROM clock_timestamp() - d.asked_at)::float8
                        ELSE 0 END AS drain_age_s, d.asked_by AS drain_asked_by, d.id AS drain_id
            FROM node n LEFT JOIN node_beat b ON b.node_id = n.id
                 LEFT JOIN drain d ON d.kind = n.kind AND d.name = coalesce(nullif(n.name, ''), n.address)
            WHERE {seen}
        ) AS seen ON true
    """)


# A master looks after all others. Of a thousand workers each would read a thousand rows.
_BEAT = _beat("n.state IN ('ALIVE', 'LEAVING') ORDER BY n.id")  # index: node_alive
_BEAT_OF_WORKER = _beat("n.id = :epoch AND coalesce(n.state IN ('ALIVE', 'LEAVING'), false)")  # index: node_pkey
# A node that broke counts as FENCED: a run that it drove may be the cause (`TAKEOVERS_MAX` in
# `dao/runs/failover.py`).
_SET_LEFT = Sql("""
    UPDATE node SET state = CASE WHEN :broke THEN 'FENCED' ELSE 'LEFT' END, ended_at = clock_timestamp(),
                    ended_why = CASE WHEN :broke THEN 'it broke' ELSE 'stopped' END
    WHERE id = :epoch AND incarnation = :incarnation AND state IN ('ALIVE', 'LEAVING')
""")
_LOCK_NODES = Sql("LOCK TABLE node IN SHARE ROW EXCLUSIVE MODE")
_FENCE_ALL = Sql("""
    UPDATE node SET state = 'FENCED', ended_at = clock_timestamp(), ended_why = :why
    WHERE state IN ('ALIVE', 'LEAVING')
""")


def application_name(kind: NodeKind, epoch: Epoch) -> str:
    """The application_name of a node's sessions, by which fencing finds them."""
    return f"shoal-{kind.lower()}-{epoch}"


async def enlist(connection: AsyncConnection, incarnation: UUID, new: NewNode) -> Me:
    """Begin a life: a new row, a new epoch. Raises `WentBack` while the database waits for `shoal db restored`."""
    values = {
        "incarnation": incarnation,
        "kind": new.kind,
        "address": new.address,
        "boot": new.process.boot,
        "pid": new.process.pid,
        "started": new.process.started,
        "log_url": new.log_url or None,
        "name": new.name,
    }
    enlisted = (await connection.execute(_ENLIST, values)).scalar()
    if enlisted is None:
        raise WentBack("the database went back to an earlier state; nodes join again after: shoal db restored")
    epoch = Epoch(enlisted)
    await changed(connection, Changes(nodes=True))
    return Me(epoch, incarnation, new.kind, new.address, new.name)


async def hold_alive(connection: AsyncConnection, me: Me) -> None:
    """Hold our permission to write until this transaction ends. Raises `Fenced` if we no longer have it."""
    hold_alive_next(connection, me)
    await connection.driver.open()


def hold_alive_next(connection: AsyncConnection, me: Me) -> None:
    """The same, together with the next statement of the transaction, or with its COMMIT if there is none."""

    def check(rows: Sequence[int]) -> None:
        if rows[-1:] == [0]:
            raise Fenced(f"{me} was fenced: others took it for dead")

    connection.driver.opening = Opening([hold(me)], check)


def hold(me: Me) -> Statement:
    """The statement that does it; it finds no row if we no longer have the permission."""
    return _HOLD_ALIVE, _of(me)


@asynccontextmanager
async def fenced_transaction(database: Database, me: Me) -> AsyncIterator[FencedTransaction]:
    """A transaction that holds our row until it ends, so that nobody can fence us meanwhile.

    Raises:
        Fenced: we have been fenced; nothing was written.
        Unavailable, BadData, Unknown: as `Database.writing`.
    """
    async with database.writing() as connection:
        hold_alive_next(connection, me)
        yield FencedTransaction(connection)


async def fence_all(connection: AsyncConnection, why: str) -> FencedTransaction:
    """Fence all nodes. Until this transaction ends none joins, so that it may write what only they do."""
    await connection.execute(_LOCK_NODES)
    await connection.execute(_FENCE_ALL, {"why": why})
    return FencedTransaction(connection)


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

    A worker reads only itself.

    `beat_no` is our last known number; up to `unanswered` later beats may have been counted too. Raises `Fenced` when
    the row is no longer ours.
    """
    values = {
        **_of(me),
        "beat_no": beat_no,
        "beat_no_max": beat_no + unanswered,
        "heartbeat": heartbeat.model_dump_json(),
        "knows": newer_schema.known_version(),
    }
    rows = (await connection.execute(_BEAT if me.kind is NodeKind.MASTER else _BEAT_OF_WORKER, values)).all()
    if rows[0].my_beat_no is None:
        raise Fenced(f"{me} was fenced: others took it for dead")
    seen = [node_row(row) for row in rows if row.id is not None]
    return Beaten(
        int(rows[0].my_beat_no), seen, newer_schema.newer_of(rows[0].newest_schema, rows[0].forbidding_schema)
    )


# A node whose beat row was deleted counts as stopped at 0 and is treated like any other. An infinite time cannot be
# subtracted, and an error here would silence all nodes.
@made_by(node_row)
@statement("""
    SELECT n.id, n.kind, n.address, n.state, n.process_boot, n.process_id, n.process_started, n.log_url, n.name,
           coalesce(b.beat_no, 0) AS beat_no,
           CASE WHEN isfinite(b.beaten_at) THEN extract(epoch FROM clock_timestamp() - b.beaten_at)::float8 ELSE 0 END
               AS beat_age_s,
           CASE WHEN isfinite(b.beaten_at) THEN extract(epoch FROM b.beaten_at)::float8 ELSE 0 END AS beaten_s,
           coalesce(b.heartbeat, '{}') AS heartbeat,
           CASE WHEN isfinite(d.asked_at) THEN extract(epoch FROM clock_timestamp() - d.asked_at)::float8 ELSE 0 END
               AS drain_age_s, d.asked_by AS drain_asked_by, d.id AS drain_id
    FROM node n LEFT JOIN node_beat b ON b.node_id = n.id
         LEFT JOIN drain d ON d.kind = n.kind AND d.name = coalesce(nullif(n.name, ''), n.address)
    WHERE n.state IN ('ALIVE', 'LEAVING')                                                    -- index: node_alive
    ORDER BY n.id
""")
async def living(connection: AsyncConnection) -> list[NodeRow]:
    """All nodes that are ALIVE or LEAVING, by epoch."""


@changing(lambda: Changes(nodes=True))
@statement("UPDATE node SET state = 'ALIVE' WHERE id = :me.epoch AND state = 'LEAVING'")
async def set_alive(connection: AsyncConnection, me: Me) -> None:
    """Set our state to ALIVE, after anyone set it to LEAVING: a master that leaves gets no slot."""


@changing(lambda: Changes(nodes=True))
@statement("UPDATE node SET state = 'LEAVING' WHERE id = :me.epoch AND state = 'ALIVE'")
async def set_leaving(connection: AsyncConnection, me: Me) -> None:
    """Set our state to LEAVING: we still write, but take nothing new."""


async def set_left(connection: AsyncConnection, me: Me, *, broke: bool = False) -> bool:
    """End our own life: whatever we still own is free for others from this commit on.

    False if others have fenced us: then nothing is written, and we may write nothing else.
    """
    values = {"epoch": me.epoch, "incarnation": me.incarnation, "broke": broke}
    if (await connection.execute(_SET_LEFT, values)).rowcount == 0:
        return False
    await notify(connection, NODE)
    await changed(connection, Changes(nodes=True))
    await announce_last_changes(connection)
    return True


def _of(me: Me) -> dict[str, object]:
    """The values that identify our own row, including the kind: a row of another kind is never ours."""
    return {"epoch": me.epoch, "incarnation": me.incarnation, "kind": me.kind}
