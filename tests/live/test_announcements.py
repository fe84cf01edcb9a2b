"""Changes by nodes reach watchers, soon, in few notifications, and even if the node dies in between."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack

import psycopg
import pytest
import pytest_asyncio
from sqlalchemy import make_url

from dao.cluster import nodes
from dao.postgres.announcer import Announcer
from dao.postgres.database import Database
from dao.postgres.notify import CHANGED, TASK, changed, notify
from dao.postgres.sql import Sql
from model.changes import Changes, read_changes
from model.errors import Unknown
from service.live.hub import Hub
from tests.chaos.proxy import Proxies, Way
from tests.dao.scene import Scene
from tests.eventually import eventually
from tests.live.listening import heard, running

pytestmark = pytest.mark.usefixtures("database")
RUN = """
    INSERT INTO workflow_instance (command_id, master_id, workflow_code, workflow_version, state, failure_strategy,
                                   priority, worker_group, schedule_time)
    VALUES (1, 0, 1, 1, 'SERIAL_WAIT', 'CONTINUE', 'MEDIUM', 'default', clock_timestamp()) RETURNING id
"""


@pytest_asyncio.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """A database as an API process opens it."""
    opened = Database(database_url, application_name="shoal-test-api")
    yield opened
    await opened.close()


@pytest_asyncio.fixture
async def node(database_url: str) -> AsyncIterator[Database]:
    """A database as a node opens it."""
    opened = Database(database_url, application_name="shoal-test", announces_together=True)
    yield opened
    await opened.close()


@pytest_asyncio.fixture
async def hub(database: Database) -> AsyncIterator[Hub]:
    async with running(Hub(database), database) as made:
        yield made


@pytest.fixture
def never(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that never comes to announce."""
    monkeypatch.setattr(Announcer, "EVERY_S", 3600.0)


@pytest.fixture
def channels(database_url: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A connection that listens to what is announced and to the wakes of workers."""
    plain = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute(f'LISTEN "{CHANGED}"')
        connection.execute(f'LISTEN "{TASK}"')
        yield connection


async def change(database: Database, changes: Changes, *, wakes: bool = False) -> None:
    async with database.writing() as connection:
        await connection.execute(Sql("SELECT 1"))
        await changed(connection, changes)
        if wakes:
            await notify(connection, TASK)


async def a_run(database: Database) -> int:
    async with database.writing() as connection:
        run = int((await connection.execute(Sql(RUN))).scalar_one())
        await changed(connection, Changes(runs={run}))
    return run


async def test_many_transactions_of_a_node_are_few_notifications_within_a_second(
    node: Database, channels: psycopg.Connection[tuple[object, ...]]
) -> None:
    begun_s = time.monotonic()
    for run in range(1, 201):
        await change(node, Changes(runs={run}), wakes=True)
    with pytest.raises(ZeroDivisionError):
        async with node.writing() as connection:
            await changed(connection, Changes(runs={4711}))
            raise ZeroDivisionError
    found: list[str] = []

    def runs() -> set[int]:
        found.extend(each.payload for each in channels.notifies(timeout=0.2) if each.channel == CHANGED)
        return {int(run) for payload in found for run in read_changes(payload).runs}

    await eventually(lambda: asyncio.to_thread(runs), until=set(range(1, 201)))
    assert len(found) <= 2 + (time.monotonic() - begun_s) / Announcer.EVERY_S


async def test_what_is_no_node_announces_in_its_transaction(
    database: Database, channels: psycopg.Connection[tuple[object, ...]]
) -> None:
    await change(database, Changes(runs={1}), wakes=True)
    came = await asyncio.to_thread(lambda: list(channels.notifies(timeout=30, stop_after=2)))
    assert {(each.channel, each.payload) for each in came} == {(CHANGED, "r1"), (TASK, "")}


async def test_a_change_of_a_node_is_an_event_within_a_second(hub: Hub, node: Database) -> None:
    with hub.listen(["runs"]) as listening, heard(listening) as got:
        run = await a_run(node)
        await eventually(lambda: got.of("runs"))
        assert got.of("runs")[0]["runs"][0]["id"] == str(run)


@pytest.mark.usefixtures("never")
async def test_after_a_node_that_died_before_it_announced_everything_is_read_again(
    hub: Hub, database: Database, node: Database
) -> None:
    scene = Scene(database)
    dead = await scene.worker()
    with hub.listen(["runs"]) as listening, heard(listening) as got:
        await a_run(node)
        assert await scene.fence(dead)
        await eventually(lambda: {"topic": ""} in got.of("resync"))


@pytest.mark.usefixtures("never")
async def test_a_node_that_leaves_announces_its_last_changes_with_its_end(
    hub: Hub, database: Database, node: Database
) -> None:
    me = await Scene(database).worker()
    with hub.listen(["runs", "cluster"]) as listening, heard(listening) as got:
        run = await a_run(node)
        async with node.writing() as connection:
            await nodes.set_left(connection, me)
        await eventually(lambda: got.of("runs"))
        assert got.of("runs")[0]["runs"][0]["id"] == str(run) and "resync" not in got.kinds


async def test_a_commit_whose_answer_was_lost_is_announced(hub: Hub, database_url: str) -> None:
    with ExitStack() as stack:
        gate = stack.enter_context(Proxies()).gate(make_url(database_url).port or 5432)
        gated_url = make_url(database_url).set(port=gate.port).render_as_string(hide_password=False)
        node = Database(gated_url, application_name="shoal-gated", answer_within_s=2.0, announces_together=True)
        got = stack.enter_context(heard(stack.enter_context(hub.listen(["runs"]))))
        with pytest.raises(Unknown):
            async with node.writing() as connection:
                await connection.execute(Sql(RUN))
                await changed(connection, Changes(runs={1}))
                gate.swallow(Way.ANSWER)
        gate.open()
        await eventually(lambda: got.of("runs"))
        await node.close()
