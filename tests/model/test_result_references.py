"""Which tasks a task may name: those before it, and all others when it cleans up."""

from __future__ import annotations

import time

from hypothesis import given, settings

from model.choices import ParameterType
from model.definitions.newer_version import changed_tasks
from model.definitions.plan import Plan
from model.definitions.workflow import WorkflowSpec
from model.ids import TaskCode, WorkflowCode
from tests.master.random_plans import ancestors_of, logic_plans, plan_of

SHOWS = {"params": {"write": "${a.x}"}}


def named(plan: Plan, task: str) -> dict[str, TaskCode | None]:
    return {each.name: each.task for each in plan.tasks[plan.codes[task]].references}


@settings(max_examples=60)
@given(logic_plans(size_max=8))
def test_in_any_graph_exactly_the_tasks_before_can_be_named(plan: Plan) -> None:
    names = {task.name: task for task in plan.spec.tasks}
    param = [{"name": f"p{n}", "value": f"${{{other}.x}}"} for n, other in enumerate(names)]
    tasks = tuple(task.model_copy(update={"local_params": ()}) for task in plan.spec.tasks)
    again = WorkflowSpec.parse(
        {"tasks": [{**task.model_dump(exclude_unset=True), "local_params": param} for task in tasks]}
    )
    made = Plan.of(WorkflowCode(1), 1, again)
    for code, task in made.tasks.items():
        before = {each.task for each in task.references if each.task is not None}
        assert before == ancestors_of(made, code)
        assert {each.name for each in task.references} == {f"{other}.x" for other in names}


def test_what_cleans_up_may_name_all_others() -> None:
    end = {"teardown": True, "timeout": 5}
    plan = plan_of(
        {"name": "a"},
        {"name": "b"},
        {"name": "clean", **end, "params": {"write": "${a.x} ${b.x} ${other.x} ${report.x}"}},
        {"name": "other", **end},
        {"name": "report", "on_exit": True, "timeout": 5, "params": {"write": "${a.x} ${clean.x} ${report.x}"}},
    )
    assert named(plan, "clean") == {"a.x": 1, "b.x": 2, "other.x": None, "report.x": None}
    assert named(plan, "report") == {"a.x": 1, "clean.x": 3, "report.x": None}


def test_references_are_found_wherever_values_are_put_in() -> None:
    plan = plan_of(
        {"name": "a"},
        {
            "name": "b",
            "type": "HTTP",
            "after": ["a"],
            "params": {"url": "http://${a.host}", "body": {"list": [{"v": '${tasks["a"].v}'}], "${a.key}": 1}},
            "local_params": {"n": "${a.n} $${a.no}", "out": {"direct": "OUT", "value": "${a.default}"}},
        },
        {"name": "c", "type": "SQL", "after": ["a"], "params": {"datasource": "d", "sql": "SELECT * FROM !{a.t} x"}},
        {"name": "d", "type": "SHELL", "after": ["a"], "params": {"script": "echo ${b[0]} ${b[0].x} ${a.c[0]}"}},
    )
    assert set(named(plan, "b")) == {"a.host", 'tasks["a"].v', "a.n"}
    assert named(plan, "c") == {"a.t": 1}
    assert named(plan, "d") == {"b[0].x": None, "a.c[0]": 1}, "${b[0]} is bash's"
    assert plan.tasks[plan.codes["a"]].references == ()


def test_a_declared_type_holds_where_its_value_is_named() -> None:
    outs = {
        "n": {"direct": "OUT", "type": "INTEGER"},
        "t": {"direct": "OUT", "type": "TEXT"},
        "l": {"direct": "OUT", "type": "LIST"},
    }
    plan = plan_of(
        {"name": "a", "local_params": outs},
        {"name": "b", "type": "SHELL", "after": ["a"], "params": {"script": "echo ${a.n} ${a.t} ${a.l} ${a.l[0]}"}},
    )
    task = plan.tasks[TaskCode(2)]
    assert {each.name: each.type for each in task.references}["a.t"] is ParameterType.TEXT
    assert task.parameter_types == '{"a.n": "INTEGER"}', "another type might let a script run a value"
    assert task.types_with(["a.l"]) == task.parameter_types


def test_ten_thousand_tasks_that_name_others_are_planned_in_time() -> None:
    tasks = [{"name": "t0"}]
    tasks += [
        {"name": f"t{n}", "after": [f"t{n - 1}"], "params": {"write": f"${{t{n // 2}.x}} ${{t0.x}}"}}  # type: ignore[dict-item]
        for n in range(1, 5_000)
    ]
    spec = WorkflowSpec.parse({"tasks": [{"type": "FAKE", **task} for task in tasks]})
    started = time.process_time()
    plan = Plan.of(WorkflowCode(1), 1, spec)
    assert time.process_time() - started < 10
    assert named(plan, "t4000") == {"t2000.x": 2001, "t0.x": 1}


def test_a_task_that_names_a_part_of_a_changed_parameter_has_changed() -> None:
    task = {"name": "a", "type": "FAKE", "params": {"write": "${files[0].name}"}}
    old, new = (WorkflowSpec.parse({"params": {"files": text}, "tasks": [task]}) for text in ("[1]", "[2]"))
    assert changed_tasks(old, new) == ["a"]
