"""Each hot statement walks its index and reads in proportion to what it takes, whatever the statistics say.

The tables fill and empty within seconds, so a plan that is right only after ANALYZE is wrong. All statements are run as
`dao` sends them, with the settings of our sessions, in a database with a million commands, runs and finished tasks
(million.sql), under five kinds of statistics. `make test` has two of them: those that the tables are filled with, and
fresh ones.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio

from dao.alerts import alerts, conditions
from dao.alerts import rules as alert_rules
from dao.alerts.rules import Expected, LongRule
from dao.checks import stuck_runs, table_checks
from dao.checks.stuck_runs import UnderWay
from dao.checks.table_checks import AFTER_REASONS, BEFORE_REASONS, RECENT
from dao.cluster import gone_nodes
from dao.commands import commands, waiting_work
from dao.pools import pool_claims
from dao.postgres.database import Database, FencedTransaction
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.runs import dependencies, run_readings
from dao.runs.dependencies import BEGINNING, DependentEnd
from dao.tasks import attempt_listings as attempts
from dao.tasks import task_claims, task_events
from dao.tasks.attempt_listings import WALK_MAX, AttemptFilter
from model.cluster.slots import Slot
from model.ids import Epoch, TaskCode, TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.runs.states import TaskState
from tests.conftest import SCHEMA
from tests.dao.explaining import Explaining, Plan
from tests.dao.hot import RUNNING
from tests.dao.hot_statements import ABOVE, BIG, HOT, LIVING_MASTER
from tests.dao.hot_views import VIEWS
from tests.dao.scene import Scene
from tests.sent_statements import explained, sent_statements
from tests.servers.postgres import PostgresServer


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


# The first are as the tables were filled; the last leave few rows.
STATISTICS = {
    "of an early moment": "SELECT",
    "none": """
        DELETE FROM pg_statistic WHERE starelid >= 16384;
        UPDATE pg_class SET reltuples = -1, relpages = 0, relallvisible = 0 WHERE oid >= 16384""",
    "fresh": "ANALYZE",
    # As autovacuum leaves them when it comes while a queue is empty; very much may come before it does again.
    "of empty queues": """
        ANALYZE;
        UPDATE pg_class SET reltuples = 0 WHERE relkind IN ('r', 'i') AND oid IN (
            SELECT name::regclass FROM (VALUES ('task_event'), ('command'), ('pool_line')) AS queue (name)
            UNION SELECT indexrelid FROM pg_index
                  WHERE indrelid IN ('task_event'::regclass, 'command'::regclass, 'pool_line'::regclass))
    """,
    "of fuller tables": "ANALYZE; DELETE FROM command WHERE id % 101 > 0; DELETE FROM task_event",
}


LONG = {"none", "of empty queues", "of fuller tables"}
OF_TESTS = [pytest.param(name, marks=pytest.mark.long if name in LONG else ()) for name in STATISTICS]


@pytest.fixture(scope="module", params=OF_TESTS)
def full_url(full_server: PostgresServer, request: pytest.FixtureRequest) -> str:
    """The URL of the full database, under each kind of statistics."""
    with full_server.connect("full") as connection:
        connection.execute(STATISTICS[request.param].encode())
    return full_server.url("full")


CUSTOM = ("force_custom_plan",)
NODES = (*CUSTOM, "force_generic_plan")
"""How a server of the API has its statements planned, and how nodes have."""
WHOLE_INDEXES = {("of empty queues", "what became of many commands"): {"command_claim"}}
"""By statistics and statement: indexes of which all pages are read for each row, 12 ms where a million commands wait.
Nothing was found that makes the planner search many ids by the primary key then."""


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
async def test_a_hot_statement_walks_its_index_and_reads_no_more_than_it_must(
    full: AsyncConnection, name: str, request: pytest.FixtureRequest
) -> None:
    whole, hot = WHOLE_INDEXES.get((request.node.callspec.params["full_url"], name), set()), HOT[name]
    async for plan in plans(full, hot.call, CUSTOM if name in VIEWS else NODES):
        assert not plan.whole_tables & BIG, plan
        assert whole or hot.indexes <= plan.indexes, plan
        assert plan.rows_read <= hot.rows_read_max, plan
        await check_first_columns(full, plan, known=whole)


async def plans(
    connection: AsyncConnection, call: Callable[[AsyncConnection], Awaitable[Any]], modes: Collection[str]
) -> AsyncIterator[Plan]:
    """What a call does, undone, in each of these modes."""
    for mode in modes:
        await connection.execute(Sql("SAVEPOINT before"))
        await connection.execute(Sql(f"SET LOCAL plan_cache_mode = {mode}"))
        explaining = Explaining(connection)
        await call(cast(AsyncConnection, explaining))
        await connection.execute(Sql("ROLLBACK TO before"))
        yield explaining.plan


async def check_first_columns(connection: AsyncConnection, plan: Plan, *, known: Collection[str] = ()) -> None:
    """An index that is searched is searched by its first column: else PostgreSQL reads all of its pages each time, and
    no row that it reads there counts. Definitions are few, and have names in all projects."""
    first = "SELECT pg_get_indexdef(CAST(:name AS text)::regclass, 1, false)"
    for index, searched_by in plan.conditions.items():
        if index == "workflow_definition_name" or index in known:
            continue
        column = (await connection.execute(Sql(first), {"name": index})).scalar_one()
        for condition in searched_by:
            assert re.sub(r"\W", "", column) in re.sub(r"\W", "", condition), (index, column, condition)


async def test_a_walk_over_runs_that_are_all_stuck_reads_no_history(full: AsyncConnection) -> None:
    """Each is then asked for its tasks, its children and the commands for those, and the events are read once."""
    unfinished = "SELECT id FROM workflow_instance WHERE master_id = 1 AND ended_at IS NULL"
    await full.execute(Sql(f"DELETE FROM task_instance WHERE workflow_instance_id IN ({unfinished}) AND task_code = 1"))
    await full.execute(Sql(f"DELETE FROM task_event WHERE workflow_instance_id IN ({unfinished})"))
    walked = await stuck_runs.walk(full, LIVING_MASTER, WorkflowInstanceId(0), 1_000, timedelta(0))
    assert len(walked.stuck) == len(RUNNING)
    walk = partial(
        stuck_runs.walk, master=LIVING_MASTER, after=WorkflowInstanceId(0), limit=1_000, older_than=timedelta(0)
    )
    async for plan in plans(full, walk, NODES):
        assert not plan.whole_tables & BIG, plan
        assert {"workflow_instance_child", "command_child"} <= plan.indexes, plan
        assert plan.rows_read < 2_000
        assert sum(rows for through, rows in plan.read.items() if through.startswith("task_event")) <= 3_000


async def test_what_explains_a_run_is_read_by_few_statements_that_read_no_history(full: AsyncConnection) -> None:
    with sent_statements() as sent:
        reading = await run_readings.read(full, ABOVE[0])
    assert reading.children[ABOVE[0]]
    plan = Plan()
    for statement in sent:
        plan.add((await full.execute(explained(statement))).scalar_one()[0]["Plan"])
    assert len(sent) <= 12
    assert not plan.whole_tables & BIG, plan
    assert {"workflow_instance_child", "command_child", "command_resume", "command_one_recover"} <= plan.indexes, plan
    by_run = {name: rows for name, rows in plan.read.items() if not name.startswith(("node", "task_instance_r"))}
    assert sum(rows for name, rows in by_run.items() if name != "task_instance_queue") <= 2_000, plan


PAGES = {
    "newest": AttemptFilter(),
    "of few": AttemptFilter([TaskState.KILL], ["FAKE"], workflow="nix", worker_group="gpu"),
    "of a project": AttemptFilter(worker="nobody", visible=["default"], started_after=datetime(2026, 1, 1, tzinfo=UTC)),
}


@pytest.mark.parametrize("name", PAGES)
async def test_a_page_of_attempts_reads_a_bounded_part_of_history(full: AsyncConnection, name: str) -> None:
    with sent_statements() as sent:
        found = await attempts.page(full, 51, PAGES[name], before=900_000)
    failed = name == "of few"
    assert (found.down_to, len(found.found)) == (None if failed else 900_000 - WALK_MAX, 51 if name == "newest" else 0)
    plan = Plan()
    for statement in sent:
        plan.add((await full.execute(explained(statement))).scalar_one()[0]["Plan"])
    assert not plan.whole_tables & BIG, plan
    assert ("task_instance_failed" if failed else "task_instance_pkey") in plan.indexes, plan
    assert sum(rows for through, rows in plan.read.items() if not through.startswith("node")) <= 3 * WALK_MAX, plan


OF_ALERTS: dict[str, tuple[Callable[[AsyncConnection], Awaitable[Any]], set[str], int]] = {
    "runs that take long": (
        lambda c: alert_rules.long_runs(c, [LongRule(1, "sales", WorkflowCode(1001), 0.0)], 500),
        {"workflow_instance_line", "alert_unique"},
        3_000,
    ),
    "runs of a project that take long": (
        lambda c: alert_rules.long_runs(c, [LongRule(1, "sales", None, 0.0)], 500),
        {"workflow_instance_line", "alert_unique"},
        3_000,
    ),
    "whether a run ended in time": (
        lambda c: alert_rules.met(
            c,
            [
                Expected(
                    1, WorkflowCode(1001), datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 2, tzinfo=UTC), False
                )
            ],
        ),
        {"workflow_instance_ended", "workflow_instance_ended_before"},
        100,
    ),
    "ends to which rules are applied": (
        lambda c: alert_rules.consume_ends(cast(FencedTransaction, c), 500),
        {"run_end_pkey"},
        2_000,
    ),
    "tasks that take long": (
        lambda c: alerts.tasks_take_too_long(cast(FencedTransaction, c), 500),
        {"task_instance_running"},
        1_000,
    ),
    "queues and pools that stand": (
        lambda c: conditions.read_standing(c, timedelta(minutes=10)),
        {"task_instance_queue", "task_instance_running"},
        10_000,
    ),
}
SCENE_OF_ALERTS = """
    INSERT INTO workflow_definition (code, name, project) VALUES (1001, 'load', 'sales');
    INSERT INTO run_end (workflow_instance_id, workflow_code, state, ended_at, is_child)
    SELECT n, 1001, 'FAILURE', now(), false FROM generate_series(1, 5000) AS n
