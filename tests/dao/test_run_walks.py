"""`dao/run_lists/run_walks.py`: the pages together contain what a plain check of each run finds."""

from __future__ import annotations

import json
from itertools import product
from random import Random
from typing import Any

import pytest

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.run_lists import filtered_runs, id_prefixes, run_pages, run_walks
from dao.run_lists.run_conditions import RunConditions
from dao.run_lists.wanted_runs import WantedRuns
from model.runs.states import WorkflowState
from model.runs.triggers import Trigger
from tests.dao.scene import Scene
from tests.dao.test_run_pages import DEFINITIONS, RUNS

S = WorkflowState
BEGIN = "2026-01-01T00:00:00+00:00"
MORE = """
    INSERT INTO node (incarnation, kind, address, state, process_boot, process_id, process_started, name)
    OVERRIDING SYSTEM VALUE VALUES
        ('00000000-0000-0000-0000-000000000001', 'MASTER', 'm:1', 'ALIVE', 'b', 1, 1, 'mary'),
        ('00000000-0000-0000-0000-000000000002', 'WORKER', 'w:1', 'ALIVE', 'b', 2, 2, 'will');
    UPDATE workflow_instance SET master_id = (SELECT id FROM node WHERE name = 'mary') WHERE id % 2 = 0;
    UPDATE workflow_instance SET command_type = 'SCHEDULER' WHERE id % 3 = 0;
    UPDATE workflow_instance SET command_type = 'COMPLEMENT_DATA' WHERE id % 11 = 0;
    UPDATE workflow_instance SET reason = 'task "Load" failed: 100 % of it' WHERE state = 'FAILURE';
    UPDATE workflow_instance SET params = '{"dt": "a\\"b", "of": "dt\\": \\"x"}', startup_names = '["dt"]'
    WHERE id % 4 = 0;
    UPDATE workflow_instance SET params = '{"dt": "x", "of": "y"}', startup_names = '["of"]' WHERE id % 4 = 1;
    INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group,
                               workflow_priority, task_priority, worker_id, started_at, ended_at)
    SELECT i.id, 1, 'a', 'FAKE', 'SUCCESS', 'default', 'MEDIUM', 'MEDIUM', n.id, now(), now()
    FROM workflow_instance i, node n WHERE n.name = 'will' AND i.id % 9 = 0
"""
ROWS = """
    SELECT i.id, i.state, i.parent_instance_id, i.command_type, i.params, i.startup_names, i.reason, d.name, d.project,
           n.name AS master, EXISTS (SELECT FROM task_instance t WHERE t.workflow_instance_id = i.id) AS worked
    FROM workflow_instance i LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    LEFT JOIN node n ON n.id = i.master_id ORDER BY i.id DESC
"""
CONDITIONS: list[dict[str, Any]] = [
    {"triggers": [Trigger.HAND]},
    {"triggers": [Trigger.SCHEDULE, Trigger.BACKFILL]},
    {"triggers": [Trigger.PARENT]},
    {"triggers": [Trigger.PARENT, Trigger.BACKFILL]},
    {"master": "mary"},
    {"master": "m:1", "triggers": [Trigger.HAND]},
    {"master": "nobody"},
    {"worker": "will"},
    {"worker": "w:1", "words": "oft"},
    {"worker": "nobody"},
    {"parameters": [("dt", 'a"b')]},
    {"parameters": [("of", "y")]},
    {"parameters": [("dt", "x")]},
    {"parameters": [("dt", 'a"b'), ("of", "y")]},
    {"words": "LOAD"},
    {"words": "100 %"},
    {"words": "often"},
    {"words": "11"},
    {"words": "1"},
    {"words": "012"},
    {"words": "7", "triggers": [Trigger.SCHEDULE]},
]
OF: list[dict[str, Any]] = [{}, {"workflow": "often"}, {"project": "a", "visible": ["a", "b"]}, {"visible": []}]
STATES: list[list[WorkflowState]] = [[], [S.STOP, S.SUCCESS], [S.FAILURE], [S.RUNNING_EXECUTION]]


