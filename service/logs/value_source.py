"""The values that a task gave: small ones as its row has them, large ones as the log store has them.

One value is read in slices, however large it is. What must be put together or looked into, a list in parts or a part of
JSON, is held here while it is read, so it has a bound.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import Field

from dao.run_lists import run_listings
from dao.tasks import attempt_listings
from model.accounts.rights import Right, is_seen
from model.errors import NotFound, Refused
from model.files.handed_files import HandedFile, handed_file
from model.ids import TaskInstanceId
from model.logs.name import name_of
from model.near import nearest
from model.parameters.large_values import (
    WHOLE_BYTES_MAX,
    Content,
    LargeValue,
    ValuesMissing,
    expanded,
    forget,
    large_value,
    remember,
)
from model.parameters.parameters import parse_parameters
from model.parameters.results import find
from service.byte_stream import SLICE_BYTES_MAX, Slice, Source, StreamQuery, stream
from service.call import Call
from service.fields import Id
from service.logs.stored_logs import StoredLogs
from service.logs.task_output import Text

if TYPE_CHECKING:
    from logstore.protocol import Advanced, LogStore

R = TypeVar("R")


class ValueQuery(StreamQuery):
    """Which value, and which part of its bytes."""

    name: Annotated[
        str, Field(min_length=1, max_length=1000, description="of a value, or a path into it: rows, files[0].name")
    ]


@dataclass(frozen=True)
class StoredValue:
    """A large value, or a file that was handed on, as a `Source`."""

    id: int
    project: str | None
    value: LargeValue | HandedFile
    stored: StoredLogs

    @property
    def file_name(self) -> str:
        name = self.value.name
        return _file_name(self.id, name, "" if isinstance(self.value, HandedFile) else ".txt")

    async def read(self, offset: int, limit: int = SLICE_BYTES_MAX) -> Slice:
        """See `Source`. Raises `NotFound` if its file is gone, or is another one."""
        value, end = self.value, min(offset + min(limit, SLICE_BYTES_MAX), self.value.size)
        try:
            if offset == 0 and await self.stored.run(lambda store, _: store.size(value.key)) != value.size:
                raise NotFound(value.key)
            if offset >= end:
                return Slice(b"", value.size, is_complete=True)
            data = await self.stored.run(lambda store, _: store.read(value.key, offset, end - offset))
        except NotFound:
            raise NotFound(f"the log store has no longer {value.said}; run the task again") from None
        return Slice(data, value.size, is_complete=True)

    async def aclose(self) -> None:
        """See `Source`: the store stays open for others."""


@stream("/task-instances/{id}/value", Right.VIEW, "task-instances")
async def read_value(call: Call, id: Id, query: ValueQuery) -> Source:
    """Read a value that an attempt gave, or a part of it by a path, as text; JSON as JSON, a FILE as its bytes.

    A value of more than 64 KiB comes from the log store; its SHA-256 is in the attempt's `outputs`. What has to be put
    together or looked into may have 16 MiB.
    """
    found = await call.read(attempt_listings.attempt, TaskInstanceId(id))
    call.permit(found.project)
    values = parse_parameters(found.task.outputs or "{}", "its outputs")
    stored = call.backend.stored_logs
    part = await _with_contents(stored, lambda: find(values, query.name))
    if part is None or part.text is None:
        near = nearest(query.name, values)
        cure = f"did you mean {near}?" if near else f"it gave {', '.join(sorted(values)[:20]) or 'nothing'}"
        raise NotFound(f'task "{found.task.name}" ({id}) gave no "{query.name}"; {cure}')
    text = part.text
    if (file := handed_file(text)) is not None:
        await _permit_file(call, file, found.run)
        return StoredValue(id, found.project, file, stored)
    if (large := large_value(text)) is not None and not (large.in_parts or large.is_lost):
        return StoredValue(id, found.project, large, stored)
    return Text(id, found.project, _file_name(id, query.name), await _with_contents(stored, lambda: expanded(text)))


async def _with_contents(stored: StoredLogs, work: Callable[[], R]) -> R:
    """What some work on values comes to, with the large ones that it turns out to need. Raises `Refused` if those are
    more than may be held."""
    read: dict[LargeValue, None] = {}
    try:
        while True:
            try:
                return await asyncio.to_thread(work)
            except ValuesMissing as missing:
                for value in missing.values:
                    read[value] = None
                    if (size := sum(each.size for each in read)) > WHOLE_BYTES_MAX:
                        raise Refused(
                            f"{value.said} would have to be looked into, with {size:,} bytes in all, and at most "
                            f"{WHOLE_BYTES_MAX:,} are; read the whole of it by its name"
                        ) from None
                    remember(value, Content(await stored.run(partial(_text, value))))
    finally:
        for value in read:
            forget(value)


def _text(value: LargeValue, store: LogStore, advanced: Advanced) -> str:
    from logstore import value_files

    return value_files.read(store, advanced, value)


async def _permit_file(call: Call, file: HandedFile, run: int) -> None:
    """The right to see one run opens no file of another, such as a child of another project, whatever its tasks
    print."""
    kept = name_of(file.key)
    if kept is None or kept.workflow_instance_id != run:
        async with call.reading() as connection:
            found = (
                () if kept is None else (await run_listings.present(connection, [kept.workflow_instance_id])).values()
            )
        if not any(is_seen(of.project, call.visible()) for of in found):
            raise NotFound(f"{file.said} is of another run, which you may not see")


def _file_name(id_: int, name: str, suffix: str = ".txt") -> str:
    plain = "".join(each if each.isascii() and (each.isalnum() or each in "_.-") else "_" for each in name)
    return f"task-{id_}-{plain}{suffix}"
