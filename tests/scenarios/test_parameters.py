"""Scenarios of parameters: who wins, who sees what, and that a value is never more than a value."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from tests.eventually import eventually
from tests.scenarios.engine import BY_HAND, Engine

LAYERS = ("startup", "local", "context", "global", "project")
"""High to low."""
SEES = {"params": {"outputs": {"seen": "${x}"}}}
"""A task that shows what it sees as x."""


def gives(**values: str) -> dict[str, Any]:
    return {"params": {"outputs": values}}


def in_project(engine: Engine, code: int, **params: str) -> str:
    """Put a workflow into a project of its own with these parameters; the project's name."""
    name = f"project {code}"
    engine.cluster.rows(
        """INSERT INTO project (name, params)
           SELECT %s, coalesce(json_object(%s::text[], %s::text[])::text, '{}')""",
        name, list(params), list(params.values()),
    )  # fmt: skip
    engine.cluster.rows("UPDATE workflow_definition SET project = %s WHERE code = %s", name, code)
    return name


# -------------------------------------------------------------------------------------------- precedence


@pytest.mark.parametrize(("high", "low"), list(combinations(LAYERS, 2)))
async def test_the_higher_kind_of_parameter_wins(engine: Engine, high: str, low: str) -> None:
    has = {high, low}
    code = engine.define(
        {"name": "before", **gives(**({"x": "context"} if "context" in has else {}))},
        {"name": "a", "after": ["before"], **SEES, "local_params": {"x": "local"} if "local" in has else {}},
        params={"x": "global"} if "global" in has else {},
    )
    if "project" in has:
        in_project(engine, code, x="project")
    run = await engine.run(code, params={"x": "startup"} if "startup" in has else {})
    assert engine.printed(run, "a") == {"seen": high}


async def test_startup_beats_all(engine: Engine) -> None:
    code = engine.define(
        {"name": "before", **gives(x="context")},
        {"name": "a", "after": ["before"], **SEES, "local_params": {"x": "local"}},
        params={"x": "global"},
    )
    in_project(engine, code, x="project")
    run = await engine.run(code, params={"x": "startup"})
    assert engine.printed(run, "a") == {"seen": "startup"}
    assert engine.printed(await engine.run(code, params={"x": ""}), "a") == {"seen": ""}, "an empty one too"


async def test_a_local_in_parameter_without_a_value_takes_the_context_and_without_that_the_global(
    engine: Engine,
) -> None:
    sees = {**SEES, "local_params": {"x": {"direct": "IN"}}}
    code = engine.define(
        {"name": "before", **gives(x="context")},
        {"name": "after", "after": ["before"], **sees},
        {"name": "apart", **sees},
        params={"x": "global"},
    )
    run = await engine.run(code)
    assert engine.printed(run, "after") == {"seen": "context"}
    assert engine.printed(run, "apart") == {"seen": "global"}


async def test_a_local_parameter_is_made_of_others(engine: Engine) -> None:
    code = engine.define(
        {"name": "before", **gives(rows="7")},
        {
            "name": "a",
            "after": ["before"],
            **SEES,
            "local_params": {"x": "${rows} of ${day}, ${y}", "y": "${x}"},
        },
        params={"day": "$[yyyy-MM-dd]", "x": "global"},
    )
    run = await engine.run(code, schedule_time="2022-08-26 05:00:00+00")
    assert engine.printed(run, "a") == {"seen": "7 of 2022-08-26, global"}, "a circle means the one from outside"


async def test_project_parameters_are_seen_by_all_workflows_of_the_project_only(engine: Engine) -> None:
    inside, outside = engine.define({"name": "a", **SEES}), engine.define({"name": "a", **SEES})
    project = in_project(engine, inside, x="from ${system.project.name}")
    assert engine.printed(await engine.run(inside), "a") == {"seen": f"from {project}"}
    assert engine.printed(await engine.run(outside), "a") == {"seen": "${x}"}


async def test_a_workflow_that_moved_runs_in_its_new_project(engine: Engine) -> None:
    """Masters keep the plan of a version: what ran in one project, and is repeated in another, is the other's."""
    code = engine.define({"name": "a", "params": {"outputs": {"seen": "${x} ${system.project.name}"}}})
    run = await engine.run(code)
    assert engine.printed(run, "a") == {"seen": "${x} default"}
    project = in_project(engine, code, x="new")
    assert engine.printed(await engine.run(code), "a") == {"seen": f"new {project}"}
    engine.cluster.rows("INSERT INTO command (type, workflow_instance_id) VALUES ('REPEAT_RUNNING', %s)", run)
    await eventually(lambda: engine.printed(run, "a"), until={"seen": f"${{x}} {project}"}, within_s=10)


# ---------------------------------------------------------------------------------------------- OUT, context


@pytest.mark.parametrize(
    ("type_", "script"),
    [
        ("SHELL", "echo '${setValue(x=dollar)}'; echo '#{setValue(y=hash)}'; echo no '#{setValue(z=1)}'"),
        ("PYTHON", "print('${setValue(x=dollar)}'); print('#{setValue(y=hash)}'); print('no #{setValue(z=1)}')"),
    ],
)
async def test_out_values_are_printed_on_lines_of_their_own(engine: Engine, type_: str, script: str) -> None:
    code = engine.define(
        {"name": "a", "type": type_, "params": {"script": script}}, {"name": "b", "after": ["a"], **SEES}
    )
    run = await engine.run(code)
    assert engine.values(run, "b") == {"x": "dollar", "y": "hash"}


