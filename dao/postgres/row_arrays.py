"""Rows as arrays: one parameter for each column, so that a statement has the same text for any number of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any


class RowArrays:
    """The columns of the rows that a statement gets, and where their values come from.

    Args:
        columns: name of a column -> its SQL type; the value of a row is its attribute of that name.
        getters: name of a column -> how its value is read from a row, where it is not that attribute.
    """

    def __init__(
        self, columns: Mapping[str, str], getters: Mapping[str, Callable[[Any], object]] | None = None
    ) -> None:
        self.names = tuple(columns)
        self._floats = {name for name, type_ in columns.items() if type_ == "double precision"}
        self._getters: dict[str, Callable[[Any], object]] = {
            **{name: attrgetter(name) for name in columns},
            **(getters or {}),
        }
        self.arrays = f"unnest({', '.join(f'CAST(:{name} AS {type_}[])' for name, type_ in columns.items())})"
        self.unnest = f"{self.arrays} AS n ({', '.join(columns)})"
        """The rows as a table `n` in a FROM clause."""

    def values(self, rows: Sequence[object]) -> dict[str, object]:
        """The parameters of `unnest`."""
        return {name: list(self._column(name, map(get, rows))) for name, get in self._getters.items()}

    def _column(self, name: str, values: Iterable[Any]) -> Iterable[object]:
        if name in self._floats:  # psycopg takes no list of ints and floats
            return (None if value is None else float(value) for value in values)
        return values
