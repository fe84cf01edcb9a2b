"""Commands that are wrong in every way that SQL lets through: each ends with a sentence, and the cluster goes on."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from tests.eventually import eventually
from tests.scenarios.engine import Engine

MEGABYTE = 1_048_576
LONG = "x" * MEGABYTE
NOBODY = 987_654_321

pytestmark = pytest.mark.usefixtures("the_cluster_goes_on")


# ---------------------------------------------------------------------------------------------- commands

STARTS: dict[str, tuple[dict[str, Any], str]] = {
    "no type": ({"type": ""}, 'there is no command type ""'),
    "unknown type": ({"type": "START_PROCES"}, "did you mean START_PROCESS?"),
    "long type": ({"type": LONG}, "there is no command type"),
    "no workflow": ({"workflow_code": None}, "workflow_code is missing"),
    "unknown workflow": ({"workflow_code": NOBODY}, f"there is no workflow with code {NOBODY}"),
    "negative workflow": ({"workflow_code": -1}, "workflow_code must be a positive number, not -1"),
    "largest workflow": ({"workflow_code": 2**63 - 1}, "there is no workflow with code"),
    "unknown version": ({"workflow_version": 77}, "has no version 77"),
    "version zero": ({"workflow_version": 0}, "workflow_version must be a positive number"),
    "params no JSON": ({"params": "day=1"}, "params is not valid JSON"),
    "params half JSON": ({"params": '{"a": '}, "params is not valid JSON"),
    "params a list": ({"params": "[1]"}, "params must be a JSON object"),
    "params null": ({"params": "null"}, "params must be a JSON object"),
    "params too deep": ({"params": '{"a":' * 100_000 + "1" + "}" * 100_000}, "params is nested too deeply"),
    "params too large": ({"params": json.dumps({"a": LONG})}, "params is larger than 1048576 bytes"),
    "params with NUL": ({"params": '{"a": "\\u0000"}'}, "contains a NUL"),
    "params with an unpaired surrogate": ({"params": '{"a": "\\ud800"}'}, "an unpaired surrogate"),
    "params with a number of many digits": ({"params": '{"a": ' + "1" * 10_000 + "}"}, "too many digits"),
    "unknown priority": ({"priority": "URGENT"}, 'priority "URGENT" is unknown; use one of HIGHEST'),
    "no priority": ({"priority": ""}, 'priority "" is unknown'),
    "long priority": ({"priority": LONG}, "is unknown; use one of HIGHEST"),
    "unknown failure strategy": ({"failure_strategy": "STOP"}, 'failure_strategy "STOP" is unknown'),
    "wrong worker group": ({"worker_group": "a b"}, 'worker_group "a b" is not a name of a group'),
    "long worker group": ({"worker_group": LONG}, "is not a name of a group"),
    "unknown warning type": ({"warning_type": "SOME"}, 'warning_type "SOME" is unknown; use one of NONE'),
    "long alert group": ({"alert_group": LONG}, "alert_group must be a name of at most"),
    "long environment": ({"environment": LONG}, "environment must be a name of at most"),
    "control characters": ({"environment": "a\nb"}, "printable characters"),
    "unknown depend type": ({"task_depend_type": "TASK_ALL"}, 'task_depend_type "TASK_ALL" is unknown'),
    "unknown start task": ({"start_tasks": "nobody"}, 'no task "nobody"'),
    "long start task": ({"start_tasks": LONG}, "has no task"),
    "start tasks half a list": ({"start_tasks": "[1, "}, "start_tasks is not a valid JSON list"),
    "start tasks of objects": ({"start_tasks": "[{}]"}, "start_tasks must be a list of names or codes"),
    "start tasks too deep": ({"start_tasks": "[" * 100_000}, "start_tasks is not a valid JSON list"),
    "start tasks too long": ({"start_tasks": LONG + "x"}, "start_tasks is longer than 1048576 characters"),
    "no start tasks": ({"type": "START_CURRENT_TASK_PROCESS"}, "START_CURRENT_TASK_PROCESS needs start_tasks"),
    "no time for a schedule": ({"type": "SCHEDULER"}, "SCHEDULER needs schedule_time"),
    "endless time": ({"schedule_time": "infinity"}, "schedule_time must be a time such as"),
    "time before Christ": ({"schedule_time": "0044-03-15 BC"}, "schedule_time must be a time such as"),
    "time after 9999": ({"schedule_time": "20000-01-01"}, "schedule_time must be a time such as"),
    "the first day": ({"schedule_time": "0001-01-01"}, "is at the end of the calendar"),
    "unknown zone": ({"time_zone": "Europe/Berln"}, 'there is no time zone "Europe/Berln"'),
    "a path as a zone": ({"time_zone": "../../etc/passwd"}, "there is no time zone"),
    "long zone": ({"time_zone": LONG}, "there is no time zone"),
    "negative schedule": ({"schedule_id": -1}, "schedule_id must be a positive number"),
    "wrong parent": ({"parent": "1/2"}, "must be instance/task code/attempt/index"),
    "long parent": ({"parent": LONG}, "must be instance/task code/attempt/index"),
    "unknown parent": ({"parent": f"{NOBODY}/1/1/0"}, f"there is no workflow instance {NOBODY}"),
    "no dates": ({"type": "COMPLEMENT_DATA"}, "COMPLEMENT_DATA needs dates"),
    "wrong dates": ({"type": "COMPLEMENT_DATA", "params": {"backfill": 1}}, "backfill must be a JSON object"),
    "reversed dates": (
        {"type": "COMPLEMENT_DATA", "params": {"backfill": {"from": "2026-02-01", "to": "2026-01-01"}}},
        "backfill ends before it begins",
    ),
    "too many dates": (
        {"type": "COMPLEMENT_DATA", "params": {"backfill": {"from": "1950-01-01", "to": "2050-01-01"}}},
        "has more than 10000 times; split it into parts",
    ),
}


@pytest.mark.parametrize("case", STARTS)
async def test_a_wrong_start_is_refused_with_a_sentence(engine: Engine, case: str) -> None:
    columns, sentence = STARTS[case]
    code = engine.define({"name": "a", "params": {"outputs": {"x": "${system.biz.date}"}}}, params={"d": "$[yyyy]"})
    values = {"type": "START_PROCESS", "workflow_code": code, **columns}
    reason = await engine.refused(engine.ask(values.pop("type"), values.pop("workflow_code"), **values))
    assert sentence in reason
    assert 10 < len(reason) < 1_000
    assert engine.cluster.one("SELECT count(*) FROM workflow_instance WHERE workflow_code = %s", code) == 0


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"type": "PAUSE"}, "workflow_instance_id is missing"),
        ({"type": "STOP", "run": -5}, "workflow_instance_id must be a positive number"),
        ({"type": "STOP", "run": NOBODY}, f"there is no workflow instance {NOBODY}"),
        ({"type": "RECOVER_TOLERANCE_FAULT_PROCESS", "run": NOBODY}, f"there is no workflow instance {NOBODY}"),
        ({"type": "EXECUTE_TASK", "run": NOBODY}, "EXECUTE_TASK needs start_tasks"),
        ({"type": "RECOVER_SERIAL_WAIT"}, "workflow_code is missing"),
        ({"type": "REPEAT_RUNNING", "run": NOBODY, "parent": "x"}, "must be instance/task code/attempt/index"),
    ],
)
async def test_a_wrong_change_is_refused_with_a_sentence(
    engine: Engine, columns: dict[str, Any], sentence: str
) -> None:
    columns = dict(columns)
    assert sentence in await engine.refused(engine.ask(columns.pop("type"), **columns))


async def test_a_failover_that_nobody_needs_is_refused(engine: Engine) -> None:
    run = await engine.run(engine.define({"name": "a"}))
    sentence = await engine.refused(engine.ask("RECOVER_TOLERANCE_FAULT_PROCESS", run=run))
    assert sentence == f"workflow instance {run} has already ended as SUCCESS; there is nothing to fail over"


async def test_an_executed_task_that_does_not_exist_is_refused(engine: Engine) -> None:
    run = await engine.run(engine.define({"name": "a"}))
    assert 'no task "b"' in await engine.refused(engine.ask("EXECUTE_TASK", run=run, start_tasks="b"))
    assert engine.state(run) == "SUCCESS"


async def test_wrong_commands_among_good_ones_hurt_nobody(engine: Engine) -> None:
    code = engine.define({"name": "a"})
    query = """INSERT INTO command (type, workflow_code, params)
               SELECT 'START_PROCESS', CASE WHEN n %% 3 = 0 THEN 987654321 ELSE %s END,
                      CASE WHEN n %% 3 = 1 THEN '{' ELSE '{}' END
               FROM generate_series(0, 299) AS n"""
    engine.cluster.rows(query, code)
    ended = "SELECT count(*) FROM workflow_instance WHERE workflow_code = %s AND state = 'SUCCESS'"
    await eventually(lambda: engine.cluster.one(ended, code), until=100, within_s=20)
    waiting = "SELECT count(*) FROM command WHERE workflow_code IN (%s, 987654321)"
    await eventually(lambda: engine.cluster.one(waiting, code), until=0, within_s=20)


async def test_a_start_of_a_workflow_that_is_offline_is_refused(engine: Engine) -> None:
    code = engine.define({"name": "a"})
    engine.cluster.rows("UPDATE workflow_definition SET release_state = 'OFFLINE' WHERE code = %s", code)
    assert "is OFFLINE; put it ONLINE before starting it" in await engine.refused(engine.ask("START_PROCESS", code))


async def test_what_no_type_of_sql_takes_never_gets_in(engine: Engine) -> None:
    for columns in ({"params": "\x00"}, {"params": "x" * 3_000_000}, {"workflow_code": 2**63}, {"dry_run": "perhaps"}):
        with pytest.raises((psycopg.DataError, psycopg.IntegrityError)):
            engine.ask("START_PROCESS", columns.pop("workflow_code", None), **columns)  # type: ignore[arg-type]
