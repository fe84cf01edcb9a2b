"""A server, a database or a role with settings of its own: our sessions have ours, from the first statement on."""

from __future__ import annotations

from pathlib import Path

import pytest
from psycopg import sql
from sqlalchemy import make_url

from dao.postgres.database import Database
from dao.postgres.sql import Sql
from model.errors import Denied
from tests.cluster.cluster import PATIENT, Cluster
from tests.servers.postgres import PostgresServer
from tests.shoal.command_line import CommandLine

FOREIGN = {
    "DateStyle": "German",
    "IntervalStyle": "sql_standard",
    "TimeZone": "Asia/Kolkata",
    "client_encoding": "LATIN1",
    "bytea_output": "escape",
    "extra_float_digits": "-10",
    "array_nulls": "off",
    "standard_conforming_strings": "off",
    "transform_null_equals": "on",
    "statement_timeout": "1h",
    "idle_session_timeout": "10s",
    "client_min_messages": "error",
}
VALUES = Sql("""
    SELECT timestamptz '2026-03-01 12:00:00+00', interval '-1 day 02:03:04', 'é€'::text, '\\x00ff'::bytea,
           0.1::float8 + 0.2::float8, CAST(:values AS text[]), '\\n'::text, current_setting('statement_timeout')
""")


def make_foreign(server: PostgresServer, name: str) -> None:
    with server.connect() as connection:
        for setting, value in FOREIGN.items():
            connection.execute(
                sql.SQL("ALTER DATABASE {} SET {} = {}").format(
                    sql.Identifier(name), sql.Identifier(setting.lower()), sql.Literal(value)
                )
            )


async def values(database: Database) -> tuple[object, ...]:
    async with database.reading() as connection:
        return tuple((await connection.execute(VALUES, {"values": ["NULL", None, "é"]})).one())


async def test_values_are_the_same_whatever_the_database_has(
    postgres_server: PostgresServer, database_url: str, database: Database
) -> None:
    expected = await values(database)
    make_foreign(postgres_server, str(make_url(database_url).database))
    foreign = Database(database_url, application_name="shoal-foreign")
    assert await values(foreign) == expected
    await foreign.close()


async def test_a_cluster_begins_and_goes_on_under_foreign_settings(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    url = postgres_server.create_database("foreign")
    make_foreign(postgres_server, "foreign")
    shoal = CommandLine.at(url)
    made, again = await shoal.each("db init", "db check")
    assert (made.code, again.code) == (0, 0), made.err + again.err
    with Cluster(url, url, tmp_path, PATIENT) as cluster:
        await cluster.master()
        await cluster.worker()
        (tmp_path / "w.yaml").write_text("name: w\ntasks: [{name: a, type: SHELL, params: {script: 'echo é'}}]\n")
        applied, ran, doctor = await shoal.each(f"workflow apply {tmp_path / 'w.yaml'}", "run w --wait", "doctor")
        assert (applied.code, ran.code) == (0, 0), applied.err + ran.err + ran.out
        assert "✗" not in doctor.out
    postgres_server.drop_database("foreign")


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
async def test_a_database_of_another_encoding_is_refused_at_init(
    postgres_server: PostgresServer, encoding: str
) -> None:
    with postgres_server.connect() as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE other ENCODING {} TEMPLATE template0 LOCALE 'C'").format(sql.Literal(encoding))
        )
    url = postgres_server.url("other")
    answer = await CommandLine.at(url)("db", "init")
    assert answer.code == 2
    assert f"has the encoding {encoding}, and Shoal needs UTF8" in answer.sentence
    postgres_server.drop_database("other")


async def test_an_option_that_the_server_does_not_take_is_said_in_one_sentence(database_url: str) -> None:
    database = Database(f"{database_url}?options=-cno_such%3D1", application_name="shoal-test")
    with pytest.raises(Denied, match='unrecognized configuration parameter "no_such"; correct options'):
        await values(database)
    await database.close()
