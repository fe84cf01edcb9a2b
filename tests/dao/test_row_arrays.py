"""What is sent as an array arrives as it was, whatever the texts are."""

from __future__ import annotations

import importlib
import math
import re
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import TextClause, text

from dao.postgres.database import Database
from dao.postgres.row_arrays import RowArrays
from model.runs.states import TaskState
from tests.every import every


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
ARRAYS = RowArrays({"word": "text", "number": "bigint", "share": "double precision", "flag": "boolean"})
STATEMENT = text("""
    SELECT * FROM unnest(CAST(:word AS text[]), CAST(:number AS bigint[]), CAST(:share AS double precision[]),
                         CAST(:flag AS boolean[]))
""")
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


DAO = Path(__file__).parents[2] / "dao"
USERS = [
    ".".join(path.relative_to(DAO.parent).with_suffix("").parts)
    for path in sorted(DAO.rglob("*.py"))
    if " = RowArrays(" in path.read_text("utf-8")
]


@every("module", USERS)
def test_a_statement_casts_each_column_to_the_type_in_which_it_is_sent(module: str) -> None:
    names = vars(importlib.import_module(module))
    casts = [
        set(re.findall(r"CAST\(:(\w+) AS ([\w ]+)\[\]\)", each.text))
        for each in names.values()
        if isinstance(each, TextClause)
    ]
    for arrays in (each for each in names.values() if isinstance(each, RowArrays)):
        assert any(set(arrays.columns.items()) <= cast for cast in casts), sorted(arrays.columns)
