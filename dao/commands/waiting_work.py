"""What waits for a master: the only statement of an idle poll."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from model.cluster.low_water import FROM_FIRST, Horizon, Marks
from model.cluster.slots import Slot
from model.ids import Epoch

# The first in the order of an index is read up to its first match, whatever the statistics contain. EXISTS may read a
# whole table if the planner wrongly expects an early match; of `task_event` it may read all pages of rows deleted long
# ago. min() may read all rows if the statistics saw none, and the first by id those of all owners. `:current >= 0`:
# without a slot the table is not read.
_WORK_WAITS = Sql("""
    SELECT CASE WHEN :walks THEN
               (SELECT id FROM command                                                  -- index: command_age
                WHERE created_at >= to_timestamp(CAST(:created_s AS float8))
                  AND :current >= 0 AND (id / :id_step) % nullif(:total, 0) = :current AND deaths = 0
                ORDER BY created_at LIMIT 1) IS NOT NULL ELSE false END AS mine,
           (SELECT c.deaths FROM command c
            WHERE c.deaths > 0 AND (SELECT n.state FROM node n
                                    WHERE n.id = c.tried_by AND n.id <> :master
                                      AND n.state IN ('ALIVE', 'LEAVING')) IS NULL
            ORDER BY c.deaths DESC LIMIT 1) IS NOT NULL AS suspect,
           CASE WHEN :walks THEN
               (SELECT extract(epoch FROM created_at)::float8 FROM command
                WHERE created_at >= to_timestamp(CAST(:created_s AS float8)) ORDER BY created_at LIMIT 1) END
               AS oldest_s,
           extract(epoch FROM now())::float8 AS now_s,
           (SELECT created_at FROM command WHERE created_at > now() + CAST(:age AS interval)
            ORDER BY created_at LIMIT 1) IS NOT NULL AS ahead,
           CASE WHEN :walks THEN
               (SELECT id FROM task_event WHERE owner = :master AND id >= :event
                ORDER BY owner, id LIMIT 1) END AS events,
           CASE WHEN :walks THEN EXISTS (SELECT FROM stray_events() AS s WHERE s.is_owned) ELSE false END
               AS stray_events,
           (SELECT CASE WHEN set_back THEN 0
                        WHEN isfinite(at) THEN extract(epoch FROM at - clock_timestamp())::float8
                        WHEN at < clock_timestamp() THEN 0 END
            FROM (SELECT (SELECT id FROM task_instance                             -- index: task_instance_timed
                          WHERE (state = 'DELAY_EXECUTION' OR state = 'QUEUED' AND dispatch_by IS NOT NULL)
                            AND queued_at > now() + interval '1 s'   -- the clock has been set back since
                          ORDER BY queued_at DESC LIMIT 1) IS NOT NULL AS set_back,
                         least((SELECT min(due_at) FROM task_instance WHERE state = 'DELAY_EXECUTION'),
                               (SELECT min(due_at) FROM task_instance             -- index: task_instance_approval
                                WHERE state = 'RUNNING_EXECUTION' AND task_type = 'APPROVAL'),
                               (SELECT min(dispatch_by) FROM task_instance
                                WHERE state = 'QUEUED' AND dispatch_by IS NOT NULL)) AS at) AS first) AS due_in_s,
           (SELECT min(workflow_instance_id) FROM task_instance
            WHERE state = 'RUNNING_EXECUTION' AND task_type = 'DEPENDENT') IS NOT NULL AS dependents,
           (SELECT id FROM schedule WHERE state = 'ONLINE' AND problem IS NULL
            ORDER BY coalesce(next_fire_at, 'epoch'), id LIMIT 1) IS NOT NULL AS schedules,
           EXISTS (SELECT FROM stream_restart) OR EXISTS (SELECT FROM rebalance)
           OR EXISTS (SELECT FROM task_instance                                    -- index: task_instance_stream
                      WHERE stream IS NOT NULL AND state IN ('QUEUED', 'DISPATCH', 'RUNNING_EXECUTION')) AS streams,
           pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest_transaction,
           pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next_transaction
""")


@dataclass(frozen=True, slots=True)
class WaitingWork:
    """What one check of the tables found for a master; `due_in_s`: seconds until a waiting attempt is due.

    `events` is the first id of the events for it, None if there are none. `oldest_s` is when the first of all commands
    was created, in seconds since 1970 by the time of the database, as is `now_s`; `horizon` is how much of what was
    created by then it sees. `suspect` is whether any suspect command waits (`dao/commands/deadly_commands.py`),
    `dependents` whether any DEPENDENT task waits, `schedules` whether any schedule of any master will fire,
    `stray_events` whether there are events for a master that is gone while another master owns their runs, and
    `streams` whether there are streams, or anything is asked of them.
    """

    mine: bool
    aged: bool
    events: int | None
    oldest_s: float | None
    now_s: float
    horizon: Horizon
    suspect: bool = False
    due_in_s: float | None = None
    dependents: bool = False
    schedules: bool = False
    stray_events: bool = False
    streams: bool = False


async def work_waits(
    connection: AsyncConnection,
    slot: Slot | None,
    older_than: timedelta,
    id_step: int,
    master: Epoch,
    *,
    marks: Marks | None = FROM_FIRST,
) -> WaitingWork:
    """Whether anything waits for this master: the only statement of an idle poll. Without a slot nothing is `mine`.

    With `marks` it searches from there on what else is searched from the first id on: commands, its events. With None
    it leaves those out.
    """
    values = {
        "current": slot.current if slot else -1,
        "total": slot.total if slot else 1,
        "age": older_than,
        "id_step": id_step,
        "master": master,
        "walks": marks is not None,
        "created_s": marks.created_s if marks else 0.0,
        "event": marks.event if marks else 0,
    }
    found = (await connection.execute(_WORK_WAITS, values)).one()._asdict()
    horizon = Horizon(found.pop("oldest_transaction"), found.pop("next_transaction"))
    is_old = found["oldest_s"] is not None and found["oldest_s"] < found["now_s"] - older_than.total_seconds()
    aged = found.pop("ahead") or is_old
    return WaitingWork(**found, aged=aged, horizon=horizon)
