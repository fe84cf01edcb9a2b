"""Scenarios of declared parameters: a start by SQL whose values are not as declared is an error command."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scenarios.engine import Engine

TASK = {"name": "a", "params": {"outputs": {"seen": "${day} ${size} ${region}"}}}
DECLARED: dict[str, Any] = {
    "day": {"type": "DATE", "required": True},
    "size": {"type": "INTEGER", "value": 10, "min": 1, "max": 100},
    "region": {"enum": ["eu", "us"], "value": "eu"},
}


async def test_a_start_with_right_values_runs_with_them(engine: Engine) -> None:
    run = await engine.run(engine.define(TASK, params=DECLARED), params={"day": "2026-01-31", "size": "7"})
    assert engine.printed(run, "a") == {"seen": "2026-01-31 7 eu"}


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({}, 'the required parameter "day" (a date such as 2026-01-31) has no value; give it one with the start'),
        ({"day": "yesterday"}, 'parameter "day" is DATE and must be a date such as 2026-01-31; it is "yesterday"'),
        ({"day": "2026-01-31", "size": "500"}, 'must be a whole number such as 42, from 1 to 100; it is "500"'),
        ({"day": "2026-01-31", "region": "asia"}, 'parameter "region" must be one of "eu", "us"; it is "asia"'),
        ({"day": "$[yyyy/MM/dd]"}, 'parameter "day" is DATE and must be a date such as 2026-01-31'),
        ({"day": "2026-01-31", "size": "${nothing}"}, 'it is "${nothing}"'),
    ],
)
async def test_a_start_by_sql_with_wrong_values_is_an_error_command(
    engine: Engine, params: dict[str, str], sentence: str
) -> None:
    code = engine.define(TASK, params=DECLARED)
    assert sentence in await engine.refused(engine.ask("START_PROCESS", code, params=params))
    assert engine.cluster.rows("SELECT id FROM workflow_instance WHERE workflow_code = %s", code) == []


async def test_a_value_is_compared_when_its_references_are_replaced(engine: Engine) -> None:
    code = engine.define(TASK, params=DECLARED | {"length": "5"})
    run = await engine.run(code, params={"day": "$[yyyy-MM-dd]", "size": "${length}"})
    assert engine.state(run) == "SUCCESS"


async def test_a_child_run_is_refused_what_its_workflow_does_not_allow(engine: Engine) -> None:
    child = engine.define(TASK, params=DECLARED)
    gives = {"type": "SUB_PROCESS", "params": {"workflow": child, "params": {"day": "${given}"}}}
    parent = engine.define({"name": "child", **gives}, params={"given": ""})
    right = await engine.run(parent, params={"given": "2026-01-31"})
    assert engine.state(right) == "SUCCESS", engine.reason(right)
    wrong = await engine.run(parent, params={"given": "yesterday"})
    assert engine.state(wrong) == "FAILURE"
    reason = engine.cluster.one("SELECT reason FROM task_instance WHERE workflow_instance_id = %s", wrong)
    assert 'parameter "day" is DATE' in reason
