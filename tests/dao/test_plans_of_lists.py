"""Pages of runs and attempts read little more than they show, however few of how many fit, under all statistics."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dao.postgres.database import Database
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.run_lists import run_counts, run_pages, run_walks
from dao.run_lists import run_listings as listings
from dao.run_lists.run_conditions import RunConditions
from dao.run_lists.wanted_runs import WantedRuns
from dao.tasks import attempt_listings as attempts
from dao.tasks.attempt_listings import WALK_MAX, AttemptFilter
from model.runs.states import TaskState, WorkflowState
from model.runs.triggers import Trigger
from tests.dao.explaining import Plan
from tests.sent_statements import explained, sent_statements

S, T = WorkflowState, TaskState
ROWS = 60_000
BIG = {"workflow_instance", "task_instance"}
NOW = datetime.now(UTC)
# A run a second, the last one now. Twenty in the midst are of a workflow that hardly runs and did not succeed; the last
# tenth are children; the last hundred but those run.
HISTORY = f"""
    INSERT INTO workflow_definition (code, project, name)
    VALUES (1, 'much', 'often'), (2, 'much', 'as often'), (3, 'little', 'rarely'), (4, 'little', 'never');
    INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                   priority, worker_group, started_at, ended_at, parent_instance_id, parent_task_code,
                                   parent_attempt, child_index)
    SELECT n, CASE WHEN is_rare THEN 3 ELSE 1 + n % 2 END, 1,
           CASE WHEN is_rare AND n % 2 = 0 THEN 'FAILURE' WHEN is_rare THEN 'STOP' WHEN is_live THEN 'RUNNING_EXECUTION'
                ELSE 'SUCCESS' END,
           1, 'END', 'MEDIUM', 'default', now() - ({ROWS} - n) * interval '1 s', CASE WHEN NOT is_live THEN now() END,
           parent, parent, parent, CASE WHEN parent > 0 THEN n END
    FROM (SELECT n, n BETWEEN 5000 AND 5019 AS is_rare, n > {ROWS} - 200 AND n <= {ROWS} - 100 AS is_live,
                 CASE WHEN n > 0.9 * {ROWS} AND n <= {ROWS} - 200 THEN 1 END AS parent
          FROM generate_series(1, {ROWS}) AS n) AS made;
    INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group,
                               workflow_priority, task_priority, started_at, ended_at)
    SELECT n, 1, 'a', 'FAKE', CASE WHEN n BETWEEN 5000 AND 5019 THEN 'FAILURE' ELSE 'SUCCESS' END, 'default', 'MEDIUM',
           'MEDIUM', now(), now()
    FROM generate_series(2, {ROWS}) AS n
