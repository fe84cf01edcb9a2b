"""What a worker's folder knows of ids that the database gave, and when it counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dao.cluster import went_back
from dao.cluster.went_back import LastGiven
from model.ids import Epoch, TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.logs.name import LogName
from tests.dao.scene import Scene
from worker.former_life import FormerLife, why_back

LOGGED = [LogName("20260101", WorkflowCode(7), WorkflowInstanceId(3), TaskInstanceId(17))]


@pytest.mark.parametrize(("timeline", "is_back"), [("", True), ("000000FF", False)], ids=["ours", "of another primary"])
async def test_ids_that_another_primary_gave_are_not_compared(scene: Scene, timeline: str, is_back: bool) -> None:
    """One that was frozen answers once more when it goes on, though another is in its place."""
    me = await scene.worker()
    await scene.sql("SELECT setval('task_instance_id_seq', 20)")
    async with scene.database.reading() as connection:
        began, now = await went_back.place(connection), await went_back.last_given(connection)
        given = LastGiven(10, now.restored_at, timeline or now.timeline)
        before = FormerLife(Epoch(me.epoch - 1), me.incarnation, began)
        why = await why_back(connection, me, before, given, LOGGED)
    assert (why is not None) == is_back, why


async def test_a_life_and_attempts_that_are_another_s_by_now_count_only_elsewhere(scene: Scene) -> None:
    first, me = await scene.worker(), await scene.worker()
    await scene.sql("SELECT setval('task_instance_id_seq', 20)")
    async with scene.database.reading() as connection:
        began, given = await went_back.place(connection), await went_back.last_given(connection)
        elsewhere = replace(began, timeline="00000000")
        said = [
            await why_back(connection, me, FormerLife(first.epoch, incarnation, place), given, LOGGED)
            for incarnation, place in (
                (first.incarnation, elsewhere),
                (me.incarnation, began),
                (me.incarnation, elsewhere),
            )
        ]
    assert said == [None, None, f"the worker's folder knows epoch {first.epoch}, and another has it"]
