"""Rows that are wrong in every way that SQL lets through: each ends with a sentence, and the cluster goes on."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
import pytest_asyncio

from tests.eventually import eventually
from tests.scenarios.engine import Engine

MEGABYTE = 1_048_576
LONG = "x" * MEGABYTE
NOBODY = 987_654_321


@pytest_asyncio.fixture(autouse=True)
async def _the_cluster_goes_on(engine: Engine) -> AsyncIterator[None]:
    """After each of these a good start succeeds at once, by masters that are the same as before."""
    alive = "SELECT array_agg(id ORDER BY id) FROM node WHERE kind = 'MASTER' AND state = 'ALIVE'"
    before = engine.cluster.one(alive)
    yield
    code = engine.define({"name": "good"})
    for _ in range(2):  # one for each master
        assert engine.state(await engine.run(code)) == "SUCCESS"
    assert engine.cluster.one(alive) == before


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
    "params with NUL": ({"params": '{"a": "\\u0000"}'}, "holds a NUL"),
    "params with half a character": ({"params": '{"a": "\\ud800"}'}, "half a character"),
    "params with a number of many digits": ({"params": '{"a": ' + "1" * 10_000 + "}"}, "too many digits"),
    "unknown priority": ({"priority": "URGENT"}, 'priority "URGENT" is unknown; use one of HIGHEST'),
    "no priority": ({"priority": ""}, 'priority "" is unknown'),
    "long priority": ({"priority": LONG}, "is unknown; use one of HIGHEST"),
    "unknown failure strategy": ({"failure_strategy": "STOP"}, 'failure_strategy "STOP" is unknown'),
    "wrong worker group": ({"worker_group": "a b"}, 'worker_group "a b" is no name of a group'),
    "long worker group": ({"worker_group": LONG}, "is no name of a group"),
    "unknown warning type": ({"warning_type": "SOME"}, 'warning_type "SOME" is unknown; use one of NONE'),
    "long alert group": ({"alert_group": LONG}, "alert_group must be a name of at most"),
    "long environment": ({"environment": LONG}, "environment must be a name of at most"),
    "control characters": ({"environment": "a\nb"}, "printable characters"),
    "unknown depend type": ({"task_depend_type": "TASK_ALL"}, 'task_depend_type "TASK_ALL" is unknown'),
    "unknown start task": ({"start_tasks": "nobody"}, 'no task "nobody"'),
    "long start task": ({"start_tasks": LONG}, "has no task"),
    "start tasks half a list": ({"start_tasks": "[1, "}, "start_tasks is no valid JSON list"),
    "start tasks of objects": ({"start_tasks": "[{}]"}, "start_tasks must be a list of names or codes"),
    "start tasks too deep": ({"start_tasks": "[" * 100_000}, "start_tasks is no valid JSON list"),
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
    "wrong dates": ({"type": "COMPLEMENT_DATA", "params": {"backfill": 1}}, ""),
    "reversed dates": (
        {"type": "COMPLEMENT_DATA", "params": {"backfill": {"from": "2026-02-01", "to": "2026-01-01"}}},
        "",
    ),
    "too many dates": (
        {"type": "COMPLEMENT_DATA", "params": {"backfill": {"from": "0001-01-02", "to": "9999-01-01"}}},
        "10,000",
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
async def test_a_wrong_change_is_refused_with_a_sentence(engine: Engine, columns: dict[str, Any], sentence: str) -> None:
    columns = dict(columns)
    assert sentence in await engine.refused(engine.ask(columns.pop("type"), **columns))


async def test_a_takeover_that_nobody_needs_is_refused(engine: Engine) -> None:
    run = await engine.run(engine.define({"name": "a"}))
    sentence = await engine.refused(engine.ask("RECOVER_TOLERANCE_FAULT_PROCESS", run=run))
    assert sentence == f"workflow instance {run} has already ended as SUCCESS; there is nothing to take over"


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


# ------------------------------------------------------------------------------------------- definitions

A = {"name": "a", "type": "FAKE"}
SPECS: dict[str, tuple[Any, str]] = {
    "nothing": ({}, 'the field "tasks" is missing'),
    "no tasks": ({"tasks": []}, "a workflow needs at least one task"),
    "tasks a text": ({"tasks": "a"}, "must be a list"),
    "a task a number": ({"tasks": [1]}, "must be a mapping"),
    "a task without a name": ({"tasks": [{"type": "FAKE"}]}, 'the field "name" is missing'),
    "two of one name": ({"tasks": [A, A]}, 'task "a" stands there twice'),
    "a circle": (
        {"tasks": [{**A, "after": ["b"]}, {**A, "name": "b", "after": ["a"]}]},
        "tasks wait for each other in a circle: a -> b -> a",
    ),
    "itself": ({"tasks": [{**A, "after": ["a"]}]}, 'task "a" waits for itself'),
    "an edge to nobody": ({"tasks": [{**A, "after": ["b"]}]}, 'task "a" waits for "b", which does not exist'),
    "an unknown field": ({"tasks": [{**A, "retries": 1}]}, 'there is no field "retries"'),
    "a wrong zone": ({"tasks": [A], "time_zone": "Mars/Olympus"}, 'there is no time zone "Mars/Olympus"'),
    "a wrong choice": ({"tasks": [A], "execution_type": "SERIAL"}, 'field "execution_type": '),
    "negative retries": ({"tasks": [{**A, "retry_times": -1}]}, 'task "a": field "retry_times"'),
    "endless waiting": ({"tasks": [{**A, "delay_time": 1e300}]}, 'task "a": field "delay_time"'),
    "a text for minutes": ({"tasks": [{**A, "timeout": "soon"}]}, 'task "a": field "timeout"'),
    "a long name": ({"tasks": [{**A, "name": LONG}]}, 'field "name"'),
    "a local parameter of no type": (
        {"tasks": [{**A, "local_params": {"x": {"type": "INTEGER", "value": "many"}}}]},
        'parameter "x" is INTEGER and must be a whole number',
    ),
    "retries of a SWITCH": (
        {"tasks": [{"name": "a", "type": "SWITCH", "params": {"cases": [{"when": "true", "then": "b"}]}, "retry_times": 1}]},
        "a SWITCH task runs in the master and has no retry_times; remove it",
    ),
    "a SWITCH without cases": ({"tasks": [{"name": "a", "type": "SWITCH"}]}, 'the field "cases" is missing'),
    "a SWITCH of nonsense": (
        {
            "tasks": [
                {"name": "a", "type": "SWITCH", "params": {"cases": [{"when": "1 >", "then": "b"}]}},
                {**A, "name": "b", "after": ["a"]},
            ]
        },
        'task "a": case 1, 1 >',
    ),
    "a SWITCH to nobody": (
        {"tasks": [{"name": "a", "type": "SWITCH", "params": {"cases": [{"when": "true", "then": "b"}]}}]},
        'it chooses "b", which does not come directly after it',
    ),
    "CONDITIONS on nobody": (
        {"tasks": [{"name": "a", "type": "CONDITIONS", "params": {"when": {"b": "SUCCESS"}}}]},
        'it asks for "b", which does not come directly before it',
    ),
    "a SUB_PROCESS of nothing": ({"tasks": [{"name": "a", "type": "SUB_PROCESS"}]}, 'the field "workflow" is missing'),
    "a DEPENDENT of no cycle": (
        {
            "tasks": [
                {
                    "name": "a",
                    "type": "DEPENDENT",
                    "params": {"groups": [{"items": [{"workflow": 1, "cycle": "someday"}]}]},
                }
            ]
        },
        'task "a": field "groups.1.items.1.cycle"',
    ),
    "a DYNAMIC without lists": (
        {"tasks": [{"name": "a", "type": "DYNAMIC", "params": {"workflow": 1, "lists": []}}]},
        'task "a": field "lists"',
    ),
    "too many tasks": ({"tasks": [{**A, "name": f"t{n}"} for n in range(10_001)]}, "10000 entries"),
    "too deep": (json.loads('{"tasks":' + "[" * 900 + "]" * 900 + "}"), ""),
    "huge": ({"tasks": [A], "description": LONG * 5}, 'field "description"'),
}


@pytest.mark.parametrize("case", SPECS)
async def test_a_wrong_definition_is_refused_when_it_is_started(engine: Engine, case: str) -> None:
    spec, sentence = SPECS[case]
    code = engine.next_code()
    engine.cluster.define(code, f"wrong {code}", **spec)
    reason = await engine.refused(engine.ask("START_PROCESS", code))
    assert reason.startswith(f"workflow {code} version 1 cannot be run: ")
    assert sentence in reason
    assert len(reason) < 10_000


async def test_a_number_that_no_program_reads_is_refused(engine: Engine) -> None:
    code = engine.next_code()
    engine.cluster.rows("INSERT INTO workflow_definition (code, name) VALUES (%s, %s)", code, f"wrong {code}")
    spec = '{"tasks": [{"name": "a", "type": "FAKE", "params": {"sleep_s": %s}}]}' % ("1" * 5_000)
    engine.cluster.rows("INSERT INTO workflow_version (workflow_code, version, spec) VALUES (%s, 1, %s)", code, spec)
    assert "holds a number too large to read" in await engine.refused(engine.ask("START_PROCESS", code))


async def test_a_definition_without_any_version_is_refused(engine: Engine) -> None:
    code = engine.next_code()
    engine.cluster.rows("INSERT INTO workflow_definition (code, name) VALUES (%s, %s)", code, f"empty {code}")
    assert f"workflow {code} has no version 1" in await engine.refused(engine.ask("START_PROCESS", code))


@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        ({"type": "SHEL"}, 'there is no task type "SHEL"; did you mean SHELL?'),
        ({"type": "SHELL"}, "SHELL parameters: script: Field required"),
        ({"type": "SHELL", "params": {"script": ["a"]}}, "SHELL parameters: script: Input should be a valid string"),
        ({"type": "FAKE", "params": {"sleep_s": -1}}, "FAKE parameters: sleep_s: "),
        ({"type": "FAKE", "params": {"sleeps": 1}}, "FAKE parameters: sleeps: Extra inputs are not permitted"),
        ({"type": "SHELL", "params": {"script": ":"}, "environment": "nowhere"}, '"nowhere"'),
        ({"type": "SHELL", "params": {"script": ":"}, "tenant": "nobody_here"}, "nobody_here"),
        ({"type": "PYTHON", "params": {"script": "1", "interpreter": "python9"}}, '"python9"'),
    ],
)
async def test_what_only_a_worker_can_see_fails_the_task_with_a_sentence(
    engine: Engine, task: dict[str, Any], sentence: str
) -> None:
    run = await engine.run(engine.define({"name": "a", **task}))
    assert engine.state(run) == "FAILURE"
    assert sentence in engine.why(run, "a")


async def test_parameters_that_grow_without_end_are_refused(engine: Engine) -> None:
    params = {"p0": "x" * 1_000, **{f"p{n}": f"${{p{n - 1}}}" * 10 for n in range(1, 10)}}
    code = engine.define({"name": "a"}, params=params)
    assert "parameters that are made of each other grow beyond" in await engine.refused(engine.ask("START_PROCESS", code))


async def test_a_task_whose_own_parameters_grow_without_end_fails_with_a_sentence(engine: Engine) -> None:
    params = {"p0": "x" * 1_000, **{f"p{n}": f"${{p{n - 1}}}" * 10 for n in range(1, 10)}}
    run = await engine.run(engine.define({"name": "a", "local_params": params, "retry_times": 2}, {"name": "b"}))
    assert engine.state(run) == "FAILURE"
    assert engine.tasks(run) == {"a": "FAILURE", "b": "SUCCESS"}
    assert "parameters that are made of each other grow beyond" in engine.why(run, "a")


@pytest.mark.parametrize("params", ["", "nonsense", "[]", '{"a": "\\u0000"}'])
async def test_wrong_parameters_of_a_project_are_refused(engine: Engine, params: str) -> None:
    code = engine.define({"name": "a"})
    name = f"project {code}"
    engine.cluster.rows("INSERT INTO project (name, params) VALUES (%s, %s)", name, params)
    engine.cluster.rows("UPDATE workflow_definition SET project = %s WHERE code = %s", name, code)
    assert "the project's parameters" in await engine.refused(engine.ask("START_PROCESS", code))


# --------------------------------------------------------------------------------------- rows in between


@pytest.mark.parametrize(
    ("column", "value"),
    [("params", "nonsense"), ("params", "[]"), ("startup_names", "7"), ("startup_names", "x"), ("time_zone", "nowhere")],
)
async def test_a_broken_row_of_a_run_that_waits_ends_as_a_failure_with_a_sentence(
    engine: Engine, column: str, value: str
) -> None:
    code = engine.define({"name": "a", "local_params": {"x": "$[yyyy]"}})
    query = f"""WITH waiting AS (
                    INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id,
                                                   failure_strategy, priority, worker_group, {column})
                    SELECT -nextval('command_id_seq'), %s, 1, 'WAIT_TO_RUN', 0, 'CONTINUE', 'MEDIUM', 'default', %s
                    RETURNING id)
                INSERT INTO command (type, workflow_instance_id) SELECT 'RECOVER_WAITING_THREAD', id FROM waiting
                RETURNING workflow_instance_id"""
    run = int(engine.cluster.one(query, code, value))
    ended = "SELECT state FROM workflow_instance WHERE id = %s AND ended_at IS NOT NULL"
    refused = "SELECT reason FROM error_command WHERE workflow_instance_id = %s"
    await eventually(lambda: engine.cluster.rows(ended, run) or engine.cluster.rows(refused, run), within_s=20)
    if engine.cluster.rows(ended, run):
        assert engine.state(run) == "FAILURE"
        assert engine.reason(run)
    engine.cluster.rows("DELETE FROM workflow_instance WHERE id = %s", run)


@pytest.mark.parametrize("outputs", ["nonsense", "[]", '{"a": "\\u0000"}', '{"a":' * 2_000 + "1" + "}" * 2_000])
async def test_outputs_that_cannot_be_read_end_the_run_with_a_sentence(engine: Engine, outputs: str) -> None:
    run = await engine.begin(
        engine.define({"name": "a", "type": "FAKE", "worker_group": "by-hand"}, {"name": "b", "after": ["a"]})
    )
    await engine.claim(run, "a")
    query = """WITH ended AS (UPDATE task_instance SET state = 'SUCCESS', ended_at = clock_timestamp(), outputs = %s
                              WHERE workflow_instance_id = %s RETURNING workflow_instance_id, task_code, attempt, outputs)
               INSERT INTO task_event (workflow_instance_id, task_code, attempt, state, outputs)
               SELECT workflow_instance_id, task_code, attempt, 'SUCCESS', outputs FROM ended"""
    engine.cluster.rows(query, outputs, run)
    assert await engine.end(run) == "FAILURE"
    assert "its outputs" in (engine.reason(run) or "")
