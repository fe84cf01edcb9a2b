"""Workflow definitions in YAML files: read, and validated as far as possible without running them.

One workflow per document. Its keys are those of `Head` and of `model.definitions.workflow.WorkflowSpec`, `layout`, and
`todo`, which refuses it.
All problems are reported at once, each with file, line, task and fix; nothing is saved unless there is none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from model.choices import ReleaseState
from model.definitions.layout import Layout
from model.definitions.names import fault_of_workflow_name
from model.definitions.problems import InvalidWorkflow, Problem, faults_of_task_names
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.fields import NAME_LENGTH_MAX, Name
from model.files.task_files import problems_of_paths
from model.near import nearest
from model.parameters.json_values import with_leaves
from model.parameters.secret_values import SEALED_TEXT, has_sealed
from model.scripts.normal_form import changed_scripts
from service.schedules.schedule_entry import ScheduleEntry, problem_of_field, problems_of
from service.workflows.result_checks import wrong_results
from service.workflows.runnable_types import unrunnable
from service.workflows.workflow_warnings import one_variable
from service.workflows.yaml_lines import BadYaml, Document, Number, read_documents, text_of
from service.workflows.yaml_sections import document_at

FAULTS_SHOWN_MAX = 20
WORKFLOW, POOL = "workflow", "pool"
"""What a document is, by its `kind`; without one it is a workflow."""
TODO = "todo"
"""The key under which an import lists what a person has to do before the workflow can be saved."""
NO_WORKFLOW = "there is no workflow in it; begin with `name:` and `tasks:`"
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]")
_NO_MAPPING = "a workflow is a mapping with `name:` and `tasks:`"
_LIST_OF_POOLS = "a pool stands in no list: begin the line with `kind: pool`, and write `---` between two"


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
    kind: Literal["workflow"] = "workflow"
    project: Name = "default"
    release_state: ReleaseState = ReleaseState.ONLINE
    schedules: tuple[ScheduleEntry, ...] = ()


@dataclass(frozen=True)
class WorkflowDocument:
    """One workflow of a file, the lines at which its tasks begin, the text that says it (`source`), and what
    of it is not stored as it came (`notes`)."""

    project: str
    name: str
    release_state: ReleaseState
    spec: WorkflowSpec
    file: str = ""
    lines: Mapping[str, int] = field(default_factory=dict)
    schedules: tuple[ScheduleEntry, ...] = ()
    layout: Layout | None = None
    source: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
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


def documents_in(data: bytes, file: str, if_empty: str = NO_WORKFLOW) -> list[Document]:
    """The documents of a file, at least one; `file` is its name in messages. Raises `BadWorkflowFile`.

    `if_empty`: what is said of a file without any.
    """
    try:
        documents = read_documents(data)
    except BadYaml as error:
        raise BadWorkflowFile([FileFault(file, str(error), error.line)]) from None
    if not documents:
        raise BadWorkflowFile([FileFault(file, if_empty)])
    return documents


def parse_workflows(data: bytes, file: str, types: TaskTypes | None) -> list[WorkflowDocument]:
    """All workflows in the content of one file; `file` is its name in messages. Raises `BadWorkflowFile`.

    `types` are the task types that there are; None: types and parameters of tasks were checked before.
    """
    documents = documents_in(data, file)
    return workflows_of(documents, file, types, text_of(data), is_alone=len(documents) == 1)


def workflows_of(
    documents: Sequence[Document], file: str, types: TaskTypes | None, text: str, *, is_alone: bool
) -> list[WorkflowDocument]:
    """The workflows that documents of a file are; `text` is the file's, `is_alone`: it has no other document.

    Raises `BadWorkflowFile`; for `types` see `parse_workflows`.
    """
    found: list[WorkflowDocument] = []
    faults: list[FileFault] = []
    for document in documents:
        try:
            source = text if is_alone else document_at(text, document.line_of(()))
            found.append(replace(_workflow(document, file, types), source=source))
        except InvalidWorkflow as error:
            lines = sorted((document.line_of(problem.where), problem.sentence) for problem in error.problems)
            faults += [FileFault(file, sentence, line) for line, sentence in lines]
    faults += _twice(found, file)
    if faults:
        raise BadWorkflowFile(faults)
    return found


def parse_spec(content: Mapping[str, Any], types: TaskTypes, *, is_trial: bool = False) -> WorkflowSpec:
    """A definition that stands in no file; the task of a trial has no others beside it. Raises `InvalidWorkflow`."""
    _refuse_sealed(content)
    spec = WorkflowSpec.parse(content)
    if problems := _task_problems(spec, types, is_trial=is_trial):
        raise InvalidWorkflow(problems)
    return spec


def _refuse_sealed(content: Any) -> None:
    """YAML and JSON have many ways to write a text, so it is what was read that counts. Raises `InvalidWorkflow`."""
    if has_sealed(json.dumps(content, default=str, skipkeys=True)):
        raise InvalidWorkflow([Problem(where=(), sentence=f"the definition contains {SEALED_TEXT}")])


def _task_problems(spec: WorkflowSpec, types: TaskTypes, *, is_trial: bool = False) -> list[Problem]:
    """What only shows when the whole definition is well formed."""
    of_others = () if is_trial else wrong_results(spec)
    named = (*problems_of_paths(spec), *faults_of_task_names(spec))
    return [*unrunnable(spec, types), *one_variable(spec), *of_others, *named]


def _workflow(document: Document, file: str, types: TaskTypes | None) -> WorkflowDocument:
    content = plain(document.content)
    if not isinstance(content, dict):
        is_of_pools = any(isinstance(each, dict) and each.get("kind") == POOL for each in _list(content))
        raise InvalidWorkflow([Problem(where=(), sentence=_LIST_OF_POOLS if is_of_pools else _NO_MAPPING)])
    content |= _written_params(document.content)
    for name, read in (("schedules", _schedule), ("tasks", task_content)):
        if isinstance(entries := document.content.get(name), list):
            content[name] = [read(each) if isinstance(each, dict) else plain(each) for each in entries]
    if types is not None:
        _refuse_sealed(content)
    if (fault := _fault_of_kind(content)) is not None:
        raise InvalidWorkflow([fault])
    head_fields = {name: content.pop(name) for name in Head.model_fields if name in content}
    layout = content.pop("layout", None)
    problems = [*_left_to_do(content.pop(TODO, None)), *_head_problems(head_fields)]
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
        notes=tuple(changed_scripts(content)),
    )


def _fault_of_kind(content: Mapping[str, Any]) -> Problem | None:
    """Why this is no workflow at all; None if it may be one."""
    kind = content.get("kind", WORKFLOW)
    if kind == POOL:
        sentence = "this is a pool, and only workflows are read here; save it with `shoal pool apply`"
    elif kind != WORKFLOW:
        near = nearest(str(kind).lower(), (WORKFLOW, POOL))
        cure = f"; did you mean {near}?" if near else ""
        sentence = f'field "kind": must be {WORKFLOW} or {POOL}{cure}'
    elif "kind" not in content and "tasks" not in content and content.keys() & {"resources", "count"}:
        return Problem(where=(), sentence="a workflow has tasks, and this has none; if it is a pool, add `kind: pool`")
    else:
        return None
    return Problem(where=("kind",), sentence=sentence)


def _left_to_do(listed: Any) -> Iterator[Problem]:
    """What an import has left to a person, who removes each line when it is done."""
    for place, each in enumerate(listed if isinstance(listed, list) else [] if listed is None else [listed]):
        yield Problem(where=(TODO, place), sentence=f"{TODO}: {each}; when that is done, remove this line")


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
            field, said = part["loc"][0], str(part["msg"]).removeprefix("Value error, ")
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
        faults = [
            f"{'.'.join(map(str, part['loc']))}: {str(part['msg']).removeprefix('Value error, ')}"
            for part in error.errors(include_url=False)
        ]
    else:
        strangers = layout.strangers([task.name for task in spec.tasks])
        faults = [f'it has a place for the task "{name}", and there is no such task' for name in strangers]
        if not faults:
            return layout
    raise InvalidWorkflow([Problem(where=("layout",), sentence=f"layout: {fault}") for fault in faults])


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
    return with_leaves(value, lambda each: each.value if isinstance(each, Number) else each)


def task_content(given: Mapping[str, Any]) -> dict[str, Any]:
    """A task as it was read. The values of its parameters are as they were written; in what its type reads, a number
    with a leading zero is a text: for some readers of YAML 010 is 8."""
    content: dict[str, Any] = plain(given)
    if "params" in given:
        content["params"] = with_leaves(given["params"], _leading_zero_kept)
    if given.get("type") == "SUB_PROCESS" and isinstance(given.get("params"), dict):
        content["params"] |= _written_params(given["params"])
    match given.get("local_params"):
        case dict(entries):
            content["local_params"] = {name: _written_entry(each) for name, each in entries.items()}
        case list(entries):
            content["local_params"] = [_written_entry(each) for each in entries]
    return content


def _schedule(given: dict[str, Any]) -> dict[str, Any]:
    return {**plain(given), **_written_params(given)}


def _written_params(given: Mapping[str, Any]) -> dict[str, Any]:
    """Its `params`, if they are values by name."""
    params = given.get("params")
    return {"params": {name: _written(value) for name, value in params.items()}} if isinstance(params, dict) else {}


def _written_entry(given: Any) -> Any:
    """A value, or a mapping with it."""
    if isinstance(given, dict) and "value" in given:
        return {**plain(given), "value": _written(given["value"])}
    return _written(given)


def _written(value: Any) -> Any:
    """A parameter is a text: a number becomes its original spelling."""
    return value.written if isinstance(value, Number) else with_leaves(value, _leading_zero_kept)


def _leading_zero_kept(value: Any) -> Any:
    if isinstance(value, Number):
        return value.written if _LEADING_ZERO.match(value.written) else value.value
    return value
