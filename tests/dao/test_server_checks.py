"""`dao/checks/server_checks.py`: sessions that stay, guards that are gone, and what is switched off at a server."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from sqlalchemy import make_url

from dao.checks import server_checks, table_checks
from dao.checks.server_checks import GUARDS, SESSIONS, STANDBY, guards
from dao.checks.table_checks import Check, Finds
from dao.cluster.nodes import application_name
from dao.postgres.database import Database
from dao.postgres.sql import Sql
from model.cluster.nodes import NodeKind
from tests.dao.scene import Scene
from tests.eventually import eventually
from tests.servers.postgres import PostgresServer


async def find(scene: Scene, check: Check) -> Finds:
    values = guards() if check is GUARDS else {}
    async with scene.database.reading() as connection:
        return await table_checks.find(connection, check, values)


async def find_any(scene: Scene) -> int:
    return (await find(scene, SESSIONS)).count


def session(url: str, name: str) -> psycopg.Connection[tuple[object, ...]]:
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    return psycopg.connect(plain, application_name=name)


async def test_the_schema_has_all_its_guards(scene: Scene) -> None:
    assert await find(scene, GUARDS) == Finds(0, [])
    names = guards()
    assert "workflow_instance_fire" in names["indexes"]
    assert "task_instance_moves_legally" in names["triggers"]
    there = await scene.sql("SELECT indexname FROM pg_indexes WHERE schemaname = 'public'")
    unique = await scene.sql("SELECT indexrelid::regclass::text FROM pg_index WHERE indisunique AND indrelid >= 16384")
    assert set(names["indexes"]) <= set(there)
    hot = ("command", "workflow_instance", "task_instance", "task_event", "node", "error_command")
    assert {name for name in unique if name.startswith(hot) and not name.startswith("pg_toast")} <= set(
        names["indexes"]
    )


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("DROP INDEX command_one_recover", "index command_one_recover is missing, or was not finished"),
        (
            "ALTER TABLE command_history DROP CONSTRAINT command_history_pkey",
            "index command_history_pkey is missing, or was not finished",
        ),
        (
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'command_claim'::regclass",
            "index command_claim is missing, or was not finished",
        ),
        (
            "ALTER TABLE task_instance DISABLE TRIGGER task_instance_moves_legally",
            "trigger task_instance_moves_legally is missing or off",
        ),
        ("DROP TRIGGER command_wakes_masters ON command", "trigger command_wakes_masters is missing or off"),
    ],
)
async def test_a_guard_that_is_gone_or_off_is_found(scene: Scene, statement: str, sentence: str) -> None:
    await scene.sql(statement)
    assert await find(scene, GUARDS) == Finds(1, [sentence])


async def test_a_session_that_sits_in_a_transaction_is_found(scene: Scene, database_url: str) -> None:
    with session(database_url, "a person") as sitting:
        sitting.execute("SELECT 1")
        assert await find(scene, SESSIONS) == Finds(0, [])
        await eventually(lambda: find_any(scene), within_s=15)
        found = await find(scene, SESSIONS)
    assert found.count == 1
    assert "(a person) is idle in transaction since " in found.shown[0]


async def test_a_commit_that_waits_for_a_standby_that_is_not_there_is_found() -> None:
    with PostgresServer(fsync=False) as server:
        database = Database(server.url("postgres"), application_name="shoal-test")
        scene = Scene(database)
        try:
            with session(server.url("postgres"), "a master") as waiting:
                assert await find(scene, STANDBY) == Finds(0, [])
                with server.connect() as by_hand:
                    by_hand.autocommit = True
                    by_hand.execute("ALTER SYSTEM SET synchronous_standby_names = 'db2'")
                    by_hand.execute("SELECT pg_reload_conf()")
                await eventually(lambda: scene.sql("SHOW synchronous_standby_names"), until=["db2"])
                waiting.execute("CREATE TABLE written (a int)")
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(asyncio.to_thread(waiting.commit))
                    await eventually(lambda: found(scene), within_s=30)
                    (sentence,) = (await find(scene, STANDBY)).shown
                    await scene.sql("SELECT pg_cancel_backend(:pid)", pid=waiting.info.backend_pid)
            assert "(a master) has waited since " in sentence
            assert "for a standby of synchronous_standby_names = 'db2'" in sentence
        finally:
            await database.close()


async def found(scene: Scene) -> int:
    return (await find(scene, STANDBY)).count


async def test_a_session_of_a_dead_node_is_found(scene: Scene, database_url: str) -> None:
    master = await scene.master()
    await scene.fence(master)
    with session(database_url, application_name(NodeKind.MASTER, master.epoch)) as zombie:
        zombie.autocommit = True
        assert await find(scene, SESSIONS) == Finds(0, []), "it may be just about to end"
        await scene.sql("UPDATE node SET ended_at = now() - interval '1 min'")
        found = await find(scene, SESSIONS)
        assert found == Finds(
            1, [f"session {zombie.info.backend_pid} is that of master {master.epoch}, which is FENCED"]
        )


async def test_what_is_switched_off_is_told_with_what_it_can_cost(scene: Scene, database: Database) -> None:
    assert await server_checks.dangers(database) == []
    name = make_url(database.url).database
    await scene.sql(f"ALTER DATABASE {name} SET synchronous_commit = off")
    (danger,) = await server_checks.dangers(database)
    assert danger.startswith("synchronous_commit is off: a crash loses what others than Shoal committed last")


async def test_a_server_says_what_it_is_and_whether_it_takes_writes(scene: Scene, database: Database) -> None:
    async with database.reading() as connection:
        found = await server_checks.server(connection)
    assert found.version.startswith(str(found.major))
    assert not found.is_standby
    assert 0 < found.connections < found.connections_max


async def test_a_server_without_fsync_is_told_of() -> None:
    with PostgresServer(fsync=False, settings={"full_page_writes": "off", "autovacuum": "off"}) as server:
        careless = Database(server.url(), application_name="shoal-test")
        try:
            dangers = await server_checks.dangers(careless)
            async with careless.reading() as connection:
                await connection.execute(Sql("SET default_transaction_read_only = on"))
                assert (await server_checks.server(connection)).is_standby
        finally:
            await careless.close()
    assert sorted(each.split(" is off")[0] for each in dangers) == ["autovacuum", "fsync", "full_page_writes"]


async def test_an_encoding_other_than_utf8_is_told_of(postgres_server: PostgresServer) -> None:
    with postgres_server.connect() as connection:
        connection.execute("CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0 LOCALE 'C'")
    other = Database(postgres_server.url("ascii"), application_name="shoal-test")
    (danger,) = await server_checks.dangers(other)
    await other.close()
    postgres_server.drop_database("ascii")
    assert danger.startswith("the encoding of the database is SQL_ASCII")
