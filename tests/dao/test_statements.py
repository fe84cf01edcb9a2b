"""Functions that are statements: the server gives the columns that their signatures say."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from psycopg.pq import ExecStatus

from dao.postgres.database import Database
from dao.postgres.notify import collecting
from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import changing, made_by, missing, notifying, reader_of, statement
from model.changes import Changes
from model.errors import NotFound
from model.runs.states import TaskState
from tests.every import every

INTERVAL = 1186
DAO = Path(__file__).parents[2] / "dao"


def statements() -> Iterator[Callable[..., Any]]:
    for file in sorted(DAO.rglob("*.py")):
        module = importlib.import_module(".".join(file.relative_to(DAO.parent).with_suffix("").parts))
        for value in vars(module).values():
            if inspect.isfunction(value) and hasattr(value, "sql") and value.__module__ == module.__name__:
                yield value


@every("function", statements())
async def test_a_statement_gives_the_columns_of_its_type(database: Database, function: Any) -> None:
    numbers = count(1)
    text = re.sub(rb"%\(([\w.]+)\)s", lambda _: b"$%d" % next(numbers), function.sql.query).replace(b"%%", b"%")
    names = re.findall(r"%\(([\w.]+)\)s", function.sql.query.decode())
    module = sys.modules[function.__module__]
    assert not [name for name in names if name.isupper() and not hasattr(module, name)]
    async with database.reading() as connection:
        driver = connection.driver.pgconn
        prepared = driver.prepare(b"", text, [_oid(function, name) for name in names])
        assert prepared.status == ExecStatus.COMMAND_OK, prepared.error_message.decode()
        columns = driver.describe_prepared(b"").nfields
    type_ = get_type_hints(function)["return"]
    if type_ is NoneType or hasattr(function, "made"):
        return
    if type_ in (int, bool):
        assert columns <= 1
        return
    origin, inner = get_origin(type_), get_args(type_)
    if origin in (dict, Mapping):
        assert columns == sum(reader_of(get_args(each)[0] if get_origin(each) is list else each)[1] for each in inner)
    else:
        assert columns == reader_of(inner[0] if origin in (list, set, Sequence) else type_)[1]


@dataclass(frozen=True)
class Named:
    name: str
    state: TaskState | None


LONGEST = 5


@missing("there is nothing above {least}")
@statement(
    "SELECT least.name, :state FROM (SELECT max(n) AS name FROM unnest(CAST(:given.name AS text[])) AS u (n)) least "
    "WHERE length(name) BETWEEN :least AND :LONGEST"
)
async def named(connection: AsyncConnection, given: Sequence[Named], state: str | None, least: int = 1) -> Named: ...


async def test_arguments_their_attributes_and_constants_are_bound_and_rows_have_their_types(database: Database) -> None:
    given = [Named("a", None), Named('b"\\', None)]
    async with database.reading() as connection:
        assert await named(connection, given, state=None) == Named('b"\\', None)
        assert (await named(connection, given, "SUCCESS")).state is TaskState.SUCCESS
        with pytest.raises(NotFound, match="nothing above 4"):
            await named(connection, given, None, 4)


@notifying("shoal_test", named=True)
@changing(lambda result: Changes(runs=set(result)))
@made_by(lambda row: row.number + 1)
@statement(
    "SELECT key, number FROM unnest(CAST(:given AS bigint[]), CAST(:given.values.0 AS bigint[])) AS u (key, number)"
)
async def grouped(connection: AsyncConnection, given: Mapping[int, tuple[int, str]]) -> dict[int, list[int]]: ...


async def test_what_is_made_of_rows_is_grouped_and_said_to_those_whom_it_concerns(database: Database) -> None:
    async with database.reading() as connection:
        with collecting(connection, None) as notices:
            found = await grouped(connection, {1: (4, "a"), 2: (5, "b")})
            assert (found, found[3]) == ({1: [5], 2: [6], 3: []}, [])
            ((_, sent),) = notices.statements()
            assert ("shoal_test", "1,2") in zip(sent["channels"], sent["payloads"], strict=True)
            assert notices.changes.runs == {1, 2}
        with collecting(connection, None) as notices:
            await grouped(connection, {})
            assert notices.statements() == []


def _oid(function: Callable[..., Any], name: str) -> int:
    """The type that psycopg names; 0: it leaves it to the server, as we do here."""
    constant = isinstance(vars(sys.modules[function.__module__]).get(name), timedelta)
    return INTERVAL if constant or function.__annotations__.get(name) == "timedelta" else 0
