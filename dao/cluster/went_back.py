"""`went_back`: that the database is an earlier state of the one that nodes wrote to, and how work goes on then.

A standby that was promoted without the last commits of the primary, a restored dump and a restored snapshot of a
machine are such states. What was confirmed after them is gone, and ids that were given are given again. A node knows by
its own beat: it was confirmed with a higher number than its row has now, and the database is at another place in its
history; or a run or an attempt that it has is not there. The other place keeps a row that a person has edited from
stopping the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dao.cluster.nodes import Me
from dao.postgres.database import FencedTransaction
from dao.postgres.notify import NODE, notify
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from model.ids import Epoch, TaskInstanceId, WorkflowInstanceId

FORGOTTEN_AFTER_S = 3600.0
"""What a node knew that beat more recently was not deleted for its age: neither its row, nor runs."""
KNOWN_MAX = 1_000
ID_STEP = 1_000_000_000
"""Ids go on at the next but one multiple: more than a day of work at full load is given no id twice."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in its history a database is: the timeline, which a promotion changes, the position in its log, and the
    table of the beats, which a restored dump makes anew. `at_s` is its time, `restored_s` when a person last said that
    it was restored (0: never), both in seconds since 1970."""

    timeline: str
    position: int
    table: int
    at_s: float = 0.0
    restored_s: float = 0.0

    def may_precede(self, before: Place) -> bool:
        """Whether it may be earlier than `before`, which was read earlier, and nobody has said so since."""
        is_elsewhere = (self.timeline, self.table) != (before.timeline, before.table)
        return self.restored_s <= before.at_s and (is_elsewhere or self.position < before.position)


@dataclass(frozen=True, slots=True)
class Known:
    """Some of the runs and attempts that a node knows, by id. Rows of `runs`, `running` and `ended` must be there."""

    runs: Sequence[int] = ()
    """Of a master: runs that it drives, whose start was confirmed."""
    begun: Sequence[int] = ()
    """Of a master: the last runs that it began. They may have been deleted since."""
    running: Sequence[int] = ()
    """Of a worker: attempts that it has, or had until lately."""
    ended: Sequence[int] = ()
    """Of a worker: attempts that ended lately, not as lost, as was confirmed."""
    attempts: Sequence[int] = ()
    """Of a worker: attempts that have a log in its folder."""


@dataclass(frozen=True, slots=True)
class LastGiven:
    """The highest id that an attempt has been given, 0 before the first; when a person last looked, as text; and the
    timeline."""

    attempt: int
    restored_at: str | None
    timeline: str


@dataclass(frozen=True, slots=True)
class Notice:
    """What a node found, with the ids of what it knew and is gone."""

    noticed_at: datetime
    node: str
    why: str
    runs: list[int]
    attempts: list[int]


_COMPARE = Sql("""
    SELECT n.id IS NOT NULL AS is_there, b.beat_no,
           (SELECT min(k.id) FROM unnest(CAST(:runs AS bigint[])) AS k (id)
            WHERE NOT EXISTS (SELECT FROM workflow_instance i WHERE i.id = k.id)) AS run,
           (SELECT min(k.id) FROM unnest(CAST(:running AS bigint[])) AS k (id)
            WHERE NOT EXISTS (SELECT FROM task_instance t WHERE t.id = k.id)) AS attempt,
           (SELECT min(k.id) FROM unnest(CAST(:ended AS bigint[])) AS k (id)
            WHERE NOT EXISTS (SELECT FROM task_instance t          -- a worker that lacks it may have told it as lost
                              WHERE t.id = k.id AND t.ended_at IS NOT NULL AND t.state <> 'NEED_FAULT_TOLERANCE')
           ) AS ended
    FROM (SELECT 1) AS one LEFT JOIN node n ON n.id = :epoch AND n.incarnation = :incarnation    -- index: node_pkey
         LEFT JOIN node_beat b ON b.node_id = n.id
""")
_RECORD = Sql("""
    INSERT INTO went_back (node, why, runs, attempts)
    VALUES (:node, :why,
            ARRAY(SELECT DISTINCT id FROM unnest(CAST(:runs AS bigint[])) AS k (id)
                  WHERE k.id > (SELECT coalesce(min(id), 0) FROM workflow_instance)         -- older ones were deleted
                    AND NOT EXISTS (SELECT FROM workflow_instance i WHERE i.id = k.id) ORDER BY id),
            ARRAY(SELECT DISTINCT id FROM unnest(CAST(:attempts AS bigint[])) AS k (id)
                  WHERE k.id > (SELECT coalesce(min(id), 0) FROM task_instance)
                    AND NOT EXISTS (SELECT FROM task_instance t WHERE t.id = k.id) ORDER BY id))
    RETURNING runs, attempts
""")
# An attempt that has begun stays its worker's, except one that looks: others may look next.
_GIVEN_AGAIN = Sql("""
    SELECT EXISTS (SELECT FROM node n WHERE n.id = :epoch AND n.incarnation <> :incarnation) AS is_life_of_another,
           (SELECT min(t.id) FROM unnest(CAST(:attempts AS bigint[]), CAST(:runs AS bigint[])) AS k (id, run)
            JOIN task_instance t ON t.id = k.id                                             -- index: task_instance_pkey
            WHERE t.workflow_instance_id <> k.run
               OR t.looks IS NULL AND coalesce(t.worker_id > :epoch, true)) AS attempt
""")
_FORGET = Sql("DELETE FROM went_back")
_RESTORED = Sql("UPDATE cluster SET restored_at = clock_timestamp()")
_MOVE_IDS = Sql("""
    SELECT count(setval(format('%I.%I', schemaname, sequencename)::regclass,
                        (coalesce(last_value, 0) / :step + 2) * :step))
    FROM pg_sequences WHERE schemaname = current_schema() AND data_type = 'bigint'::regtype
