"""Rows as arrays: one parameter for each column, so that a statement has the same text for any number of rows.

Arrays of the frequent types are sent as text in PostgreSQL's notation: psycopg looks at each element several times,
which took longer than the server takes to read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any

from dao.postgres.sql import Sql, parameters_of


class RowArrays:
    """The columns of the rows that a statement gets, and where their values come from.

    Args:
        statement: its columns are its parameters of the form `CAST(:name AS type[])`.
        getters: name of a column -> how its value is read from a row; else it is what `getter_of` reads.
    """

    def __init__(self, statement: Sql, getters: Mapping[str, Callable[[Any], object]] | None = None) -> None:
        columns = {name: type_ for name, type_ in parameters_of(statement.text).items() if type_}
        own = getters or {}
        assert own.keys() <= columns.keys(), own.keys() - columns.keys()
        self._values = tuple(
            (name, own.get(name) or getter_of(name), notation_of(type_)) for name, type_ in columns.items()
        )

    def values(self, rows: Sequence[object]) -> dict[str, object]:
        return {name: notation(list(map(get, rows))) for name, get, notation in self._values}


def getter_of(path: str) -> Callable[[Any], Any]:
    """How `name` or `name.inner` is read from a row by its attributes, `0` or `0.name` from a part of a tuple."""
    first, _, rest = path.partition(".")
    if not first.isdecimal():
        return attrgetter(path)
    part, get = itemgetter(int(first)), attrgetter(rest) if rest else None
    return part if get is None else lambda row: get(part(row))


def notation_of(type_: str) -> Callable[[list[Any]], object]:
    """How an array of elements of an SQL type is sent."""
    return _NOTATIONS.get(type_, list)


def _numbers(values: Sequence[int | None]) -> str:
    return "{" + ",".join(["NULL" if value is None else str(value) for value in values]) + "}"


def _floats(values: Sequence[float | None]) -> str:
    return "{" + ",".join(["NULL" if value is None else repr(float(value)) for value in values]) + "}"


def _booleans(values: Iterable[bool | None]) -> str:
    return "{" + ",".join(["NULL" if value is None else "t" if value else "f" for value in values]) + "}"


def _texts(values: Sequence[str | None]) -> str:
    notations = {value: _text(value) for value in set(values)}  # of most columns there are few different values
    return "{" + ",".join([notations[value] for value in values]) + "}"


def _text(value: str | None) -> str:
    return "NULL" if value is None else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


_NOTATIONS: Mapping[str, Callable[[list[Any]], object]] = {
    **dict.fromkeys(("bigint", "integer", "smallint"), _numbers),
    "double precision": _floats,
    "boolean": _booleans,
    "text": _texts,
}
"""SQL type -> how a column of it is sent; a column of another type is left to psycopg."""
