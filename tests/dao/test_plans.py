"""Each hot statement walks its index and reads in proportion to what it takes, whatever the statistics say.

The tables fill and empty within seconds, so a plan that is right only after ANALYZE is wrong. All statements are run as
`dao` sends them, with the settings of our sessions, in a database with a million commands, runs and finished tasks
(million.sql), under four kinds of statistics.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio
from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncConnection

from dao.checks import stuck_runs, table_checks
from dao.checks.stuck_runs import UnderWay
from dao.checks.table_checks import AFTER_REASONS, BEFORE_REASONS, RECENT
from dao.cluster import nodes
from dao.commands import commands, waiting_work
from dao.definitions import schedules
from dao.definitions.schedules import Fire
from dao.postgres.database import Database
from dao.runs import children, completion, control, failover, serial_line, workflow_instances
from dao.runs.children import Unmade
from dao.runs.control import Revival
from dao.runs.workflow_instances import InstanceEnd
from dao.tasks import lost_tasks, past_attempts, task_claims, task_events, task_instances
from dao.tasks.task_claims import Report
from dao.views import run_readings
from model.ids import CommandId, Epoch, ScheduleId, TaskCode, TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.instances import AttemptEnd, Parent
from model.nodes import Slot
from model.schedules import ScheduleRow
from model.states import TaskState, WorkflowState
from tests.conftest import SCHEMA
from tests.dao.explaining import Explaining, Plan
from tests.dao.scene import Scene, new_task
from tests.servers.postgres import PostgresServer

BIG = {"command", "schedule", "task_instance", "workflow_instance"}
LIVING_MASTER, LIVING_WORKER, DEAD_WORKER = Epoch(1), Epoch(51), Epoch(53)
RUNNING = [WorkflowInstanceId(id_) for id_ in range(4, 1001, 4)]
"""The unfinished instances of the living master."""
ABOVE = RUNNING[:20]
"""Those of them that have children."""
OVER = range(2_001, 2_021)
"""Instances that have ended, some of a serial workflow, some under another."""

FIRES = [
    Fire(
        ScheduleRow(
            *(ScheduleId(id_), 1001, "0 5 * * *", "UTC", None, None, "ONLINE", "SKIP", 60.0),
            *("2026-01-01 00:00:00+00", None, None, "2026-01-01 00:00:00+00", "2026-01-01 00:00:00+00"),
        ),
        [datetime(2026, 1, 1, tzinfo=UTC)],
        datetime(2026, 1, 2, tzinfo=UTC),
    )
    for id_ in range(1, 201)
]
"""Of the schedules that are due."""


@dataclass(frozen=True)
class Hot:
    """A statement, the indexes that it must walk, and how many rows of the big tables it may read in all."""

    call: Callable[[AsyncConnection], Awaitable[Any]]
    indexes: set[str]
    rows_read_max: int


HOT = {
    "claim, small batch": Hot(lambda c: commands.claim(c, Slot(1, 2), 20, 1), {"command_claim"}, 100),
    "claim, large batch of three": Hot(lambda c: commands.claim(c, Slot(1, 3), 5_000, 1), {"command_claim"}, 25_000),
    "claim of a full master": Hot(
        lambda c: commands.claim_urgent(c, Slot(1, 2), timedelta(seconds=5), 500, 1), {"command_claim"}, 3_000
    ),
    "steal": Hot(lambda c: commands.steal(c, timedelta(0), 500), {"command_age"}, 1_000),
    "steal, nothing is old": Hot(lambda c: commands.steal(c, timedelta(days=1), 500), {"command_age"}, 0),
    "claim, many aside": Hot(
        lambda c: commands.claim(c, Slot(1, 2), 20, 1, [CommandId(each) for each in range(1, 1_001)]),
        {"command_claim"},
        2_100,
    ),
    "steal, many aside": Hot(
        lambda c: commands.steal(c, timedelta(0), 500, [CommandId(each) for each in range(1, 1_001)]),
        {"command_age"},
        2_000,
    ),
    "idle look of a master": Hot(
        lambda c: waiting_work.work_waits(c, Slot(0, 2), timedelta(days=1), 1, Epoch(77)),
        {"command_pkey", "command_age"},
        2_100,
    ),
    "idle look without a slot": Hot(
        lambda c: waiting_work.work_waits(c, None, timedelta(days=1), 1, LIVING_MASTER), {"command_age"}, 2_100
    ),
    "consume": Hot(
        lambda c: task_events.consume(c, LIVING_MASTER, 100), {"task_event_owner", "workflow_instance_pkey"}, 500
    ),
    "consume, many aside": Hot(
        lambda c: task_events.consume(c, LIVING_MASTER, 100, without=RUNNING[:200]),
        {"task_event_owner", "workflow_instance_pkey"},
        2_100,
    ),
    "consume, of one alone": Hot(
        lambda c: task_events.consume(c, LIVING_MASTER, 100, only=RUNNING[-1]),
        {"task_event_owner", "workflow_instance_pkey"},
        500,
    ),
    "queue": Hot(
        lambda c: task_instances.queue(c, [new_task(each, 2) for each in RUNNING], LIVING_MASTER),
        {"workflow_instance_pkey"},
        len(RUNNING),
    ),
    "halt": Hot(
        lambda c: task_instances.halt(c, dict.fromkeys(RUNNING[:5], (TaskState.KILL, "x")), (), LIVING_MASTER),
        {"task_instance_attempt"},
        100,
    ),
    # Of some tasks or of all that run, which are few beside those that are over: either way is right.
    "ask kill": Hot(lambda c: task_instances.ask_kill(c, RUNNING[:5], LIVING_MASTER), set(), 2_100),
    "end in master": Hot(
        lambda c: task_instances.end_in_master(
            c, [(each, AttemptEnd(TaskCode(3), 1, TaskState.SUCCESS)) for each in ABOVE], LIVING_MASTER
        ),
        set(),
        4 * len(ABOVE),
    ),
    "invalidate": Hot(
        lambda c: task_instances.invalidate(c, [(each, TaskCode(1)) for each in RUNNING[:5]]),
        {"task_instance_attempt"},
        20,
    ),
    "serial line": Hot(
        lambda c: serial_line.lock(c, [WorkflowCode(2002)]), {"workflow_instance_live", "workflow_instance_waiting"}, 10
    ),
    "who runs in a line": Hot(lambda c: serial_line.live(c, WorkflowCode(2002)), {"workflow_instance_live"}, 10),
    "who waits in a line": Hot(
        lambda c: serial_line.waiting(c, WorkflowCode(2002), 1), {"workflow_instance_waiting"}, 10
    ),
    "who is overtaken in a line": Hot(
        lambda c: serial_line.overtaken(c, WorkflowCode(2002), 500), {"workflow_instance_urgent"}, 10
    ),
    "look for who waits": Hot(serial_line.anyone_waits, {"workflow_instance_waiting"}, 10),
    "call the forgotten": Hot(
        serial_line.call_missed, {"workflow_instance_waiting", "workflow_instance_live", "command_calls"}, 1_100
    ),
    "who waits for itself": Hot(
        serial_line.deadlocked,
        {"workflow_instance_waiting", "workflow_instance_live", "workflow_instance_child"},
        10_000,
    ),
    "hold runs": Hot(lambda c: control.lock(c, RUNNING[:5]), {"workflow_instance_pkey"}, 5),
    "ask for a halt": Hot(
        lambda c: control.ask_halt(c, dict.fromkeys(RUNNING[:5], WorkflowState.READY_STOP)),
        {"workflow_instance_pkey"},
        5,
    ),
    "revive": Hot(
        lambda c: control.revive(c, [Revival(WorkflowInstanceId(each)) for each in OVER], LIVING_MASTER),
        {"workflow_instance_pkey"},
        len(OVER),
    ),
    "who is above": Hot(lambda c: children.above(c, ABOVE), {"workflow_instance_pkey"}, 4 * len(ABOVE)),
    "children of": Hot(lambda c: children.of(c, ABOVE), {"workflow_instance_child"}, 10 * len(ABOVE)),
    "existing children": Hot(
        lambda c: children.existing(c, [Parent(each, TaskCode(3), 1, 7) for each in ABOVE]),
        {"workflow_instance_child"},
        len(ABOVE),
    ),
    "halt children": Hot(lambda c: children.halt(c, dict.fromkeys(ABOVE, TaskState.KILL)), set(), 2_100),
    "resume children": Hot(
        lambda c: children.resume(c, [(Parent(each, TaskCode(3), 1, 7), 2) for each in ABOVE]),
        {"workflow_instance_child", "workflow_instance_pkey"},
        3 * len(ABOVE),
    ),
    "tell who is above": Hot(
        lambda c: children.report_unmade(
            c, [Unmade(Parent(each, TaskCode(3), 1, 7), WorkflowState.FAILURE) for each in ABOVE]
        ),
        {"workflow_instance_pkey"},
        len(ABOVE),
    ),
    "tell who waits for an end": Hot(
        lambda c: completion.notify_awaiting(c, [WorkflowInstanceId(each) for each in OVER]),
        {"workflow_instance_pkey"},
        5 * len(OVER),
    ),
    "latest attempts": Hot(
        lambda c: past_attempts.latest_attempts(c, RUNNING), {"task_instance_attempt"}, len(RUNNING)
    ),
    "finish": Hot(
        lambda c: workflow_instances.finish(
            c, [InstanceEnd(each, WorkflowState.SUCCESS, "") for each in RUNNING], LIVING_MASTER
        ),
        {"workflow_instance_pkey"},
        len(RUNNING),
    ),
    "walk of the watcher": Hot(
        lambda c: stuck_runs.walk(c, LIVING_MASTER, WorkflowInstanceId(0), 200, timedelta(0)),
        {"workflow_instance_unfinished", "task_instance_attempt"},
        500,
    ),
    "what is stuck of all": Hot(
        lambda c: stuck_runs.stuck(c, timedelta(0)), {"workflow_instance_unfinished", "task_instance_attempt"}, 1_100
    ),
    "what was not heard": Hot(
        lambda c: stuck_runs.unheard(c, [UnderWay(each, TaskCode(1), 1) for each in RUNNING], timedelta(0)),
        {"task_instance_attempt"},
        2 * len(RUNNING),
    ),
    "claim a failover": Hot(
        lambda c: failover.claim_failover(c, [WorkflowInstanceId(2), WorkflowInstanceId(3)], LIVING_MASTER),
        {"workflow_instance_pkey"},
        10,
    ),
    "owned": Hot(lambda c: workflow_instances.owned(c, LIVING_MASTER), {"workflow_instance_unfinished"}, 250),
    "fail over": Hot(
        lambda c: failover.fail_over(c, 100),
        {"workflow_instance_unfinished", "workflow_instance_pkey"},
        1_200,
    ),
    "mark lost": Hot(lambda c: lost_tasks.mark_lost(c, 100), {"task_instance_running", "task_instance_pkey"}, 700),
    "task claim": Hot(
        lambda c: task_claims.claim(c, ["gpu", "default"], 50, LIVING_WORKER),
        {"task_instance_queue", "task_instance_pkey", "workflow_instance_pkey"},
        200,
    ),
    "task claim, nothing is queued": Hot(
        lambda c: task_claims.claim(c, ["gpu"], 50, LIVING_WORKER), {"task_instance_queue"}, 0
    ),
    "idle look of a worker": Hot(
        lambda c: task_claims.work_waits(c, ["gpu"], LIVING_WORKER),
        {"task_instance_queue", "task_instance_running"},
        125,
    ),
    "report": Hot(
        lambda c: task_claims.report(
            c,
            [Report(TaskInstanceId(id_), 1, TaskState.SUCCESS, "", 0, None) for id_ in range(2, 501, 4)],
            DEAD_WORKER,
        ),
        {"task_instance_pkey", "workflow_instance_pkey"},
        250,
    ),
    "due schedules": Hot(lambda c: schedules.due(c, Slot(0, 2), 50), {"schedule_due"}, 110),
    "idle look at the schedules": Hot(lambda c: schedules.next_due_in_s(c, Slot(1, 2)), {"schedule_due"}, 5),
    "fire": Hot(lambda c: schedules.fire(c, FIRES), {"schedule_pkey"}, 4 * len(FIRES)),
    "living nodes": Hot(lambda c: nodes.living(c), {"node_alive", "node_beat_pkey"}, 0),
}


@pytest.fixture(scope="module")
def full_server() -> Iterator[PostgresServer]:
    """A server that does not wait for the disk; its database `full` has a million of everything."""
    settings = {"full_page_writes": "off", "synchronous_commit": "off", "max_wal_size": "8GB", "autovacuum": "off"}
    with PostgresServer(fsync=False, settings={**settings, "shared_buffers": "512MB"}) as server:
        server.create_database("full")
        with server.connect("full") as connection:
            connection.execute(SCHEMA.read_bytes())
            connection.execute((Path(__file__).parent / "million.sql").read_bytes())
        yield server


# In this order: each begins where the one before ended.
STATISTICS = {
    "of an early moment": "SELECT",
    "none": """
        DELETE FROM pg_statistic WHERE starelid >= 16384;
        UPDATE pg_class SET reltuples = -1, relpages = 0, relallvisible = 0 WHERE oid >= 16384""",
    "fresh": "ANALYZE",
    "of fuller tables": "DELETE FROM command WHERE id % 101 > 0; DELETE FROM task_event",
}


@pytest.fixture(scope="module", params=STATISTICS)
def full_url(full_server: PostgresServer, request: pytest.FixtureRequest) -> str:
    """The URL of the full database, under each kind of statistics."""
    with full_server.connect("full") as connection:
        connection.execute(STATISTICS[request.param].encode())
    return full_server.url("full")


@pytest_asyncio.fixture
async def full(full_url: str) -> AsyncIterator[AsyncConnection]:
    """A connection as our nodes have it, whose transaction is undone."""
    database = Database(full_url, application_name="shoal-test")
    with suppress(_Undone):
        async with database.writing() as connection:
            yield connection
            raise _Undone
    await database.close()


class _Undone(Exception):
    """Rolls back."""


@pytest.mark.parametrize("name", HOT)
async def test_a_hot_statement_walks_its_index_and_reads_no_more_than_it_must(full: AsyncConnection, name: str) -> None:
    hot, explaining = HOT[name], Explaining(full)
    await hot.call(cast(AsyncConnection, explaining))
    plan = explaining.plan
    assert not plan.whole_tables & BIG, plan
    assert hot.indexes <= plan.indexes, plan
    rows_read = sum(rows for through, rows in plan.read.items() if not through.startswith(("node", "task_event")))
    assert rows_read <= hot.rows_read_max, plan


async def test_a_walk_over_runs_that_are_all_stuck_reads_no_history(full: AsyncConnection) -> None:
    """Each is then asked for its tasks, its children and the commands for those, and the events are read once."""
    unfinished = "SELECT id FROM workflow_instance WHERE master_id = 1 AND ended_at IS NULL"
    await full.execute(
        text(f"DELETE FROM task_instance WHERE workflow_instance_id IN ({unfinished}) AND task_code = 1")
    )
    await full.execute(text(f"DELETE FROM task_event WHERE workflow_instance_id IN ({unfinished})"))
    explaining = Explaining(full)
    walked = await stuck_runs.walk(
        cast(AsyncConnection, explaining), LIVING_MASTER, WorkflowInstanceId(0), 1_000, timedelta(0)
    )
    plan = explaining.plan
    assert len(walked.stuck) == len(RUNNING)
    assert not plan.whole_tables & BIG, plan
    assert {"workflow_instance_child", "command_child"} <= plan.indexes, plan
    assert sum(rows for through, rows in plan.read.items() if not through.startswith(("node", "task_event"))) < 2_000
    assert sum(rows for through, rows in plan.read.items() if through.startswith("task_event")) <= 3_000


async def test_what_explains_a_run_is_read_by_few_statements_that_read_no_history(full: AsyncConnection) -> None:
    sent: list[tuple[str, Any]] = []
    connection = full.sync_connection
    event.listen(connection, "before_cursor_execute", lambda *call: sent.append((call[2], call[3])))
    reading = await run_readings.read(full, ABOVE[0])
    assert reading.children[ABOVE[0]]
    plan = Plan()
    for statement, values in sent.copy():
        explain = f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {statement}"
        plan.add((await full.exec_driver_sql(explain, values)).scalar_one()[0]["Plan"])
    assert len(sent) // 2 <= 12
    assert not plan.whole_tables & BIG, plan
    assert {"workflow_instance_child", "command_child", "command_resume", "command_one_recover"} <= plan.indexes, plan
    by_run = {name: rows for name, rows in plan.read.items() if not name.startswith(("node", "task_instance_r"))}
    assert sum(rows for name, rows in by_run.items() if name != "task_instance_queue") <= 2_000, plan


CHECKS = {check.name: check for check in (*BEFORE_REASONS, *AFTER_REASONS)}


@pytest.mark.parametrize("name", CHECKS)
async def test_a_check_of_the_doctor_reads_what_is_under_way_and_of_history_a_bounded_part(
    full: AsyncConnection, name: str
) -> None:
    explaining = Explaining(full)
    values = {"failed_over_after": timedelta(seconds=20)}
    await table_checks.find(cast(AsyncConnection, explaining), CHECKS[name], values)
    plan = explaining.plan
    assert not plan.whole_tables & BIG, plan
    rows_read = sum(rows for through, rows in plan.read.items() if not through.startswith(("node", "task_event")))
    assert rows_read <= (5 * RECENT if name == "commands_have_one_outcome" else 10_000), plan


BAD_PLAN = ("enable_hashjoin", "enable_mergejoin", "enable_material", "enable_hashagg", "enable_sort")
"""Without these the planner has little left but to run a subquery once for each row."""


async def plan_badly(connection: AsyncConnection) -> None:
    for setting in BAD_PLAN:
        await connection.execute(text(f"SET LOCAL {setting} = off"))


async def test_a_plain_subquery_with_a_limit_would_take_all(scene: Scene) -> None:
    """That the test below tests something: this is what a claim must not look like."""
    await scene.commands(100)
    await scene.sql("ANALYZE")
    async with scene.writing() as connection:
        await plan_badly(connection)
        gone = await connection.execute(
            text("DELETE FROM command WHERE id IN (SELECT id FROM command ORDER BY id LIMIT 5 FOR UPDATE SKIP LOCKED)")
        )
    assert gone.rowcount == 100


async def test_a_bad_plan_never_takes_more_than_the_limit(scene: Scene) -> None:
    """A LIMIT that the planner runs once for each row would take all (reliability study, part 0, 5)."""
    master, worker = await scene.master(), await scene.worker()
    await scene.commands(100, age="1 h")
    instance = await scene.instance(master)
    await scene.queue(instance, *range(1, 101), master=master)
    await scene.sql(
        "INSERT INTO task_event (workflow_instance_id, task_code, attempt, state) "
        "SELECT :instance, i, 1, 'SUCCESS' FROM generate_series(1, 100) AS i",
        instance=instance,
    )
    await scene.sql("ANALYZE")
    async with scene.writing() as connection:
        await plan_badly(connection)
        assert len(await commands.claim(connection, Slot(0, 1), 5, 1)) == 5
        assert len(await commands.steal(connection, timedelta(minutes=1), 5)) == 5
        assert len(await task_claims.claim(connection, ["default"], 5, worker.epoch)) == 5
        assert len(await task_events.consume(connection, master.epoch, 5)) == 5
    assert await scene.sql(
        "SELECT (SELECT count(*) FROM command), (SELECT count(*) FROM task_event), "
        "(SELECT count(*) FROM task_instance WHERE state <> 'QUEUED')"
    ) == [(90, 95, 5)]
