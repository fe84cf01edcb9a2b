"""People with psql reach what they should, and what they did is taken out again, with nothing else."""

from __future__ import annotations

import psycopg

from tests.chaos.load import ask
from tests.chaos.strangers import TABLES, take_out
from tests.chaos.test_checker import Scene, scene  # noqa: F401 - a fixture
from tests.chaos.workflows import EDITED


def test_every_table_may_be_locked(scene: Scene) -> None:  # noqa: F811
    tables = scene.cluster.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    assert {table for (table,) in tables} == set(TABLES)


def test_what_was_edited_is_taken_out_and_nothing_else(scene: Scene) -> None:  # noqa: F811
    rows = scene.cluster.rows
    counted = """SELECT (SELECT count(*) FROM command_history), (SELECT count(*) FROM workflow_instance),
                        (SELECT count(*) FROM task_instance), (SELECT count(*) FROM chaos.change)"""
    before = rows(counted)
    start = ask(scene.cluster, "START_PROCESS", EDITED)
    rows("DELETE FROM command")
    scene.promises.acknowledged[start] = "START_PROCESS"
    scene.promises.edited.add(start)
    run = scene.run(start, EDITED, "FAILURE")
    scene.handled(start, run)
    scene.handled(91, run, "RECOVER_TOLERANCE_FAULT_PROCESS")
    scene.task(run, 7)
    ask(scene.cluster, "STOP", None, run)
    rows(
        """INSERT INTO command_history (command_id, type, outcome, master_id, created_at)
           VALUES (92, 'COMPLEMENT_DATA', 'ERROR', 1, clock_timestamp())"""
    )
    refused = (
        "INSERT INTO error_command (command_id, type, workflow_code, reason, master_id) VALUES (92, %s, %s, 'no', 1)"
    )
    rows(refused, "COMPLEMENT_DATA", EDITED)  # the next date of a run that an edit made a backfill
    assert rows(counted) != before
    with psycopg.connect(scene.cluster.psql_url) as connection:
        take_out(connection, scene.promises)
    assert rows(counted) == before
    assert rows("SELECT FROM command") == rows("SELECT FROM error_command") == []
    assert scene.broken_rules() == {"each command has one outcome"}, "it is promised until it is buried"
    del scene.promises.acknowledged[start]
    assert scene.broken_rules() == set()
