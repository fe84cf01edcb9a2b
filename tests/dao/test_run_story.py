"""`dao/runs/run_story.py`: what was asked of a run is found by its index."""

from __future__ import annotations

from typing import cast

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.runs import run_story
from model.cluster.slots import Slot
from model.ids import WorkflowInstanceId
from tests.dao.explaining import Explaining
from tests.dao.scene import Scene


async def test_what_was_asked_of_a_run_is_found_by_its_index_with_who_asked(scene: Scene) -> None:
    run = await scene.instance(await scene.master())
    (start,) = await scene.sql("SELECT command_id FROM workflow_instance")
    await scene.sql(
        "INSERT INTO command_history (command_id, type, outcome, workflow_instance_id, master_id, slot_current, "
        "slot_total, created_at, created_by) VALUES "
        "(:start, 'START_PROCESS', 'DONE', :run, 1, 0, 1, now(), 'ada'), "
        "(5, 'PAUSE', 'DONE', :run, 1, NULL, NULL, now(), 'ben'), (6, 'STOP', 'ERROR', :run, 1, 1, 2, now(), NULL), "
        "(7, 'PAUSE', 'DONE', :run + 1, 1, 1, 2, now(), 'cora')",
        start=start,
        run=run,
    )
    async with scene.writing() as connection:
        await connection.execute(Sql("SET LOCAL enable_seqscan = off"))
        explaining = Explaining(connection)
        found = await run_story.commands_of(cast(AsyncConnection, explaining), WorkflowInstanceId(run))
    assert [(each.type, each.by, each.slot, each.reason) for each in found] == [
        ("START_PROCESS", "ada", Slot(0, 1), None),
        ("PAUSE", "ben", None, None),
        ("STOP", None, Slot(1, 2), "no reason was stored"),
    ]
    assert {"command_history_run", "command_history_pkey"} <= explaining.plan.indexes, explaining.plan
