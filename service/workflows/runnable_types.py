"""Tasks that no worker of this installation can run: of a type that there is not, or with wrong parameters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from model.definitions.problems import Problem
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.files.task_files import with_samples
from model.logic.catalog import LOGIC_TYPES
from model.near import nearest

if TYPE_CHECKING:
    from service.workflows.workflow_file import TaskTypes

_ELSEWHERE = {
    **dict.fromkeys(("BASH", "SH", "COMMAND", "SCRIPT"), "SHELL"),
    **dict.fromkeys(("PYTHON3", "PY"), "PYTHON"),
    **dict.fromkeys(("SIMPLEHTTP", "REST", "WEBHOOK", "CURL"), "HTTP"),
    **dict.fromkeys(("POSTGRES", "MYSQL", "QUERY", "SQLEXECUTEQUERY"), "SQL"),
    **dict.fromkeys(("SPARKSUBMIT",), "SPARK"),
    **dict.fromkeys(("KUBERNETES", "KUBERNETESPOD", "DOCKER", "CONTAINER"), "K8S"),
    **dict.fromkeys(("SUBWORKFLOW", "SUBDAG", "SUB_WORKFLOW", "TRIGGERDAGRUN"), "SUB_PROCESS"),
    **dict.fromkeys(("BRANCH", "BRANCHPYTHON"), "SWITCH"),
    **dict.fromkeys(("EXTERNALTASKSENSOR", "SENSOR"), "DEPENDENT"),
}
"""Task types of Airflow, Prefect and DolphinScheduler, and the one that is meant."""


def unrunnable(spec: WorkflowSpec, types: TaskTypes) -> Iterator[Problem]:
    """The tasks that no worker of this version can run."""
    for place, task in enumerate(spec.tasks):
        if task.type in LOGIC_TYPES:
            continue  # it runs in the master, and was checked with the rest
        params = json.dumps(with_samples(task.params))
        try:
            types.make(task.type, params, {})
        except Refused as error:
            is_known = task.type in types.known()
            if is_known and "${" in params:
                continue  # a reference may give the required value, with the command
            where = ("tasks", place, "params" if is_known else "type")
            near = None if is_known else _near_type(task.type, [*types.known(), *LOGIC_TYPES])
            meant = f'there is no task type "{task.type}"; did you mean {near}?' if near else str(error)
            yield Problem(where=where, sentence=f'task "{task.name}": {meant}')


def _near_type(given: str, known: Iterable[str]) -> str | None:
    """The task type that is meant: `BASH`, `BashOperator`, `shell` are SHELL."""
    word = given.upper().removesuffix("OPERATOR").removesuffix("TASK").strip("_")
    return nearest(_ELSEWHERE.get(word, word), list(known))
