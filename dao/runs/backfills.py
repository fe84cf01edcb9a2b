"""What is there of a backfill: who asked for it, the runs of its dates, the refused commands, what was done."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from model.ids import CommandId, WorkflowCode, WorkflowInstanceId
from model.runs.commands import BACKFILL
from model.runs.states import WorkflowState


@dataclass(frozen=True, slots=True)
class DateRun:
    """A run of a date of a backfill; `date` is aware."""

    workflow_code: WorkflowCode
    date: datetime
    id: WorkflowInstanceId
    state: WorkflowState
    reason: str | None
    elapsed_s: float


@dataclass(frozen=True)
class AskedBackfill:
    """Who asked for a backfill, and how: `request` is the JSON of its command, `dates` and `chains` how many it had."""

    command_id: CommandId
    at: datetime
    by: str
    workflow_code: WorkflowCode
    workflow: str
    project: str
    dates: int
    chains: int
    request: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RefusedDates:
    """A command of a backfill that was refused, with the dates that it was for, as written."""

    workflow_code: WorkflowCode
    id: CommandId
    dates: Sequence[str]
    reason: str
    workflow: str | None = None


_REFUSED = Sql("""
    SELECT workflow_code, command_id, params, reason FROM error_command
    WHERE command_id >= :command AND type = 'COMPLEMENT_DATA' AND workflow_code = ANY(CAST(:codes AS bigint[]))
    ORDER BY command_id
""")
_STOPPED = Sql("""
    SELECT e.workflow_code, e.command_id, e.params, e.reason, d.name
    FROM (SELECT * FROM error_command e                                          -- index: error_command_chain
          WHERE e.type = 'COMPLEMENT_DATA' AND e.created_by = 'backfill'
          ORDER BY e.command_id DESC LIMIT 1000) AS e
    JOIN workflow_definition d ON d.code = e.workflow_code
    ORDER BY e.command_id DESC LIMIT :limit
""")
_STOPPED_OF = Sql("""
    SELECT e.workflow_code, e.command_id, e.params, e.reason, d.name
    FROM workflow_definition d CROSS JOIN LATERAL (
        SELECT * FROM error_command e                                            -- index: error_command_chain_of
        WHERE e.workflow_code = d.code AND e.type = 'COMPLEMENT_DATA' AND e.created_by = 'backfill'
        ORDER BY e.workflow_code DESC, e.command_id DESC LIMIT :limit) AS e
    WHERE d.name = coalesce(CAST(:workflow AS text), d.name)
      AND d.project = coalesce(CAST(:project AS text), d.project)
    ORDER BY e.command_id DESC LIMIT :limit
""")


# The first run of each date: one that is run again stays the same run.
@statement("""
    SELECT DISTINCT ON (workflow_code, schedule_time) workflow_code, schedule_time, id, state, reason,
           extract(epoch FROM coalesce(ended_at, clock_timestamp()) - started_at)::float8 AS elapsed_s
    FROM workflow_instance                                                       -- index: workflow_instance_time
    WHERE workflow_code = ANY(CAST(:codes AS bigint[])) AND schedule_time = ANY(CAST(:dates AS timestamptz[]))
      AND command_type = 'COMPLEMENT_DATA' AND command_id >= :command
    ORDER BY workflow_code, schedule_time, id
""")
async def runs_of_dates(
    connection: AsyncConnection, codes: Collection[WorkflowCode], dates: Collection[datetime], command: CommandId
) -> list[DateRun]:
    """The runs that the backfill of this command, or a later one, made for these dates of these workflows."""


# A backfill with dependents is written down for each workflow; the one that it was asked for names itself.
@statement("""
    SELECT CAST(after ->> 'command' AS bigint) AS command, at, actor, CAST(object_id AS bigint) AS workflow_code,
           object_name, project, CAST(after ->> 'dates' AS int) AS dates, CAST(after ->> 'chains' AS int) AS chains,
           after -> 'request' AS request
    FROM audit                                                                   -- index: audit_action
    WHERE action = 'start_backfill' AND outcome = 'DONE' AND after ->> 'workflow' = object_id
      AND (CAST(:projects AS text[]) IS NULL OR project = ANY(CAST(:projects AS text[])))
      AND (CAST(:command AS bigint) IS NULL OR after ->> 'command' = CAST(:command AS bigint)::text)
    ORDER BY id DESC LIMIT :limit
""")
async def asked_for(
    connection: AsyncConnection, limit: int, projects: Collection[str] | None = None, command: CommandId | None = None
) -> list[AskedBackfill]:
    """The last `limit` backfills that were asked for, newest first; only of these projects, of this command."""


async def refused_dates(
    connection: AsyncConnection, codes: Collection[WorkflowCode], command: CommandId
) -> list[RefusedDates]:
    """The commands for dates of these workflows, from this one on, that are error commands."""
    rows = (await connection.execute(_REFUSED, {"codes": sorted(codes), "command": command})).all()
    return [RefusedDates(row[0], row[1], dates_left(row[2]), row[3]) for row in rows]


async def refused_chains(
    connection: AsyncConnection, workflow: str | None, project: str | None, limit: int
) -> list[RefusedDates]:
    """Up to `limit` error commands that a backfill itself inserted for the next dates of a chain, newest first; only of
    the workflow with this name, in this project, if these are given."""
    if workflow is None and project is None:
        rows = (await connection.execute(_STOPPED, {"limit": limit})).all()
    else:
        values = {"workflow": workflow, "project": project, "limit": limit}
        rows = (await connection.execute(_STOPPED_OF, values)).all()
    return [RefusedDates(row[0], row[1], dates_left(row[2]), *row[3:]) for row in rows]


# A run that was limited to some tasks, at its start or since, or whose tasks did no work, has not done its date.
@statement("""
    SELECT DISTINCT schedule_time FROM workflow_instance                         -- index: workflow_instance_time
    WHERE workflow_code = :code AND schedule_time = ANY(CAST(:dates AS timestamptz[])) AND state = 'SUCCESS'
      AND scope IS NULL AND executing IS NULL AND NOT dry_run
""")
async def done(connection: AsyncConnection, code: WorkflowCode, dates: Collection[datetime]) -> set[datetime]:
    """Those of these dates for which a whole run of the workflow has succeeded, however it was started."""


def dates_left(params: str | None) -> Sequence[str]:
    """The dates in the parameters of a command of a chain; none where they cannot be read."""
    try:
        dates = json.loads(params or "{}")[BACKFILL]["dates"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()
    return dates if isinstance(dates, list) else ()
