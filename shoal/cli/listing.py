"""The lists that verbs print: each column is declared once, with what it shows of a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Generic, TypeVar

from service.cluster import clock
from service.words import past_or_ahead
from shoal.cli.invocation import Invocation
from shoal.cli.output import Column, hint, needs_table, table

if TYPE_CHECKING:
    from pydantic import BaseModel

    from shoal.clients.client import Client

T = TypeVar("T", bound="BaseModel")


@dataclass(frozen=True)
class Field(Generic[T]):
    """A column of a list.

    Args:
        title: its heading.
        of: the value for a row. A time is shown relative to now, or exactly with --utc; the items of a list are joined;
            `-` stands for None and for an empty list.
        keep: see `Column`.
        rare: omitted if it is empty in every row.
    """

    title: str
    of: Callable[[T], object]
    keep: int | None = None
    right: bool = False
    sentence: bool = False
    rare: bool = False


@dataclass(frozen=True)
class Listing(Generic[T]):
    """A list of rows.

    Args:
        fields: its columns.
        none: the sentence if it has no row.
        first: the next command in that case.
        then: the next command after rows; made from the first one, or the same for all.
    """

    fields: Sequence[Field[T]]
    none: str
    first: str = ""
    then: Callable[[T], str] | str = ""

    async def show(self, call: Invocation, client: Client, found: Sequence[T]) -> None:
        """Print these rows as a table or JSON, or that there are none."""
        if not needs_table(call, found, self.none, self.first):
            return
        table(*columns_of(self.fields, found, (await client.ask(clock.read_clock)).now, utc=call.utc))
        if then := self.then if isinstance(self.then, str) else self.then(found[0]):
            hint(then)


def columns_of(fields: Sequence[Field[T]], found: Sequence[T], now: datetime, *, utc: bool) -> list[Column]:
    """The columns of these rows, without empty rare ones."""
    columns = []
    for field in fields:
        values = [field.of(each) for each in found]
        if any(values) or not field.rare:
            shown = [_shown(value, now, utc=utc) for value in values]
            columns.append(Column(field.title, shown, field.keep, right=field.right, sentence=field.sentence))
    return columns


def _shown(value: object, now: datetime, *, utc: bool) -> object:
    if isinstance(value, datetime):
        return past_or_ahead(value, now, utc=utc)
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "-"
    return "-" if value is None else value
