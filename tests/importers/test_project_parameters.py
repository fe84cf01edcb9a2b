"""Parameters of projects in a database of DolphinScheduler: those that a workflow reads have to be given here."""

from typing import Any

from importers.dolphinscheduler.context import Options
from importers.dolphinscheduler.convert import import_files
from importers.dolphinscheduler.database import export_of
from tests.importers.exports import TYPES


def test_a_parameter_of_the_project_that_a_workflow_reads_is_a_todo() -> None:
    rows: dict[str, list[dict[str, Any]]] = {
        "definitions": [
            {"code": 1, "name": "w", "project_code": 5, "global_params": '[{"prop": "own", "value": "1"}]'}
        ],
        "relations": [{"id": 1, "process_definition_code": 1, "pre_task_code": 0, "post_task_code": 2}],
        "tasks": [
            {"code": 2, "name": "a", "task_type": "SHELL", "task_params": '{"rawScript": "echo ${region} ${own} ${x}"}'}
        ],
        "schedules": [],
    }
    names = ((5, "region"), (5, "own"), (5, "unread"), (6, "x"))
    parameters = [{"project_code": code, "param_name": name} for code, name in names]
    found = import_files([("db", export_of(rows, parameters))], {}, TYPES, Options())
    assert found.report.todos("db", "w") == ["it reads parameters of its project: give region by shoal project set"]
    assert not import_files([("db", export_of(rows))], {}, TYPES, Options()).report.has_todo
