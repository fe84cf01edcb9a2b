"""`after_last`: the task that it adds to plans, and what it cannot be combined with."""

from __future__ import annotations

from typing import Any

import pytest

from model.definitions.after_last import GATE, GATE_CODE_MAX
from model.definitions.plan import Plan
from model.definitions.problems import InvalidWorkflow
from model.definitions.workflow import WorkflowSpec
from model.ids import TaskCode, WorkflowCode
from model.logic.dependent import DependentParams, Rule
from model.runs.backfill import BackfillSpec, Order, RunMode
from tests.every import every

CODE = WorkflowCode(1001)


def parsed(*tasks: dict[str, Any], **fields: Any) -> WorkflowSpec:
    return WorkflowSpec.parse({"tasks": [{"type": "FAKE", **task} for task in tasks], **fields})


TASKS: tuple[dict[str, Any], ...] = (
    {"name": "a"},
    {"name": "b", "after": ["a"]},
    {"name": "c"},
    {"name": "end", "on_exit": True, "timeout": "10m"},
)


def test_the_gate_comes_before_all_that_begin_a_run_and_nothing_else() -> None:
    plan = Plan.of(CODE, 1, parsed(*TASKS, after_last="succeeded"))
    gate = plan.codes[GATE]
    assert {plan.tasks[code].name for code in plan.graph.successors[gate]} == {"a", "c"}
    assert not plan.graph.predecessors[gate]
    logic = plan.tasks[gate].logic
    assert isinstance(logic, DependentParams)
    (item,) = logic.items()
    assert (item.workflow, item.at, logic.on_failure, logic.on_absence) == (CODE, "last", Rule.WAIT, Rule.WAIT)
    assert plan.closing.keys() == {plan.codes["end"]}


def test_it_costs_a_workflow_without_it_nothing() -> None:
    spec = parsed(*TASKS).coded()
    assert spec.gated(CODE) is spec


def test_its_code_is_the_same_in_each_version_and_no_other_task_has_it() -> None:
    one, other = (Plan.of(CODE, 1, parsed(*tasks, after_last="succeeded")) for tasks in (TASKS, TASKS[:1]))
    assert one.codes[GATE] == other.codes[GATE] == GATE_CODE_MAX
    taken = Plan.of(CODE, 1, parsed({"name": "a", "code": GATE_CODE_MAX}, after_last="succeeded"))
    assert taken.codes == {GATE: TaskCode(GATE_CODE_MAX - 1), "a": TaskCode(GATE_CODE_MAX)}


@every(
    ("fields", "tasks", "said"),
    [
        ({"execution_type": "SERIAL_WAIT"}, TASKS, "remove execution_type: SERIAL_WAIT, or after_last"),
        ({}, ({"name": GATE},), f'after_last adds a task "{GATE}"; give yours another name'),
    ],
)
def test_what_does_not_go_with_it_is_refused(fields: dict[str, Any], tasks: Any, said: str) -> None:
    with pytest.raises(InvalidWorkflow, match=said):
        parsed(*tasks, after_last="succeeded", **fields)


def test_another_word_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidWorkflow, match="\"after_last\": input should be 'succeeded'"):
        parsed(*TASKS, after_last="ended")


def test_a_backfill_one_by_one_has_one_chain_from_the_first_date() -> None:
    asked = BackfillSpec(dates=("2026-03-01",), mode=RunMode.PARALLEL, parallelism=3, order=Order.DESC)
    spec = asked.one_by_one()
    assert (spec.dates, spec.mode, spec.order) == (asked.dates, RunMode.SERIAL, Order.ASC)
