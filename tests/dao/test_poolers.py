"""PgBouncer in front: session mode works with every setting of our sessions, the others are refused by name."""

from __future__ import annotations

import asyncio
from typing import Literal

import pytest

import dao.postgres.connection
from dao.postgres import session_settings
from dao.postgres.database import Database, connect
from dao.postgres.listen import Listener
from dao.postgres.session_settings import STATEMENT_S_MAX
from dao.postgres.sql import Sql
from model.errors import Denied
from tests.conftest import AS_SHIPPED
from tests.eventually import eventually
from tests.servers.pgbouncer import PgBouncer
from tests.servers.postgres import PostgresServer
from tests.shoal.command_line import CommandLine


@pytest.fixture(autouse=True)
def _settings_as_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the longer time-outs that the other tests have."""
    monkeypatch.setattr(session_settings, "SESSION_SETTINGS", AS_SHIPPED)


@pytest.mark.parametrize("ignores", ["", "options"])
async def test_session_mode_has_each_setting_and_listens(
    postgres_server: PostgresServer, database_url: str, ignores: str
) -> None:
    with PgBouncer(postgres_server, "session", ignores) as pooler:
        url = f"{pooler.url(database_url)}?options=-cwork_mem%3D123kB"
        database, woken = Database(url, application_name="shoal-test"), list[str]()
        listening = asyncio.create_task(Listener(url, "shoal-ears", {"shoal_test": woken.append}).run())
        try:
            async with database.reading() as connection:
                rows = (await connection.execute(Sql("SELECT lower(name) AS name, setting FROM pg_settings"))).all()
                found = {row.name: row.setting for row in rows}
            assert found["statement_timeout"] == str(int(STATEMENT_S_MAX * 1000))
            assert found["work_mem"] == "123"
            assert found["datestyle"] == AS_SHIPPED["DateStyle"]
            assert found["application_name"] == "shoal-test"
            await eventually(lambda: woken == [""])
            async with database.writing() as connection:
                await connection.execute(Sql("SELECT pg_notify('shoal_test', 'heard')"))
            await eventually(lambda: woken[-1] == "heard")
        finally:
            listening.cancel()
            await asyncio.wait({listening})
            await database.close()


@pytest.mark.parametrize("mode", ["transaction", "statement"])
async def test_other_modes_are_refused_by_name(
    postgres_server: PostgresServer, database_url: str, mode: Literal["transaction", "statement"]
) -> None:
    with PgBouncer(postgres_server, mode, "options") as pooler:
        url = pooler.url(database_url)
        database = Database(url, application_name="shoal-test")
        with pytest.raises(Denied, match="PgBouncer is in transaction mode"):
            async with database.reading():
                raise AssertionError
        await database.close()
        with pytest.raises(Denied, match="set pool_mode = session"):
            await connect(url, "shoal-test")
        for verb in (("db", "check"), ("db", "upgrade"), ("doctor",), ("master",), ("runs",)):
            answer = await CommandLine.at(url)(*verb)
            assert answer.code != 0, verb
            assert "set pool_mode = session for this database, or connect to PostgreSQL directly" in (
                answer.err + answer.out
            ), verb


async def _is_refused(url: str, sentence: str) -> bool:
    try:
        await (await connect(url, "shoal-test")).close()
    except Denied as error:
        return sentence in str(error)
    return False


async def test_a_pooler_whose_mode_changes_later_is_refused_when_it_is_checked_again(
    postgres_server: PostgresServer, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PgBouncer(postgres_server, "session", "options") as pooler:
        url = pooler.url(database_url)
        await (await connect(url, "shoal-test")).close()
        pooler.change("pool_mode = transaction")
        monkeypatch.setattr(dao.postgres.connection, "POOLER_BELIEVED_S", 0.0)
        await eventually(lambda: _is_refused(url, "PgBouncer is in transaction mode"))
        answer = await CommandLine.at(url)("doctor")
        assert answer.code != 0
        assert "set pool_mode = session" in answer.err + answer.out


async def test_a_session_whose_settings_are_dropped_is_refused_with_the_first_of_them(
    postgres_server: PostgresServer, database_url: str
) -> None:
    with PgBouncer(postgres_server, "session", "options") as pooler:
        url = pooler.url(database_url)
        await (await connect(url, "shoal-test")).close()
        pooler.change("pool_mode = transaction", "server_reset_query_always = 1")
        dropped = 'statement_timeout was set to "6s" and is "0" in the next transaction; set pool_mode = session'
        await eventually(lambda: _is_refused(url, dropped))
