"""A schema that a program does not know: recorded with whether old nodes may go on, and told by each beat."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from dao.cluster import nodes
from dao.postgres import newer_schema, schema, schema_scripts
from dao.postgres.database import Database
from dao.postgres.pool import AsyncConnection
from tests.dao.explaining import Explaining
from tests.dao.scene import Scene
from tests.dao.test_nodes import heartbeat_of
from tests.dao.test_schema import NEXT, an_upgrade


@pytest.mark.parametrize(
    ("first_line", "may_run"), [("-- old nodes: may run", True), ("-- old nodes: must stop", False), ("--", False)]
)
async def test_what_a_script_says_of_old_nodes_is_recorded_with_its_version(
    empty_database: Database, folder: Path, first_line: str, may_run: bool
) -> None:
    await schema.init(empty_database, folder)
    an_upgrade(folder, NEXT, "add_note", f"{first_line}\nCREATE TABLE note (a int);")
    await schema.upgrade(empty_database, folder)
    async with empty_database.reading() as connection:
        assert await newer_schema.newer(connection) == newer_schema.Newer(NEXT, must_stop=not may_run)


@pytest.mark.parametrize(("first_line", "may_run"), [("may run", True), ("must stop", False)])
async def test_an_upgrade_that_is_run_by_hand_records_itself_and_what_it_says_of_old_nodes(
    empty_database: Database, folder: Path, first_line: str, may_run: bool
) -> None:
    await schema.init(empty_database, folder)
    said = str(may_run).lower()
    an_upgrade(
        *(folder, NEXT, "add_note"),
        f"-- old nodes: {first_line}\nCREATE TABLE note (a int);\n"
        f"INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES ({NEXT}, 'add_note', {said});",
    )
    [script] = schema_scripts.read_scripts(folder).upgrades
    await _run_by_hand(empty_database, script.content)
    recorded = "SELECT name, old_nodes_may_run FROM schema_version WHERE version = :version"
    assert await Scene(empty_database).sql(recorded, version=NEXT) == [("add_note", may_run)]
    await schema.check(empty_database, folder)
    assert (await schema.upgrade(empty_database, folder)).ran == ()


async def _run_by_hand(database: Database, content: str) -> None:
    """As `psql -1 -f` does."""
    async with database.writing() as connection:
        driver = connection.driver
        await driver.execute(content.encode())


async def test_a_beat_tells_of_a_newer_schema_and_whether_one_of_them_forbids_to_go_on(scene: Scene) -> None:
    me, known = await scene.master(), newer_schema.known_version()

    async def told(beat_no: int) -> newer_schema.Newer | None:
        async with scene.writing() as connection:
            return (await nodes.beat(connection, me, beat_no, unanswered=0, heartbeat=heartbeat_of(me))).newer

    recorded = "INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (:version, 'next', :may_run)"
    assert await told(0) is None
    await scene.sql(recorded, version=known + 1, may_run=True)
    assert await told(1) == newer_schema.Newer(known + 1, must_stop=False)
    await scene.sql("INSERT INTO schema_version (version, name) VALUES (:version, 'by hand')", version=known + 2)
    assert await told(2) == newer_schema.Newer(known + 2, must_stop=True), "who does not say so must stop"
    await scene.sql(recorded, version=known + 3, may_run=True)
    assert await told(3) == newer_schema.Newer(known + 2, must_stop=True)


async def test_a_row_of_versions_that_somebody_edits_is_no_upgrade(scene: Scene) -> None:
    me = await scene.master()
    await scene.sql("UPDATE schema_version SET version = version + 7")
    async with scene.writing() as connection:
        assert (await nodes.beat(connection, me, 0, unanswered=0, heartbeat=heartbeat_of(me))).newer is None


async def test_a_beat_reads_no_table_through(scene: Scene) -> None:
    me = await scene.master()
    async with scene.writing() as connection:
        explaining = Explaining(connection)
        await nodes.beat(cast(AsyncConnection, explaining), me, 0, unanswered=0, heartbeat=heartbeat_of(me))
    assert explaining.plan.whole_tables == set()
    assert {"node_alive", "node_beat_pkey", "schema_version_pkey"} <= explaining.plan.indexes
