"""The schema: made once whoever asks, brought up to date, refused where it does not fit."""

from __future__ import annotations

import asyncio
import re
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from dao.postgres import schema, schema_scripts
from dao.postgres.address import with_argument
from dao.postgres.database import Database
from dao.postgres.session_settings import SESSION_SETTINGS
from dao.postgres.sql import Sql
from model.errors import Refused, Unavailable
from tests.dao.scene import Scene

SQL = Path(schema.__file__).parents[2] / "sql"

NOW = schema_scripts.read_scripts().version
NEXT = NOW + 1
"""The number of an upgrade that there is not yet."""


def an_upgrade(folder: Path, version: int, name: str, content: str) -> None:
    (folder / "upgrades" / f"{version:04}_{name}.sql").write_text(content)


# --------------------------------------------------------------------------------------------- made once


async def test_an_empty_database_gets_the_schema_and_a_second_time_changes_nothing(empty_database: Database) -> None:
    first = await schema.init(empty_database)
    second = await schema.init(empty_database)
    assert (first.ran, second.ran) == (("schema",), ())
    assert second.changed == ()
    await schema.check(empty_database)


async def test_two_processes_at_once_make_it_once(empty_database: Database) -> None:
    program = (
        "import asyncio, sys\nfrom dao.postgres import schema\nfrom dao.postgres.database import Database\n"
        "print(asyncio.run(schema.init(Database(sys.argv[1], application_name='init'))).ran)"
    )
    started = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", program, empty_database.url), stdout=asyncio.subprocess.PIPE, cwd=SQL.parent
        )
        for _ in range(2)
    ]
    said = sorted([(await process.communicate())[0].decode().splitlines()[-1] for process in started])
    assert [process.returncode for process in started] == [0, 0]
    assert said == ["('schema',)", "()"]


async def test_a_schema_made_by_hand_with_psql_counts(database: Database) -> None:
    """The fixture makes it so: by the file alone."""
    await schema.check(database)
    assert (await schema.upgrade(database)).ran == ()


async def test_a_database_of_others_is_refused_and_left_as_it_was(empty_database: Database) -> None:
    scene = Scene(empty_database)
    await scene.sql("CREATE TABLE command (theirs int)")
    with pytest.raises(Refused, match=r"does not take schema\.sql.*needs a separate database"):
        await schema.init(empty_database)
    assert await scene.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == [1]


def test_the_number_in_the_whole_schema_is_that_of_the_last_upgrade() -> None:
    scripts = schema_scripts.read_scripts()
    said = re.search(r"INSERT INTO schema_version \(version, name\) VALUES \((\d+), 'schema'\)", scripts.schema.content)
    assert said is not None
    assert int(said[1]) == scripts.version


# ------------------------------------------------------------------------------------------- brought up to date


async def test_upgrades_run_in_order_and_once(empty_database: Database, folder: Path) -> None:
    await schema.init(empty_database, folder)
    an_upgrade(folder, NEXT, "add_note", "CREATE TABLE note (a int); INSERT INTO note VALUES (1);")
    an_upgrade(folder, NEXT + 1, "add_more", "INSERT INTO note SELECT 2 WHERE EXISTS (SELECT FROM note WHERE a = 1);")
    first = await schema.upgrade(empty_database, folder)
    second = await schema.upgrade(empty_database, folder)
    assert (first.version, first.ran, second.ran) == (NEXT + 1, ("add_note", "add_more"), ())
    assert await Scene(empty_database).sql("SELECT a FROM note ORDER BY a") == [1, 2]
    await schema.check(empty_database, folder)


async def test_a_script_that_fails_leaves_nothing_of_itself(empty_database: Database, folder: Path) -> None:
    await schema.init(empty_database, folder)
    an_upgrade(folder, NEXT, "good", "CREATE TABLE good (a int);")
    an_upgrade(folder, NEXT + 1, "broken", "CREATE TABLE half (a int); SELECT 1 / 0;")
    with pytest.raises(Refused, match=r"does not take broken\.sql, which was undone: division by zero"):
        await schema.upgrade(empty_database, folder)
    scene = Scene(empty_database)
    assert await scene.sql("SELECT to_regclass('good') IS NOT NULL, to_regclass('half') IS NOT NULL") == [(True, False)]
    assert await scene.sql("SELECT max(version) FROM schema_version") == [NEXT]


