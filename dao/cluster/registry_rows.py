"""`registry_lease` and `cluster.mark`, as the registry in PostgreSQL reads and writes them (`registry/postgres.py`).

Each statement may be sent twice: `QueryLine` sends it again when an older connection turns out to be dead.
"""

from __future__ import annotations

from datetime import timedelta

from dao.postgres.connection import Connection
from dao.postgres.query_line import QueryLine
from model.cluster.nodes import NodeKind
from model.ids import Epoch

CHANNEL = "shoal_registry"
"""Notified when a node comes, goes or changes; the payload is its kind."""

# One statement for a first lease, a renewal, and a lease that was deleted. Notifies when other nodes could not see us
# before, or when requested.
_WRITE_LEASE = """
    WITH seen AS (
        SELECT FROM registry_lease
        WHERE kind = %(kind)s AND epoch = %(epoch)s AND expires_at > clock_timestamp()
    ), written AS (
        INSERT INTO registry_lease AS lease (kind, epoch, heartbeat, expires_at, lasts)
        VALUES (%(kind)s, %(epoch)s, %(heartbeat)s, clock_timestamp() + %(lasts)s, %(lasts)s)
        ON CONFLICT (kind, epoch) DO UPDATE
            SET heartbeat = excluded.heartbeat, expires_at = excluded.expires_at, lasts = excluded.lasts
    )
    SELECT pg_notify(%(channel)s, %(kind)s) WHERE %(announce)s OR NOT EXISTS (SELECT FROM seen)
"""
_DELETE_LEASE = """
    WITH deleted AS (DELETE FROM registry_lease WHERE kind = %(kind)s AND epoch = %(epoch)s RETURNING kind)
    SELECT pg_notify(%(channel)s, kind) FROM deleted
"""
_DELETE_EXPIRED = "DELETE FROM registry_lease WHERE expires_at < clock_timestamp() - interval '1 minute'"
# The clock was set back since: it lasts as long as was meant, from now on. A row that is locked is left to others.
_BRING_BACK = """
    UPDATE registry_lease SET expires_at = clock_timestamp() + lasts
    WHERE ctid = ANY(ARRAY(SELECT ctid FROM registry_lease WHERE kind = %(kind)s
                             AND expires_at > clock_timestamp() + lasts FOR UPDATE SKIP LOCKED))
"""
_LEASES = """
    SELECT epoch::text, heartbeat, extract(epoch FROM least(expires_at - clock_timestamp(), lasts))::float8 AS lasts_s,
           expires_at > clock_timestamp() + lasts AS is_far
    FROM registry_lease
    WHERE kind = %(kind)s AND expires_at > clock_timestamp()
"""
_HAS_TABLE = "SELECT to_regclass('registry_lease') IS NOT NULL"
_PROBE = "SELECT FROM registry_lease LIMIT 1"
_MARK = "SELECT mark FROM cluster"
_SET_MARK = """
    INSERT INTO cluster AS c (mark) VALUES (%(mark)s)
    ON CONFLICT (only_one) DO UPDATE SET mark = coalesce(c.mark, excluded.mark) RETURNING mark
"""


def _lease(kind: NodeKind, epoch: Epoch, heartbeat: str, lasts: timedelta, *, announce: bool) -> dict[str, object]:
    values = {"kind": kind.value, "epoch": epoch, "heartbeat": heartbeat, "lasts": lasts}
    return {**values, "announce": announce, "channel": CHANNEL}


class RegistryRows:
    """The statements of one registry, on its own connection. All raise `Unavailable` as `QueryLine.ask` does."""

    def __init__(self, line: QueryLine) -> None:
        self._line = line

    async def exist(self) -> bool:
        return bool((await self._line.ask(_HAS_TABLE))[0][0])

    async def probe(self) -> None:
        """A round trip that reads the table."""
        await self._line.ask(_PROBE)

    async def write_lease(
        self, kind: NodeKind, epoch: Epoch, heartbeat: str, lasts: timedelta, *, announce: bool
    ) -> None:
        """Write or renew a node's lease for `lasts` from now; notify others if it is new to them or on `announce`."""
        await self._line.ask(_WRITE_LEASE, _lease(kind, epoch, heartbeat, lasts, announce=announce))

    async def renew_over(
        self, connection: Connection, kind: NodeKind, epoch: Epoch, heartbeat: str, lasts: timedelta
    ) -> None:
        """Renew a node's lease over a connection that is there for something else. Raises what psycopg raises."""
        await connection.execute(_WRITE_LEASE, _lease(kind, epoch, heartbeat, lasts, announce=False))

    async def delete_lease(self, kind: NodeKind, epoch: Epoch) -> None:
        """Delete a node's lease, and notify the others."""
        await self._line.ask(_DELETE_LEASE, {"kind": kind.value, "epoch": epoch, "channel": CHANNEL})

    async def delete_expired(self) -> None:
        """Delete the leases that expired more than a minute ago."""
        await self._line.ask(_DELETE_EXPIRED)

    async def leases(self, kind: NodeKind) -> list[tuple[str, str, float]]:
        """The valid leases of one kind of node: epoch, heartbeat, and the seconds that the lease still lasts."""
        rows = await self._line.ask(_LEASES, {"kind": kind.value})
        if any(is_far for *_, is_far in rows):
            await self._line.ask(_BRING_BACK, {"kind": kind.value})
        return [(epoch, heartbeat, lasts_s) for epoch, heartbeat, lasts_s, _ in rows]

    async def mark(self) -> str | None:
        """The cluster's mark; None if it has none yet."""
        rows = await self._line.ask(_MARK)
        return rows[0][0] if rows else None

    async def set_mark(self, mark: str) -> str:
        """Write the mark unless there is one. Returns the one that is there now."""
        return str((await self._line.ask(_SET_MARK, {"mark": mark}))[0][0])
