"""A master keeps nothing in memory of ended runs."""

from __future__ import annotations

import gc
from dataclasses import replace
from uuid import uuid4

from dao.cluster.nodes import Me
from dao.postgres.database import Database
from master.drive.runnable import WorkflowRunnable
from model.cluster.nodes import NodeKind
from model.cluster.timing import Timing
from model.ids import Epoch, WorkflowInstanceId
from node.life import Life
from tests.master.idle_driver import idle_driver
from tests.master.plans import an_instance, plan_of

URL = "postgresql+psycopg://nobody@127.0.0.1:1/nowhere"
"""Never connected to: nothing is written here."""
RUNS = 50


async def test_the_timer_of_a_long_timeout_keeps_nothing_of_a_run_that_ended_long_before() -> None:
    life = Life(Database(URL, application_name="test"), Me(Epoch(1), uuid4(), NodeKind.MASTER, "here:1"), Timing())
    driver = idle_driver(life)
    plan = plan_of([{"name": "a", "type": "FAKE"}], timeout_minutes=1440)
    runnables = [
        WorkflowRunnable(replace(an_instance(plan), id=WorkflowInstanceId(number)), plan) for number in range(RUNS)
    ]
    driver.runs.hold(runnables)
    driver.runs.hold(runnables[:10])  # read again after an unknown COMMIT
    assert driver.runs.running == RUNS
    driver.runs.drop(WorkflowInstanceId(number) for number in range(RUNS))
    del runnables
    gc.collect()
    assert not [each for each in gc.get_objects() if isinstance(each, WorkflowRunnable) and each.plan is plan]
    await life.close()
