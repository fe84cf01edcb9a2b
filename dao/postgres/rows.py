"""What a statement answered: rows whose columns have names, all of them in memory."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import psycopg

if TYPE_CHECKING:

    class Row(tuple[Any, ...]):
        """A tuple; a column whose name is a word is an attribute too."""

        def __getattr__(self, name: str) -> Any: ...
        def _asdict(self) -> dict[str, Any]: ...
else:
    Row = tuple


class Rows:
    """The rows of one statement, and how many it wrote or gave (`rowcount`; -1: unknown)."""

    __slots__ = ("_rows", "rowcount")

    def __init__(self, rows: list[Row], rowcount: int) -> None:
        self._rows = rows
        self.rowcount = rowcount

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def all(self) -> list[Row]:
        return self._rows

    def first(self) -> Row | None:
        return self._rows[0] if self._rows else None

    def one(self) -> Row:
        (row,) = self._rows
        return row

    def scalars(self) -> list[Any]:
        """The first column."""
        return [row[0] for row in self._rows]

    def scalar(self) -> Any:
        """The first column of the first row; None if there is none."""
        return self._rows[0][0] if self._rows else None

    def scalar_one(self) -> Any:
        """The first column of the only row."""
        return self.one()[0]


def named_rows(cursor: psycopg.AsyncCursor[Any]) -> Callable[[Sequence[Any]], Row]:
    """psycopg's factory of `Row`. Unlike its own for named tuples it takes two columns of one name, and any name."""
    result = cursor.pgresult
    assert result is not None
    return _row_type(tuple(result.fname(n) or b"" for n in range(result.nfields)))


@lru_cache(maxsize=2_000)
def _row_type(columns: tuple[bytes, ...]) -> Callable[[Sequence[Any]], Row]:
    names = [each.decode() for each in columns]
    made = namedtuple("Row", names, rename=True)  # type: ignore[misc]
    return cast(Callable[[Sequence[Any]], Row], made._make)
