"""Scenarios of values that a workflow's author did not write: a start with one that a script could run is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scenarios.engine import Engine

EVALUATES = 'v="${year}${month}"; if (( v > 202601 )); then echo x; fi'


def script(text: str, **types: str) -> dict[str, Any]:
    return {
        "name": "t",
        "type": "SHELL",
        "params": {"script": text},
        "local_params": {name: {"type": type_} for name, type_ in types.items()},
    }


@pytest.mark.parametrize(
    ("task", "params"),
    [
        (script(EVALUATES), {"year": "a[", "month": "$(id >&2; echo 1)]"}),
        (script("make ${t}"), {"t": "--eval=$(shell touch f)"}),
        (script("sort n ${f}"), {"f": "--compress-program=/bin/x"}),
        (script("env ${s} bash -c true"), {"s": "BASH_ENV=/tmp/x"}),
        (
            {
                "name": "t",
                "type": "PYTHON",
                "params": {"script": 'import subprocess\nsubprocess.run(["sh", "-c", "echo " + ${x}])'},
            },
            {"x": "; touch f"},
        ),
    ],
)
async def test_a_start_with_a_value_that_a_script_could_run_is_refused(
    engine: Engine, task: dict[str, Any], params: dict[str, str]
) -> None:
    code = engine.define(task, {"name": "first"})
    reason = await engine.refused(engine.ask("START_PROCESS", code, params=params))
    assert 'task "t": script' in reason
    assert "declare in the task's local_params" in reason
    assert engine.cluster.rows("SELECT id FROM workflow_instance WHERE workflow_code = %s", code) == []


async def test_what_the_author_wrote_or_declared_is_accepted(engine: Engine) -> None:
    text = 'v=1; (( v > 0 )) && [ "${note}" = "${same}" ] && echo "#{setValue(said=${own})}"'
    code = engine.define(
        script(text, note="TEXT", same="TEXT"), {"name": "after", "after": ["t"]}, params={"own": "a[$(id)] & b"}
    )
    note = "it's 5 $ [net]"
    run = await engine.run(code, params={"note": note, "same": note})
    assert engine.tasks(run) == {"t": "SUCCESS", "after": "SUCCESS"}, engine.reason(run)
    assert engine.values(run, "after")["said"] == "a[$(id)] & b"


async def test_what_a_task_before_gave_is_refused_before_a_process_starts(engine: Engine) -> None:
    gives = {"name": "before", "params": {"outputs": {"year": "a[$(id)]", "month": "1"}}}
    run = await engine.run(engine.define(gives, {**script(EVALUATES), "after": ["before"]}))
    assert engine.state(run) == "FAILURE"
    assert "type: TEXT" in engine.cluster.one(
        "SELECT reason FROM task_instance WHERE workflow_instance_id = %s AND task_name = 't'", run
    )
