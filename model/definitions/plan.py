"""A definition version prepared for driving: what all its instances share, computed once."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from model.accounts.project_limits import Used, used_by
from model.choices import Direct, Flag, OnWorkerLoss, ParameterType, Priority, StartWhen, TimeoutStrategy
from model.definitions import task_data_sources
from model.definitions.each import Each
from model.definitions.graph import Graph
from model.definitions.result_references import ResultReference, result_references
from model.definitions.workflow import TaskSpec, WorkflowSpec
from model.errors import Refused
from model.files import handed_files, task_files
from model.ids import TaskCode, WorkflowCode
from model.logic.catalog import LOGIC_TYPES
from model.logic.conditions import ConditionsParams
from model.logic.dependent import DependentParams
from model.logic.dynamic import DynamicParams
from model.logic.fields import LogicParams
from model.logic.sub_process import SubProcessParams
from model.near import nearest
from model.parameters import skip_codes
from model.parameters.builtin import IS_LATEST
from model.parameters.foreign_values import Need, fits, types_in, written
from model.parameters.local import LocalParam
from model.parameters.outputs import OutParameters
from model.parameters.parameters import PARAMETER_PREFIX, parameter_variable
from model.parameters.results import bases
from model.parameters.secret_values import check_sealed, sealed_value
from model.runs.elements import task_of
from model.runs.looks import WAIT
from model.scripts.python_script import NamedPython
from model.scripts.scripts_in_definitions import written_script
from model.scripts.shell_script import NamedScript
from model.streams.streams import StreamRule

_TRAVELLING = frozenset(
    ParameterType(name) for name in ("INTEGER", "LONG", "FLOAT", "DOUBLE", "BOOLEAN", "DATE", "TIME", "TIMESTAMP")
)
"""The types of OUT parameters that apply where `${task.name}` names them: none lets a script run a value."""

_KEEPS_JSON = frozenset({"HTTP", "SWITCH"})
"""Task types that take JSON as JSON. In a script the JSON type would admit any text."""


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """One task of a plan; `params` and `resources` are already JSON text, times are in minutes, 0 = none. Where
    `worker_group` and `environment` are None, those of the instance apply.

    `logic` is set for a task that runs in the master; `branches` are the tasks that it may choose. `inputs` are its
    local parameters with a value of their own, `outputs` its OUT ones with their defaults (None: it outputs all that it
    prints). `stream` is set for a task that is not expected to end, `each` for one with elements. `references` are
    those that may name values of other tasks, or parts of values. Its success `updates` these datasets.
    """

    code: TaskCode
    name: str
    type: str
    params: str
    priority: Priority
    worker_group: str | None
    on_worker_loss: OnWorkerLoss
    retry_times: int
    retry_interval: float
    delay_time: float
    timeout: float
    timeout_strategy: TimeoutStrategy
    dispatch_timeout: float
    resources: str | None
    is_forbidden: bool
    cache: bool
    environment: str | None
    tenant: str | None
    logic: LogicParams | None
    branches: frozenset[TaskCode]
    inputs: tuple[LocalParam, ...]
    outputs: Mapping[str, str] | None
    parameter_types: str | None
    uses_builtins: bool
    stream: StreamRule | None = None
    script: NamedScript | NamedPython | None = None
    references: tuple[ResultReference, ...] = ()
    each: Each | None = None
    updates: tuple[str, ...] = ()

    def types_with(self, json_names: Collection[str]) -> str | None:
        """The recorded types of an attempt in which these parameters are JSON, if its task type keeps JSON."""
        if not json_names or self.type not in _KEEPS_JSON:
            return self.parameter_types
        known = json.loads(self.parameter_types or "{}")
        return json.dumps({**known, **dict.fromkeys(json_names, ParameterType.JSON)})

    @property
    def waits(self) -> bool:
        """Whether it is a WAIT task."""
        return self.type == WAIT


@dataclass(frozen=True, slots=True)
class Plan:
    """One version of a workflow; it never changes, so all its instances share it and it is cached.

    `evaluators` are the CONDITIONS, which begin however the tasks before them end; `handlers` maps each task to those
    directly after it that name it, so that its failure is not the run's. `rules` are the start rules of the tasks that
    have another than the default. `codes` are the tasks by name. `secrets` are the names of the SECRET parameters.
    `used` is what the limits of its project are about; `asks_latest`: a task names `system.is_latest`. `closing` are
    the tasks that clean up, each with whether it is one of `on_exit`; `work` is the graph without them. `mapped` are
    the tasks with elements, `before_mapped` those directly before one; `has_lists`: a task is DYNAMIC.
    """

    workflow_code: WorkflowCode
    version: int
    spec: WorkflowSpec
    graph: Graph
    tasks: Mapping[TaskCode, PlannedTask]
    codes: Mapping[str, TaskCode]
    predecessor_count: Mapping[TaskCode, int]
    evaluators: frozenset[TaskCode]
    handlers: Mapping[TaskCode, tuple[TaskCode, ...]]
    rules: Mapping[TaskCode, StartWhen]
    has_children: bool
    name: str = ""
    project: str = "default"
    project_code: int = 0
    secrets: frozenset[str] = frozenset()
    used: Used = frozenset()
    asks_latest: bool = False
    closing: Mapping[TaskCode, bool] = field(default_factory=dict)
    work: Graph = field(default_factory=lambda: Graph.of({}))
    mapped: frozenset[TaskCode] = frozenset()
    before_mapped: frozenset[TaskCode] = frozenset()
    has_lists: bool = False

    @property
    def updates_datasets(self) -> bool:
        """Whether the success of one of its tasks is an event."""
        return any(task.updates for task in self.tasks.values())

    @property
    def has_dependents(self) -> bool:
        """Whether a task of it waits for other workflows."""
        return any(isinstance(task.logic, DependentParams) for task in self.tasks.values())

    @property
    def starts_apart(self) -> bool:
        """Whether a task of it starts another workflow without waiting for it."""
        return any(isinstance(task.logic, SubProcessParams) and not task.logic.wait for task in self.tasks.values())

    @property
    def has_streams(self) -> bool:
        """Whether one of its tasks is a stream."""
        return any(task.stream is not None for task in self.tasks.values())

    def task(self, code: TaskCode) -> PlannedTask:
        """A task by its code, or by the code of one of its elements. Raises `KeyError`."""
        return self.tasks[task_of(code)]

    def values_named_of(self, code: TaskCode) -> list[str]:
        """The names of this task's values that other tasks use."""
        named = [each.rest for task in self.tasks.values() for each in task.references if each.task == code]
        return list(dict.fromkeys(base for rest in named for base, _ in [*bases(rest)][-1:]))

    def check_given(self, given: Mapping[str, str], scope: Collection[TaskCode] | None) -> None:
        """Raises `Refused` if a script of the tasks in `scope` (None = all) could run a value that the start gives."""
        for task in self.tasks.values():
            if task.script is None or task.is_forbidden or not (scope is None or task.code in scope):
                continue
            if names := task.script.names(given):
                types = types_in(json.loads(task.parameter_types or "{}"), given)
                for name in sorted(names):
                    _check_given(task, name, given[name], types.get(name))

    def find(self, names: Iterable[str]) -> list[TaskCode]:
        """The tasks of these names or codes. Raises `Refused` for one that does not exist."""
        found = []
        for name in names:
            code = self.codes.get(name)
            if code is None and name.isascii() and name.isdigit() and len(name) < 20 and int(name) in self.tasks:
                code = TaskCode(int(name))
            if code is None:
                near = nearest(name, self.codes)
                cure = f'did you mean "{near}"?' if near else "see its definition for what there is"
                raise Refused(f'workflow "{self.name}" version {self.version} has no task "{name[:100]}"; {cure}')
            found.append(code)
        return found

    @classmethod
    def of(
        cls,
        code: WorkflowCode,
        version: int,
        spec: WorkflowSpec,
        *,
        name: str = "",
        project: str = "default",
        project_code: int = 0,
    ) -> Plan:
        """Compute the plan; tasks without codes (a definition inserted by SQL) are numbered in their order.

        Raises `Refused` for parameters of a logic task that cannot be read, and for a secret in plain text.
        """
        coded = spec.coded().gated(code)
        codes = {task.name: TaskCode(task.code or 0) for task in coded.tasks}
        for each in coded.tasks:
            secrets = [param.name for param in each.local_params if param.type is ParameterType.SECRET]
            check_sealed(project, secrets, {param.name: param.value for param in each.local_params})
        graph = coded.graph()
        references = result_references(coded, codes, graph)
        tasks = {
            codes[task.name]: _planned(task, coded, codes, name, project, references.get(codes[task.name], ()))
            for task in coded.tasks
        }
        closing = {codes[task.name]: task.on_exit for task in coded.tasks if task.is_closing}
        work = coded.graph(without_closing=True) if closing else graph
        evaluators: set[TaskCode] = set()
        handlers: dict[TaskCode, tuple[TaskCode, ...]] = {}
        for task in tasks.values():
            if isinstance(task.logic, ConditionsParams) and not task.is_forbidden:
                evaluators.add(task.code)
                named = {codes[name] for name in task.logic.named() if name in codes}
                for before in graph.predecessors[task.code]:
                    if before in named:
                        handlers[before] = (*handlers.get(before, ()), task.code)
        counts = {task: len(befores) for task, befores in work.predecessors.items()}
        rules = {
            codes[task.name]: task.start_when for task in coded.tasks if task.start_when is not StartWhen.ALL_SUCCESS
        }
        mapped = frozenset(task.code for task in tasks.values() if task.each is not None)
        before_mapped = frozenset(before for each in mapped for before in graph.predecessors[each])
        has_lists = any(isinstance(task.logic, DynamicParams) for task in tasks.values())
        has_children = any(isinstance(task.logic, SubProcessParams | DynamicParams) for task in tasks.values())
        return cls(
            *(code, version, coded, graph, tasks, codes, counts, frozenset(evaluators), handlers, rules, has_children),
            *(name, project, project_code, spec.secret_names(), used_by(spec), _asks_latest(tasks.values())),
            *(closing, work, mapped, before_mapped, has_lists),
        )


