"""`drain`: which masters and workers are to take nothing new.

A row belongs to a name, not to a life: it lasts through restarts of the process, fences and restarts of the database,
until somebody deletes it. Nodes read it with each beat (`dao/cluster/nodes.py`), and a worker with each claim.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from dao.cluster.node_rows import Drain
from dao.postgres.database import FencedTransaction
from dao.postgres.notify import DRAIN, changed, notify
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from model.changes import Changes
from model.cluster.nodes import NodeKind


@dataclass(frozen=True, slots=True)
class NamedDrain:
    """The drain of the nodes of a name, whether or not one of them lives."""

    kind: NodeKind
    name: str
    drain: Drain


@dataclass(frozen=True, slots=True)
class KnownNode:
    """A name of nodes, with an address that one of them has or had."""

    name: str
    address: str
    lives: bool


_ASK = Sql("""
    INSERT INTO drain (kind, name, asked_by) VALUES (:kind, :name, :asked_by) ON CONFLICT (kind, name) DO NOTHING
""")
_END = Sql("DELETE FROM drain WHERE kind = :kind AND name = :name")


async def ask(connection: AsyncConnection, kind: NodeKind, name: str, asked_by: str) -> bool:
    """Ask that the nodes of that name take nothing new. False: it had been asked before, which stays as it is."""
    asked = await connection.execute(_ASK, {"kind": kind, "name": name, "asked_by": asked_by})
    return await _notify(connection, is_new=asked.rowcount == 1)


async def end(connection: AsyncConnection, kind: NodeKind, name: str) -> bool:
    """Let the nodes of that name take work again. False: they were not drained."""
    ended = await connection.execute(_END, {"kind": kind, "name": name})
    return await _notify(connection, is_new=ended.rowcount == 1)


@statement("""
    SELECT kind, name, id,
           CASE WHEN isfinite(asked_at) THEN extract(epoch FROM clock_timestamp() - asked_at)::float8 ELSE 0 END,
           asked_by
    FROM drain ORDER BY kind, name
""")
async def every(connection: AsyncConnection) -> list[NamedDrain]:
    """All drains, by kind and name."""


@statement("""
    SELECT coalesce(nullif(n.name, ''), n.address) AS shown, n.address,
           bool_or(n.state IN ('ALIVE', 'LEAVING')) AS lives
    FROM node n
    WHERE n.kind = :kind AND (coalesce(nullif(n.name, ''), n.address) = :asked OR n.address = :asked)
    GROUP BY 1, 2 ORDER BY 1, 2
""")
async def known(connection: AsyncConnection, kind: NodeKind, asked: str) -> list[KnownNode]:
    """The names of nodes that have, or had within the last weeks, this name or this address."""


@statement("""
    DELETE FROM drain d
    WHERE d.asked_at < now() - CAST(:kept AS interval)
      AND NOT EXISTS (SELECT FROM node n
                      WHERE n.kind = d.kind AND coalesce(nullif(n.name, ''), n.address) = d.name)
""")
async def delete_unused(connection: FencedTransaction, kept: timedelta) -> int:
    """Delete drains that are older than `kept`, of names that no node has had for as long as rows of nodes are kept.

    A master without a fixed name has another one after each start; nobody would end the drain of the former one.
    """


async def _notify(connection: AsyncConnection, *, is_new: bool) -> bool:
    if is_new:
        await notify(connection, DRAIN)
        await changed(connection, Changes(nodes=True))
    return is_new
