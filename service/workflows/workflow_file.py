"""Workflow definitions in YAML files: read, and validated as far as possible without running them.

One workflow per document. Its keys are those of `Head` and of `model.workflow.WorkflowSpec`, and `layout`.
All problems are reported at once, each with file, line, task and fix; nothing is saved unless there is none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Annotated, Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from model.choices import ReleaseState
from model.errors import Refused
from model.fields import NAME_LENGTH_MAX, Name
from model.layout import Layout
from model.logic.catalog import LOGIC_TYPES
from model.names import fault_of_workflow_name, faults_of_task_names
from model.workflow import WorkflowSpec
from model.workflow_problems import InvalidWorkflow, Problem
from service.workflows.schedule_entry import ScheduleEntry, problem_of_field, problems_of
from service.workflows.workflow_warnings import one_variable
from service.workflows.yaml_lines import BadYaml, Document, Number, read_documents, text_of
from service.workflows.yaml_sections import document_at

FAULTS_SHOWN_MAX = 20


class TaskTypes(Protocol):
    """The task types that workers of this installation can run."""

    def known(self) -> Sequence[str]:
        """The names of all types, sorted."""

    def make(self, type_name: str, params_json: str, values: Mapping[str, str]) -> object:
        """A task of a type. Raises `Refused` for an unknown type and for wrong parameters."""

    def params_schema(self, type_name: str) -> Mapping[str, Any]:
        """The JSON Schema of a type's parameters. Raises `Refused` for one that is unknown or cannot be loaded."""