"""
STATISTICS = {
    "none": """
        DELETE FROM pg_statistic WHERE starelid >= 16384;
        UPDATE pg_class SET reltuples = -1, relpages = 0, relallvisible = 0 WHERE oid >= 16384""",
    "fresh": "ANALYZE",
    "of another history": f"""
        ANALYZE;
        UPDATE workflow_instance SET workflow_code = 3 WHERE id < {ROWS} / 2;
        UPDATE workflow_instance SET state = 'FAILURE' WHERE id BETWEEN 20000 AND 29000""",
}
# What is asked, how many are found in the history above, and how many rows of the big tables that may read.
RUNS: dict[str, tuple[dict[str, Any], int | None, int]] = {
    "all": ({"children": True}, 51, 300),
    "without children": ({}, 51, 600),
    "rare state": ({"states": [S.FAILURE]}, 10, 200),
    "rare states": ({"states": [S.FAILURE, S.STOP, S.PAUSE]}, 20, 300),
    "no run in a state": ({"states": [S.PAUSE]}, 0, 20),
    "live": ({"states": [S.RUNNING_EXECUTION, S.READY_STOP]}, 51, 400),
    "workflow": ({"workflow": "often", "children": True}, 51, 600),
    "rare workflow": ({"workflow": "rarely", "children": True}, 20, 300),
    "no run of a workflow": ({"workflow": "never", "children": True}, 0, 20),
    "unknown workflow": ({"workflow": "nobody"}, 0, 20),
    "project": ({"project": "much"}, 51, 800),
    "rare project": ({"project": "little"}, 20, 300),
    "visible": ({"visible": ["little", "none"]}, 20, 300),
    "rare state of a workflow": ({"workflow": "often", "states": [S.STOP], "children": True}, 0, 20),
    "a later page": ({"before": 30_000}, 51, 600),
    "a later page of a state": ({"states": [S.SUCCESS], "before": 30_000}, 51, 600),
    "a later page of a project": ({"project": "much", "before": 30_000}, 51, 800),
    "since": ({"since": NOW - timedelta(hours=1)}, 51, 700),
    "rare state since": ({"states": [S.STOP], "since": NOW - timedelta(hours=2)}, 0, 100),
    "rare workflow since": ({"workflow": "rarely", "since": NOW - timedelta(hours=2)}, 0, 100),
    "the last page since": ({"since": NOW - timedelta(hours=2), "before": 53_000}, None, 6_000),
    "since the future": ({"since": NOW + timedelta(days=1)}, 0, 100),
}
ATTEMPTS = {
    "failed": (AttemptFilter([T.FAILURE, T.KILL]), 20, 200),
    "failed, of a workflow": (AttemptFilter([T.FAILURE], workflow="often"), 0, 200),
    "none": (AttemptFilter([T.KILL]), 0, 20),
    "any": (AttemptFilter(), 51, 2 * WALK_MAX),
    "of nobody": (AttemptFilter(worker="nobody"), 0, 4 * WALK_MAX),
}


# 5,000 workflows may be seen, which all ran lately, and as many runs before those are of workflows that nobody sees.
MANY = 5_000
HISTORY_OF_MANY = f"""
    INSERT INTO workflow_definition (code, project, name)
    SELECT n, CASE WHEN n <= {MANY} THEN 'seen' ELSE 'hidden' END, 'w' || n FROM generate_series(1, {MANY} + 10) AS n;
    INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                   priority, worker_group, started_at, ended_at)
    SELECT n, CASE WHEN n > 4 * {MANY} THEN n - 4 * {MANY} ELSE {MANY} + 1 + n % 10 END, 1,
           CASE WHEN n = 4 * {MANY} + 3 THEN 'STOP' ELSE 'SUCCESS' END, 1, 'END', 'MEDIUM', 'default', now(), now()
    FROM generate_series(1, 5 * {MANY}) AS n
"""


@pytest.mark.parametrize("statistics", ["none", "fresh"])
async def test_a_page_of_many_workflows_does_not_search_each(database: Database, statistics: str) -> None:
    """Unless the newest runs of all do not fill it: only then are there three searches or so for each workflow."""
    async with database.writing() as connection:
        await _run(connection, f"SET LOCAL session_replication_role = replica; {HISTORY_OF_MANY}")
        await _run(connection, STATISTICS[statistics])
        for asked, count, searches_max in (
            ({}, 51, 10),
            ({"states": [S.SUCCESS]}, 51, 10),
            ({"since": NOW + timedelta(days=1)}, 0, 10),
            ({"states": [S.STOP]}, 1, 10),
        ):
            found, plan = await _explained(
                connection, lambda c, asked=asked: _runs(c, {"project": "seen", "visible": ["seen"], **asked})
            )
            assert len(found) == count, asked
            assert not plan.whole_tables & BIG, (asked, plan)
            assert plan.searches.get("workflow_instance_by_workflow", 0) <= searches_max, (asked, plan)
            assert _rows_read(plan) <= 3 * run_pages.WALK_MAX, (asked, plan)


# Two projects of twenty workflows, which all run in turn; a run in ten failed.
HISTORY_OF_TWENTY = """
    INSERT INTO workflow_definition (code, project, name)
    SELECT n, CASE WHEN n % 2 = 0 THEN 'even' ELSE 'odd' END, 'w' || n FROM generate_series(1, 40) AS n;
    INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                   priority, worker_group, started_at, ended_at)
    SELECT n, 1 + n % 40, 1, CASE WHEN n / 40 % 10 = 0 THEN 'FAILURE' ELSE 'SUCCESS' END, 1, 'END', 'MEDIUM', 'default',
           now(), now()
    FROM generate_series(1, 20000) AS n
