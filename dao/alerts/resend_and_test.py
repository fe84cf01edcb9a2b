"""What people do with alerts that were written: have one sent again, or ask for a test of a channel."""

from __future__ import annotations

import json

from dao.postgres.notify import ALERT, notify
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql

_RETRY = Sql("""
    UPDATE alert_delivery d
    SET state = 'WAIT', next_try_at = clock_timestamp(), waits_since = clock_timestamp(), tries = 0
    WHERE d.alert_id = :alert AND d.state = 'FAILED' AND NOT d.is_test
      AND (CAST(:channel AS text) IS NULL OR d.channel_id = (SELECT id FROM alert_channel WHERE name = :channel))
""")
_EXPAND_AGAIN = Sql("UPDATE alert SET state = 'WAIT', state_reason = NULL WHERE id = :alert AND state = 'NOBODY'")
_TEST = Sql("""
    INSERT INTO alert (kind, severity, alert_group, subject, facts)
    VALUES ('TEST', 'INFO', '(test)', :subject, CAST(:facts AS jsonb)) RETURNING id
""")


async def retry(connection: AsyncConnection, alert: int, channel: str | None) -> int:
    """Have an alert sent again on the channels that did not get it, or to its group if nobody did. Returns on how many
    channels, or 1 for the group. In the order of its channel it is first: it is the oldest."""
    again = (await connection.execute(_RETRY, {"alert": alert, "channel": channel})).rowcount
    if not again and channel is None:
        again = (await connection.execute(_EXPAND_AGAIN, {"alert": alert})).rowcount
    await notify(connection, ALERT)
    return again


async def test(connection: AsyncConnection, channel: str, by: str) -> int:
    """Ask for a message to one channel now. Returns the id of its alert."""
    facts = json.dumps({"channel": channel, "asked_by": by})
    subject = f'test of channel "{channel}"'
    return int((await connection.execute(_TEST, {"subject": subject, "facts": facts})).scalar_one())