class Head(BaseModel):
    """The keys that stand beside a workflow's definition; the others define it, and a change of them is a version."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(max_length=NAME_LENGTH_MAX)]
    project: Name = "default"
    release_state: ReleaseState = ReleaseState.ONLINE
    schedules: tuple[ScheduleEntry, ...] = ()


@dataclass(frozen=True)
class WorkflowDocument:
    """One workflow of a file, the lines at which its tasks begin, and the text that says it (`source`)."""

    project: str
    name: str
    release_state: ReleaseState
    spec: WorkflowSpec
    file: str = ""
    lines: Mapping[str, int] = field(default_factory=dict)
    schedules: tuple[ScheduleEntry, ...] = ()
    layout: Layout | None = None
    source: str | None = None


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


@dataclass(frozen=True, slots=True)
class FileFault:
    """One problem in a file, at a line if it has one."""

    file: str
    sentence: str
    line: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.sentence}" if self.line is not None else f"{self.file}: {self.sentence}"


class BadWorkflowFile(Refused):
    """Files that cannot be applied: a line of text for each problem."""

    def __init__(self, faults: Iterable[FileFault]) -> None:
        self.faults = tuple(faults)
        more = len(self.faults) - FAULTS_SHOWN_MAX
        shown = [*map(str, self.faults[:FAULTS_SHOWN_MAX]), *([f"and {more} more"] if more > 0 else [])]
        super().__init__("\n       ".join(shown))


def parse_files(files: Iterable[tuple[str, bytes]], types: TaskTypes) -> list[WorkflowDocument]:
    """All workflows in some files, given by name and content.

    Raises:
        BadWorkflowFile: one contains errors, or two have the same workflow; lists all problems of all files.
    """
    found: dict[tuple[str, str], str] = {}
    documents: list[WorkflowDocument] = []
    faults: list[FileFault] = []
    for file, data in files:
        try:
            new = parse_workflows(data, file, types)
        except BadWorkflowFile as error:
            faults += error.faults
            continue
        for each in new:
            other = found.setdefault((each.project, each.name), file)
            if other is not file:
                sentence = f'the workflow "{each.name}" stands in {other} too; remove one of them'
                faults.append(FileFault(file, sentence))
        documents += new
    if faults:
        raise BadWorkflowFile(faults)
    return documents


def parse_workflows(data: bytes, file: str, types: TaskTypes | None) -> list[WorkflowDocument]:
    """All workflows in the content of one file; `file` is its name in messages. Raises `BadWorkflowFile`.

    `types` are the task types that there are; None: types and parameters of tasks were checked before.
    """
    try:
        documents = read_documents(data)
    except BadYaml as error:
        raise BadWorkflowFile([FileFault(file, str(error), error.line)]) from None
    if not documents:
        raise BadWorkflowFile([FileFault(file, "there is no workflow in it; begin with `name:` and `tasks:`")])
    found: list[WorkflowDocument] = []
    faults: list[FileFault] = []
    for document in documents:
        try:
            found.append(_workflow(document, file, types))
        except InvalidWorkflow as error:
            lines = sorted((document.line_of(problem.where), problem.sentence) for problem in error.problems)
            faults += [FileFault(file, sentence, line) for line, sentence in lines]
    faults += _twice(found, file)
    if faults:
        raise BadWorkflowFile(faults)
    text = text_of(data)
    if len(documents) == 1:
        return [replace(found[0], source=text)]
    # Each has been read: they are as many, in the same order.
    starts = [document.line_of(()) for document in documents]
    return [replace(each, source=document_at(text, line)) for each, line in zip(found, starts, strict=True)]


def parse_spec(content: Mapping[str, Any], types: TaskTypes) -> WorkflowSpec:
    """A definition that stands in no file. Raises `InvalidWorkflow`."""
    spec = WorkflowSpec.parse(content)
    if problems := _task_problems(spec, types):
        raise InvalidWorkflow(problems)
    return spec


def _task_problems(spec: WorkflowSpec, types: TaskTypes) -> list[Problem]:
    """What only shows when the whole definition is well formed."""
    return [*_unrunnable(spec, types), *one_variable(spec), *faults_of_task_names(spec)]


def _workflow(document: Document, file: str, types: TaskTypes | None) -> WorkflowDocument:
    content = plain(document.content)
    if not isinstance(content, dict):
        raise InvalidWorkflow([Problem(where=(), sentence="a workflow is a mapping with `name:` and `tasks:`")])
    if isinstance(params := document.content.get("params"), dict):
        content["params"] = {name: _written(value) for name, value in params.items()}
    for place, entry in enumerate(_list(document.content.get("schedules"))):
        if isinstance(entry, dict) and isinstance(params := entry.get("params"), dict):
            content["schedules"][place]["params"] = {name: _written(value) for name, value in params.items()}
    head_fields = {name: content.pop(name) for name in Head.model_fields if name in content}
    layout = content.pop("layout", None)
    problems = list(_head_problems(head_fields))
    try:
        spec = WorkflowSpec.parse(content, tuple(Head.model_fields))
        problems += _task_problems(spec, types) if types is not None else []
    except InvalidWorkflow as error:
        problems += error.problems
    if problems:
        raise InvalidWorkflow(problems)
    head = Head.model_validate(head_fields)
    if problems := list(problems_of(head.schedules, spec.time_zone)):
        raise InvalidWorkflow(problems)
    lines = {task.name: document.line_of(("tasks", place)) for place, task in enumerate(spec.tasks)}
    return WorkflowDocument(
        head.project,
        head.name,
        head.release_state,
        spec,
        file,
        lines,
        head.schedules,
        _layout(layout, spec),
    )


def _head_problems(fields: dict[str, Any]) -> Iterator[Problem]:
    if isinstance(name := fields.get("name"), str) and (fault := fault_of_workflow_name(name)) is not None:
        yield Problem(where=("name",), sentence=fault)
    try:
        Head.model_validate(fields)
    except ValidationError as error:
        for part in error.errors(include_url=False):
            if part["loc"][0] == "schedules":
                yield problem_of_field(part)
                continue
            field, said = part["loc"][0], part["msg"]
            missing = part["type"] == "missing"
            sentence = (
                f'the field "{field}" is missing' if missing else f'field "{field}": {said[:1].lower()}{said[1:]}'
            )
            yield Problem(where=(field,), sentence=sentence)


def _layout(given: Any, spec: WorkflowSpec) -> Layout | None:
    """Where its tasks stand on a canvas, if the file says so. Raises `InvalidWorkflow`."""
    if given is None:
        return None
    try:
        layout = Layout.model_validate(given)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, part['loc']))}: {part['msg']}" for part in error.errors(include_url=False)]
    else:
        strangers = layout.strangers([task.name for task in spec.tasks])
        faults = [f'it has a place for the task "{name}", and there is no such task' for name in strangers]
        if not faults:
            return layout
    raise InvalidWorkflow([Problem(where=("layout",), sentence=f"layout: {fault}") for fault in faults])


def _unrunnable(spec: WorkflowSpec, types: TaskTypes) -> Iterator[Problem]:
    """The tasks that no worker of this version can run."""
    for place, task in enumerate(spec.tasks):
        if task.type in LOGIC_TYPES:
            continue  # it runs in the master, and was checked with the rest
        params = json.dumps(task.params)
        try:
            types.make(task.type, params, {})
        except Refused as error:
            is_known = task.type in types.known()
            if is_known and "${" in params:
                continue  # a reference may give the required value, with the command
            where = ("tasks", place, "params" if is_known else "type")
            near = [] if is_known else _near_types(task.type, [*types.known(), *LOGIC_TYPES])
            meant = f'there is no task type "{task.type}"; did you mean {near[0]}?' if near else str(error)
            yield Problem(where=where, sentence=f'task "{task.name}": {meant}')


def _near_types(given: str, known: Iterable[str]) -> list[str]:
    """The task type that is meant: `BASH`, `BashOperator`, `shell` are SHELL."""
    word = given.upper().removesuffix("OPERATOR").removesuffix("TASK").strip("_")
    return get_close_matches(_ELSEWHERE.get(word, word), list(known), n=1)


def _twice(found: list[WorkflowDocument], file: str) -> Iterator[FileFault]:
    seen: set[tuple[str, str]] = set()
    for each in found:
        if (each.project, each.name) in seen:
            yield FileFault(file, f'the workflow "{each.name}" stands there twice; give each a different name')
        seen.add((each.project, each.name))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def plain(value: Any) -> Any:
    """Content as it was read, with numbers instead of how they were written."""
    if isinstance(value, Number):
        return value.value
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value


def _written(value: Any) -> Any:
    """A parameter is a text: a number becomes its original spelling."""
    return value.written if isinstance(value, Number) else plain(value)
