"""The names of the channels for wakes by PostgreSQL. A payload hints at who should check; empty means everybody."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

COMMAND = "shoal_command"
"""Commands were inserted (a trigger in `sql/schema.sql`)."""
TASK = "shoal_task"
"""Tasks were queued; payload: their worker groups."""
EVENT = "shoal_event"
"""Attempts ended; payload: the epochs of the masters that own their workflows."""
KILL = "shoal_kill"
"""Workers are asked to kill tasks."""
SCHEDULE = "shoal_schedule"
"""Schedules were made or changed."""
NODE = "shoal_node"
"""The life of a node ended: masters do the failover of its work."""
DEPENDENCY = "shoal_dependency"
"""A task or run ended, and DEPENDENT tasks wait."""

_NOTIFY = text("SELECT pg_notify(:channel, :payload)")
_PAYLOAD_BYTES_MAX = 7_000
"""PostgreSQL accepts just under 8,000 bytes."""


async def notify(connection: AsyncConnection, channel: str, hints: Iterable[object] = ()) -> None:
    """Wake the listeners when this transaction commits. Call it last and once: it takes a global lock."""
    payload = ",".join(sorted({str(hint) for hint in hints}))
    if len(payload.encode()) > _PAYLOAD_BYTES_MAX:
        payload = ""
    await connection.execute(_NOTIFY, {"channel": channel, "payload": payload})


def concerns(payload: str, mine: Iterable[object]) -> bool:
    """Whether a notification with this payload is meant for one of `mine`."""
    return not payload or not {str(each) for each in mine}.isdisjoint(payload.split(","))