""")


@statement("""
    SELECT left(pg_walfile_name(at), 8) AS timeline, CAST(at - '0/0' AS bigint) AS position,
           CAST(CAST(to_regclass('node_beat') AS oid) AS bigint) AS beats,
           extract(epoch FROM clock_timestamp())::float8 AS at_s,
           coalesce((SELECT extract(epoch FROM restored_at) FROM cluster WHERE isfinite(restored_at)), 0)::float8
               AS restored_s
    FROM pg_current_wal_insert_lsn() AS at
""")
async def place(connection: AsyncConnection) -> Place:
    """Where in its history the database is now."""


async def why_back(
    connection: AsyncConnection, me: Me, began: Place, beat_no: int, silent_s: float, known: Known
) -> str | None:
    """Why the database is an earlier state of the one in which our life began; None if it is not, as far as we know.

    Args:
        began: where in its history it was when our life began.
        beat_no: the number of our last confirmed beat.
        silent_s: how long ago that was.
        known: what must be there.
    """
    if not (await place(connection)).may_precede(began):
        return None
    values = {
        "epoch": me.epoch,
        "incarnation": me.incarnation,
        "runs": list(known.runs[:KNOWN_MAX]),
        "running": list(known.running[:KNOWN_MAX]),
        "ended": list(known.ended[:KNOWN_MAX]),
    }
    row = (await connection.execute(_COMPARE, values)).one()
    if not row.is_there and silent_s < FORGOTTEN_AFTER_S:
        return f"{me} is not in it, and beat {silent_s:.0f} s ago"
    if row.beat_no is not None and row.beat_no < beat_no:
        return f"beat {beat_no} of {me} was confirmed, and its last one here is {row.beat_no}"
    if silent_s >= FORGOTTEN_AFTER_S:  # a suspended machine: what it knew may be deleted by now, for its age
        return None
    if row.run is not None:
        return f"run {row.run}, which {me} drove, is not in it"
    if row.attempt is not None:
        return f"attempt {row.attempt}, which {me} ran, is not in it"
    if row.ended is not None:
        return f"the end of attempt {row.ended}, which {me} ran, is not in it"
    return None


@statement("""
    SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS attempt,
           (SELECT restored_at::text FROM cluster) AS restored_at,
           left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) AS timeline
    FROM task_instance_id_seq
""")
async def last_given(connection: AsyncConnection) -> LastGiven:
    """The last id that an attempt has been given, in this state of the database."""


async def why_given_again(
    connection: AsyncConnection, epoch: Epoch, incarnation: UUID, runs: Mapping[TaskInstanceId, WorkflowInstanceId]
) -> str | None:
    """Why ids that a worker's folder knows were given once more, in an earlier state; None: as far as we know, not.

    Args:
        epoch: of the folder's last life, which had this incarnation.
        runs: attempts of which the folder has logs -> their runs.
    """
    values = {
        "epoch": epoch,
        "incarnation": incarnation,
        "attempts": list(runs.keys()),
        "runs": list(runs.values()),
    }
    row = (await connection.execute(_GIVEN_AGAIN, values)).one()
    if row.is_life_of_another:
        return f"the worker's folder knows epoch {epoch}, and another has it"
    if row.attempt is not None:
        return f"the worker's folder has the log of attempt {row.attempt}, and another ran it"
    return None


# What is deleted later has others after it, of the same step: `begin_anew` goes on in another.
@statement("""
    SELECT DISTINCT k.id FROM unnest(CAST(:attempts AS bigint[])) AS k (id)
    WHERE NOT EXISTS (SELECT FROM task_instance t                                           -- index: task_instance_pkey
                      WHERE t.id >= k.id AND t.id < (k.id / :ID_STEP + 1) * :ID_STEP)
    ORDER BY k.id
""")
async def gone(connection: AsyncConnection, attempts: Sequence[TaskInstanceId]) -> list[TaskInstanceId]:
    """Those that a restore took away, of attempts that have logs."""


async def record(connection: AsyncConnection, me: Me, why: str, known: Known) -> Known:
    """Stop all nodes until a person has looked. Returns what of `known` is gone; only some of it is looked up."""
    values = {
        "node": str(me),
        "why": why,
        "runs": [*known.runs[:KNOWN_MAX], *known.begun[:KNOWN_MAX]],
        "attempts": [*known.running[:KNOWN_MAX], *known.attempts[:KNOWN_MAX]],
    }
    row = (await connection.execute(_RECORD, values)).one()
    return Known(runs=row.runs, attempts=row.attempts)


@statement("""
    SELECT w.noticed_at, w.node, w.why,                      -- a restore may have gone on when a node looked
           ARRAY(SELECT k.id FROM unnest(w.runs) AS k (id)
                 WHERE NOT EXISTS (SELECT FROM workflow_instance i WHERE i.id = k.id) ORDER BY k.id),
           ARRAY(SELECT k.id FROM unnest(w.attempts) AS k (id)
                 WHERE NOT EXISTS (SELECT FROM task_instance t WHERE t.id = k.id) ORDER BY k.id)
    FROM went_back w ORDER BY w.id
""")
async def notices(connection: AsyncConnection) -> list[Notice]:
    """What nodes found, in the order in which they did; none if the database did not go back, as far as they know."""


async def begin_anew(connection: FencedTransaction) -> None:
    """Go on with ids that were never given, and let nodes join again once this is committed."""
    await connection.execute(_MOVE_IDS, {"step": ID_STEP})
    await connection.execute(_FORGET)
    await connection.execute(_RESTORED)
    await notify(connection, NODE)
