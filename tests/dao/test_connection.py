"""A connection whose link has died without a word: no wait on it lasts longer than its deadline."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from psycopg.pq import TransactionStatus
from sqlalchemy import make_url

from dao.postgres.connection import CONNECT_S_MAX, Connection
from dao.postgres.database import ANSWER_WITHIN_S, Database, connect
from dao.postgres.listen import Listener
from dao.postgres.session_settings import STATEMENT_S_MAX
from dao.postgres.sql import Sql
from model.errors import Unavailable, Unknown
from tests.chaos.proxy import Gate, Proxies, Way
from tests.eventually import eventually

ANSWER_S = 2.0
PATIENCE_S = 50.0
"""Much more than anything here takes on a busy machine. Without our own deadline it would take for ever."""


@pytest.fixture
def gate(database_url: str) -> Iterator[Gate]:
    with Proxies() as proxies:
        yield proxies.gate(make_url(database_url).port or 5432)


@pytest.fixture
def gated_url(database_url: str, gate: Gate) -> str:
    return make_url(database_url).set(port=gate.port).render_as_string(hide_password=False)


@pytest_asyncio.fixture
async def gated(gated_url: str) -> AsyncIterator[Database]:
    """The database through the gate, with one warm connection and a short deadline."""
    opened = Database(gated_url, application_name="shoal-gated", connections_max=1, answer_within_s=ANSWER_S)
    async with opened.reading() as connection:
        await connection.execute(Sql("SELECT 1"))
    yield opened
    await opened.close()


async def one(database: Database) -> int:
    async with database.reading() as connection:
        return int((await connection.execute(Sql("SELECT 1"))).scalar_one())


@pytest.mark.parametrize("way", list(Way))
async def test_a_statement_on_a_dead_link_is_given_up_and_the_next_one_has_a_new_connection(
    gated: Database, gate: Gate, way: Way
) -> None:
    gate.swallow(way)
    with pytest.raises(Unavailable, match=f"no answer within {ANSWER_S:g} s"):
        await one(gated)
    gate.open()
    assert await one(gated) == 1


@pytest.mark.parametrize("way", list(Way))
async def test_a_commit_on_a_dead_link_is_unknown_and_not_a_failure(gated: Database, gate: Gate, way: Way) -> None:
    with pytest.raises(Unknown):
        async with gated.writing() as connection:
            await connection.execute(Sql("CREATE TABLE written (a int)"))
            gate.swallow(way)
    gate.open()
    async with gated.reading() as connection:
        there = (await connection.execute(Sql("SELECT to_regclass('written') IS NOT NULL"))).scalar_one()
    assert there == (way is Way.ANSWER), "what was lost is the answer, or the COMMIT itself"


async def test_a_transaction_on_a_dead_link_is_left_without_a_word(gated: Database, gate: Gate) -> None:
    """Its rollback would wait for the same link."""
    with pytest.raises(ZeroDivisionError):
        async with asyncio.timeout(PATIENCE_S), gated.writing() as connection:
            await connection.execute(Sql("SELECT 1"))
            gate.swallow(Way.ASK)
            raise ZeroDivisionError
    gate.open()
    assert await one(gated) == 1


async def test_who_is_cancelled_on_a_dead_link_does_not_wait_for_it(gated_url: str, gate: Gate) -> None:
    patient = Database(gated_url, application_name="shoal-gated", connections_max=1)
    assert await one(patient) == 1
    gate.swallow(Way.ANSWER)
    asking = asyncio.create_task(one(patient))
    await asyncio.sleep(0.1)
    asking.cancel()
    await asyncio.wait({asking}, timeout=PATIENCE_S)
    assert asking.cancelled()
    async with asyncio.timeout(PATIENCE_S):
        await patient.close()


async def test_a_connection_that_is_accepted_and_never_answered_is_given_up(gated: Database, gate: Gate) -> None:
    gate.drop()
    gate.swallow(Way.ASK)
    for _ in range(2):  # the first may still have had the connection that was reset
        with pytest.raises(Unavailable) as given_up:
            await one(gated)
    assert f"within {ANSWER_S:g} s" in str(given_up.value)


async def test_a_connection_that_is_given_up_in_the_making_is_closed_at_once() -> None:
    """Not when Python next collects garbage: the server could log it in meanwhile, and keep a session for nobody."""
    closed = asyncio.Event()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1_000):
            pass
        closed.set()
        writer.close()

    gc.disable()
    try:
        async with await asyncio.start_server(accept, "127.0.0.1") as server:
            port = server.sockets[0].getsockname()[1]
            url = f"postgresql+psycopg://nobody@127.0.0.1:{port}/nothing"
            with pytest.raises(Unavailable) as kept:
                await connect(url, "shoal-given-up", answer_within_s=0.2)
            async with asyncio.timeout(PATIENCE_S):
                await closed.wait()
            assert "no connection within 0.2 s" in str(kept.value)
    finally:
        gc.enable()


async def test_a_connection_that_is_dead_when_it_is_given_back_is_replaced_without_a_traceback(
    gated: Database, caplog: pytest.LogCaptureFixture
) -> None:
    async with gated.reading() as connection:
        connection.driver.pgconn.finish()
    assert await one(gated) == 1
    assert caplog.text == ""


async def test_a_rollback_that_is_cancelled_ends_as_cancelled(gated_url: str, gate: Gate) -> None:
    """Also when the error that it was for forbids the life to go on: the life ends for that, and not for this."""
    database = Database(gated_url, application_name="shoal-gated", connections_max=1)
    drivers: list[Connection] = []

    async def write() -> None:
        async with database.writing() as connection:
            await connection.execute(Sql("SELECT 1"))
            drivers.append(connection.driver)
            gate.swallow(Way.ANSWER)
            raise ZeroDivisionError

    writing = asyncio.create_task(write())
    await eventually(lambda: bool(drivers) and drivers[0].pgconn.transaction_status == TransactionStatus.ACTIVE)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    gate.open()
    assert await one(database) == 1
    await database.close()


async def test_connections_in_doubt_are_not_used_again(gated: Database, gate: Gate) -> None:
    gate.swallow(Way.ANSWER)
    gate.open()
    gated.doubt()
    assert await one(gated) == 1


@pytest.mark.parametrize("way", list(Way))
async def test_who_listens_on_a_dead_link_notices_and_listens_again(
    gated_url: str, gate: Gate, database: Database, way: Way
) -> None:
    woken: list[str] = []
    ears = Listener(gated_url, "shoal-ears", {"shoal_test": woken.append})
    listening = asyncio.create_task(ears.run())
    try:
        await eventually(lambda: woken == [""])
        gate.swallow(way)
        gate.open()
        await eventually(lambda: len(woken) == 2, within_s=Listener.PROBE_S + Listener.ANSWER_WITHIN_S + 3)
        async with database.writing() as connection:
            await connection.execute(Sql("SELECT pg_notify('shoal_test', 'heard')"))
        await eventually(lambda: woken[-1] == "heard")
    finally:
        listening.cancel()
        await asyncio.wait({listening})


def test_the_server_gives_up_a_statement_before_its_client_does() -> None:
    assert STATEMENT_S_MAX < ANSWER_WITHIN_S < 10
    assert CONNECT_S_MAX < ANSWER_WITHIN_S


async def test_a_statement_that_takes_long_is_ended_by_the_server_and_its_connection_stays(
    database_url: str,
) -> None:
    connection = await connect(database_url, "shoal-test", answer_within_s=5)
    await connection.execute("SET statement_timeout = '200ms'")
    with pytest.raises(Exception, match="statement timeout"):
        await connection.execute("SELECT pg_sleep(3)")
    assert not connection.closed
    await connection.close()
