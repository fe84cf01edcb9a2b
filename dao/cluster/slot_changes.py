"""`slot_change`: how the masters with slots changed, a row for each change, for people. No master decides by it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType

from dao.cluster.rows import MemberChange, SlotChange, SlotMember, SlotReason
from dao.postgres.database import FencedTransaction
from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import made_by, statement
from model.ids import CommandId, Epoch


# The number is the next one: of masters that write at once, whose views may differ for a moment, one does.
@statement("""
    WITH last AS (SELECT number, members FROM slot_change ORDER BY number DESC LIMIT 1),
    present AS (
        SELECT e.epoch, e.place - 1 AS slot, coalesce(nullif(n.name, ''), n.address, '') AS name
        FROM unnest(CAST(:masters AS bigint[])) WITH ORDINALITY AS e (epoch, place) LEFT JOIN node n ON n.id = e.epoch
    ), former AS (
        SELECT CAST(each ->> 'epoch' AS bigint) AS epoch, each ->> 'name' AS name
        FROM last CROSS JOIN jsonb_array_elements(last.members) AS each
    ), changed AS (
        SELECT p.epoch, p.name, CASE WHEN EXISTS (
                   SELECT FROM slot_change s
                   WHERE s.members @> jsonb_build_array(jsonb_build_object('epoch', p.epoch))) THEN 'BACK'
               ELSE 'JOINED' END AS reason
        FROM present p WHERE p.epoch NOT IN (SELECT epoch FROM former)
        UNION ALL
        SELECT f.epoch, f.name, CASE WHEN n.state = 'FENCED' THEN 'FENCED'
               WHEN n.id IS NULL OR n.state IN ('LEAVING', 'LEFT') THEN 'LEFT'
               WHEN f.epoch = ANY(CAST(:busy AS bigint[])) THEN 'BUSY' ELSE 'LOST' END
        FROM former f LEFT JOIN node n ON n.id = f.epoch WHERE f.epoch NOT IN (SELECT epoch FROM present)
    )
    INSERT INTO slot_change (number, members, changes)
    SELECT coalesce((SELECT number FROM last), 0) + 1,
           (SELECT jsonb_agg(jsonb_build_object('epoch', epoch, 'name', name, 'slot', slot) ORDER BY slot)
            FROM present),
           (SELECT jsonb_agg(jsonb_build_object('epoch', epoch, 'name', name, 'reason', reason) ORDER BY epoch)
            FROM changed)
    WHERE EXISTS (SELECT FROM changed)
    ON CONFLICT (number) DO NOTHING
""")
async def record(connection: FencedTransaction, masters: Sequence[Epoch], busy: Collection[Epoch]) -> None:
    """Write that these masters have slots, first slot first, unless the last row has the same.

    `busy` are masters that have none since they are BUSY.
    """


def read_change(
    number: int,
    at: datetime,
    members: Sequence[dict[str, str]],
    changes: Sequence[dict[str, str]],
    ended: Mapping[str, str] = MappingProxyType({}),
) -> SlotChange:
    """A change as its row has it; `ended`: how masters that were LOST ended, by epoch."""
    return SlotChange(
        number,
        at,
        [SlotMember(Epoch(int(each["epoch"])), each["name"], int(each["slot"])) for each in members],
        [
            MemberChange(
                Epoch(int(each["epoch"])), each["name"], SlotReason(ended.get(str(each["epoch"]), each["reason"]))
            )
            for each in changes
        ],
    )


# One more than is asked for: who had slots when the time began. `ended` is how masters that were LOST ended since.
@made_by(lambda row: read_change(*row))
@statement("""
    SELECT s.number, s.at, s.members, s.changes,
           coalesce((SELECT jsonb_object_agg(n.id, n.state) FROM node n
                     WHERE n.state IN ('FENCED', 'LEFT') AND n.id IN (
                         SELECT CAST(each ->> 'epoch' AS bigint) FROM jsonb_array_elements(s.changes) AS each
                         WHERE each ->> 'reason' = 'LOST')), '{}') AS ended
    FROM slot_change s
    WHERE s.number > :after AND s.at < CAST(:until AS timestamptz)
      AND s.at >= coalesce((SELECT max(at) FROM slot_change WHERE at <= CAST(:since AS timestamptz)), '-infinity')
    ORDER BY s.number LIMIT :limit
""")
async def between(
    connection: AsyncConnection, since: datetime, until: datetime, limit: int = 10_000, after: int = 0
) -> list[SlotChange]:
    """The changes from the one that was in force at `since` to the last one before `until` (aware), in order.

    Only those with a number above `after`. A master that was LOST is LEFT or FENCED once its end is known.
    """


@made_by(lambda row: read_change(*row))
@statement("""
    SELECT s.number, s.at, s.members, s.changes FROM slot_change s
    WHERE s.at <= (SELECT created_at FROM command WHERE id = :command
                   UNION ALL SELECT created_at FROM command_history WHERE command_id = :command LIMIT 1)
    ORDER BY s.at DESC LIMIT 1                                                          -- index: slot_change_at
""")
async def in_force_for(connection: AsyncConnection, command: CommandId) -> SlotChange | None:
    """Who had slots when a command was asked for; None if that is no longer on record."""


@statement("""
    DELETE FROM slot_change WHERE number IN (
        SELECT number FROM slot_change                                          -- index: slot_change_at
        WHERE at < (SELECT max(at) FROM slot_change WHERE at < now() - CAST(:kept AS interval))
        ORDER BY at LIMIT :limit FOR UPDATE SKIP LOCKED)
""")
async def delete_old(connection: FencedTransaction, kept: timedelta, limit: int) -> int:
    """Delete up to `limit` changes that were replaced by others more than `kept` ago. Returns how many."""
