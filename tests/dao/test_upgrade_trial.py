"""What upgrade scripts lock is seen, not said: they are run on a real server and undone."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from dao.postgres import schema, schema_scripts, upgrade_trial
from dao.postgres.database import Database
from dao.postgres.sql import Sql
from dao.postgres.upgrade_trial import Lock, Trial
from model.errors import Unavailable
from shoal.cli import database as verbs
from shoal.cli.invocation import Invocation
from tests.dao.scene import Scene
from tests.dao.test_schema import NEXT, an_upgrade

WIDEN = "ALTER TABLE node ADD COLUMN more int;"


async def tried(database: Database, folder: Path, *contents: str, within_s: float = 60) -> list[Trial]:
    for number, content in enumerate(contents, NEXT):
        an_upgrade(folder, number, f"script_{number}", content)
    planned = await schema.plan(database, folder)
    return await upgrade_trial.tried(database, planned.scripts, within_s)


def seen(trial: Trial) -> set[tuple[str, str, str | None]]:
    return {(lock.table, upgrade_trial.BLOCKED[lock.mode], lock.work) for lock in trial.locks}


@pytest.mark.parametrize(
    ("content", "table", "waits", "work"),
    [
        (WIDEN, "node", "reads and writes", None),
        ("ALTER TABLE node ALTER COLUMN log_url TYPE varchar;", "node", "reads and writes", None),
        ("ALTER TABLE drain ADD COLUMN more float DEFAULT random();", "drain", "reads and writes", "rewrite"),
        ("ALTER TABLE node ADD CONSTRAINT more CHECK (id > -1);", "node", "reads and writes", "scan"),
        ("ALTER TABLE node ADD CONSTRAINT more CHECK (id > -1) NOT VALID;", "node", "reads and writes", None),
        ("CREATE INDEX more ON node (address, name);", "node", "writes", "scan"),
        ("UPDATE node SET name = name WHERE id = 1;", "node", "writes of the same rows", None),
        ("CREATE STATISTICS more ON name, address FROM node;", "node", "nothing", None),
    ],
)
async def test_what_waits_for_a_script_and_how_much_it_reads_is_seen(
    empty_database: Database, folder: Path, content: str, table: str, waits: str, work: str | None
) -> None:
    await schema.init(empty_database, folder)
    await Scene(empty_database).master()
    [trial] = await tried(empty_database, folder, content)
    assert (table, waits, work) in seen(trial)
    assert [lock.table for lock in trial.locks].count(table) == 1, "the strongest"
    assert trial.took_s is not None
    assert (await schema.plan(empty_database, folder)).version < NEXT, "it was undone"
    assert (await schema.upgrade(empty_database, folder, nobody_runs=True)).ran == (trial.script,)


async def test_scripts_build_on_each_other_and_their_own_tables_are_nobody_s(
    empty_database: Database, folder: Path
) -> None:
    await schema.init(empty_database, folder)
    first, second = await tried(
        empty_database, folder, f"CREATE TABLE note (a int);{WIDEN}", "ALTER TABLE note ADD COLUMN b int;"
    )
    assert seen(first) == {("node", "reads and writes", None)}
    assert seen(second) == set()


async def test_a_trial_that_takes_long_is_ended_and_its_locks_are_known(empty_database: Database, folder: Path) -> None:
    await schema.init(empty_database, folder)
    [trial] = await tried(empty_database, folder, f"{WIDEN} SELECT pg_sleep(60);", WIDEN)
    assert trial.took_s is None
    assert seen(trial) == {("node", "reads and writes", None)}
    await Scene(empty_database).sql("SELECT count(*) FROM node")


async def test_a_trial_waits_no_longer_for_a_lock_than_the_upgrade(empty_database: Database, folder: Path) -> None:
    await schema.init(empty_database, folder)
    reader = Database(empty_database.url, application_name="a-reader")
    async with reader.writing() as reading:
        await reading.execute(Sql("SELECT count(*) FROM node"))
        trying = asyncio.create_task(tried(empty_database, folder, WIDEN, within_s=2))
        while not trying.done():
            await reading.execute(Sql("SELECT 1"))
            await asyncio.sleep(0.1)
        with pytest.raises(Unavailable, match=r"the trial could not have its locks .* held by session \d+ \(a-reader"):
            await trying
    await reader.close()


@pytest.mark.parametrize("as_json", [False, True])
async def test_a_plan_says_what_waits(
    empty_database: Database,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    as_json: bool,
) -> None:
    await schema.init(empty_database, folder)
    an_upgrade(folder, NEXT, "widen", f"-- old nodes: may run\n{WIDEN}CREATE INDEX more ON drain (name);")
    scripts = schema_scripts.read_scripts(folder)
    monkeypatch.setattr(schema_scripts, "_own_scripts", lambda: scripts)
    call = Invocation(database_url=empty_database.url, as_json=as_json)
    await verbs.upgrade(call, plan=True, locks=True)
    said = capsys.readouterr().out
    if as_json:
        found: dict[str, Any] = json.loads(said[said.index("{") :])
        [trial] = found["trials"]
        assert {lock["table"] for lock in trial["locks"]} == {"node", "drain"}
        assert Lock(**trial["locks"][0]).size
    else:
        lines = [line.split() for line in said.splitlines()]
        assert ["node", "reads", "and", "writes", "none"] in lines
        assert any(line[:4] == ["drain", "writes", "scan", "of"] for line in lines)
