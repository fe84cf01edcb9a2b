"""`dao/run_lists/run_pages.py`: each page of runs contains what a plain query finds, whatever the filter."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product
from random import Random
from typing import Any

import pytest

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.run_lists import run_listings as listings
from dao.run_lists import run_pages
from dao.run_lists.wanted_runs import WantedRuns
from model.runs.states import WorkflowState
from tests.dao.scene import Scene

S = WorkflowState
BELOW = 65536 - 60
"""The runs are in two blocks of each index of starts."""
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
DEFINITIONS = """
    INSERT INTO workflow_definition (code, project, name)
    VALUES (1, 'a', 'often'), (2, 'a', 'rarely'), (3, 'b', 'often'), (4, 'c', 'never')
"""
# 120 runs, one a minute: of three workflows and one that is gone; every fifth is a child.
RUNS = """
    INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                   priority, worker_group, started_at, ended_at, parent_instance_id, parent_task_code,
                                   parent_attempt, child_index)
    SELECT n, CASE WHEN n = 17 THEN 2 WHEN n % 7 = 0 THEN 9 ELSE 1 + 2 * (n % 2) END, 1, state, 1, 'END', 'MEDIUM',
           'default', CAST(:begin AS timestamptz) + n * interval '1 min',
           CASE WHEN state <> 'RUNNING_EXECUTION' THEN clock_timestamp() END,
           CASE WHEN n % 5 = 0 THEN 1 END, CASE WHEN n % 5 = 0 THEN 1 END, CASE WHEN n % 5 = 0 THEN 1 END,
           CASE WHEN n % 5 = 0 THEN n END
    FROM (SELECT n, CASE WHEN n < 4 THEN 'STOP' WHEN n > 110 THEN 'RUNNING_EXECUTION' WHEN n % 10 = 3 THEN 'FAILURE'
                         ELSE 'SUCCESS' END AS state
          FROM generate_series(1, 120) AS n) AS made
"""
# Their clocks were wrong, or somebody wrote so.
ODD = """
    UPDATE workflow_instance
    SET started_at = CASE command_id WHEN 2 THEN CAST(:begin AS timestamptz) + interval '70 min'
                                     WHEN 5 THEN '9000-01-01+00' WHEN 100 THEN '1000-01-01+00' END
    WHERE command_id IN (2, 5, 100)
"""
PLAIN = """
    SELECT i.id FROM workflow_instance i LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    WHERE (CAST(:states AS text[]) IS NULL OR i.state = ANY(CAST(:states AS text[])))
      AND (CAST(:workflow AS text) IS NULL OR d.name = :workflow)
      AND (CAST(:project AS text) IS NULL OR d.project = :project)
      AND (CAST(:visible AS text[]) IS NULL OR d.project = ANY(CAST(:visible AS text[])))
      AND (CAST(:since AS timestamptz) IS NULL OR i.started_at >= :since)
      AND (CAST(:until AS timestamptz) IS NULL OR i.started_at < :until)
      AND (CAST(:before AS bigint) IS NULL OR i.id < :before) AND (:children OR i.parent_instance_id IS NULL)
    ORDER BY i.id DESC LIMIT :limit
"""
STATES: list[list[WorkflowState]] = [[], [S.STOP], [S.PAUSE], [S.FAILURE, S.STOP, S.FAILURE], [S.RUNNING_EXECUTION]]
BEFORE = [None, BELOW + 100, BELOW + 61, BELOW + 4, BELOW + 1]
OF: list[dict[str, Any]] = [
    {},
    {"workflow": "often"},
    {"workflow": "rarely"},
    {"workflow": "nobody"},
    {"project": "a"},
    {"project": "b", "workflow": "often"},
    {"project": "a", "visible": ["b"]},
    {"visible": ["a", "b"]},
    {"visible": []},
]
UNTIL = [None, BEGIN, BEGIN + timedelta(minutes=59), BEGIN + timedelta(minutes=100), BEGIN + timedelta(days=9)]
SINCE = [None, BEGIN, BEGIN + timedelta(minutes=60), BEGIN + timedelta(minutes=119), BEGIN + timedelta(days=9)]


@pytest.mark.parametrize(
    ("ranges_max", "walk_max"),
    [*(pytest.param(*each, marks=pytest.mark.long) for each in ((500, 4_000), (0, 4_000), (0, 50))), (30, 50)],
)
async def test_a_page_contains_what_a_plain_query_finds(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, ranges_max: int, walk_max: int
) -> None:
    """With all ranges, and with few ranges and a short walk before these."""
    monkeypatch.setattr(run_pages, "RANGES_MAX", ranges_max)
    monkeypatch.setattr(run_pages, "WALK_MAX", walk_max)
    await scene.sql(DEFINITIONS)
    await scene.sql(f"ALTER TABLE workflow_instance ALTER COLUMN id RESTART WITH {BELOW + 1}")
    await scene.sql(RUNS, begin=BEGIN)
    await scene.sql(ODD, begin=BEGIN)
    cases = list(product(STATES, OF, SINCE, UNTIL, BEFORE, [True, False], [4, 200]))
    async with scene.database.reading() as connection:
        for states, of, since, until, before, children, limit in Random(1).sample(cases, 600):
            asked = {"states": states, "since": since, "until": until, "before": before, "children": children, **of}
            found = await _found(connection, limit, asked)
            values = {"workflow": None, "project": None, "visible": None, **asked, "limit": limit}
            rows = await connection.execute(Sql(PLAIN), {**values, "states": states or None})
            fitting = [id_ for (id_,) in rows.all()]
            assert found == fitting, (asked, limit)
            count = run_pages.counted(WantedRuns(limit, **asked))
            assert (await connection.execute(count)).scalar_one() == len(fitting), (asked, limit)


async def _found(connection: AsyncConnection, limit: int, asked: dict[str, Any]) -> list[int]:
    return [run.id for run in await listings.runs(connection, WantedRuns(limit, **asked))]
