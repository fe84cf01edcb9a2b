"""`shoal db psql`: psql on our database, and nothing secret where others can read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.psql import psql_environment
from tests.servers.postgres import PostgresServer
from tests.shoal.command_line import CommandLine

FAKE = """#!/bin/sh
tr '\\0' ' ' < /proc/$$/cmdline
echo
echo "$PGHOST $PGPORT $PGUSER $PGDATABASE $PGPASSWORD $PGSSLMODE"
"""


async def test_psql_gets_the_password_by_environment_and_never_as_an_argument(tmp_path: Path) -> None:
    program = tmp_path / "psql"
    program.write_text(FAKE)
    program.chmod(0o755)
    url = "postgresql+psycopg://anna:s3cr%40t@db.example:5433/shoal?sslmode=require"
    line = CommandLine.at(url, PATH=f"{tmp_path}:/usr/bin:/bin")
    told = (await line("db", "psql", "-c", "SELECT 1", "--tuples-only", "-f", "x.sql")).out.splitlines()
    assert told[0].endswith("psql -c SELECT 1 --tuples-only -f x.sql ")
    assert "s3cr" not in told[0]
    assert told[1] == "db.example 5433 anna shoal s3cr@t require"


async def test_psql_comes_to_the_database_of_the_settings(postgres_server: PostgresServer, database_url: str) -> None:
    line = CommandLine.at(database_url, PGDATABASE="postgres", PGPORT="1")
    answer = await line("db", "psql", "-Atc", "SELECT count(*) > 0 FROM schema_version")
    assert (answer.code, answer.out) == (0, "t\n"), answer.err


async def test_without_psql_the_sentence_says_so(tmp_path: Path) -> None:
    answer = await CommandLine.at("postgresql://a@b/c", PATH=str(tmp_path))("db", "psql")
    assert "there is no psql on this machine" in answer.sentence


@pytest.mark.parametrize("url", ["postgresql+psycopg://a@/db?host=/run/pg&port=5544", "postgresql://h/db"])
def test_what_the_url_leaves_out_is_not_taken_from_another_database(url: str) -> None:
    found = psql_environment(url, {"PGPASSWORD": "other", "PGSERVICE": "other", "PGHOST": "other", "HOME": "/root"})
    assert "other" not in found.values()
    assert found["PGDATABASE"] == "db"
    assert found["HOME"] == "/root"
