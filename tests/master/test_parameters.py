"""The value of `${name}`: a test for each row of the precedence, high to low, and for the outputs."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from master.drive.parameters import Parameters
from model.choices import FailureStrategy, Priority
from model.definitions.plan import Plan
from model.errors import Refused
from model.ids import TaskCode, WorkflowCode, WorkflowInstanceId
from model.parameters.precedence import base_parameters
from model.runs.instances import WorkflowInstance
from model.time.run_time import RunTime
from tests.every import every
from tests.master.random_plans import plan_of

AT = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)
A, B = TaskCode(1), TaskCode(2)
KINDS = ("startup", "local", "context", "global", "project")
"""High to low."""


def plan(local: Any = None, globals_: dict[str, str] | None = None, out: Any = None, **fields: Any) -> Plan:
    """`a` gives, `b` after it takes."""
    first = {"name": "a", "local_params": out or {}}
    second = {"name": "b", "after": ["a"], "local_params": local or {}} | fields
    return plan_of(first, second, params=globals_ or {}, outputs=["x", "y"])


def parameters(
    made: Plan,
    *,
    startup: dict[str, str] | None = None,
    project: dict[str, str] | None = None,
    inherited: dict[str, str] | None = None,
    gave: dict[str, str] | None = None,
) -> Parameters:
    """The parameters of a run whose task `a` has given something."""
    startup = startup or {}
    base = base_parameters(
        made,
        project=project or {},
        inherited=inherited or {},
        startup=startup,
        time=RunTime(AT, "Europe/Berlin"),
    )
    instance = WorkflowInstance(
        *(WorkflowInstanceId(42), WorkflowCode(1), 1, FailureStrategy.CONTINUE, Priority.MEDIUM, "default"),
        json.dumps(base),
        startup_names=json.dumps(list(startup)),
        schedule_time=AT,
        time_zone="Europe/Berlin",
    )
    found = Parameters(instance, made)
    found.contexts.gave(A, gave or {})
    return found


def seen(kinds: set[str], **values: str) -> str | None:
    """What `b` sees as `x` if each of these kinds gives it, with the kind's name or the value given here."""
    given_by = {kind: {"x": values.get(kind, kind)} if kind in kinds else {} for kind in KINDS}
    made = plan(given_by["local"], given_by["global"])
    found = parameters(made, startup=given_by["startup"], project=given_by["project"], gave=given_by["context"])
    return found.values(B).get("x")


# ---------------------------------------------------------------------------------------------- the precedence


@pytest.mark.parametrize("place", range(len(KINDS)), ids=KINDS)
def test_a_kind_goes_before_all_lower_ones_alone_and_together(place: int) -> None:
    higher, lower = KINDS[place], KINDS[place + 1 :]
    assert seen({higher}) == higher
    assert seen({higher, *lower}) == higher
    for other in lower:
        assert seen({higher, other}) == higher


@given(st.sets(st.sampled_from(KINDS)))
def test_the_highest_of_any_kinds_wins(kinds: set[str]) -> None:
    assert seen(kinds) == next((kind for kind in KINDS if kind in kinds), None)


def test_a_local_one_without_a_value_takes_what_the_tasks_before_give() -> None:
    assert seen({"local", "context"}, local="") == "context"
    assert seen({"local", "global"}, local="") == "global"


def test_an_empty_value_of_a_higher_kind_counts_unless_it_is_local() -> None:
    assert seen({"startup", "local", "context"}, startup="") == ""
    assert seen({"context", "global"}, context="") == ""


def test_the_workflow_above_goes_before_the_project_and_after_the_own_ones() -> None:
    made = plan(globals_={"own": "1"})
    values = parameters(made, inherited={"own": "above", "x": "above"}, project={"x": "project"}).values(B)
    assert (values["own"], values["x"]) == ("1", "above")
    assert parameters(made, inherited={"x": "above"}, startup={"x": "given"}).values(B)["x"] == "given"


def test_built_in_ones_are_there_and_come_last() -> None:
    made = plan({"day": "${system.biz.date}"}, {"system.biz.curdate": "mine"})
    found = parameters(made)
    assert found.values(B)["day"] == "20260328", "of the schedule time's day in its zone"
    assert found.values(B)["system.biz.curdate"] == "mine"


# ------------------------------------------------------------------------------------------------- what they are


def test_global_and_startup_parameters_may_be_made_of_each_other_and_of_the_project() -> None:
    made = plan(globals_={"path": "${root}/${day}", "day": "$[yyyy-MM-dd]"})
    values = parameters(made, project={"root": "/data"}, startup={"root": "/tmp"}).values(B)
    assert values["path"] == "/tmp/2026-03-29"
    assert parameters(made, project={"root": "/data"}).values(B)["path"] == "/data/2026-03-29"