def _asks_latest(tasks: Iterable[PlannedTask]) -> bool:
    asks = f"${{{IS_LATEST}}}"
    return any(
        asks in text
        for task in tasks
        for text in (task.params, *(param.value for param in task.inputs), task.each.written if task.each else "")
    )


def _planned(
    task: TaskSpec,
    spec: WorkflowSpec,
    codes: Mapping[str, TaskCode],
    workflow: str,
    project: str,
    references: tuple[ResultReference, ...],
) -> PlannedTask:
    params = json.dumps(task.params, ensure_ascii=False)
    logic = _logic(task)
    outs = {
        param.name: "" if handed_files.names_output(task.type, param.direct, param.type) else param.value
        for param in task.local_params
        if param.direct is Direct.OUT
    }
    types: dict[str, ParameterType] = {
        param.name: param.type
        for param in task.local_params
        if param.direct is Direct.IN and param.type is not ParameterType.VARCHAR
    }
    own_names = {*spec.params, *spec.secrets, *(param.name for param in task.local_params)}
    types |= {each.name: each.type for each in references if each.type in _TRAVELLING and each.name not in own_names}
    script = _script(task)
    if script is not None or task.type == "K8S":
        own = {
            **spec.params,
            "system.task.definition.name": task.name,
            "system.workflow.definition.name": workflow,
            "system.project.name": project,
        }
        need = script.need if script is not None else Need.NUMBER
        recorded = {**_written_by_author(task, own, params, need), **types}
    else:
        recorded = {**types}
    if logic is None or isinstance(logic, SubProcessParams | DynamicParams):
        strict = spec.strict_outputs if task.strict_outputs is None else task.strict_outputs
        recorded |= OutParameters.of(task.local_params, strict=strict).recorded()
    recorded |= skip_codes.recorded(task.skip_exit_codes)
    recorded |= task_files.recorded(task, spec.file_contents)
    recorded |= handed_files.recorded(task)
    recorded |= task_data_sources.recorded(task.data_sources)
    return PlannedTask(
        codes[task.name],
        task.name,
        task.type,
        params,
        task.priority,
        task.worker_group,
        task.on_worker_loss,
        task.retry_times,
        task.retry_interval,
        task.delay_time,
        task.timeout,
        task.timeout_strategy,
        task.dispatch_timeout,
        json.dumps(task.resources, sort_keys=True) if task.resources else None,
        task.flag is Flag.NO,
        task.cache,
        task.environment,
        task.tenant or spec.tenant,
        logic,
        frozenset(codes[name] for name in logic.branches() if name in codes) if logic else frozenset(),
        tuple(param for param in task.local_params if param.direct is Direct.IN and param.value),
        outs or None,
        json.dumps(recorded) if recorded else None,
        "{system." in params or task.is_closing or (task.each is not None and "{system." in task.each.written),
        _stream(task),
        script,
        references,
        task.each,
        task.updates,
    )


