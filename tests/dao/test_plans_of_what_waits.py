"""What many DEPENDENT tasks, unread events and ended nodes cost the statements that are asked again and again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, cast

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from dao.checks import stuck_runs
from dao.checks.stuck_runs import UnderWay
from dao.cluster import gone_nodes
from dao.commands import waiting_work
from dao.runs import dependencies
from dao.runs.dependencies import BEGINNING, DependentEnd
from dao.tasks import task_events
from model.ids import Epoch, TaskCode, TaskInstanceId
from model.states import TaskState
from tests.dao.explaining import Explaining
from tests.dao.test_plans import BIG, LIVING_MASTER, RUNNING, full, full_server, full_url

__all__ = ["full", "full_server", "full_url"]

DEPENDENTS = 3_000
WAITING = f"""
    INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group,
                               workflow_priority, task_priority, started_at)
    SELECT :run, 100 + n, 'wait', 'DEPENDENT', 'RUNNING_EXECUTION', 'default', 'MEDIUM', 'MEDIUM', clock_timestamp()
    FROM generate_series(1, {DEPENDENTS}) AS n RETURNING id
"""
JUDGES: dict[str, Callable[[AsyncConnection, list[TaskInstanceId]], Awaitable[Any]]] = {
    "walk": lambda c, _: dependencies.walk(c, LIVING_MASTER, BEGINNING, 50),
    "of a run": lambda c, _: dependencies.waiting_of(c, LIVING_MASTER, RUNNING[1:2]),
    "these": lambda c, ids: dependencies.still_waiting(c, LIVING_MASTER, ids[:50]),
    "end": lambda c, ids: dependencies.end(
        c, [DependentEnd(id_, TaskState.SUCCESS, "x") for id_ in ids[:50]], LIVING_MASTER
    ),
}


@pytest.mark.parametrize("name", JUDGES)
async def test_however_many_dependent_tasks_wait_a_judgement_reads_only_those_that_are_judged(
    full: AsyncConnection, name: str
) -> None:
    ids = [TaskInstanceId(id_) for (id_,) in (await full.execute(text(WAITING), {"run": RUNNING[0]})).all()]
    explaining = Explaining(full)
    await JUDGES[name](cast(AsyncConnection, explaining), ids)
    plan = explaining.plan
    assert not plan.whole_tables & BIG, plan
    assert sum(rows for through, rows in plan.read.items() if not through.startswith("task_event")) <= 400, plan


UNREAD = """
    INSERT INTO task_event (workflow_instance_id, task_code, attempt, state, owner)
    SELECT i.id, 7, 1, 'SUCCESS', i.master_id
    FROM (SELECT id, master_id FROM workflow_instance WHERE ended_at IS NULL AND master_id = :owner LIMIT 1) AS i,
         generate_series(1, 5000)
"""
LOOKS: dict[str, Callable[[AsyncConnection], Awaitable[Any]]] = {
    "idle look": lambda c: waiting_work.work_waits(c, None, timedelta(days=1), 1, Epoch(77)),
    "look for what is left": lambda c: gone_nodes.anything_left(c),
    "consume": lambda c: task_events.consume(c, Epoch(77), 100),
    "forget": lambda c: task_events.delete_of(c, RUNNING[-1:]),
    "what was not heard": lambda c: stuck_runs.unheard(c, [UnderWay(RUNNING[0], TaskCode(1), 1)], timedelta(0)),
}


@pytest.mark.parametrize("name", LOOKS)
async def test_however_many_events_others_have_not_read_a_look_reads_none_of_them(
    full: AsyncConnection, name: str
) -> None:
    """Of an owner that is gone a bounded part."""
    await full.execute(text("DELETE FROM task_event"))
    await full.execute(text(UNREAD), {"owner": LIVING_MASTER})
    explaining = Explaining(full)
    await LOOKS[name](cast(AsyncConnection, explaining))
    read = sum(rows for through, rows in explaining.plan.read.items() if through.startswith("task_event"))
    assert "task_event" not in explaining.plan.whole_tables, explaining.plan
    assert read <= 20, explaining.plan


async def test_nodes_that_ended_are_forgotten_by_their_index(full: AsyncConnection) -> None:
    explaining = Explaining(full)
    await gone_nodes.delete_ended(cast(AsyncConnection, explaining), timedelta(days=30), 100)
    assert "node_ended" in explaining.plan.indexes, explaining.plan
    assert not explaining.plan.whole_tables & {*BIG, "node"}, explaining.plan