@pytest.mark.parametrize(
    ("walk_max", "limit", "ranges_max"),
    [(5, 3, 500), *(pytest.param(*each, marks=pytest.mark.long) for each in ((4_000, 7, 500), (5, 3, 0), (1, 1, 500)))],
)
async def test_pages_contain_what_a_check_of_each_run_finds(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, walk_max: int, limit: int, ranges_max: int
) -> None:
    monkeypatch.setattr(run_walks, "WALK_MAX", walk_max)
    monkeypatch.setattr(run_pages, "RANGES_MAX", ranges_max)
    monkeypatch.setattr(run_pages, "EACH_MIN", 1)
    await _prepare(scene)
    cases = list(product(CONDITIONS, OF, STATES, [True, False]))
    async with scene.database.reading() as connection:
        rows = [row._asdict() for row in await connection.execute(Sql(ROWS))]
        for asked, of, states, children in Random(2).sample(cases, 120):
            wanted = {"states": states, "children": children, **of}
            fitting = [row["id"] for row in rows if _is_of(row, wanted) and _meets(row, asked)]
            assert await _all_pages(connection, limit, wanted, RunConditions(**asked)) == fitting, (asked, wanted)


async def test_a_page_that_is_not_full_says_down_to_where_runs_were_read(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_walks, "WALK_MAX", 20)
    await _prepare(scene)
    asked = RunConditions(words="nothing has this")
    async with scene.database.reading() as connection:
        found = await filtered_runs.page(connection, WantedRuns(10, conditions=asked))
        assert (found.runs, found.before, found.down_to) == ([], 101, 101)
        last = await filtered_runs.page(connection, WantedRuns(10, before=10, conditions=asked))
        assert (last.runs, last.before, last.down_to) == ([], None, None)
        full = await filtered_runs.page(connection, WantedRuns(2, conditions=RunConditions(triggers=[Trigger.HAND])))
        assert (len(full.runs), full.before, full.down_to) == (2, full.runs[-1].id, None)


@pytest.mark.parametrize(
    ("digits", "some"),
    [("0", []), ("7", [(70, 79), (7, 7)]), ("9223372036854775807", [(2**63 - 1, 2**63 - 1)]), ("9" * 30, [])],
)
def test_ids_that_begin_with_digits_are_ranges(digits: str, some: list[tuple[int, int]]) -> None:
    found = id_prefixes.ranges(digits)
    assert found[-len(some) :] == some if some else found == []
    assert all(str(low).startswith(digits) and low <= high < 2**63 for low, high in found)


async def _prepare(scene: Scene) -> None:
    await scene.sql(DEFINITIONS)
    await scene.sql(RUNS.replace("CAST(:begin AS timestamptz)", f"timestamptz '{BEGIN}'"))
    for statement in MORE.split(";\n"):
        await scene.sql(statement.replace(":1", "\\:1"))


async def _all_pages(
    connection: AsyncConnection, limit: int, wanted: dict[str, Any], conditions: RunConditions
) -> list[int]:
    ids: list[int] = []
    before = None
    while True:
        page = await filtered_runs.page(connection, WantedRuns(limit, before=before, **wanted, conditions=conditions))
        assert len(page.runs) <= limit
        ids += [run.id for run in page.runs]
        if page.before is None:
            return ids
        before = page.before


def _is_of(row: Any, wanted: dict[str, Any]) -> bool:
    return (
        (not wanted["states"] or row["state"] in wanted["states"])
        and (wanted["children"] or row["parent_instance_id"] is None)
        and all(
            row[{"workflow": "name"}.get(name, name)] == wanted[name]
            for name in ("workflow", "project")
            if name in wanted
        )
        and ("visible" not in wanted or row["project"] in wanted["visible"])
    )


def _meets(row: Any, asked: dict[str, Any]) -> bool:
    types = {"SCHEDULER": Trigger.SCHEDULE, "COMPLEMENT_DATA": Trigger.BACKFILL}
    trigger = Trigger.PARENT if row["parent_instance_id"] else types.get(row["command_type"], Trigger.HAND)
    params, names, words = json.loads(row["params"]), json.loads(row["startup_names"]), asked.get("words", "")
    if words.isdecimal():
        has_words = str(row["id"]).startswith(words)
    else:
        has_words = words.lower() in (row["name"] or "").lower() or words.lower() in (row["reason"] or "").lower()
    return (
        trigger in asked.get("triggers", Trigger)
        and (
            "master" not in asked
            or (asked["master"] != "nobody" and row["master"] == "mary" and row["state"] == "RUNNING_EXECUTION")
        )
        and ("worker" not in asked or (asked["worker"] != "nobody" and row["worked"]))
        and all(name in names and params[name] == value for name, value in asked.get("parameters", ()))
        and has_words
    )