def _check_given(task: PlannedTask, name: str, value: str, type_: ParameterType | None) -> None:
    if task.script is None or sealed_value(value) is not None or handed_files.handed_in(value) is not None:
        return  # a script gets the path of a file that was handed on
    try:
        task.script.check(name, value, type_)
    except Refused as error:
        raise Refused(f'task "{task.name}": {error}') from None


def _script(task: TaskSpec) -> NamedScript | NamedPython | None:
    text = _text_of_script(task)
    if not isinstance(text, str) or ("${" not in text and PARAMETER_PREFIX not in text):
        return None
    if task.type == "PYTHON":
        return NamedPython.of(text)
    return written_script(text) if task.type in ("SHELL", WAIT) else None


def _text_of_script(task: TaskSpec) -> Any:
    if task.type != WAIT:
        return task.params.get("script")
    thing = task.params.get("for")
    return thing.get("script") if isinstance(thing, dict) else None


def _written_by_author(task: TaskSpec, known: Mapping[str, str], params: str, need: Need) -> dict[str, str]:
    """The entries that take the place of types for values that a script would refuse from anybody but the author."""
    values = {name: value for name, value in known.items() if name in params or parameter_variable(name) in params}
    for param in task.local_params:
        if param.direct is Direct.IN and (param.value or param.type is not ParameterType.VARCHAR):
            values.pop(param.name, None)
            if param.type is ParameterType.VARCHAR and (
                param.name in params or parameter_variable(param.name) in params
            ):
                values[param.name] = param.value
    return {
        name: written(value)
        for name, value in values.items()
        if not re.search(r"\$[{\[]", value)
        and not (value and (fits(Need.NUMBER, value) or (need <= Need.PLAIN and fits(Need.PLAIN, value))))
    }


def _stream(task: TaskSpec) -> StreamRule | None:
    if not task.stream:
        return None
    return StreamRule(
        task.restart,
        task.restart_pause * 60,
        task.restart_pause_max * 60,
        task.healthy_after * 60,
        task.on_worker_loss is OnWorkerLoss.RETRY,
        task.readiness,
    )


def _logic(task: TaskSpec) -> LogicParams | None:
    model = LOGIC_TYPES.get(task.type)
    if model is None:
        return None
    try:
        return model.read(task.params)
    except Refused as error:
        raise Refused(f'task "{task.name}": {error}') from None
