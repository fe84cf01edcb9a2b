"""`alert_delivery`: channels are claimed, and what became of what was sent is written.

A channel is claimed as a whole, by one sender at a time and until a time of the database, so its alerts go out in their
order however many senders there are. A claim of a sender that died or was frozen lapses; its sender stops sending
before (`alert/courier.py`), and whatever it writes later hits nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from dao.postgres.notify import ALERT_CHANGED, notify
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import notifying, statement
from dao.secrets.vault import Sealed


@dataclass(frozen=True, slots=True)
class WaitingAlert:
    """An alert that waits for a channel. `tries` were made before; times are aware UTC, database time."""

    id: int
    created_at: datetime
    kind: str
    severity: str
    project: str | None
    workflow: str | None
    run: int | None
    task: int | None
    subject: str
    facts: Mapping[str, Any]
    tries: int
    is_test: bool


@dataclass(frozen=True)
class ClaimTerms:
    """How one sender claims channels.

    Args:
        sender: for people; each claim gets its own name.
        lease_s: seconds after which the claims lapse.
        batch: how many alerts to read of each, oldest first; a test is read alone.
        pause_s_max: the longest pause before another try.
    """

    sender: str
    lease_s: float
    batch: int
    pause_s_max: float = 3_600.0


@dataclass(frozen=True)
class Retry:
    """What follows when a message did not arrive.

    Args:
        pause_s: seconds until the next try.
        retry_for_s: seconds for which an alert is tried.
        tries_max: or this many times; None = any number.
    """

    pause_s: float
    retry_for_s: float
    tries_max: int | None = None


@dataclass(frozen=True, slots=True)
class ClaimedChannel:
    """A channel that this sender alone sends to until its claim lapses, and the oldest alerts that wait for it."""

    id: int
    name: str
    url: Sealed
    subject_template: str | None
    text_template: str | None
    claim: str
    alerts: Sequence[WaitingAlert]


# A time further away than any lease or pause was written before the clock was set back (docs/concepts/reliability.md).
# Channels that just failed are claimed apart: while they hang, they take only their own share of the couriers.
_CLAIM = Sql("""
    WITH due AS (
        SELECT c.id, t.alert_id AS test
        FROM alert_channel c
        LEFT JOIN LATERAL (
            SELECT d.alert_id, d.tries, d.next_try_at
            FROM alert_delivery d                                                   -- index: alert_delivery_test
            WHERE d.channel_id = c.id AND d.state = 'WAIT' AND d.is_test
            ORDER BY d.alert_id LIMIT 1
        ) t ON true
        LEFT JOIN LATERAL (
            SELECT d.alert_id, d.tries, d.next_try_at
            FROM alert_delivery d                                                   -- index: alert_delivery_wait
            WHERE d.channel_id = c.id AND d.state = 'WAIT' AND NOT d.is_test
            ORDER BY d.alert_id LIMIT 1
        ) h ON true
        WHERE coalesce(c.claimed_until NOT BETWEEN clock_timestamp()
                                              AND clock_timestamp() + make_interval(secs => 2 * :lease_s), true)
          AND (t.alert_id IS NOT NULL
               OR c.enabled AND h.next_try_at NOT BETWEEN clock_timestamp()
                                    AND clock_timestamp() + make_interval(secs => :pause_s_max))
          AND (t.alert_id IS NULL AND h.tries > 0) = :has_failed
        ORDER BY coalesce(t.alert_id, h.alert_id)
        LIMIT :limit
        FOR UPDATE OF c SKIP LOCKED
    ), mine AS (
        UPDATE alert_channel c
        SET claimed_by = :sender || ' ' || gen_random_uuid(),
            claimed_until = clock_timestamp() + make_interval(secs => :lease_s)
        FROM due WHERE c.id = due.id
        RETURNING c.id, c.name, c.url, c.key_id, c.subject_template, c.text_template, c.claimed_by, due.test
    )
    SELECT m.id, m.name, m.url, m.key_id, m.subject_template, m.text_template, m.claimed_by,
           a.id, a.created_at, a.kind, a.severity, a.project, a.workflow, a.workflow_instance_id, a.task_instance_id,
           a.subject, a.facts, d.tries, d.is_test
    FROM mine m
    CROSS JOIN LATERAL (
        SELECT d.alert_id, d.tries, d.is_test FROM alert_delivery d
        WHERE d.channel_id = m.id AND d.state = 'WAIT' AND d.is_test = (m.test IS NOT NULL)
        ORDER BY d.alert_id LIMIT :batch
    ) d
    JOIN alert a ON a.id = d.alert_id
    ORDER BY m.id, a.id
