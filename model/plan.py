"""A definition version prepared for driving: what all its instances share, computed once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from model.choices import Direct, Flag, OnWorkerLoss, ParameterType, Priority, TimeoutStrategy
from model.errors import Refused
from model.graph import Graph
from model.ids import TaskCode, WorkflowCode
from model.local_params import LocalParam
from model.logic.catalog import LOGIC_TYPES
from model.logic.conditions import ConditionsParams
from model.logic.dependent import DependentParams
from model.logic.dynamic import DynamicParams
from model.logic.fields import LogicParams
from model.logic.sub_process import SubProcessParams
from model.near import nearest
from model.project_limits import Used, used_by
from model.secret_values import check_sealed
from model.streams import StreamRule
from model.workflow import TaskSpec, WorkflowSpec


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """One task of a plan; `params` and `resources` are already JSON text, times are in minutes, 0 = none. Where
    `worker_group` and `environment` are None, those of the instance apply.

    `logic` is set for a task that runs in the master; `branches` are the tasks that it may choose. `inputs` are its
    local parameters with a value of their own, `outputs` its OUT ones with their defaults (None: it outputs all that it
    prints). `stream` is set for a task that is not expected to end.
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


@dataclass(frozen=True, slots=True)
class Plan:
    """One version of a workflow; it never changes, so all its instances share it and it is cached.

    `evaluators` maps each task to the CONDITIONS that ask for its end. `codes` are the tasks by name. `secrets` are the
    names of the SECRET parameters. `used` is what the limits of its project are about.
    """

    workflow_code: WorkflowCode
    version: int
    spec: WorkflowSpec
    graph: Graph
    tasks: Mapping[TaskCode, PlannedTask]
    codes: Mapping[str, TaskCode]
    predecessor_count: Mapping[TaskCode, int]
    evaluators: Mapping[TaskCode, tuple[TaskCode, ...]]
    has_children: bool
    name: str = ""
    project: str = "default"
    project_code: int = 0
    secrets: frozenset[str] = frozenset()
    used: Used = frozenset()

    @property
    def has_dependents(self) -> bool:
        """Whether one of its tasks waits for other workflows."""
        return any(isinstance(task.logic, DependentParams) for task in self.tasks.values())

    @property
    def has_streams(self) -> bool:
        """Whether one of its tasks is a stream."""
        return any(task.stream is not None for task in self.tasks.values())

    def find(self, names: Iterable[str]) -> list[TaskCode]:
        """The tasks of these names or codes. Raises `Refused` for one that does not exist."""
        found = []
        for name in names:
            code = self.codes.get(name)
            if code is None and name.isascii() and name.isdigit() and len(name) < 11 and int(name) in self.tasks:
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
        coded = spec.coded()
        codes = {task.name: TaskCode(task.code or 0) for task in coded.tasks}
        for each in coded.tasks:
            secrets = [param.name for param in each.local_params if param.type is ParameterType.SECRET]
            check_sealed(project, secrets, {param.name: param.value for param in each.local_params})
        tasks = {codes[task.name]: _planned(task, coded, codes) for task in coded.tasks}
        graph = coded.graph()
        evaluators: dict[TaskCode, tuple[TaskCode, ...]] = {}
        for task in tasks.values():
            if isinstance(task.logic, ConditionsParams) and not task.is_forbidden:
                for asked in task.logic.named():
                    if asked in codes and codes[asked] in graph.predecessors[task.code]:
                        evaluators[codes[asked]] = (*evaluators.get(codes[asked], ()), task.code)
        counts = {task: len(befores) for task, befores in graph.predecessors.items()}
        has_children = any(isinstance(task.logic, SubProcessParams | DynamicParams) for task in tasks.values())
        return cls(
            *(code, version, coded, graph, tasks, codes, counts, evaluators, has_children),
            *(name, project, project_code, spec.secret_names(), used_by(spec)),
        )


def _planned(task: TaskSpec, spec: WorkflowSpec, codes: Mapping[str, TaskCode]) -> PlannedTask:
    params = json.dumps(task.params, ensure_ascii=False)
    logic = _logic(task)
    outs = {param.name: param.value for param in task.local_params if param.direct is Direct.OUT}
    types = {
        param.name: param.type
        for param in task.local_params
        if param.direct is Direct.IN and param.type is not ParameterType.VARCHAR
    }
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
        json.dumps(types) if types else None,
        "{system." in params,
        _stream(task),
    )


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
