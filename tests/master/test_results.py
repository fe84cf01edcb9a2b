"""The values of `${load.rows}` in a task: which, with what precedence, and why there is none."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from master.drive.events import Event, Restored, Started
from master.drive.parameters import Parameters
from master.drive.runnable import WorkflowRunnable
from model.choices import FailureStrategy, Priority
from model.definitions.plan import Plan
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.ids import TaskCode, WorkflowCode, WorkflowInstanceId
from model.runs.instances import AttemptEnd, TaskAttempt, WorkflowInstance
from model.runs.states import TaskState as T
from tests.every import every
from tests.master.plans import Task, a_plan, an_instance
from tests.master.random_plans import ancestors_of, logic_plans, plan_of

Gave = dict[str, dict[str, str]]


def parameters(plan: Plan, gave: Gave, startup: dict[str, str] | None = None, **said: str) -> Parameters:
    instance = WorkflowInstance(
        *(WorkflowInstanceId(42), WorkflowCode(1), 1, FailureStrategy.CONTINUE, Priority.MEDIUM, "default"),
        json.dumps({**plan.spec.params, **(startup or {})}),
        startup_names=json.dumps(list(startup or {})),
    )
    how = {plan.codes[name]: words for name, words in said.items()}
    made = Parameters(instance, plan, how.get)
    for name, outputs in gave.items():
        task = plan.tasks[plan.codes[name]]
        made.contexts.gave(task.code, made.given_by(task, json.dumps(outputs)))
    return made


def seen(plan: Plan, gave: Gave, **fields: Any) -> dict[str, str]:
    """What the last task sees."""
    return parameters(plan, gave, **fields).values(list(plan.tasks)[-1])


def two_loads(text: str, local: Any = None, **fields: Any) -> Plan:
    """Two tasks that may give the same name, and one after both that has this text."""
    last = {"name": "use", "after": ["eu", "us east"], "params": {"write": text}, "local_params": local or {}}
    return plan_of({"name": "eu"}, {"name": "us east"}, last, **fields)


BOTH: Gave = {"eu": {"rows": "7"}, "us east": {"rows": "8"}}


def why(plan: Plan, gave: Gave, **fields: Any) -> str:
    with pytest.raises(Refused) as caught:
        seen(plan, gave, **fields)
    return str(caught.value)


def test_one_name_of_two_tasks_is_read_apart_and_flat_as_before() -> None:
    text = '${eu.rows} ${tasks["us east"].rows} ${rows}'
    assert seen(two_loads(text), BOTH) == {"rows": "7", "eu.rows": "7", 'tasks["us east"].rows': "8"}
    assert seen(two_loads("${rows}"), BOTH) == {"rows": "7"}, "nothing is added that is not named"


def test_a_path_goes_into_json_of_tasks_and_of_parameters() -> None:
    gave = {"eu": {"files": '[{"name": "a", "size": 1.50, "more": [true]}]', "stats": '{"rows": 3}'}}
    text = "${eu.files[0].size} ${eu.files[-1].more} ${files[0].name} ${stats.rows} ${given.deep[0]} ${files[9]}"
    found = seen(two_loads(text, params={"given": '{"deep": ["x"]}'}), gave)
    assert {name: value for name, value in found.items() if "." in name or "[" in name} == {
        "eu.files[0].size": "1.50",
        "eu.files[-1].more": "[true]",
        "files[0].name": "a",
        "stats.rows": "3",
        "given.deep[0]": "x",
    }


def test_local_parameters_are_made_of_results_and_of_parts() -> None:
    local = {"sum": "${eu.rows}+${tasks['us east'].rows}", "list": '["${eu.rows}"]', "first": "${list[0]}"}
    found = seen(two_loads("${list[0]}", local), BOTH)
    assert (found["sum"], found["first"], found["list[0]"]) == ("7+8", "7", "7")


def test_a_parameter_of_the_whole_name_wins_as_before() -> None:
    assert seen(two_loads("${eu.rows}"), BOTH, startup={"eu.rows": "s"})["eu.rows"] == "s"
    assert seen(two_loads("${eu.rows}", {"eu.rows": "l"}), BOTH)["eu.rows"] == "l"
    assert seen(two_loads("${eu.rows}"), {**BOTH, "us east": {"eu.rows": "c"}})["eu.rows"] == "c"
    assert seen(two_loads("${eu.rows}", params={"eu.rows": "g"}), {})["eu.rows"] == "g"


def test_a_task_wins_over_a_part_of_a_parameter() -> None:
    plan = two_loads("${eu.rows}", params={"eu": '{"rows": "part"}'})
    assert seen(plan, BOTH)["eu.rows"] == "7"


@every("how", ["failed", "was skipped", "was killed", "never began", "has not ended", "is disabled"])
def test_a_task_without_results_is_the_reason(how: str) -> None:
    said = why(two_loads("${eu.rows}"), {}, eu=how)
    default = "such as rows: {direct: OUT, value: 0}"
    assert said == f'${{eu.rows}} has no value: task "eu" {how}; declare a default for it in "eu", {default}'


def test_what_a_task_did_not_give_is_the_reason_with_the_nearest_name() -> None:
    assert 'task "eu" gave no "row"; did you mean ${eu.rows}?' in why(two_loads("${eu.row}"), BOTH)
    assert 'task "eu" gave no "files"; it gave rows' in why(two_loads("${eu.files[0]}"), BOTH)
    assert 'task "eu" gave no "rows"; it gave nothing' in why(two_loads("${eu.rows}"), {"eu": {}})
    assert '"rows" of task "eu" is no JSON that has ["a"][0]' in why(two_loads("${eu.rows.a[0]}"), BOTH)
    assert '${tasks["us east"].rows}?' in why(two_loads("${tasks['us east'].row}"), BOTH)
    assert "7" not in why(two_loads("${eu.row}"), BOTH), "no value is shown"


def test_a_name_in_quotes_that_no_task_before_has_is_the_reason() -> None:
    for name in ("nobody", "use"):
        text = f"${{tasks['{name}'].rows}}"
        said = f"{text} has no value: there is no such task before it, or it names no value"
        assert why(two_loads(text), BOTH) == why(two_loads("${n}", {"n": text}), BOTH) == said
        assert seen(two_loads(text), BOTH, startup={f"tasks['{name}'].rows": "given"})["rows"] == "7"
    assert seen(two_loads("${tasks['x']}", params={"tasks": '{"x": 5}'}), BOTH)["tasks['x']"] == "5"
    assert seen(two_loads("${use.rows} ${nobody.rows}"), BOTH) == {"rows": "7"}, "the text stays"


def test_a_default_of_the_giver_stands_for_what_it_did_not_give() -> None:
    outs = {"rows": {"direct": "OUT", "value": "0"}, "other": {"direct": "OUT"}}
    plan = plan_of({"name": "a", "local_params": outs}, {"name": "b", "after": ["a"], "params": {"write": "${a.rows}"}})
    assert seen(plan, {}, a="failed") == {"a.rows": "0"}, "and the flat name has none, as before"
    assert seen(plan, {"a": {"rows": "5"}})["a.rows"] == "5"
    assert seen(plan, {"a": {"other": "x"}})["a.rows"] == "0"


def test_a_local_parameter_that_a_start_overrides_needs_no_result() -> None:
    plan = two_loads("${n}", {"n": "${eu.rows}"})
    assert seen(plan, {}, startup={"n": "5"}) == {"n": "5"}
    assert "has no value" in why(plan, {})


def test_a_secret_and_what_is_sealed_is_no_result() -> None:
    plan = two_loads("${eu.token}", params={"token": {"type": "SECRET"}})
    assert 'gave no "token"' in why(plan, {"eu": {"token": "x", "rows": "1"}})


def test_what_is_json_is_told_by_its_look_by_its_type_or_by_json_itself() -> None:
    outs = {"version": {"direct": "OUT", "type": "TEXT"}, "rest": {"direct": "OUT"}}
    inner = '{"n": 1, "s": "1", "l": "[1]", "null": null}'
    names = ["version", "rest", "rest.n", "rest.s", "rest.l", "rest.null"]
    text = " ".join(f"${{a.{name}}}" for name in names)
    plan = plan_of(
        {"name": "a", "local_params": outs}, {"name": "b", "type": "HTTP", "after": ["a"], "params": {"url": text}}
    )
    _, found = parameters(plan, {"a": {"version": "1.10", "rest": inner}}).with_json(TaskCode(2))
    assert set(found) == {"a.rest", "a.rest.n", "a.rest.null"}
    types = json.loads(plan.tasks[TaskCode(2)].types_with(sorted(found)) or "")
    assert types == dict.fromkeys(("a.rest", "a.rest.n", "a.rest.null"), "JSON")


def test_values_that_are_named_too_often_are_refused_before_they_are_copied() -> None:
    long = json.dumps({f"k{n}": "x" * 9_000 for n in range(100)})
    text = " ".join(f"${{eu.long}} ${{tasks['eu'].long}} ${{eu.long.k{n}}}" for n in range(100))
    assert "the values that it names grow beyond" in why(two_loads(text), {"eu": {"long": long}})


USE: Task = {"params": {"write": "${a.x}"}}


def reason_in(
    after: dict[str, list[str]], events: list[Event], scope: set[TaskCode] | None = None, **fields: Task
) -> str:
    """Why the task `use` of a run failed at once."""
    plan = a_plan(after, fields={"use": USE, **fields})
    runnable = WorkflowRunnable(replace(an_instance(plan), scope=None if scope is None else frozenset(scope)), plan)
    effects = [effect for event in events for effect in runnable.handle(event)]
    (failed,) = (each for each in effects if isinstance(each, TaskAttempt) and each.state is T.FAILURE)
    assert failed.code == plan.codes["use"]
    return failed.reason.removeprefix("${a.x} has no value: ").partition(";")[0]


def test_a_run_says_how_a_task_came_to_have_no_results() -> None:
    done, one = {"use": USE | {"start_when": "all_done"}}, {"use": USE | {"start_when": "one_success"}}
    ends = {state: [Started(), AttemptEnd(TaskCode(1), 1, state)] for state in (T.FAILURE, T.SKIPPED, T.SUCCESS)}
    two = {"a": [], "use": ["a"]}
    assert reason_in(two, ends[T.FAILURE], **done) == 'task "a" failed'
    assert reason_in(two, ends[T.SKIPPED], **done) == 'task "a" was skipped'
    assert reason_in(two, ends[T.SUCCESS]) == 'task "a" gave no "x"'
    assert reason_in(two, [Started()], a={"flag": "NO"}) == 'task "a" is disabled'
    assert reason_in(two, [Started()], {TaskCode(2)}) == 'task "a" did not succeed in this run'
    assert reason_in({"b": [], "a": ["b"], "use": ["a"]}, ends[T.FAILURE], **done) == 'task "a" never began'
    after = {"b": [], "a": [], "use": ["a", "b"]}
    assert reason_in(after, [Started(), AttemptEnd(TaskCode(1), 1, T.SUCCESS)], **one) == 'task "a" has not ended'


def test_a_rerun_of_some_tasks_takes_what_others_gave_before() -> None:
    plan = a_plan({"a": [], "use": ["a"]}, fields={"use": USE})
    runnable = WorkflowRunnable(replace(an_instance(plan), scope=frozenset({TaskCode(2)})), plan)
    before = TaskAttempt(TaskCode(1), 3, T.SUCCESS, outputs='{"x": "third"}')
    (begun,) = runnable.handle(Restored((before,)))
    assert isinstance(begun, TaskAttempt) and json.loads(begun.values)["a.x"] == "third"


@settings(max_examples=200)
@given(logic_plans(size_max=8), st.randoms(use_true_random=False))
def test_in_any_graph_the_name_of_a_task_before_means_its_own_value(plan: Plan, random: Random) -> None:
    """By definition: what that task gave, whatever others gave under that name; references to others stay."""
    tasks = [
        {
            **task.model_dump(exclude_unset=True),
            "local_params": {f"p_{other.name}": f"${{{other.name}.x}}" for other in plan.spec.tasks},
        }
        for task in plan.spec.tasks
    ]
    made = Plan.of(WorkflowCode(1), 1, WorkflowSpec.parse({"tasks": tasks}))
    gave = {task.name: {"x": str(random.random()), "y": "1"} for task in made.tasks.values()}
    order = sorted(gave, key=lambda _: random.random())
    found = parameters(made, {name: gave[name] for name in order})
    for code in made.tasks:
        before = {made.tasks[each].name for each in ancestors_of(made, code)}
        values = found.values(code)
        for other in gave:
            wanted = gave[other]["x"] if other in before else f"${{{other}.x}}"
            assert values[f"p_{other}"] == wanted
