"""PROCEDURE tasks on a real PostgreSQL and a real MariaDB."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from model.errors import Refused
from tests.eventually import eventually
from tests.worker.statements.targets import Attempt, Target

HOSTILE = "o'hara\\'; DROP TABLE closed; -- %s $1"


def _with_procedures(target: Target) -> None:
    target.rows("CREATE TABLE closed (day date, shop varchar(100))")
    if target.kind == "postgresql":
        target.rows("CREATE SCHEMA sales")
        target.rows("""
            CREATE PROCEDURE sales.close_day(day date, shop text, INOUT total integer, OUT said text, OUT nothing text)
            LANGUAGE plpgsql AS $$
            BEGIN
                INSERT INTO closed VALUES (day, shop);
                total := total + 1;
                said := 'closed ' || shop;
            END $$
        """)
        target.rows(
            "CREATE PROCEDURE slow() LANGUAGE sql AS 'INSERT INTO closed VALUES (NULL, NULL); SELECT pg_sleep(600)'"
        )
    else:
        target.rows("""
            CREATE PROCEDURE close_day(d date, s varchar(100), INOUT total integer, OUT said text, OUT nothing text)
            BEGIN
                INSERT INTO closed VALUES (d, s);
                SELECT 'seen' AS a;
                SELECT 'more' AS b;
                SET total = total + 1, said = concat('closed ', s);
            END
        """)
        target.rows("CREATE PROCEDURE slow() BEGIN INSERT INTO closed VALUES (NULL, NULL); DO sleep(600); END")


def _arguments(total: str) -> list[dict[str, Any]]:
    return [
        {"type": "DATE", "value": "${day}"},
        {"value": "${shop}"},
        {"direct": "INOUT", "name": "total", "type": "INTEGER", "value": total},
        {"direct": "OUT", "name": "said"},
        {"direct": "OUT", "name": "nothing"},
    ]


@pytest.fixture(params=["postgresql", "mysql"])
def database(request: pytest.FixtureRequest) -> Target:
    made: Target = request.getfixturevalue("postgres" if request.param == "postgresql" else "mysql")
    _with_procedures(made)
    return made


async def test_in_values_are_bound_and_out_values_are_the_outputs(database: Target) -> None:
    name = "sales.close_day" if database.kind == "postgresql" else "close_day"
    attempt = Attempt(database.url, "PROCEDURE", values={"day": "2026-01-31", "shop": HOSTILE})
    result = await attempt.run(name=name, arguments=_arguments("41"))
    assert result.outputs == {"total": "42", "said": f"closed {HOSTILE}", "nothing": ""}
    assert [(str(day), shop) for day, shop in database.rows("SELECT * FROM closed")] == [("2026-01-31", HOSTILE)]
    assert f"CALL {name}, 5 arguments" in attempt.log.text
    assert HOSTILE not in attempt.log.text


async def test_a_value_of_another_type_is_refused_before_anything_is_called(database: Target) -> None:
    with pytest.raises(Refused, match='parameter "total" is INTEGER and must be a whole number'):
        values = {"day": "2026-01-31", "shop": "x"}
        await Attempt(database.url, "PROCEDURE", values=values).run(name="close_day", arguments=_arguments("many"))


async def test_a_missing_procedure_is_told_in_the_words_of_the_database(database: Target) -> None:
    with pytest.raises(Refused, match="nowhere"):
        await Attempt(database.url, "PROCEDURE").run(name="nowhere")


async def test_a_cancelled_call_leaves_nothing(database: Target) -> None:
    attempt = Attempt(database.url, "PROCEDURE")
    running = asyncio.create_task(attempt.run(name="slow"))
    if database.kind == "postgresql":
        busy = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    else:
        busy = "SELECT count(*) FROM information_schema.processlist WHERE info LIKE 'DO sleep%'"
    await eventually(lambda: database.rows(busy) == [(1,)])
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert database.rows(busy) == [(0,)]
    assert database.rows("SELECT * FROM closed") == []


@pytest.mark.parametrize("name", ["a; DROP TABLE x", "a()", "a b", "", '"a"', "a.b.c.d", "1a", "a.", "${evil}"])
async def test_what_is_no_name_of_a_procedure_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="is not a name of a procedure"):
        await Attempt("sqlite://", "PROCEDURE", values={"evil": "a; DROP TABLE x"}).run(name=name)


async def test_an_out_argument_needs_a_name() -> None:
    with pytest.raises(Refused, match=r"arguments\.0\.name: an OUT argument needs a name"):
        await Attempt("sqlite://", "PROCEDURE").run(name="p", arguments=[{"direct": "OUT"}])


@pytest.mark.parametrize("url", ["sqlite:///{}/a.db", "duckdb:///{}/a.db"])
async def test_a_database_without_procedures_says_so(url: str, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="has no stored procedures; use a task of type SQL"):
        await Attempt(url.format(tmp_path), "PROCEDURE").run(name="p")
