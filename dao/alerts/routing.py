"""`alert` rows become deliveries: one for each channel of the alert's group.

One sender at a time does this, in the order of the ids, so that what waits for a channel is in the order in which it
was committed. Nothing is dropped: an alert that nobody gets keeps the reason.
"""

from __future__ import annotations

from dao.postgres.notify import ALERT_CHANGED, notify
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql

_TRY_LOCK = Sql("SELECT pg_try_advisory_xact_lock(hashtextextended('shoal alerts ' || current_schema(), 0))")
# A test names its channel, and no silence and no switch keeps it from there. A group that the project may not use gets
# nothing, even if a refused command or a rule of before the limit named it. What names none is for the default group.
_EXPAND = Sql("""
    WITH fresh AS (
        SELECT id, created_at, kind, project, workflow, alert_group, facts ->> 'channel' AS channel
        FROM alert WHERE state = 'WAIT'                                             -- index: alert_wait
        ORDER BY id LIMIT :limit FOR UPDATE
    ), known AS (
        SELECT f.*, g.id AS group_id, s.id AS silence, l.is_foreign
        FROM fresh f
        LEFT JOIN project p ON p.name = f.project
        CROSS JOIN LATERAL (
            SELECT f.alert_group <> 'default' AND coalesce(f.alert_group <> ALL (p.alert_groups), false) AS is_foreign
        ) l
        LEFT JOIN alert_group g ON g.name = f.alert_group AND f.kind <> 'TEST' AND NOT l.is_foreign
        LEFT JOIN LATERAL (
            SELECT s.id FROM alert_silence s
            WHERE s.starts_at <= f.created_at AND s.ends_at > f.created_at AND f.kind <> 'TEST'
              AND (s.project IS NULL OR s.project = f.project) AND (s.workflow IS NULL OR s.workflow = f.workflow)
              AND (s.kind IS NULL OR s.kind = f.kind)
            ORDER BY s.id LIMIT 1
        ) s ON true
    ), reached AS (
        SELECT k.id AS alert_id, c.id AS channel_id, k.silence, c.enabled, false AS is_test
        FROM known k JOIN alert_group_channel m ON m.group_id = k.group_id JOIN alert_channel c ON c.id = m.channel_id
        UNION ALL
        SELECT k.id, c.id, NULL, true, true
        FROM known k JOIN alert_channel c ON c.name = k.channel WHERE k.kind = 'TEST'
    ), made AS (
        INSERT INTO alert_delivery (alert_id, channel_id, is_test, state, last_error)
        SELECT alert_id, channel_id, is_test, CASE WHEN silence IS NULL AND enabled THEN 'WAIT' ELSE 'SILENCED' END,
               CASE WHEN silence IS NOT NULL THEN format('silence %s covers it', silence)
                    WHEN NOT enabled THEN 'the channel is off' END
        FROM reached
        ON CONFLICT DO NOTHING
        RETURNING alert_id
    )
    UPDATE alert a
    SET state = CASE WHEN k.silence IS NOT NULL THEN 'SILENCED' WHEN r.count > 0 THEN 'EXPANDED' ELSE 'NOBODY' END,
        state_reason = CASE
            WHEN k.silence IS NOT NULL THEN format('silence %s covers it', k.silence)
            WHEN r.count > 0 THEN NULL
            WHEN k.kind = 'TEST' THEN 'there is no such channel'
            WHEN k.is_foreign THEN format('project "%s" may not use the alert group "%s"', k.project, k.alert_group)
            WHEN k.group_id IS NULL THEN format('there is no alert group "%s"', k.alert_group)
            ELSE format('the alert group "%s" has no channel', k.alert_group) END
    FROM known k CROSS JOIN LATERAL (SELECT count(*) AS count FROM reached WHERE alert_id = k.id) r
    WHERE a.id = k.id
    RETURNING a.id
""")


async def expand(connection: AsyncConnection, limit: int) -> int | None:
    """Make the deliveries of up to `limit` alerts, oldest first. Returns how many; None: another sender does it."""
    if not (await connection.execute(_TRY_LOCK)).scalar_one():
        return None
    expanded = len((await connection.execute(_EXPAND, {"limit": limit})).all())
    if expanded:
        await notify(connection, ALERT_CHANGED)
    return expanded