"""


@pytest.mark.parametrize("name", OF_ALERTS)
async def test_what_finds_alerts_reads_what_is_under_way_and_of_history_a_bounded_part(
    full: AsyncConnection, name: str
) -> None:
    for statement in SCENE_OF_ALERTS.split(";"):
        await full.execute(Sql(statement))
    call, indexes, rows_read_max = OF_ALERTS[name]
    async for plan in plans(full, call, NODES):
        assert not plan.whole_tables & BIG, plan
        assert indexes <= plan.indexes, plan
        assert sum(plan.read.values()) <= rows_read_max, plan


HELD = """
    UPDATE pool_resource SET task_instance_id = 100000 + id, worker_id = 52, taken_at = now();
    UPDATE task_instance SET resources = '{"a": 1}'
    WHERE id = ANY(ARRAY(SELECT id FROM task_instance
                         WHERE stream IS NOT NULL AND state = 'RUNNING_EXECUTION' LIMIT 3));
    UPDATE pool_resource r SET task_instance_id = t.id FROM (
        SELECT id, row_number() OVER (ORDER BY id) AS name FROM task_instance
        WHERE stream IS NOT NULL AND resources IS NOT NULL AND state = 'RUNNING_EXECUTION') AS t
    WHERE r.name = t.name::text AND r.pool_code = (SELECT code FROM resource_pool WHERE name = 'a')