def test_the_id_of_the_run_is_known_only_when_it_is_there() -> None:
    made = plan(globals_={"folder": "run-${system.workflow.instance.id}"})
    found = parameters(made)
    assert found.values(B)["folder"] == "run-42"
    assert json.loads(found.as_text(B))["folder"] == "run-42"


def test_a_local_value_may_hold_what_a_task_before_gave_which_stays_data() -> None:
    made = plan({"file": "<${out}>"})
    assert parameters(made, gave={"out": "${secret} $[yyyy]"}).values(B)["file"] == "<${secret} $[yyyy]>"


@given(st.lists(st.sampled_from(["$", "${day}", "${x}", "$[yyyy]", "$${day}", "$$[yyyy]", "{", "x"])).map("".join))
def test_what_was_made_before_is_data_however_it_looks(text: str) -> None:
    made = plan(globals_={"day": "1", "x": "", "more": "<${x}>"})
    values = base_parameters(
        made, project={"x": "2"}, inherited={}, startup={"x": text}, time=RunTime(AT, "UTC"), are_made=True
    )
    assert values == {"day": "1", "x": text, "more": f"<{text}>"}


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\x00")))
def test_what_a_task_gave_never_becomes_an_expression(value: str) -> None:
    made = plan({"file": "<${out}>"}, {"secret": "s"})
    found = parameters(made, gave={"out": value}).values(B)
    assert (found["file"], found["out"]) == (f"<{value}>", value)


def test_a_task_that_adds_nothing_is_given_the_runs_own_text() -> None:
    found = parameters(plan(globals_={"x": "1"}))
    assert json.loads(found.as_text(B)) == {"x": "1"}
    assert "system.biz.date" not in json.loads(found.as_text(B))


def test_built_in_ones_are_added_to_a_task_that_names_them() -> None:
    made = plan(globals_={"x": "1"}, params={"script": "echo ${system.biz.date}"})
    assert json.loads(parameters(made).as_text(B)) == {**parameters(made).builtins(), "x": "1"}


def test_parameters_that_grow_too_large_are_refused() -> None:
    doubling = {f"n{place}": f"${{n{place + 1}}}${{n{place + 1}}}" for place in range(30)} | {"n30": "x" * 100}
    with pytest.raises(Refused, match="shorten those"):
        parameters(plan(globals_=doubling))
    with pytest.raises(Refused, match="shorten those"):
        parameters(plan({"x": "${big}" * 20}), gave={"big": "x" * 100_000}).values(B)


# ------------------------------------------------------------------------------------------------ what goes out


@every(
    ("out", "printed", "given_on"),
    [
        (None, '{"x": "1", "y": "2"}', {"x": "1", "y": "2"}),
        (None, None, {}),
        ({"x": {"direct": "OUT"}}, '{"x": "1", "y": "2"}', {"x": "1"}),
        ({"x": {"direct": "OUT", "value": "default"}}, '{"y": "2"}', {"x": "default"}),
        ({"x": {"direct": "OUT", "value": "default"}}, None, {"x": "default"}),
        ({"x": {"direct": "OUT"}}, None, {}),
        ({"x": {"direct": "IN", "value": "in"}}, '{"y": "2"}', {"y": "2"}),
    ],
)
def test_a_task_gives_on_what_it_declares_or_all_it_prints(
    out: Any, printed: str | None, given_on: dict[str, str]
) -> None:
    made = plan(out=out)
    assert parameters(made).given_by(made.tasks[A], printed) == given_on


def test_a_run_gives_what_its_definition_names_and_only_what_there_is() -> None:
    made = plan(globals_={"y": "of the run"})
    assert json.loads(parameters(made, gave={"x": "1", "z": "3"}).at_the_end() or "") == {"x": "1", "y": "of the run"}
    assert parameters(plan_of({"name": "a"})).at_the_end() is None


def test_what_an_event_tells_is_data_and_goes_into_other_values_as_it_is() -> None:
    told = '{"data": {"note": "${day} $${day} $[yyyyMMdd]"}}'
    made = plan(globals_={"day": "Monday", "note": "${event.data.note}", "day_of": "${day}"})
    found = parameters(made, startup={"event": told}).values(B)
    assert (found["event"], found["day_of"]) == (told, "Monday")
    assert found["note"] == "${day} $${day} $[yyyyMMdd]"
