"""`data_sources` of a task: their variables, and what cannot be theirs."""

from __future__ import annotations

import pytest

from model.accounts.project_limits import Resource, used_by
from model.definitions.plan import Plan
from model.definitions.problems import InvalidWorkflow
from model.definitions.task_data_sources import recorded, recorded_in, variable_of
from model.definitions.workflow import WorkflowSpec
from model.ids import TaskCode, WorkflowCode


def parse(names: list[str], type_: str = "SHELL") -> WorkflowSpec:
    task = {"name": "a", "type": type_, "params": {"script": "true"}, "data_sources": names}
    return WorkflowSpec.parse({"tasks": [task]})


def test_each_has_a_variable_of_its_own() -> None:
    assert variable_of("crm") == "SHOAL_DATA_SOURCE_CRM"
    assert variable_of("über crm-2") == "SHOAL_DATA_SOURCE__BER_CRM_2"
    with pytest.raises(InvalidWorkflow, match='"crm-2" and "crm_2" are one variable, SHOAL_DATA_SOURCE_CRM_2'):
        parse(["crm-2", "crm_2"])
    with pytest.raises(InvalidWorkflow, match="runs in the master and has no data_sources"):
        parse(["crm"], "SUB_PROCESS")


def test_they_travel_with_an_attempt_and_count_for_the_limits_of_a_project() -> None:
    spec = parse(["crm", "a, b"])
    types = Plan.of(WorkflowCode(1), 1, spec).tasks[TaskCode(1)].parameter_types
    assert list(recorded_in(types)) == ["crm", "a, b"]
    assert {(Resource.DATA_SOURCE, "crm"), (Resource.DATA_SOURCE, "a, b")} <= used_by(spec)
    assert (recorded([]), list(recorded_in("{}")), list(recorded_in(None))) == ({}, [], [])
