"""The schema: made once whoever asks, brought up to date, refused where it does not fit."""

from __future__ import annotations

import asyncio
import re
import sys
from importlib.metadata import version
from pathlib import Path
from shutil import copyfile

import pytest
import pytest_asyncio
from sqlalchemy import text

from dao.postgres import schema, schema_scripts
from dao.postgres.database import SESSION_SETTINGS, Database
from dao.postgres.errors import BadData
from model.errors import Refused, ShoalError, Unavailable
from tests.dao.catalog import catalog
from tests.dao.scene import Scene

OLDEST = Path(__file__).parent / "schema_1.sql"
SQL = Path(schema.__file__).parents[2] / "sql"

NOW = schema_scripts.read_scripts().version
NEXT = NOW + 1
"""The number of an upgrade that there is not yet."""


@pytest.fixture
def oldest(tmp_path: Path) -> Path:
    """The scripts as they were first released: `schema_1.sql` is the whole schema of then."""
    (tmp_path / "upgrades").mkdir()
    copyfile(OLDEST, tmp_path / "schema.sql")
    return tmp_path


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


async def test_an_old_database_brought_up_to_date_is_the_same_as_a_new_one(
    empty_database: Database, database: Database, oldest: Path
) -> None:
    old, new = Scene(empty_database), Scene(database)
    await schema.init(empty_database, oldest)
    assert not await old.sql("SELECT FROM pg_tables WHERE tablename = 'task_cache'"), "it is an old one"
    assert (await schema.upgrade(empty_database)).version == NOW
    upgraded, made = await catalog(old), await catalog(new)
    for part, wanted in made.items():
        assert upgraded[part] == wanted, part


async def test_an_upgrade_keeps_what_stands_in_an_old_database(empty_database: Database, oldest: Path) -> None:
    old = Scene(empty_database)
    await schema.init(empty_database, oldest)
    await old.sql("INSERT INTO command (type, workflow_code, priority) VALUES ('START_PROCESS', 1001, 'low')")
    await old.sql(
        "INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, "
        "failure_strategy, priority, worker_group) VALUES (1, 1, 1, 'RUNNING_EXECUTION', 1, 'END', 'LOW', 'g')"
    )
    await old.sql(
        "INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group, "
        "workflow_priority, task_priority) VALUES (1, 1, 'a', 'FAKE', 'QUEUED', 'g', 'LOW', 'LOW')"
    )
    await schema.upgrade(empty_database)
    assert await old.sql("SELECT type, workflow_code, priority_rank, dry_run FROM command") == [
        ("START_PROCESS", 1001, 3, False)
    ]
    assert await old.sql("SELECT state, execution_type, run_times, time_zone FROM workflow_instance") == [
        ("RUNNING_EXECUTION", "PARALLEL", 1, "UTC")
    ]
    assert await old.sql("SELECT state, flag, dry_run FROM task_instance") == [("QUEUED", "YES", False)]


async def test_runs_and_tasks_in_states_that_are_no_more_go_on_after_the_upgrade(
    empty_database: Database, folder: Path
) -> None:
    old = Scene(empty_database)
    first = folder / "first"
    (first / "upgrades").mkdir(parents=True)
    copyfile(OLDEST, first / "schema.sql")
    await schema.init(empty_database, first)
    later = [each for each in (folder / "upgrades").glob("*.sql") if each.name >= "0005"]
    for each in later:
        each.rename(folder / each.name)
    await schema.upgrade(empty_database, folder)
    for id_, state, kind in (
        *((1, "WAIT_TO_RUN", "PARALLEL"), (2, "SUBMITTED_SUCCESS", "PARALLEL"), (3, "WAIT_TO_RUN", "SERIAL_WAIT")),
        *((4, "RUNNING_EXECUTION", "PARALLEL"), (5, "SUBMITTED_SUCCESS", "SERIAL_DISCARD")),
    ):
        await old.sql(
            "INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, "
            "failure_strategy, priority, worker_group, execution_type) "
            "VALUES (:id, 1, 1, :state, 7, 'END', 'LOW', 'g', :kind)",
            id=id_,
            state=state,
            kind=kind,
        )
        await old.sql(
            "INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group, "
            "workflow_priority, task_priority) VALUES (:id, 1, 'a', 'FAKE', 'SUBMITTED_SUCCESS', 'g', 'LOW', 'LOW')",
            id=id_ if id_ < 5 else 77,
        )
    await old.sql("INSERT INTO command (type, workflow_instance_id) VALUES ('RECOVER_WAITING_THREAD', 1)")
    for each in later:
        (folder / each.name).rename(each)
    await schema.upgrade(empty_database, folder)
    assert await old.sql("SELECT state FROM workflow_instance ORDER BY id") == [
        *("PAUSE", "PAUSE", "SERIAL_WAIT", "RUNNING_EXECUTION", "SERIAL_WAIT")
    ]
    assert await old.sql("SELECT state FROM task_instance ORDER BY workflow_instance_id") == [
        *("PAUSE", "PAUSE", "PAUSE", "QUEUED", "KILL")
    ]
    assert await old.sql("SELECT type, workflow_instance_id FROM command ORDER BY id") == [
        ("RECOVER_WAITING_THREAD", 1),
        *(("RECOVER_SUSPENDED_PROCESS", 1), ("RECOVER_SUSPENDED_PROCESS", 2)),
    ]
    with pytest.raises(BadData, match="from SERIAL_WAIT to WAIT_TO_RUN"):
        await old.sql("UPDATE workflow_instance SET state = 'WAIT_TO_RUN' WHERE id = 3")


