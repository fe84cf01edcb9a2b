"""The schedules that a workflow's file lists: after `apply` the workflow has those, and those that people added.

The column `from_file` distinguishes them. One that a person added and the file lists too becomes the file's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from dao.definitions import definitions, schedule_contents, schedules
from dao.definitions.definitions import Definition
from dao.definitions.schedule_contents import StoredSchedule
from dao.postgres.pool import AsyncConnection
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.ids import ScheduleId
from model.parameters.parameters import parse_parameters
from model.time.schedules import ScheduleSpec
from service.runs.start_check import check_all_values, check_start, check_values
from service.schedules.schedule_entry import ScheduleEntry
from service.secrets.key_settings import SecretSettings
from service.workflows.sealing import sealed_schedule


@dataclass(frozen=True)
class ScheduleChange:
    """What `apply` did to one schedule; `spec` is None for one that it removed.

    `listed`: a person had added it, and it is the file's from now on.
    """

    id: ScheduleId
    what: Literal["added", "changed", "listed", "removed"]
    spec: ScheduleSpec | None = None

    def __str__(self) -> str:
        """Without a full stop."""
        if self.spec is None:
            return f"Schedule {self.id} is removed: the file no longer lists it"
        when = f"{self.spec.table.cron.in_words}, in {self.spec.time_zone}"
        if self.what == "listed":
            return f"Schedule {self.id} was added by hand and is the file's from now on: {when}"
        return f"Schedule {self.id} is {self.what}: {when}"


async def save_schedules(
    connection: AsyncConnection,
    head: Definition,
    entries: Sequence[ScheduleEntry],
    of_workflow: str,
    secrets: SecretSettings,
    now: datetime,
) -> list[ScheduleChange]:
    """Give a workflow the schedules of its file; returns what changed.

    Equal ones stay as they are. Of the others each one that the file listed before becomes one that it lists now, and
    keeps its id; the rest is added or removed.

    Args:
        of_workflow: the workflow's time zone.
    Raises:
        Refused: one has a parameter that the workflow does not know, or lacks a required one, or is ONLINE and would
            never fire.
    """
    await definitions.lock(connection, head.code)
    left = await schedule_contents.contents_of(connection, head.code)
    left.sort(key=lambda each: not each.from_file)
    changes: list[ScheduleChange] = []
    unlike: list[tuple[ScheduleEntry, ScheduleSpec]] = []
    for entry in entries:
        await check_start(connection, head, entry.params, [], None)
        await check_all_values(connection, head, entry.params)
        spec = await sealed_schedule(connection, head, entry.spec(of_workflow), secrets, left)
        equal = next((each for each in left if each.spec is not None and each.spec.identity == spec.identity), None)
        if equal is None:
            unlike.append((entry, spec))
        else:
            left.remove(equal)
            changes += await _change(connection, equal, entry, spec, now)
    former = [each for each in left if each.from_file]
    for (entry, spec), stored in zip(unlike, former, strict=False):
        changes += await _change(connection, stored, entry, spec, now)
    for entry, spec in unlike[len(former) :]:
        if entry.online:
            spec.checked(now)
        id_ = await schedules.insert(connection, head.code, spec, online=entry.online)
        await schedule_contents.list_in_file(connection, id_)
        changes.append(ScheduleChange(id_, "added", spec))
    for stored in former[len(unlike) :]:
        await schedules.remove(connection, stored.id)
        changes.append(ScheduleChange(stored.id, "removed"))
    return changes


async def schedules_unfit(connection: AsyncConnection, head: Definition, spec: WorkflowSpec) -> list[str]:
    """What is wrong with schedules that are there already, for what the workflow declares now: a sentence for each."""
    said = []
    for stored in await schedule_contents.contents_of(connection, head.code):
        try:
            check_values(head, spec, parse_parameters(stored.params, "params"))
        except Refused as error:
            said.append(f"what schedule {stored.id} starts will be refused: {error}")
    return said


async def _change(
    connection: AsyncConnection, stored: StoredSchedule, entry: ScheduleEntry, spec: ScheduleSpec, now: datetime
) -> list[ScheduleChange]:
    """Raises `Refused` for one that goes ONLINE or is another, and would never fire; one that is over may stay."""
    is_other = stored.spec is None or not _means(stored.spec, spec)
    if entry.online and (is_other or not stored.online):
        spec.checked(now)
    if is_other:
        await schedules.change(connection, stored.id, spec)
    if stored.online != entry.online:
        await schedules.set_state(connection, stored.id, online=entry.online)
    await schedule_contents.list_in_file(connection, stored.id)
    if is_other or stored.online != entry.online:
        return [ScheduleChange(stored.id, "changed", spec)]
    return [] if stored.from_file else [ScheduleChange(stored.id, "listed", spec)]


def are_equal(some: Sequence[tuple[ScheduleSpec, bool]], others: Sequence[tuple[ScheduleSpec, bool]]) -> bool:
    """Whether these are the same schedules, each with whether it is ONLINE, in any order."""
    left = list(others)
    for spec, online in some:
        found = next((each for each in left if each[1] == online and _means(each[0], spec)), None)
        if found is None:
            return False
        left.remove(found)
    return not left


def _means(stored: ScheduleSpec, spec: ScheduleSpec) -> bool:
    """Whether they are the same, however the cron text and the JSON of the parameters are written."""
    as_written = replace(stored, crontab=spec.crontab, params=spec.params)
    return stored.identity == spec.identity and as_written == spec
