"""How many commands the masters took lately. Reads only."""

from __future__ import annotations

from datetime import timedelta

from dao.commands.rows import Claims
from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import statement

READ_MAX = 5_000


# index: command_history_pkey, of which only the newest entries are read. If these reach less far back, the rate is
# computed from the time that they cover.
@statement("""
    WITH newest AS (
        SELECT master_id, handled_at FROM command_history ORDER BY command_id DESC LIMIT :READ_MAX
    ), lately AS (
        SELECT master_id, handled_at FROM newest WHERE handled_at > clock_timestamp() - :within
    ), covered AS (
        SELECT CASE WHEN count(*) = :READ_MAX
                    THEN least(:within, greatest(clock_timestamp() - min(handled_at), interval '1 second'))
                    ELSE :within END AS span
        FROM lately
    )
    SELECT l.master_id, count(*), (count(*) / extract(epoch FROM c.span))::float8
    FROM lately l, covered c GROUP BY l.master_id, c.span ORDER BY l.master_id
""")
async def recent(connection: AsyncConnection, within: timedelta) -> list[Claims]:
    """The claims of each master within this time, until now."""
