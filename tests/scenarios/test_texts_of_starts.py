"""Scenarios of a law: the values of a start are evaluated once, when its run begins; then they are data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.eventually import eventually
from tests.scenarios.engine import WITHIN_S, Engine

GIVEN = "${on} $[yyyy] $${on} $$[yyyy]"
BECOMES = "2026-01-30 2026 ${on} $[yyyy]"
LITERAL = {"x": "$${on} $$[yyyy]"}
"""A FAKE task's output text for the value `${on} $[yyyy]`."""
SEES = {"params": {"outputs": {"seen": "${text}"}}}
DAY = "2026-01-31 05:00:00+00"


def seen(engine: Engine, run: int) -> str:
    return str(engine.printed(run, "a")["seen"])


async def others(engine: Engine, workflow: int, count: int = 1) -> list[int]:
    """The runs of a workflow that something else starts, once all have ended."""
    query = "SELECT id FROM workflow_instance WHERE workflow_code = %s AND ended_at IS NOT NULL ORDER BY id"
    rows = await eventually(
        lambda: len(found := engine.cluster.rows(query, workflow)) >= count and found, within_s=WITHIN_S
    )
    return [run for (run,) in rows]


@pytest.mark.parametrize(
    ("type_", "columns"),
    [
        ("START_PROCESS", {"schedule_time": DAY}),
        ("START_CURRENT_TASK_PROCESS", {"schedule_time": DAY, "start_tasks": "a"}),
        ("SCHEDULER", {"schedule_time": DAY}),
    ],
)
async def test_a_command_gives_what_is_evaluated_once(engine: Engine, type_: str, columns: Mapping[str, Any]) -> None:
    code = engine.define({"name": "a", **SEES}, params={"on": "2026-01-30", "text": "", "more": "<${text}>"})
    run = await engine.run(code, type_, params={"text": GIVEN}, **columns)
    assert seen(engine, run) == BECOMES
    assert engine.values(run, "a")["more"] == f"<{BECOMES}>", "what is made of it evaluates nothing in it"
    await engine.change("REPEAT_RUNNING", run)
    await engine.end(run)
    assert seen(engine, run) == BECOMES


async def test_each_date_of_a_backfill_evaluates_what_was_given_for_itself(engine: Engine) -> None:
    code = engine.define({"name": "a", **SEES}, params={"on": "2026-01-30", "text": ""})
    dates = {"dates": ["2025-01-31T00:00:00Z", "2026-01-31T00:00:00Z"], "mode": "SERIAL"}
    engine.ask("COMPLEMENT_DATA", code, params={"text": GIVEN, "backfill": dates})
    first, second = await others(engine, code, 2)
    assert seen(engine, first) == BECOMES.replace(" 2026 ", " 2025 ")
    assert seen(engine, second) == BECOMES


async def test_the_command_line_gives_the_same(engine: Engine) -> None:
    code = engine.define({"name": "a", **SEES}, params={"on": "2026-01-30", "text": ""}, name="of_command_line")
    engine.cluster.shoal("run", "of_command_line", "--param", f"text={GIVEN}", "--wait")
    ((run, year),) = engine.cluster.rows(
        "SELECT id, to_char(schedule_time AT TIME ZONE 'UTC', 'YYYY') FROM workflow_instance WHERE workflow_code = %s",
        code,
    )
    assert seen(engine, run) == BECOMES.replace(" 2026 ", f" {year} ")


@pytest.mark.parametrize(
    "task",
    [
        {"type": "SUB_PROCESS", "params": {"params": {"text": "${text}", "of_task": "$[yyyy] ${x}"}}},
        {"type": "SUB_PROCESS", "params": {"params": {"of_task": "$[yyyy] ${x}"}}, "local_params": {"text": "${text}"}},
        {"type": "SUB_PROCESS", "params": {"params": {"text": "${text}", "of_task": "$[yyyy] ${x}"}, "wait": False}},
        {
            "type": "DYNAMIC",
            "params": {"lists": [{"name": "text", "value": '["${text}"]'},
                                 {"name": "of_task", "value": '["$[yyyy] ${x}"]'}]},
        },
    ],
    ids=["params", "local_params", "without_waiting", "dynamic"],
)  # fmt: skip
async def test_a_run_that_a_task_starts_takes_what_it_is_given_as_data(engine: Engine, task: dict[str, Any]) -> None:
    """The child has other values for the same names: a parent's author cannot read those."""
    child = engine.define(
        {"name": "a", "params": {"outputs": {"seen": "${text}", "of_task": "${of_task}"}}},
        params={"on": "of the child", "text": "", "of_task": ""},
    )
    params = {"workflow": f"workflow {child}", **task["params"]}
    code = engine.define(
        {"name": "before", "params": {"outputs": LITERAL}},
        {**task, "name": "below", "params": params, "after": ["before"]},
        params={"on": "2026-01-30", "text": ""},
    )
    run = await engine.run(code, params={"text": GIVEN}, schedule_time=DAY)
    assert engine.state(run) == "SUCCESS", engine.reason(run)
    (below,) = await others(engine, child)
    assert engine.printed(below, "a") == {"seen": BECOMES, "of_task": "2026 ${on} $[yyyy]"}


async def test_another_version_keeps_what_was_evaluated(engine: Engine) -> None:
    fails = {"name": "z", "params": {"fail": True}, "after": ["a"]}
    params = {"on": "2026-01-30", "text": "", "same": "${text}"}
    code = engine.define({"name": "a", **SEES}, fails, params=params)
    run = await engine.run(code, params={"text": GIVEN}, schedule_time=DAY)
    changed = {"params": {"outputs": {"seen": "${text}", "new": "${new} ${same}"}}}
    version = engine.revise(code, {"name": "a", **changed}, params={**params, "new": "${on}"})
    await engine.change("START_FAILURE_TASK_PROCESS", run, workflow_version=version)
    await engine.end(run)
    assert engine.printed(run, "a") == {"seen": BECOMES, "new": f"2026-01-30 {BECOMES}"}