async def test_a_script_may_take_longer_than_our_statements(
    empty_database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await schema.init(empty_database, folder)
    an_upgrade(folder, NEXT, "slow", "SELECT pg_sleep(0.5);")
    monkeypatch.setattr(
        "dao.postgres.session_settings.SESSION_SETTINGS", {**SESSION_SETTINGS, "statement_timeout": "100ms"}
    )
    hasty = Database(empty_database.url, application_name="hasty")
    try:
        with pytest.raises(Unavailable):
            await Scene(hasty).sql("SELECT pg_sleep(0.5)")
        assert (await schema.upgrade(hasty, folder)).ran == ("slow",)
    finally:
        await hasty.close()


def test_each_upgrade_states_whether_old_nodes_may_run_meanwhile() -> None:
    for script in schema_scripts.read_scripts().upgrades:
        assert script.states_its_way, script.name


async def test_a_script_that_waits_for_a_reader_holds_up_nobody_for_long_and_names_it(
    empty_database: Database, folder: Path
) -> None:
    await schema.init(empty_database, folder)
    an_upgrade(folder, NEXT, "widen", "-- old nodes: may run\nALTER TABLE node ADD COLUMN more int;")
    scene, reader = Scene(empty_database), Database(empty_database.url, application_name="a-reader")
    async with reader.writing() as reading:
        await reading.execute(Sql("SELECT count(*) FROM node"))
        upgrading = asyncio.create_task(schema.upgrade(empty_database, folder, locks_within_s=3))
        while not upgrading.done():
            await scene.sql("SELECT count(*) FROM node")  # gives up after 2 s of waiting for a lock
            await reading.execute(Sql("SELECT 1"))
        with pytest.raises(Unavailable, match=r"within 3 s, and changed nothing: held by session \d+ \(a-reader"):
            await upgrading
    await reader.close()
    assert (await schema.upgrade(empty_database, folder)).ran == ("widen",)


async def test_a_script_with_which_old_nodes_must_not_run_does_not_run_while_one_lives(
    empty_database: Database, folder: Path
) -> None:
    await schema.init(empty_database, folder)
    scene = Scene(empty_database)
    master = await scene.master()
    an_upgrade(folder, NEXT, "drop", "-- old nodes: must stop\nALTER TABLE node DROP COLUMN log_url;")
    with pytest.raises(
        Refused, match=rf"these live: master 10\.0\.0\.1:5678 \(epoch {master.epoch}\); stop them first"
    ):
        await schema.upgrade(empty_database, folder)
    assert (await schema.upgrade(empty_database, folder, nobody_runs=True)).ran == ("drop",)


async def test_a_plan_names_what_would_run_and_who_must_stop_first_and_changes_nothing(
    empty_database: Database, folder: Path
) -> None:
    assert [each.name for each in (await schema.plan(empty_database, folder)).scripts] == ["schema"]
    await schema.init(empty_database, folder)
    assert await schema.plan(empty_database, folder) == schema.Planned(NOW, NOW, (), ())
    master = await Scene(empty_database).master()
    an_upgrade(folder, NEXT, "widen", "-- old nodes: may run\nALTER TABLE node ADD COLUMN more int;")
    assert (await schema.plan(empty_database, folder)).in_the_way == ()
    an_upgrade(folder, NEXT + 1, "drop", "-- old nodes: must stop\nALTER TABLE node DROP COLUMN log_url;")
    planned = await schema.plan(empty_database, folder)
    assert [(each.name, each.old_nodes_may_run) for each in planned.scripts] == [("widen", True), ("drop", False)]
    assert (planned.version, planned.needed) == (NOW, NEXT + 1)
    assert planned.in_the_way == (f"master 10.0.0.1:5678 (epoch {master.epoch})",)
    assert (await schema.upgrade(empty_database, folder, nobody_runs=True)).ran == ("widen", "drop")


async def test_a_script_that_was_changed_after_it_ran_is_said(empty_database: Database, folder: Path) -> None:
    await schema.init(empty_database, folder)
    an_upgrade(folder, NEXT, "add_note", "CREATE TABLE note (a int);")
    await schema.upgrade(empty_database, folder)
    an_upgrade(folder, NEXT, "add_note", "CREATE TABLE note (a bigint);")
    assert (await schema.upgrade(empty_database, folder)).changed == ("add_note",)


def test_a_gap_in_the_numbers_of_the_upgrades_is_refused(folder: Path) -> None:
    an_upgrade(folder, NEXT + 1, "too_far", "")
    with pytest.raises(ValueError, match=f"must be named {NEXT:04}_what_it_does"):
        schema_scripts.read_scripts(folder)


# ------------------------------------------------------------------------------------- told when it does not fit


async def test_a_missing_schema_is_told_with_its_cure(empty_database: Database) -> None:
    with pytest.raises(Refused, match="has no Shoal schema; run `shoal db init`") as raised:
        await schema.check(empty_database)
    password = empty_database.url.split(":")[2].split("@")[0]
    assert password not in str(raised.value)


async def test_a_schema_that_the_search_path_lacks_is_told_with_its_cure_and_none_is_made_beside_it(
    empty_database: Database,
) -> None:
    """A dump has no settings of its database: they are missing after it was restored."""
    scene = Scene(empty_database)
    await scene.sql('CREATE SCHEMA "Jobs"')
    own = Database(with_argument(empty_database.url, "options", '-csearch_path="Jobs"'), application_name="shoal-test")
    try:
        await schema.init(own)
        await schema.check(own)
        cure = r'in its schema "Jobs".*ALTER DATABASE empty SET search_path = "Jobs", or .*options=(\S+)'
        for ask in (schema.check, schema.init):
            with pytest.raises(Refused, match=cure) as raised:
                await ask(empty_database)
        found = re.search(cure, str(raised.value))
        assert found is not None
        named = Database(f"{empty_database.url}?options={found[1]}", application_name="shoal-test")
        await schema.check(named)
        await named.close()
    finally:
        await own.close()


async def test_a_schema_of_the_url_that_is_not_there_is_told(empty_database: Database) -> None:
    own = Database(with_argument(empty_database.url, "options", "-csearch_path=jobs"), application_name="shoal-test")
    with pytest.raises(Refused, match="has no schema of its search_path jobs; CREATE SCHEMA makes it"):
        await schema.init(own)
    await own.close()


async def test_a_table_of_another_program_is_no_schema_of_ours(empty_database: Database) -> None:
    scene = Scene(empty_database)
    await scene.sql("CREATE SCHEMA migrations")
    await scene.sql("CREATE TABLE migrations.schema_version (version int)")
    await schema.init(empty_database)
    await schema.check(empty_database)


async def test_an_older_schema_is_told_with_its_cure(database: Database, folder: Path) -> None:
    an_upgrade(folder, NEXT, "add_note", "CREATE TABLE note (a int);")
    with pytest.raises(Refused, match=f"has schema version {NOW}, this program needs {NEXT}; run `shoal db upgrade`"):
        await schema.check(database, folder)


async def test_a_newer_schema_that_older_nodes_bear_is_one_to_start_with(database: Database) -> None:
    await Scene(database).sql(
        "INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (99, 'borne', true)"
    )
    assert await schema.check(database) == 99


@pytest.mark.parametrize(
    ("program", "cure"),
    [
        ("'9.9.0'", r"install Shoal 9\.9\.0 or newer"),
        ("NULL", "install a newer Shoal"),
        (f"'{version('shoal')}'", r"install a newer Shoal than this [0-9.]+: one whose sql/upgrades holds 0099"),
    ],
)
async def test_a_newer_schema_is_told_with_its_cure(database: Database, program: str, cure: str) -> None:
    await Scene(database).sql(f"INSERT INTO schema_version (version, name, program) VALUES (99, 'future', {program})")
    await Scene(database).sql(
        "INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (98, 'borne', true)"
    )
    for ask in (schema.check, schema.upgrade):
        with pytest.raises(Refused, match=f"has schema version 99, this program knows only {NOW}; {cure}"):
            await ask(database)
