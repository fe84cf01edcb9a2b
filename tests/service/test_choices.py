"""What a person is told about a branch that a SWITCH chose."""

from __future__ import annotations

from typing import cast

from dao.runs.rows import TaskRun
from model.ids import TaskCode, TaskInstanceId
from model.runs.states import TaskState
from service.explain.choices import choices_of
from tests.master.random_plans import plan_of


class Attempt:
    """What is asked of an attempt."""

    id, code, name, state = TaskInstanceId(7), TaskCode(2), "route", TaskState.SUCCESS
    valid, branch = True, frozenset({TaskCode(3)})


def test_a_list_that_a_switch_took_as_json_is_compared_as_json_again() -> None:
    cases = [{"when": "size(${load.files}) == 2", "then": "yes"}]
    plan = plan_of(
        {"name": "load"},
        {"name": "route", "type": "SWITCH", "after": ["load"], "params": {"cases": cases}},
        {"name": "yes", "after": ["route"]},
    )
    types = plan.tasks[TaskCode(2)].types_with(["load.files"])
    values = {TaskInstanceId(7): ('{"load.files": "[1, 2]"}', types)}
    said = 'route chose yes: case 1 is true, size(${load.files}) == 2, with load.files = "[1, 2]"'
    assert choices_of(plan, [cast("TaskRun", Attempt())], values) == {"route": said}
    as_text = {TaskInstanceId(7): ('{"load.files": "[1, 2]"}', None)}
    assert choices_of(plan, [cast("TaskRun", Attempt())], as_text) != {"route": said}, "six characters of text"