"""


async def test_what_streams_hold_of_a_pool_is_found_without_the_others_that_hold_some(full: AsyncConnection) -> None:
    for statement in HELD.split(";"):
        await full.execute(Sql(statement))
    rooms = await pool_claims.rooms(cast(FencedTransaction, full), {"a": True})
    assert {name: (room.free, room.by_streams) for name, room in rooms.items()} == {"a": (0, 3)}
    async for plan in plans(full, lambda c: pool_claims.rooms(cast(FencedTransaction, c), {"a": True}), NODES):
        assert not plan.whole_tables & {"task_instance"}, plan
        assert plan.indexes >= {"task_instance_stream", "pool_resource_holder"}, plan
        assert sum(plan.read.values()) <= 1_500, plan


CHECKS = {check.name: check for check in (*BEFORE_REASONS, *AFTER_REASONS)}


@pytest.mark.parametrize("name", CHECKS)
async def test_a_check_of_the_doctor_reads_what_is_under_way_and_of_history_a_bounded_part(
    full: AsyncConnection, name: str
) -> None:
    find = partial(table_checks.find, check=CHECKS[name], values={"failed_over_after": timedelta(seconds=20)})
    async for plan in plans(full, find, NODES):
        assert not plan.whole_tables & BIG, plan
        assert plan.rows_read <= (5 * RECENT if name == "commands_have_one_outcome" else 10_000), plan


# -------------------------------------------------------------------------------------------- what waits

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
    ids = [TaskInstanceId(id_) for (id_,) in (await full.execute(Sql(WAITING), {"run": RUNNING[0]})).all()]
    async for plan in plans(full, lambda c: JUDGES[name](c, ids), NODES):
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
    "look for what is left": lambda c: gone_nodes.work_left(c),
    "consume": lambda c: task_events.consume(c, Epoch(77), 100),
    "forget": lambda c: task_events.delete_of(c, RUNNING[-1:]),
    "what was not heard": lambda c: stuck_runs.unheard(c, [UnderWay(RUNNING[0], TaskCode(1), 1)], timedelta(0)),
}


@pytest.mark.parametrize("name", LOOKS)
async def test_however_many_events_others_have_not_read_a_look_reads_none_of_them(
    full: AsyncConnection, name: str
) -> None:
    """Of an owner that is gone a bounded part."""
    await full.execute(Sql("DELETE FROM task_event"))
    await full.execute(Sql(UNREAD), {"owner": LIVING_MASTER})
    async for plan in plans(full, LOOKS[name], NODES):
        assert "task_event" not in plan.whole_tables, plan
        assert sum(rows for through, rows in plan.read.items() if through.startswith("task_event")) <= 20, plan


async def test_nodes_that_ended_are_forgotten_by_their_index(full: AsyncConnection) -> None:
    async for plan in plans(full, lambda c: gone_nodes.delete_ended(c, timedelta(days=30), 100), NODES):
        assert "node_ended" in plan.indexes, plan
        assert not plan.whole_tables & {*BIG, "node"}, plan


# -------------------------------------------------------------------------------------------- bad plans

BAD_PLAN = ("enable_hashjoin", "enable_mergejoin", "enable_material", "enable_hashagg", "enable_sort")
"""Without these the planner has little left but to run a subquery once for each row."""


async def plan_badly(connection: AsyncConnection) -> None:
    for setting in BAD_PLAN:
        await connection.execute(Sql(f"SET LOCAL {setting} = off"))


async def test_a_plain_subquery_with_a_limit_would_take_all(scene: Scene) -> None:
    """That the test below tests something: this is what a claim must not look like."""
    await scene.commands(100)
    await scene.sql("ANALYZE")
    async with scene.writing() as connection:
        await plan_badly(connection)
        gone = await connection.execute(
            Sql("DELETE FROM command WHERE id IN (SELECT id FROM command ORDER BY id LIMIT 5 FOR UPDATE SKIP LOCKED)")
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