async def test_only_declared_out_parameters_go_on_if_any_is_declared(engine: Engine) -> None:
    outs = {name: {"direct": "OUT"} for name in ("x", "y")}
    code = engine.define(
        {"name": "a", **gives(x="1", secret="2"), "local_params": {**outs, "z": {"direct": "OUT", "value": "usual"}}},
        {"name": "b", "after": ["a"]},
        strict_outputs=False,
    )
    run = await engine.run(code)
    assert engine.values(run, "b") == {"x": "1", "z": "usual"}


async def test_an_attempt_without_a_declared_value_failed_and_is_repeated(engine: Engine) -> None:
    script = "[ $SHOAL_ATTEMPT -eq 1 ] || echo '#{setValue(x=second)}'"
    outs = {"local_params": {"x": {"direct": "OUT"}}, "retry_times": 1}
    task = {"name": "a", "type": "SHELL", "params": {"script": script}, **outs}
    run = await engine.run(engine.define(task, {"name": "b", "after": ["a"]}))
    query = "SELECT reason FROM task_instance WHERE workflow_instance_id = %s AND task_name = 'a' AND attempt = 1"
    assert 'OUT parameter "x"' in str(engine.cluster.one(query, run))
    assert engine.values(run, "b") == {"x": "second"}


async def test_a_task_that_failed_gives_nothing(engine: Engine) -> None:
    script = "echo '#{setValue(x=first)}'; [ $SHOAL_ATTEMPT -gt 1 ] || exit 1; echo '#{setValue(y=second)}'"
    task = {"name": "a", "type": "SHELL", "params": {"script": script}, "retry_times": 1}
    run = await engine.run(engine.define(task, {"name": "b", "after": ["a"]}))
    query = "SELECT outputs FROM task_instance WHERE workflow_instance_id = %s AND task_name = 'a' AND attempt = 1"
    assert engine.cluster.one(query, run) is None
    assert engine.values(run, "b") == {"x": "first", "y": "second"}


async def test_values_do_not_leak_between_unrelated_branches(engine: Engine) -> None:
    code = engine.define(
        {"name": "a", **gives(x="a's")},
        {"name": "below a", "after": ["a"], **SEES},
        {"name": "b", **BY_HAND},
        {"name": "below b", "after": ["b"], **SEES},
        params={"x": "global"},
    )
    run = await engine.begin(code)
    await engine.task_becomes(run, "below a", "SUCCESS")
    await engine.claim(run, "b")
    engine.report(run, "b", "SUCCESS")
    await engine.end(run)
    assert engine.printed(run, "below a") == {"seen": "a's"}
    assert engine.printed(run, "below b") == {"seen": "global"}


async def test_the_nearer_ancestor_wins(engine: Engine) -> None:
    code = engine.define(
        {"name": "far", **gives(x="far", only="far")},
        {"name": "near", "after": ["far"], **gives(x="near")},
        {"name": "beside", "after": ["far"]},
        {"name": "end", "after": ["far", "near", "beside"], **SEES},
    )
    run = await engine.run(code)
    assert engine.values(run, "end") == {"x": "near", "only": "far"}
    assert engine.values(run, "beside") == {"x": "far", "only": "far"}


async def test_between_unrelated_predecessors_what_is_not_empty_wins_and_then_what_finished_first(
    engine: Engine,
) -> None:
    code = engine.define(
        *({"name": name, **BY_HAND} for name in ("first", "second", "third")),
        {"name": "end", "after": ["third", "second", "first"]},
    )
    run = await engine.begin(code)
    unheard = "SELECT count(*) FROM task_event WHERE workflow_instance_id = %s"
    for name, values in {
        "first": {"x": "", "y": "first"},
        "second": {"x": "second", "y": "second"},
        "third": {"x": "third"},
    }.items():
        await engine.claim(run, name)
        engine.report(run, name, "SUCCESS", **values)
        await eventually(lambda: engine.cluster.one(unheard, run), until=0, within_s=10)
    await engine.end(run)
    assert engine.values(run, "end") == {"x": "second", "y": "first"}


# ------------------------------------------------------------------------------------------- sub-workflows


def _child(engine: Engine, name: str, **fields: Any) -> None:
    shows = {name: f"${{{name}}}" for name in ("declared", "local", "own", "inherited", "context")}
    engine.define({"name": "show", "params": {"outputs": shows}}, name=name, **fields)


async def test_parameters_of_a_sub_workflow(engine: Engine) -> None:
    _child(engine, "child of parameters", params={"own": "child's", "declared": "child's", "local": "child's"})
    code = engine.define(
        {"name": "before", **gives(context="given")},
        {
            "name": "sub",
            "type": "SUB_PROCESS",
            "after": ["before"],
            "params": {"workflow": "child of parameters", "params": {"declared": "by the task, ${context}"}},
            "local_params": {"local": "task's"},
        },
        params={"inherited": "parent's", "own": "parent's", "declared": "parent's", "local": "parent's"},
    )
    run = await engine.run(code)
    (child,) = engine.children(run)
    assert engine.printed(child, "show") == {
        "declared": "by the task, given",
        "local": "task's",
        "own": "child's",
        "inherited": "parent's",
        "context": "${context}",
    }


async def test_a_sub_workflow_gives_its_outputs_to_the_task_that_stands_for_it(engine: Engine) -> None:
    engine.define(
        {"name": "count", **gives(total="7", hidden="1")},
        {"name": "more", "after": ["count"], **gives(total="8")},
        name="child of outputs",
        params={"rate": "3"},
        outputs=["total", "rate", "nobody gives this"],
    )
    code = engine.define(
        {"name": "sub", "type": "SUB_PROCESS", "params": {"workflow": "child of outputs"}},
        {"name": "after", "after": ["sub"]},
        {"name": "apart"},
    )
    run = await engine.run(code)
    assert engine.values(run, "after") == {"total": "8", "rate": "3"}
    assert engine.values(run, "apart") == {}