"""


@pytest.mark.parametrize("statistics", ["none", "fresh"])
async def test_a_page_of_twenty_workflows_reads_little_more_than_their_newest(
    database: Database, statistics: str
) -> None:
    """Neither the runs of each as if the others had none, nor those of all when few states are wanted."""
    async with database.writing() as connection:
        await _run(connection, f"SET LOCAL session_replication_role = replica; {HISTORY_OF_TWENTY}")
        await _run(connection, STATISTICS[statistics])
        for asked, rows_read_max in (
            ({}, 700),
            ({"before": 10_000}, 700),
            ({"states": [S.FAILURE]}, 700),
            ({"states": [S.FAILURE], "before": 10_000}, 700),
            ({"states": [S.FAILURE, S.STOP, S.PAUSE]}, 700),
        ):
            found, plan = await _explained(connection, lambda c, asked=asked: _runs(c, {"project": "even", **asked}))
            assert len(found) == 51, asked
            assert not plan.whole_tables & BIG, (asked, plan)
            assert _rows_read(plan) <= rows_read_max, (asked, plan)


@pytest.mark.parametrize("statistics", ["none", "fresh"])
async def test_bars_of_a_workflow_read_no_runs_of_other_projects_with_that_name(
    database: Database, statistics: str
) -> None:
    day, later = NOW - timedelta(days=1), NOW + timedelta(days=1)
    async with database.writing() as connection:
        await _run(connection, f"SET LOCAL session_replication_role = replica; {HISTORY}")
        await _run(connection, "UPDATE workflow_definition SET name = 'often' WHERE code = 3")
        await _run(connection, STATISTICS[statistics])
        for of, bars, read, count, is_read in (
            ({"project": "little"}, 1, 1_000, 20, True),
            ({"visible": ["little"]}, 1, 1_000, 20, True),
            ({"project": "little"}, 1, 15, 15, False),
            ({"visible": ["little", "much"]}, 24, 1_000, 1_000, False),
        ):
            wanted = WantedRuns(workflow="often", since=day, children=True, **of)
            bar_s = (later - day).total_seconds() / bars
            found, plan = await _explained(connection, run_counts.bars, wanted, later, bar_s, read)
            assert sum(bar.count for bar in found) == count, of
            assert not plan.whole_tables & BIG, (of, plan)
            assert _rows_read(plan) <= 10_000, (of, plan)
            found, plan = await _explained(connection, run_counts.is_read, wanted, read)
            assert (found, plan.whole_tables & BIG) == (is_read, set()), of
            assert _rows_read(plan) <= 3 * read, (of, plan)


# How many match, up to 100.
COUNTS: dict[str, tuple[dict[str, Any], int, int]] = {
    "rare state": ({"states": [S.FAILURE]}, 10, 50),
    "rare state of a workflow": ({"workflow": "often", "states": [S.STOP]}, 0, 50),
    "rare project": ({"project": "little"}, 20, 100),
    "visible": ({"visible": ["little"], "states": [S.STOP, S.PAUSE]}, 10, 100),
    "all": ({}, 100, 300),
    "many": ({"visible": ["little", "much"]}, 100, 300),
}


@pytest.mark.parametrize("statistics", ["none", "fresh"])
async def test_an_exact_count_reads_little_more_than_it_counts(database: Database, statistics: str) -> None:
    async with database.writing() as connection:
        await _run(connection, f"SET LOCAL session_replication_role = replica; {HISTORY}; {STATISTICS[statistics]}")
        for name, (asked, count, rows_read_max) in COUNTS.items():
            wanted = WantedRuns(**asked)
            found, plan = await _explained(connection, lambda c, wanted=wanted: run_counts.count(c, wanted, 100))
            assert found == run_counts.Count(count, is_capped=count == 100), name
            assert not plan.whole_tables & BIG, (name, plan)
            assert _rows_read(plan) <= rows_read_max, (name, plan)


@pytest.mark.parametrize("statistics", STATISTICS)
async def test_a_page_reads_little_more_than_it_shows(database: Database, statistics: str) -> None:
    async with database.writing() as connection:
        await _run(connection, f"SET LOCAL session_replication_role = replica; {HISTORY}; {STATISTICS[statistics]}")
        for name, (asked, count, rows_read_max) in RUNS.items():
            found, plan = await _explained(connection, lambda c, asked=asked: _runs(c, asked))
            assert statistics == "of another history" or count in (None, len(found)), name
            assert not plan.whole_tables & BIG, (name, plan)
            assert _rows_read(plan) <= rows_read_max, (name, plan)
        for name, (wanted, count, rows_read_max) in ATTEMPTS.items():
            walked, plan = await _explained(connection, lambda c, wanted=wanted: attempts.page(c, 51, wanted))
            assert len(walked.found) == count, name
            assert not plan.whole_tables & BIG, (name, plan)
            assert _rows_read(plan) <= rows_read_max, (name, plan)


# Nothing has them, so a walk goes to its end; how many rows of the big tables that may read.
WALKS: dict[str, tuple[dict[str, Any], RunConditions, int]] = {
    "trigger": ({}, RunConditions([Trigger.BACKFILL]), 5 * run_walks.WALK_MAX),
    "trigger of a project": ({"project": "much"}, RunConditions([Trigger.BACKFILL]), 5 * run_walks.WALK_MAX),
    "master": ({}, RunConditions(master="nobody"), 500),
    "worker": ({"children": True}, RunConditions(worker="nobody"), 5 * run_walks.WALK_MAX),
    "parameter": ({"states": [S.SUCCESS]}, RunConditions(parameters=[("a", "b")]), 5 * run_walks.WALK_MAX),
    "text": ({"visible": ["little", "much"]}, RunConditions(words="nobody"), 5 * run_walks.WALK_MAX),
    "beginning of an id": ({}, RunConditions(words="70000"), 5),
}


@pytest.mark.parametrize("statistics", ["none", "fresh"])
async def test_a_walk_reads_a_bounded_number_of_rows(database: Database, statistics: str) -> None:
    async with database.writing() as connection:
        await _run(connection, f"SET LOCAL session_replication_role = replica; {HISTORY}; {STATISTICS[statistics]}")
        for name, (asked, conditions, rows_read_max) in WALKS.items():
            wanted = WantedRuns(51, **{"children": False, **asked}, conditions=conditions)
            walked, plan = await _explained(connection, run_walks.walk, wanted)
            assert walked.ids == [], name
            assert not plan.whole_tables & BIG, (name, plan)
            assert _rows_read(plan) <= rows_read_max, (name, plan)


async def _runs(connection: AsyncConnection, asked: dict[str, Any]) -> list[listings.Run]:
    return await listings.runs(connection, WantedRuns(51, **{"children": False, **asked}))


async def _run(connection: AsyncConnection, statements: str) -> None:
    for statement in statements.split(";"):
        await connection.execute(Sql(statement))


async def _explained(connection: AsyncConnection, call: Callable[..., Awaitable[Any]], *asked: Any) -> tuple[Any, Plan]:
    """The result of a call, and what its statements do; composed ones have no text before they are sent."""
    with sent_statements() as sent:
        result = await call(connection, *asked)
    plan = Plan()
    for statement in sent:
        plan.add((await connection.execute(explained(statement))).scalar_one()[0]["Plan"])
    return result, plan


def _rows_read(plan: Plan) -> int:
    return sum(
        rows for through, rows in plan.read.items() if through.startswith(("workflow_instance", "task_instance"))
    )
