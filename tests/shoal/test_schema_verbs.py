"""`shoal db wait` and `shoal db upgrade --plan`, on a database that has no schema yet."""

from __future__ import annotations

import json
from collections.abc import Iterator

import psycopg
import pytest

from tests.eventually import eventually
from tests.servers.postgres import PostgresServer
from tests.shoal.command_line import CommandLine


@pytest.fixture
def late(postgres_server: PostgresServer) -> Iterator[str]:
    """The URL of a database that does not exist yet; it is dropped in the end."""
    yield postgres_server.url("late")
    postgres_server.drop_database("late")


async def test_waiting_ends_when_the_schema_is_there(postgres_server: PostgresServer, late: str) -> None:
    shoal = CommandLine.at(late)
    waiting = await shoal.start("db", "wait", "--json")
    postgres_server.create_database("late")
    planned, made = await shoal.each("db upgrade --plan --json", "db init")
    assert json.loads(planned.out)["scripts"] == [{"version": 1, "script": "schema", "old_nodes_may_run": False}]
    assert made.code == 0
    await eventually(lambda: waiting.returncode is not None)
    out, err = await waiting.communicate()
    assert (waiting.returncode, json.loads(out)["schema_version"], err) == (0, 1, b"")


async def test_waiting_gives_up_with_what_is_missing(postgres_server: PostgresServer, late: str) -> None:
    nothing = await CommandLine.at(late)("db", "wait", "--within", "0.1")
    assert nothing.code == 77
    assert '"late" does not exist' in nothing.err.replace("\n", " ")
    postgres_server.create_database("late")
    empty = await CommandLine.at(late)("db", "wait", "--within", "0.1")
    assert empty.code == 2
    assert "has no Shoal schema; run `shoal db init`" in empty.err.replace("\n", " ")


@pytest.mark.parametrize("url", ["mysql://me@127.0.0.1/x", "postgresql+psycopg://me@127.0.0.1:1/x?unknown=1", ""])
async def test_waiting_ends_at_once_with_what_only_a_person_can_change(url: str) -> None:
    answer = await CommandLine.at(url)("db", "wait", "--within", "3600", within_s=200)
    assert answer.code == 78


async def test_waiting_ends_at_once_for_a_newer_schema_and_says_what_to_install(database_url: str) -> None:
    with psycopg.connect(database_url.replace("+psycopg", "")) as connection:
        connection.execute("INSERT INTO schema_version (version, name, program) VALUES (99, 'newer', '9.9.0')")
    answer = await CommandLine.at(database_url)("db", "wait", "--within", "3600", within_s=200)
    assert answer.code == 2
    assert "install Shoal 9.9.0 or newer" in answer.err.replace("\n", " ")


async def test_a_plan_for_the_schema_of_this_program_is_empty(database_url: str) -> None:
    answer = await CommandLine.at(database_url)("db", "upgrade", "--plan")
    assert answer.code == 0
    assert answer.out.splitlines()[1:] == ["Nothing is to do."]
