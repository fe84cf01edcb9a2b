"""Asking for a backfill: for which dates, in which chains, and the command."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.commands.commands import NewCommand
from dao.definitions import definitions, references
from dao.definitions.backfill_dates import dates_of
from dao.definitions.definitions import Definition
from dao.runs import backfills
from model.backfill import BackfillSpec
from model.command_moves import CommandType
from model.commands import BACKFILL
from model.errors import Refused
from model.ids import CommandId, WorkflowCode
from service.runs.start import ask_start
from service.secret_keys import SecretSettings


@dataclass(frozen=True)
class BackfillRequest:
    """What a person asks for: `dates`, or a range (`begin`, `end`), as written. `parallel` None: one chain."""

    begin: str | None
    end: str | None
    dates: Sequence[str]
    parallel: int | None
    desc: bool
    dependents: bool

    def as_json(self) -> dict[str, Any]:
        """The value of "backfill" in the parameters of a command. Raises `Refused`."""
        if self.dates and (self.begin or self.end):
            raise Refused("--date and --from are two ways to say when; keep one of them")
        if not self.dates and not (self.begin and self.end):
            raise Refused("say for which dates: --from 2026-01-01 --to 2026-01-31, or --date 2026-01-31")
        when = {"dates": list(self.dates)} if self.dates else {"from": self.begin, "to": self.end}
        mode = {} if self.parallel is None else {"mode": "PARALLEL", "parallelism": self.parallel}
        return {**when, **mode, "order": "DESC" if self.desc else "ASC", "dependents": self.dependents}


@dataclass(frozen=True)
class Dates:
    """The dates of a backfill: chains of times, aware, and the time zone that they refer to.

    `dependents` are the workflows that are filled as well, by code; `skipped` dates were done before and left out.
    """

    request: BackfillRequest
    chains: list[list[datetime]]
    zone: str
    dependents: Mapping[WorkflowCode, str]
    skipped: int = 0

    @property
    def count(self) -> int:
        """The number of runs of the workflow itself."""
        return sum(map(len, self.chains))


async def read_dates(
    connection: AsyncConnection, head: Definition, request: BackfillRequest, *, skip_done: bool
) -> Dates:
    """The dates as the master will compute them; `skip_done` leaves out those for which a run has succeeded.

    Raises `Refused`.
    """
    content = await definitions.spec_of(connection, head.code, head.version)
    if content is None or isinstance(content, Refused):
        raise Refused(f'version {head.version} of workflow "{head.name}" cannot be read: {content or "it is gone"}')
    spec = BackfillSpec.parse(json.dumps(request.as_json()))
    zone, chains = await dates_of(connection, head.code, content.time_zone, spec)
    below = await references.depending_on(connection, head.code) if spec.dependents else set()
    names = {code: each.name for code, each in (await definitions.heads(connection, below)).items()}
    found = Dates(request, chains, zone, names)
    if not skip_done:
        return found
    dates = {date for chain in chains for date in chain}
    done = await backfills.done(connection, head.code, dates)
    if not done:
        return found
    left = [date.astimezone(UTC).isoformat() for date in sorted(dates - done)]
    if not left:
        return replace(found, chains=[], skipped=len(done))
    without = replace(request, begin=None, end=None, dates=left)
    return replace(await read_dates(connection, head, without, skip_done=False), skipped=len(done))


async def ask_backfill(
    connection: AsyncConnection,
    head: Definition,
    values: Mapping[str, str],
    dates: Dates,
    secrets: SecretSettings,
) -> CommandId:
    """Insert the command for these dates, with parameters for each run. Raises `Refused`."""
    new = NewCommand(CommandType.COMPLEMENT_DATA, head.code)
    return await ask_start(connection, head, values, new, secrets, more={BACKFILL: dates.request.as_json()})
