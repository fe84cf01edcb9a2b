"""Backfills: for which dates, in which chains, the command, and how far one has come."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from dao.commands.commands import NewCommand
from dao.definitions import definitions, references
from dao.definitions.backfill_dates import dates_of
from dao.definitions.definitions import Definition
from dao.postgres.pool import AsyncConnection
from dao.runs import backfills, lookups
from model.accounts.rights import Right
from model.errors import Refused
from model.ids import CommandId, WorkflowCode
from model.runs.backfill import BackfillSpec
from model.runs.command_moves import CommandType
from model.runs.commands import BACKFILL
from service.call import Call, Subject
from service.dependents import check_dependents
from service.fields import Answer, Id, Moment
from service.operation import operation
from service.projects.limits import check_limits_of_start
from service.runs.backfill_progress import Backfill, BackfillProgress, read_progress
from service.runs.command_asked import AskedFor, CommandAsked, once_taken
from service.runs.references import check_startable
from service.runs.requests import BackfillDates, StartBackfill, WaitQuery
from service.runs.start_batches import DEFINITION
from service.runs.start_check import check_all_values, check_start
from service.runs.start_command import Start, ask_start


@dataclass(frozen=True)
class Dates:
    """The dates of a backfill: chains of times, aware, and the time zone that they refer to.

    `dependents` are the workflows that are filled as well, by code; `skipped` dates were done before and left out.
    """

    request: StartBackfill
    chains: list[list[datetime]]
    zone: str
    dependents: Mapping[WorkflowCode, Definition]
    skipped: int = 0

    @property
    def count(self) -> int:
        """The number of runs of the workflow itself."""
        return sum(map(len, self.chains))


class FilledWorkflow(Answer):
    """A workflow that a backfill fills."""

    code: Id
    name: str


class BackfillAnswer(AskedFor):
    """A backfill: its dates in chains, in which each waits for the one before, the same for each of `workflows`.

    `command_id` is left out if nothing was asked for: `dry_run`, or no date is left. `first_run_id` and `run` are that
    of the first date if a master took the command within the time that was waited; `reason` says why it refused it.
    """

    workflow: str
    time_zone: str
    dates: int
    skipped: int
    chains: Sequence[Sequence[Moment]]
    dependents: Sequence[str]
    workflows: Sequence[FilledWorkflow]
    params: Sequence[str]
    """The names of those that each run gets."""
    first_run_id: Id | None = None

    @classmethod
    def of(cls, head: Definition, found: Dates) -> BackfillAnswer:
        """The answer for dates of a workflow that nobody asked to be filled yet."""
        filled = [head, *found.dependents.values()]
        return cls(
            workflow=head.name,
            time_zone=found.zone,
            dates=found.count,
            skipped=found.skipped,
            chains=found.chains,
            dependents=sorted(each.name for each in found.dependents.values()),
            workflows=[FilledWorkflow(code=each.code, name=each.name) for each in filled],
            params=sorted(found.request.params),
        )


async def with_first_run(call: Call, asked: BackfillAnswer, query: WaitQuery) -> BackfillAnswer:
    """An answer with the run of the first date, as far as the time that may be waited allows it."""
    if asked.command_id is None:
        return asked
    taken = await once_taken(call, CommandAsked(command_id=asked.command_id), query)
    shared = {name: getattr(taken, name) for name in AskedFor.model_fields}
    return asked.model_copy(update={**shared, "first_run_id": taken.run_id})


@operation(
    "POST",
    "/workflow-definitions/{code}/backfills",
    Right.OPERATE,
    "backfills",
    status=202,
    completes=with_first_run,
)
async def start_backfill(call: Call, code: Id, body: StartBackfill, query: WaitQuery) -> BackfillAnswer:
    """Run a workflow once for each date of its schedule in a range, or for single dates; or only say which."""
    if BACKFILL in body.params:
        raise Refused(f'a parameter of a backfill cannot be called "{BACKFILL}"; give it another name')
    async with call.reading() as connection:
        head = await definitions.head(connection, WorkflowCode(code))
        call.permit(head.project)
        check_startable(head)
        found = await read_dates(connection, head, body)
        check_dependents(call, found.dependents.values())
        await check_start(connection, head, body.params, [], None)
        await check_all_values(connection, head, body.params)
    answer = BackfillAnswer.of(head, found)
    if body.dry_run:
        return answer
    filled = [head, *found.dependents.values()] if found.count else []
    subjects = [Subject(DEFINITION, each.code, each.project, each.name) for each in filled]
    async with call.changing(*subjects) as change:
        change.answer = answer
        if found.count:
            new = NewCommand(
                CommandType.COMPLEMENT_DATA,
                head.code,
                warning_type=body.warning_type,
                alert_group=body.alert_group,
                traceparent=call.caller.traceparent,
                created_by=call.caller.name,
            )
            for each in found.dependents.values():
                await check_limits_of_start(change.connection, each, None, new)
            request = as_json(found.request)
            start = Start(new, body.params, more={BACKFILL: request})
            command = await ask_start(change.connection, head, start, call.settings.secrets)
            asked = {"workflow": str(head.code), "request": request}
            change.after = {"command": str(command), **asked, **_said(found), "params": sorted(body.params)}
            change.answer = answer.model_copy(update={"command_id": command})
    return await with_first_run(call, change.answered(BackfillAnswer), query)


@operation("POST", "/backfills/{id}/progress", Right.VIEW, "backfills", reads=True)
async def count_backfill(call: Call, id: Id, body: BackfillDates) -> BackfillProgress:
    """Show how far the backfill of a command has come: what is done, what runs, and the chains that stopped."""
    codes = [WorkflowCode(code) for code in body.workflows]
    async with call.reading() as connection:
        heads = await definitions.heads(connection, codes)
        for code in codes:
            call.permit(heads[code].project if code in heads else None)
        fate = await lookups.fate_of(connection, CommandId(id))
        call.permit(await lookups.project_of_command(connection, CommandId(id)))
        names = {code: heads[code].name if code in heads else str(code) for code in codes}
        backfill = Backfill(CommandId(id), names, body.chains)
        progress = await read_progress(connection, backfill, with_runs=body.runs)
    return progress.model_copy(update={"is_taken": fate.handled_at is not None, "reason": fate.reason})


def _said(found: Dates) -> dict[str, Any]:
    ends = {"from": min(map(min, found.chains)), "to": max(map(max, found.chains))}
    also = len(found.dependents)  # not their names: each project's audit has the row of its own
    return {"dates": found.count, "chains": len(found.chains), "also": also, **{k: str(v) for k, v in ends.items()}}


def as_json(request: StartBackfill) -> dict[str, Any]:
    """The value of "backfill" in the parameters of a command. Raises `Refused`."""
    if request.dates and (request.begin or request.end):
        raise Refused("`dates` and `from` are two ways to say when; keep one of them")
    if not request.dates and not (request.begin and request.end):
        raise Refused("say for which dates: `from` 2026-01-01 `to` 2026-01-31, or `dates` with 2026-01-31")
    when = {"dates": list(request.dates)} if request.dates else {"from": request.begin, "to": request.end}
    mode = {} if request.parallelism is None else {"mode": "PARALLEL", "parallelism": request.parallelism}
    return {**when, **mode, "order": request.order, "dependents": request.dependents}


async def read_dates(connection: AsyncConnection, head: Definition, request: StartBackfill) -> Dates:
    """The dates as the master will compute them. Raises `Refused`."""
    content = await definitions.spec_of(connection, head.code, head.version)
    if content is None or isinstance(content, Refused):
        raise Refused(f'version {head.version} of workflow "{head.name}" cannot be read: {content or "it is gone"}')
    spec = BackfillSpec.parse(json.dumps(as_json(request)))
    if content.after_last is not None:
        spec = spec.one_by_one()
    zone, chains = await dates_of(connection, head.code, content.time_zone, spec)
    below = await references.depending_on(connection, head.code) if spec.dependents else set()
    found = Dates(request, chains, zone, await definitions.heads(connection, below))
    if not request.skip_done:
        return found
    dates = {date for chain in chains for date in chain}
    done = await backfills.done(connection, head.code, dates)
    if not done:
        return found
    left = [date.astimezone(UTC).isoformat() for date in sorted(dates - done)]
    if not left:
        return replace(found, chains=[], skipped=len(done))
    without = request.model_copy(update={"begin": None, "end": None, "dates": left, "skip_done": False})
    return replace(await read_dates(connection, head, without), skipped=len(done))
