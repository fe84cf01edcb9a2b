"""Listings of masters and workers for people. Reads only."""

from __future__ import annotations

from dao.cluster import nodes
from dao.cluster.node_rows import NodeRow
from dao.cluster.rows import FencedNode
from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import statement
from model.cluster.nodes import NodeKind


async def workers(connection: AsyncConnection) -> list[NodeRow]:
    """The living workers by epoch; groups, capacity and running tasks are in their heartbeats."""
    return [row for row in await nodes.living(connection) if row.kind is NodeKind.WORKER]


async def masters(connection: AsyncConnection) -> list[NodeRow]:
    """The living masters by epoch; their heartbeats have the slot that each believes to have and its number of runs."""
    return [row for row in await nodes.living(connection) if row.kind is NodeKind.MASTER]


@statement("""
    SELECT id, kind, address, started_at, ended_at, coalesce(ended_why, '') FROM node
    WHERE state = 'FENCED' ORDER BY ended_at DESC, id DESC LIMIT :limit
""")
async def last_fenced(connection: AsyncConnection, limit: int) -> list[FencedNode]:
    """The last `limit` nodes that were fenced, newest first."""