""")
_FAILED = Sql("""
    WITH mine AS (
        SELECT id FROM alert_channel WHERE id = :channel AND claimed_by = :claim FOR UPDATE
    ), freed AS (
        UPDATE alert_channel c SET claimed_by = NULL, claimed_until = NULL FROM mine WHERE c.id = mine.id
    )
    UPDATE alert_delivery d
    SET state = CASE WHEN d.is_test OR d.tries + 1 >= CAST(:tries_max AS integer)
                       OR d.waits_since <= clock_timestamp() - make_interval(secs => :retry_for_s)
                     THEN 'FAILED' ELSE 'WAIT' END,
        tries = d.tries + 1, last_error = :reason,
        next_try_at = clock_timestamp() + make_interval(secs => :pause_s)
    FROM mine
    WHERE d.channel_id = mine.id AND d.alert_id = ANY(:alerts) AND d.state = 'WAIT'
    RETURNING d.alert_id, d.state = 'FAILED'
""")


async def claim(
    connection: AsyncConnection, terms: ClaimTerms, limit: int, *, has_failed: bool
) -> list[ClaimedChannel]:
    """Claim up to `limit` channels for which an alert is due, those that wait longest first.

    `has_failed`: channels whose oldest alert has been tried; False = all others.
    """
    values = {**vars(terms), "limit": limit, "has_failed": has_failed}
    rows = (await connection.execute(_CLAIM, values)).all()
    claimed = []
    for _, of_channel in groupby(rows, key=lambda row: row[0]):
        each = list(of_channel)
        id_, name, url, key_id, subject, text_, claim_ = each[0][:7]
        alerts = [WaitingAlert(*row[7:]) for row in each]
        claimed.append(ClaimedChannel(id_, name, Sealed(url, key_id), subject, text_, claim_, alerts))
    return claimed


@notifying(ALERT_CHANGED)
@statement("""
    WITH mine AS (
        SELECT id FROM alert_channel WHERE id = :channel.id AND claimed_by = :channel.claim FOR UPDATE
    ), freed AS (
        UPDATE alert_channel c SET claimed_by = NULL, claimed_until = NULL FROM mine WHERE c.id = mine.id
    )
    UPDATE alert_delivery d
    SET state = CASE WHEN d.alert_id = (CAST(:alerts AS bigint[]))[1] THEN 'SENT' ELSE 'GROUPED' END,
        grouped_with = nullif((CAST(:alerts AS bigint[]))[1], d.alert_id),
        tries = d.tries + 1, last_error = CAST(:note AS text), sent_at = clock_timestamp()
    FROM mine
    WHERE d.channel_id = mine.id AND d.alert_id = ANY(CAST(:alerts AS bigint[])) AND d.state = 'WAIT'
""")
async def record_sent(
    connection: AsyncConnection, channel: ClaimedChannel, alerts: Sequence[int], note: str | None
) -> int:
    """One message has brought these alerts, oldest first; the claim ends. Returns for how many that was recorded: none
    if the claim had lapsed and another sender has one. `note` says what was wrong nevertheless.
    """


async def record_failed(
    connection: AsyncConnection, channel: ClaimedChannel, alerts: Collection[int], reason: str, retry: Retry
) -> list[int]:
    """A message with these alerts did not arrive; the claim ends. Returns those that are no longer tried.

    `reason` is without any secret.
    """
    of = {"channel": channel.id, "claim": channel.claim, "alerts": list(alerts)}
    await notify(connection, ALERT_CHANGED)
    rows = (await connection.execute(_FAILED, {**of, "reason": reason, **vars(retry)})).all()
    return [alert for alert, is_over in rows if is_over]
