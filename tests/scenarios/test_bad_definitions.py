"""Definitions, projects and runs that are wrong in every way that SQL lets through."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.scenarios.engine import Engine

LONG = "x" * 1_048_576

pytestmark = pytest.mark.usefixtures("the_cluster_goes_on")

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
        "tasks wait for each other in a circle: ",
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
        {
            "tasks": [
                {"name": "a", "type": "SWITCH", "params": {"cases": [{"when": "true", "then": "b"}]}, "retry_times": 1}
            ]
        },
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
    assert "contains a number too large to read" in await engine.refused(engine.ask("START_PROCESS", code))


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
    assert "parameters that are made of each other grow beyond" in await engine.refused(
        engine.ask("START_PROCESS", code)
    )


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
    ("column", "value", "sentence"),
    [
        ("params", "nonsense", "its parameters is not valid JSON"),
        ("params", "[]", "its parameters must be a JSON object"),
        ("startup_names", "7", "the names of its startup parameters, as the database has them, are no JSON list"),
        ("startup_names", "x", "the names of its startup parameters, as the database has them, are no JSON list"),
        ("time_zone", "nowhere", 'there is no time zone "nowhere"'),
    ],
)
async def test_a_broken_row_of_a_run_that_waits_fails_its_tasks_with_a_sentence(
    engine: Engine, column: str, value: str, sentence: str
) -> None:
    code = engine.define({"name": "a", "local_params": {"x": "$[yyyy]"}})
    query = f"""INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id,
                                               failure_strategy, priority, worker_group, {column})
                SELECT -nextval('command_id_seq'), %s, 1, 'SERIAL_WAIT', 0, 'CONTINUE', 'MEDIUM', 'default', %s
                RETURNING id"""
    run = int(engine.cluster.one(query, code, value))
    engine.ask("RECOVER_SERIAL_WAIT", code)
    assert await engine.end(run) == "FAILURE"
    assert sentence in engine.why(run, "a")


@pytest.mark.parametrize("outputs", ["nonsense", "[]", '{"a": "\\u0000"}', '{"a":' * 2_000 + "1" + "}" * 2_000])
async def test_outputs_that_cannot_be_read_end_the_run_with_a_sentence(engine: Engine, outputs: str) -> None:
    run = await engine.begin(
        engine.define({"name": "a", "type": "FAKE", "worker_group": "by-hand"}, {"name": "b", "after": ["a"]})
    )
    await engine.claim(run, "a")
    query = """WITH ended AS (UPDATE task_instance SET state = 'SUCCESS', ended_at = clock_timestamp(), outputs = %s
                              WHERE workflow_instance_id = %s
                              RETURNING workflow_instance_id, task_code, attempt, outputs)
               INSERT INTO task_event (workflow_instance_id, task_code, attempt, state, outputs)
               SELECT workflow_instance_id, task_code, attempt, 'SUCCESS', outputs FROM ended"""
    engine.cluster.rows(query, outputs, run)
    assert await engine.end(run) == "FAILURE"
    assert "its outputs" in (engine.reason(run) or "")