async def test_an_upgrade_lets_the_last_attempt_of_each_task_count(empty_database: Database, oldest: Path) -> None:
    old = Scene(empty_database)
    await schema.init(empty_database, oldest)
    await old.sql(
        "INSERT INTO task_instance (workflow_instance_id, task_code, attempt, task_name, task_type, state, ended_at, "
        "worker_group, workflow_priority, task_priority) "
        "SELECT run, code, attempt, 'a', 'FAKE', 'FAILURE', now(), 'g', 'LOW', 'LOW' "
        "FROM generate_series(1, 2) AS run, generate_series(1, 3) AS code, generate_series(1, code) AS attempt"
    )
    await schema.upgrade(empty_database)
    counting = "SELECT workflow_instance_id, task_code, attempt FROM task_instance WHERE flag = 'YES' ORDER BY 1, 2"
    assert await old.sql(counting) == [(run, code, code) for run in (1, 2) for code in (1, 2, 3)]


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
    monkeypatch.setattr("dao.postgres.database.SESSION_SETTINGS", {**SESSION_SETTINGS, "statement_timeout": "100ms"})
    hasty = Database(empty_database.url, application_name="hasty")
    try:
        with pytest.raises(Unavailable):
            await Scene(hasty).sql("SELECT pg_sleep(0.5)")
        assert (await schema.upgrade(hasty, folder)).ran == ("slow",)
    finally:
        await hasty.close()


def test_each_upgrade_states_whether_old_nodes_may_run_meanwhile() -> None:
    for script in schema_scripts.read_scripts().upgrades:
        assert script.version < schema_scripts.STATED_FROM or script.states_its_way, script.name


async def test_a_script_that_waits_for_a_reader_holds_up_nobody_for_long_and_names_it(
    empty_database: Database, folder: Path
) -> None:
    await schema.init(empty_database, folder)
    an_upgrade(folder, NEXT, "widen", "-- old nodes: may run\nALTER TABLE node ADD COLUMN more int;")
    scene, reader = Scene(empty_database), Database(empty_database.url, application_name="a-reader")
    async with reader.writing() as reading:
        await reading.execute(text("SELECT count(*) FROM node"))
        upgrading = asyncio.create_task(schema.upgrade(empty_database, folder, locks_within_s=3))
        while not upgrading.done():
            await scene.sql("SELECT count(*) FROM node")  # gives up after 2 s of waiting for a lock
            await reading.execute(text("SELECT 1"))
        with pytest.raises(Unavailable, match=r"within 3 s, and changed nothing: held by session \d+ \(a-reader"):
            await upgrading
    await reader.close()
    assert (await schema.upgrade(empty_database, folder)).ran == ("widen",)


@pytest_asyncio.fixture
async def eight(empty_database: Database, folder: Path) -> Path:
    """The scripts of this program, of which the database has run those up to 0008."""
    first, ninth = folder / "first", next((folder / "upgrades").glob("0009_*"))
    (first / "upgrades").mkdir(parents=True)
    copyfile(OLDEST, first / "schema.sql")
    await schema.init(empty_database, first)
    later = [each for each in (folder / "upgrades").glob("*.sql") if each.name >= ninth.name]
    for each in later:
        each.rename(folder / each.name)
    await schema.upgrade(empty_database, folder)
    for each in later:
        (folder / each.name).rename(each)
    return folder


async def test_while_an_upgrade_waits_to_make_indexes_it_holds_up_no_other_table(
    empty_database: Database, eight: Path
) -> None:
    scene, writer = Scene(empty_database), Database(empty_database.url, application_name="a-writer")
    async with writer.writing() as writing:
        await writing.execute(text("LOCK TABLE task_instance IN ROW EXCLUSIVE MODE"))
        upgrading = asyncio.create_task(schema.upgrade(empty_database, eight, locks_within_s=2))
        while not upgrading.done():
            held = "SELECT FROM pg_locks WHERE relation = 'workflow_instance'::regclass AND mode = 'ShareLock'"
            assert not await scene.sql(held)
            await writing.execute(text("SELECT 1"))
        with pytest.raises(Unavailable):
            await upgrading
    await writer.close()
    assert (await schema.upgrade(empty_database, eight)).version == NOW


async def test_indexes_may_be_made_before_an_upgrade_but_must_be_complete(
    empty_database: Database, eight: Path
) -> None:
    scene = Scene(empty_database)
    await scene.sql("CREATE INDEX audit_action ON audit (action, id)")
    made = await scene.sql("SELECT 'audit_action'::regclass::oid")
    await scene.sql("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'audit_action'::regclass")
    with pytest.raises(ShoalError, match="did not finish these indexes: audit_action; drop them and make them again"):
        await schema.upgrade(empty_database, eight)
    await scene.sql("UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'audit_action'::regclass")
    assert (await schema.upgrade(empty_database, eight)).version == NOW
    assert await scene.sql("SELECT 'audit_action'::regclass::oid") == made


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


async def test_an_older_schema_is_told_with_its_cure(database: Database, folder: Path) -> None:
    an_upgrade(folder, NEXT, "add_note", "CREATE TABLE note (a int);")
    with pytest.raises(Refused, match=f"has schema version {NOW}, this program needs {NEXT}; run `shoal db upgrade`"):
        await schema.check(database, folder)


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
    for ask in (schema.check, schema.upgrade):
        with pytest.raises(Refused, match=f"has schema version 99, this program knows only {NOW}; {cure}"):
            await ask(database)
