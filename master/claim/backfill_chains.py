"""COMPLEMENT_DATA: the dates of a backfill, which of them this command starts, and the commands for the others.

A command starts the first date of one chain. The other chains become commands of their own in the same transaction. The
run stores the rest of its chain: the transaction that ends it with success creates the command for the next date
(`dao/runs/after_end.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from dao.commands import commands
from dao.commands.commands import NewCommand
from dao.definitions import definitions, references
from dao.definitions.backfill_dates import dates_of
from dao.postgres.pool import AsyncConnection
from model.definitions.plan import Plan
from model.errors import Refused
from model.ids import WorkflowCode
from model.parameters.secret_values import without_foreign
from model.runs.backfill import BackfillSpec, rest
from model.runs.command_moves import CommandType
from model.runs.commands import BACKFILL, Start


async def first_date(connection: AsyncConnection, command: Start, plan: Plan) -> Start:
    """The start for the date of this command; the other chains become commands.

    Raises `Refused` if the dates cannot be read, and for a workflow with streams.
    """
    if plan.has_streams and not command.dry_run:
        raise Refused(
            f'workflow "{plan.name}" has streams, which run until they are stopped, so no date of a backfill would '
            f"follow another; start it without a backfill"
        )
    asked = BackfillSpec.parse(command.backfill or "")
    spec = asked if plan.spec.after_last is None else asked.one_by_one()
    given = command.time_zone
    calendar, (own, *others) = await dates_of(connection, command.workflow_code, plan.spec.time_zone, spec, given)
    single = replace(spec, dependents=False)
    new = [_chain(command, command.workflow_code, rest(single, chain), calendar) for chain in others]
    if spec.dependents:
        dates = rest(single, sorted({date for chain in (own, *others) for date in chain}))
        written = json.dumps(
            {**json.loads(dates), "mode": asked.mode, "order": asked.order, "parallelism": spec.parallelism}
        )
        below = await references.depending_on(connection, command.workflow_code)
        heads = await definitions.heads(connection, below)
        for code in sorted(below):
            project = heads[code].project if code in heads else plan.project
            its = replace(command, params=without_foreign(project, command.params))
            new.append(_chain(its, code, written, calendar, whole=True))
    if new:
        await commands.insert_many(connection, new)
    left = _with(command.params, rest(single, own[1:])) if len(own) > 1 else None
    return replace(command, schedule_time=own[0], time_zone=calendar, backfill=left)


def _chain(command: Start, code: WorkflowCode, backfill: str, calendar: str, *, whole: bool = False) -> NewCommand:
    """The command for other dates. One for another workflow (`whole`) omits what concerns the tasks of this one."""
    return NewCommand(
        CommandType.COMPLEMENT_DATA,
        workflow_code=code,
        workflow_version=None if whole else command.workflow_version,
        params=_with(command.params, backfill),
        priority=command.priority,
        failure_strategy=command.failure_strategy,
        worker_group=command.worker_group,
        warning_type=command.warning_type,
        alert_group=command.alert_group,
        environment=command.environment,
        dry_run=command.dry_run,
        task_depend_type=None if whole else command.depend_type,
        start_tasks=None if whole or not command.start_tasks else json.dumps(list(command.start_tasks)),
        time_zone=calendar,
        traceparent=command.traceparent,
        created_by="backfill",
    )


def _with(params: Mapping[str, str], backfill: str) -> str:
    return json.dumps({**params, BACKFILL: json.loads(backfill)}, ensure_ascii=False)
