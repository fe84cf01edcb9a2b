"""Finds lines in which no run may begin yet, since an older command of the same key is still in the command table.

Each master takes only commands of its own slot, several masters at once, and in the order of their priorities. So an
older command may be handled after a newer one, and its run is not in the line yet. Whatever was committed before a
command was inserted has a smaller id, and is visible when that command is handled. So before a run with a key begins,
the older commands of its workflow are read, and their keys computed as if they started now. One that would be refused
has no key and delays nothing. A handled command calls the lines that may have waited for it: that of its key, and all
lines of its workflow if the backlog was too large to be read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime

from dao.commands.older_starts import backlogs, older_starts, parameters_above
from dao.postgres.database import database_time
from dao.postgres.pool import AsyncConnection
from master.claim import to_start
from master.claim.batch_work import BatchWork
from master.claim.to_start import ToStart, is_serial, parameters_of, rule_of
from master.drive.plans import Plans
from model.errors import Refused
from model.ids import CommandId, WorkflowCode
from model.runs.command_moves import CommandType
from model.runs.commands import CommandRow, Start, read_command
from model.runs.serial_lines import Line
from model.time.intervals import NoInterval, interval_at

OLDER_MAX = 1_000
"""How many older commands of a workflow are read. A run behind more of them waits: they are being taken meanwhile."""
_ANY = None
"""The key of a command whose key is unknown before it is handled: it may be any."""


class OlderCommands:
    """Queries of a batch about the command table, which no longer contains the batch's own commands."""

    def __init__(self, work: BatchWork, plans: Plans) -> None:
        self._work = work
        self._plans = plans

    async def oldest(self, lasts: Mapping[Line, CommandId]) -> dict[Line, CommandId]:
        """The oldest waiting command of each line that still has one older than in `lasts`. The workflows are locked.

        Lines without a key follow the order of their runs, and wait for no command. Raises `PlansMissing`.
        """
        before: dict[WorkflowCode, CommandId] = {}
        for line, command in lasts.items():
            if line.key:
                before[line.workflow_code] = max(command, before.get(line.workflow_code, command))
        if not before:
            return {}
        found = await older_starts(self._work.connection, before, OLDER_MAX)
        last_read = _last_read(found)
        found += await self._to_come(before)
        if not found:
            return {}
        found.sort(key=lambda each: each[0].id)
        oldest = await self._oldest_by_key(found)
        for code, last in last_read.items():
            oldest.setdefault((code, _ANY), last)
        waits: dict[Line, CommandId] = {}
        for line, command in lasts.items():
            if line.key:
                first = min(oldest.get((line.workflow_code, key), command) for key in (line.key, _ANY))
                if first < command:
                    waits[line] = first
        return waits

    async def _to_come(self, before: Mapping[WorkflowCode, CommandId]) -> list[tuple[CommandRow, str | None]]:
        """The older starts of this batch that are not handled yet."""
        coming = [
            (row, start)
            for row, start in self._work.starts_to_come
            if start.id < before.get(start.workflow_code, start.id)
        ]
        runs = {start.parent.instance for _, start in coming if start.parent is not None}
        above = await parameters_above(self._work.connection, runs) if runs else {}
        return [(row, above.get(start.parent.instance) if start.parent else None) for row, start in coming]

    async def _oldest_by_key(
        self, found: list[tuple[CommandRow, str | None]]
    ) -> dict[tuple[WorkflowCode, str | None], CommandId]:
        """The oldest command of each workflow and key."""
        connection = self._work.connection
        starts = [(command, above) for row, above in found if (command := _read(row)) is not None]
        content = await to_start.read(
            connection, [command for command, _ in starts], self._plans, self._work.writes.plans
        )
        now = await database_time(connection)
        oldest: dict[tuple[WorkflowCode, str | None], CommandId] = {}
        for command, above in starts:
            try:
                key = _key(command, content, above, now)
            except Refused:
                continue  # its error command has no place in a line
            if key != "":
                oldest.setdefault((command.workflow_code, key), command.id)
        return oldest


def _last_read(found: list[tuple[CommandRow, str | None]]) -> dict[WorkflowCode, CommandId]:
    """For workflows with unread commands, the last one that was read: later ones may have any key."""
    counts = Counter(row.workflow_code for row, _ in found)
    return {
        WorkflowCode(int(code or 0)): CommandId(max(row.id for row, _ in found if row.workflow_code == code))
        for code, count in counts.items()
        if count >= OLDER_MAX
    }


async def were_many(connection: AsyncConnection, handled: Mapping[WorkflowCode, int]) -> set[WorkflowCode]:
    """The workflows with more commands than are read, so that runs may have waited; `handled` counts a batch's
    starts."""
    many = {code for code, count in handled.items() if count >= OLDER_MAX}
    return many | await backlogs(connection, {c: OLDER_MAX - count for c, count in handled.items() if c not in many})


def _read(row: CommandRow) -> Start | None:
    try:
        command = read_command(row)
    except Refused:
        return None
    return command if isinstance(command, Start) else None


def _key(command: Start, content: ToStart, above: str | None, now: datetime) -> str | None:
    """The key of the run that the command would start now; empty without one. Raises `Refused`."""
    head, plan = content.startable(command)
    if not is_serial(plan) or plan.spec.serial_key is None:
        return ""
    if command.type is CommandType.COMPLEMENT_DATA:
        return _ANY  # its first date is computed when it is handled
    rule = rule_of(command, head)
    interval = None if rule is None else interval_at(rule, command.schedule_time or now)
    try:
        return parameters_of(command, head, plan, above, now, interval).key
    except NoInterval:
        if command.parent is not None:
            return _ANY  # it has the interval of its parent, which is read when it is handled
        raise
