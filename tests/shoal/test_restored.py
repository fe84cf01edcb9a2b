"""`shoal db restored`: refused under nodes that work, else all goes on, or is paused or stopped first."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from dao.postgres.database import Database
from tests.dao.scene import Scene
from tests.dao.test_nodes import beat
from tests.shoal.command_line import CommandLine

FATES = {
    "--hold": {"RUNNING_EXECUTION": "READY_PAUSE", "SERIAL_WAIT": "PAUSE", "READY_STOP": "READY_STOP"},
    "--drop": {"RUNNING_EXECUTION": "READY_STOP", "SERIAL_WAIT": "STOP", "READY_STOP": "READY_STOP"},
}


@pytest_asyncio.fixture
async def scene(database_url: str) -> AsyncIterator[Scene]:
    database = Database(database_url, application_name="shoal-test")
    yield Scene(database)
    await database.close()


async def test_it_is_refused_while_a_node_works_with_the_database(scene: Scene, database_url: str) -> None:
    me = await scene.worker()
    await scene.sql("UPDATE node SET process_boot = 'of another machine'")
    await beat(scene, me, 0)
    answer = await CommandLine.at(database_url)("db", "restored")
    assert answer.code == 2
    assert f"nodes work with this database: {me}" in answer.err.replace("\n", " ")
    assert await scene.sql("SELECT state FROM node") == ["ALIVE"]


@pytest.mark.parametrize("fate", FATES)
async def test_unfinished_runs_are_halted_and_waiting_commands_set_aside(
    scene: Scene, database_url: str, fate: str
) -> None:
    me, states = await scene.master(), FATES[fate]
    runs = {state: await scene.instance(me) for state in states}
    for state, run in runs.items():
        await scene.sql("ALTER TABLE workflow_instance DISABLE TRIGGER USER")
        await scene.sql("UPDATE workflow_instance SET state = :state WHERE id = :run", state=state, run=run)
        await scene.sql("ALTER TABLE workflow_instance ENABLE TRIGGER USER")
    await scene.sql("UPDATE node_beat SET beaten_at = beaten_at - interval '1 hour'")
    await scene.sql("UPDATE node SET process_boot = 'of another machine'")
    await scene.sql("DELETE FROM command")
    await scene.sql("INSERT INTO command (type, workflow_code) VALUES ('START_PROCESS', 7)")
    answer = await CommandLine.at(database_url)("db", "restored", fate, "--json")
    assert answer.code == 0, answer.err
    told: dict[str, Any] = json.loads(answer.out)
    assert told["commands_set_aside"] == 1
    assert {run["id"]: run["state"] for run in told["runs"]} == {str(run): state for state, run in runs.items()}
    for state, run in runs.items():
        asked = await scene.sql(
            "SELECT coalesce(requested_state, state) FROM workflow_instance WHERE id = :run", run=run
        )
        assert asked == [states[state]]
    assert await scene.sql("SELECT count(*) FROM error_command WHERE reason LIKE 'set aside%'") == [1]
    assert await scene.sql("SELECT state FROM node") == ["FENCED"]


@pytest.mark.parametrize(("fate", "end"), [("--hold", "PAUSE"), ("--drop", "KILL")])
async def test_no_worker_that_comes_before_a_master_begins_what_was_queued(
    scene: Scene, database_url: str, fate: str, end: str
) -> None:
    me = await scene.master()
    await scene.queue(await scene.instance(me), 1, master=me)
    await scene.sql("UPDATE node SET process_boot = 'of another machine'")
    await scene.sql("UPDATE node_beat SET beaten_at = beaten_at - interval '1 hour'")
    answer = await CommandLine.at(database_url)("db", "restored", fate)
    assert answer.code == 0, answer.err
    assert ("shoal runs resume --all" in answer.out) == (fate == "--hold")
    assert await scene.claim(await scene.worker()) == []
    assert await scene.states() == {1: end}
    assert await scene.sql("SELECT state FROM task_event WHERE task_code = 1") == [end]


async def test_what_a_node_missed_is_named_unless_the_restore_brought_it_meanwhile(
    scene: Scene, database_url: str
) -> None:
    me = await scene.master()
    run, lost = await scene.instance(me), 2**53 + 1
    await scene.sql(
        "INSERT INTO went_back (node, why, runs, attempts) VALUES ('m1', 'why', ARRAY[:lost, :run], ARRAY[:lost])",
        lost=lost,
        run=run,
    )
    answer = await CommandLine.at(database_url)("db", "restored", "--json")
    assert answer.code == 0, answer.err
    [notice] = json.loads(answer.out)["notices"]
    assert (notice["runs"], notice["attempts"]) == ([str(lost)], [str(lost)])


async def test_commands_that_waited_are_named_where_no_run_is_unfinished(scene: Scene, database_url: str) -> None:
    await scene.sql("INSERT INTO command (type, workflow_code) VALUES ('START_PROCESS', 7)")
    answer = await CommandLine.at(database_url)("db", "restored", "--hold")
    assert answer.code == 0, answer.err
    assert "1 command that waited: shoal queue errors\n" in answer.out
    assert "No run is unfinished.\n" in answer.out
