"""Listings of what waits, for people: commands by slot, tasks by worker group. Reads only."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from dao.commands.rows import Residue, WaitingCommand
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from model.ids import CommandId

READ_MAX = 5_000
"""So many commands are read for a page of those of some projects: no index has the project of a command."""
COUNTED_MAX = 50_000
"""So many commands are counted, the oldest ones."""


@dataclass(frozen=True, slots=True)
class WithoutRoom:
    """A command that waits for a master with room. `above` is the parent run that waits for it, if any."""

    id: CommandId
    type: str
    age_s: float | None
    above: str | None


@dataclass(frozen=True, slots=True)
class LastTaken:
    """The command that was taken last: how long ago, and how long after it was asked for."""

    id: CommandId
    type: str
    ago_s: float
    took_s: float | None


@dataclass(frozen=True, slots=True)
class GroupQueue:
    """The work of a worker group: waiting attempts, the age of the oldest, and running attempts."""

    worker_group: str
    waiting: int
    oldest_s: float | None
    running: int


_BY_ID = Sql("""
    SELECT c.id, c.type, c.workflow_code, d.name, d.project, c.workflow_instance_id, c.priority,
           CASE WHEN isfinite(c.created_at)
                THEN extract(epoch FROM clock_timestamp() - c.created_at)::float8 END,
           c.created_by
    FROM (SELECT * FROM command WHERE id > :after AND id <= :up_to) AS c                -- index: command_pkey
    LEFT JOIN workflow_instance i ON i.id = c.workflow_instance_id
    LEFT JOIN workflow_definition d ON d.code = coalesce(c.workflow_code, i.workflow_code)
    WHERE (CAST(:visible AS text[]) IS NULL OR d.project = ANY(CAST(:visible AS text[])))
    ORDER BY c.id LIMIT :limit
""")
_UP_TO = Sql("SELECT id FROM command WHERE id > :after ORDER BY id OFFSET CAST(:read AS bigint) - 1 LIMIT 1")


@statement("""
    SELECT c.id, c.type, c.workflow_code, d.name, d.project, c.workflow_instance_id, c.priority,
           CASE WHEN isfinite(c.created_at)
                THEN extract(epoch FROM clock_timestamp() - c.created_at)::float8 END,
           c.created_by
    FROM (SELECT * FROM command ORDER BY priority_rank, id                              -- index: command_claim
          LIMIT CASE WHEN CAST(:visible AS text[]) IS NULL THEN CAST(:limit AS bigint)
                     ELSE greatest(:limit, CAST(:READ_MAX AS bigint)) END) AS c
    LEFT JOIN workflow_instance i ON i.id = c.workflow_instance_id
    LEFT JOIN workflow_definition d ON d.code = coalesce(c.workflow_code, i.workflow_code)
    WHERE (CAST(:visible AS text[]) IS NULL OR d.project = ANY(CAST(:visible AS text[])))
    ORDER BY c.priority_rank, c.id LIMIT :limit
""")
async def waiting_commands(
    connection: AsyncConnection, limit: int, *, visible: Collection[str] | None = None
) -> list[WaitingCommand]:
    """The first `limit` commands in the order in which they will be taken; `visible` as in `commands_by_id`.

    If not all may be seen, these are among the first `READ_MAX`.
    """


async def commands_by_id(
    connection: AsyncConnection, limit: int, after: int, visible: Collection[str] | None
) -> tuple[list[WaitingCommand], CommandId | None]:
    """The first `limit` commands with an id above `after`, by id; up to which id, if there are more than `READ_MAX`.

    `visible`: only those of workflows of these projects; None = all.
    """
    read = max(limit, READ_MAX)
    up_to = (await connection.execute(_UP_TO, {"after": after, "read": read})).scalar()
    values = {"limit": limit, "after": after, "up_to": up_to or 2**63 - 1}
    rows = await connection.execute(_BY_ID, {**values, "visible": None if visible is None else list(visible)})
    return [WaitingCommand(*row) for row in rows.all()], up_to


# Commands that need no room have priority: a full master takes them too.
@statement("""
    SELECT c.id, c.type,
           CASE WHEN isfinite(c.created_at)
                THEN extract(epoch FROM clock_timestamp() - c.created_at)::float8 END,
           nullif(split_part(c.parent, '/', 1), '') AS above
    FROM command c
    WHERE c.created_at < now() - CAST(:older_than AS interval) AND c.priority_rank >= 0    -- index: command_age
    ORDER BY c.created_at LIMIT :limit
""")
async def without_room(connection: AsyncConnection, older_than: timedelta, limit: int) -> list[WithoutRoom]:
    """The first `limit` commands that need room and have waited for longer than that; oldest first."""


@statement("""
    SELECT slot, count(c.id),
           extract(epoch FROM clock_timestamp() - min(c.created_at) FILTER (WHERE isfinite(c.created_at)))::float8
    FROM generate_series(0, :total - 1) AS slot
    LEFT JOIN (SELECT id, created_at FROM command ORDER BY id LIMIT :COUNTED_MAX) AS c        -- index: command_pkey
           ON (c.id / :id_step) % :total = slot
    GROUP BY slot ORDER BY slot
""")
async def waiting_by_residue(connection: AsyncConnection, total: int, id_step: int = 1) -> list[Residue]:
    """How many of the `COUNTED_MAX` oldest commands wait for each of `total` slots."""


@statement("SELECT EXISTS (SELECT FROM command ORDER BY id OFFSET :COUNTED_MAX)")
async def is_longer(connection: AsyncConnection) -> bool:
    """Whether more commands wait than `waiting_by_residue` counts."""


# index: command_history_pkey. Of two that were taken at the same time that with the higher number is meant.
@statement("""
    SELECT command_id, type, extract(epoch FROM clock_timestamp() - handled_at)::float8,
           CASE WHEN isfinite(created_at) THEN extract(epoch FROM handled_at - created_at)::float8 END
    FROM command_history WHERE outcome = 'DONE' ORDER BY command_id DESC LIMIT 1
""")
async def last_taken(connection: AsyncConnection) -> LastTaken | None:
    """The newest command that a master has taken; None in a new database."""


# Two subqueries, each with a partial index: a single one for both would read all tasks in the history.
@statement("""
    SELECT coalesce(q.worker_group, r.worker_group), coalesce(q.waiting, 0), q.oldest_s, coalesce(r.running, 0)
    FROM (SELECT worker_group, count(*) AS waiting,
                 extract(epoch FROM clock_timestamp()
                                    - min(greatest(queued_at, due_at))
                                      FILTER (WHERE isfinite(greatest(queued_at, due_at))))::float8 AS oldest_s
          FROM task_instance WHERE state = 'QUEUED' GROUP BY worker_group) AS q
    FULL JOIN (SELECT worker_group, count(*) AS running
               FROM task_instance WHERE state IN ('DISPATCH', 'RUNNING_EXECUTION') GROUP BY worker_group) AS r
      ON r.worker_group = q.worker_group
    ORDER BY 1
""")
async def queue_by_group(connection: AsyncConnection) -> list[GroupQueue]:
    """The worker groups with waiting or running attempts, by name."""
