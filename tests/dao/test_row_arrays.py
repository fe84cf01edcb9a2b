"""What is sent as an array arrives as it was, whatever the texts are."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dao.postgres.database import Database
from dao.postgres.row_arrays import RowArrays
from dao.postgres.sql import Sql
from model.runs.states import TaskState


@dataclass(frozen=True)
class Row:
    """One value of each type."""

    word: str | None
    number: int | None
    share: float | None
    flag: bool | None


ODD = [
    "",
    " ",
    "NULL",
    "null",
    '"',
    "\\",
    '\\"',
    "{}",
    "{a,b}",
    "a,b",
    "'",
    "\n\t",
    "ä€😀",
    '{"a": "\\"b"}',
    ":x",
    "%s",
]
STATEMENT = Sql("""
    SELECT * FROM unnest(CAST(:word AS text[]), CAST(:number AS bigint[]), CAST(:share AS double precision[]),
                         CAST(:flag AS boolean[]))
""")
ARRAYS = RowArrays(STATEMENT)
ROWS = [
    *(Row(word, 1, 1.0, True) for word in ODD),
    Row(None, None, None, None),
    Row(TaskState.SUCCESS, -(1 << 63), math.inf, False),
    Row("x" * 100_000, (1 << 63) - 1, 1, True),
    Row("x", 0, 0.1 + 0.2, False),
]


async def test_every_value_of_a_row_arrives_as_it_was(database_url: str) -> None:
    database = Database(database_url, application_name="test")
    async with database.reading() as connection:
        for rows in (ROWS, []):
            found = (await connection.execute(STATEMENT, ARRAYS.values(rows))).all()
            assert [Row(*row) for row in found] == rows
    await database.close()
