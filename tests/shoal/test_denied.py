"""Waits that outlast an outage, and do not wait for what only a person can change."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest
from sqlalchemy import URL, make_url

from dao.postgres.database import Database, connect
from dao.postgres.errors import translated
from dao.postgres.readiness import wait_until_ready
from metrics.health import Health
from model.errors import Denied, Unavailable
from model.ids import CommandId
from node.lives import live_until_stopped
from registry.postgres import PostgresRegistry
from service.callers import Caller
from shoal.backend import backend_of
from shoal.clients.direct import DirectClient
from shoal.clients.waiting import follow_command
from shoal.config.settings import load_settings
from tests.servers.postgres import PostgresServer

WITHIN_S = 30
"""Less than each of the waits would take."""
ROLE = "someone_without_rights"


def text(url: URL) -> str:
    return url.render_as_string(hide_password=False)


@pytest.fixture
def without_rights(postgres_server: PostgresServer, database_url: str) -> Iterator[str]:
    """The database of a user who may connect, and no more."""
    with postgres_server.connect() as by_hand:
        by_hand.execute(f"CREATE ROLE {ROLE} LOGIN PASSWORD 'secret'")
        yield text(make_url(database_url).set(username=ROLE, password="secret"))
        by_hand.execute(f"DROP ROLE {ROLE}")


async def test_a_start_does_not_wait_for_another_password_or_database(database_url: str) -> None:
    url = make_url(database_url)
    for wrong, said in (
        (url.set(password="other"), 'password authentication failed for user "shoal"; fix user and password'),
        (url.set(database="nowhere"), 'database "nowhere" does not exist; create it, or fix its name'),
    ):
        async with asyncio.timeout(WITHIN_S):
            with pytest.raises(Denied, match=said):
                await wait_until_ready(text(wrong), "master", 600)
            with pytest.raises(Denied):
                await connect(text(wrong), "shoal-test")


async def test_a_login_that_a_server_refuses_in_another_language_may_pass_and_says_what_it_may_be(
    database_url: str,
) -> None:
    """The client library gives no code for it. The connection is that of a real refusal, the text that of a server."""
    plain = make_url(database_url).set(drivername="postgresql")
    with pytest.raises(psycopg.OperationalError) as refused:
        psycopg.connect(text(plain.set(password="other")))
    said = "connection failed: FATAL:  Passwort-Authentifizierung für Benutzer »shoal« fehlgeschlagen"
    error = translated(psycopg.OperationalError(said, pgconn=refused.value.pgconn))
    assert type(error) is Unavailable
    assert str(error) == (
        f"the database took the password and then ended the connection: {said}; "
        "if this does not pass, fix user, password or database name in the database URL"
    )
    with pytest.raises(psycopg.OperationalError) as away:
        psycopg.connect(text(plain.set(port=1)))
    assert "fix user" not in str(translated(away.value))


async def test_no_wait_outlasts_a_missing_right(without_rights: str) -> None:
    database = Database(without_rights, application_name="shoal-test")
    backend = backend_of(database, load_settings({"database_url": without_rights}))
    client = DirectClient(backend, Caller.of_system_user("test"))
    registry = PostgresRegistry(without_rights, session_timeout=timedelta(seconds=3), application_name="shoal-test")
    try:
        async with asyncio.timeout(WITHIN_S):
            for waiting in (
                wait_until_ready(without_rights, "master", 600),
                follow_command(client, CommandId(1)),
                registry.open(600),
            ):
                with pytest.raises(Denied, match=r"lacks a right \(42501\): permission denied for table"):
                    await waiting
    finally:
        await registry.close()
        await database.close()


async def test_a_node_waits_for_a_right_only_once_it_has_lived() -> None:
    """It owns runs then, and somebody may restore the right."""
    lives = 0

    async def live(stop: asyncio.Event) -> None:
        nonlocal lives
        lives += 1
        if lives == 2:
            raise Denied("no right")
        if lives == 3:
            stop.set()

    async with asyncio.timeout(WITHIN_S):
        await live_until_stopped(live, asyncio.Event(), 600, Health())
        assert lives == 3
        lives = 1
        with pytest.raises(Denied):
            await live_until_stopped(live, asyncio.Event(), 600, Health())
