"""A workflow definition: tasks, their order, parameters and defaults.

One model for every source: a YAML file, Python, REST, or a row of `workflow_version` inserted by SQL. All are validated
here, and each error names the task and the field.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from model.choices import (
    AfterLast,
    ExecutionType,
    FailureStrategy,
    Flag,
    OnWorkerLoss,
    ParameterType,
    Priority,
    Restart,
    StartWhen,
    TimeoutStrategy,
    WarningType,
)
from model.definitions.after_last import GATE, gate
from model.definitions.closing import misplaced, unfit_to_close
from model.definitions.defaults import Resources, Retries, SkipExitCodes, TaskDefaults, with_defaults
from model.definitions.each import EachField, unfit_for_each
from model.definitions.graph import Graph, find_cycle
from model.definitions.problems import InvalidWorkflow, wrong_field, wrong_task
from model.definitions.task_data_sources import DATA_SOURCES_MAX, fault_of_names
from model.definitions.triggers import UPDATES_MAX, Triggers, unfit_trigger
from model.errors import Refused
from model.fields import DEFAULT_WORKER_GROUP, GroupName, Minutes, Name, Tags, TenantName, each_once
from model.files.handed_files import misplaced_output
from model.files.paths import FileOrFolder, FilePath
from model.ids import TaskCode, WorkflowCode
from model.logic.catalog import LOGIC_TYPES, NOT_OF_LOGIC, check_logic
from model.near import nearest
from model.parameters.declared import Declaration, LongForm, declared_apart, is_open, misfit_of
from model.parameters.local import LocalParams, misfit
from model.parameters.parameters import references
from model.parameters.secrets_in_definitions import made_of_secret, secrets_apart
from model.parameters.text import ParameterValue, plain_data
from model.runs.elements import namesakes
from model.runs.looks import unfit_to_wait
from model.runs.serial_lines import KEY_WRITTEN_MAX, MAX_ACTIVE_MAX, startable_key, with_lines
from model.scripts.normal_form import with_plain_scripts
from model.streams.streams import Readiness, misused
from model.time.zones import zone

TASKS_MAX = 10_000
TASK_CODE_MAX = 2**63 - 1


Description = Annotated[str, Field(max_length=10_000), AfterValidator(plain_data)]
GlobalParams = Annotated[
    dict[str, ParameterValue],
    BeforeValidator(lambda given: given, json_schema_input_type=dict[str, LongForm | Any]),
    AfterValidator(plain_data),
]
SerialKey = Annotated[
    str, Field(min_length=1, max_length=KEY_WRITTEN_MAX), AfterValidator(plain_data), AfterValidator(startable_key)
]
FileHash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
MaxActive = Annotated[int, Field(strict=True, ge=1, le=MAX_ACTIVE_MAX)]


def _flag(value: Any) -> Any:
    """YAML parses a bare NO as text or as false, depending on its version."""
    return ("YES" if value else "NO") if isinstance(value, bool) else value


def _zone_name(name: str) -> str:
    try:
        return zone(name).key
    except Refused as error:
        raise ValueError(str(error)) from None


class TaskSpec(BaseModel):
    """One task of a workflow. `after` names the tasks before it, and `start_when` how they must end so that it starts.

    `retry_times` attempts follow a FAILURE, each `retry_interval` after the previous one. `delay_time` is the pause
    between the moment it is ready and the queue. `dispatch_timeout` counts from the queue, `timeout` from its start on
    the worker. `flag` NO disables it: it is skipped. `cache` reuses the outputs of an earlier success with the same
    parameters. `tenant` is the user of the operating system that it runs as. `resources` are the pools of which it
    needs resources while it runs, and how many of each. `files` of its project are put into its folder; its processes
    find the URLs of its `data_sources` in their environment (`model/definitions/task_data_sources.py`). An attempt
    whose process ends with one of `skip_exit_codes` is SKIPPED. With `strict_outputs` it fails when an OUT parameter
    without a default gets no value (None: as its workflow says). `description` and `group`, a name that tasks share
    which are shown as one, are for people. A `stream` runs until it is stopped (`model/streams/streams.py`): `restart`
    and the fields up to `readiness` are for streams only. With `each` it runs once for each element of a list
    (`model/definitions/each.py`). `teardown` and `on_exit` tasks clean up when all others are over, however they ended
    (`model/runs/closing.py`). Its success `updates` datasets of its project (`model/definitions/triggers.py`).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    description: Description = ""
    group: Name | None = None
    type: Annotated[str, Field(min_length=1, max_length=100), AfterValidator(plain_data)]
    params: Annotated[dict[str, Any], AfterValidator(plain_data), AfterValidator(with_plain_scripts)] = {}
    after: tuple[str, ...] = ()
    start_when: StartWhen = StartWhen.ALL_SUCCESS
    each: EachField | None = None
    priority: Priority = Priority.MEDIUM
    worker_group: GroupName | None = None
    on_worker_loss: OnWorkerLoss = OnWorkerLoss.RETRY
    retry_times: Retries = 0
    retry_interval: Minutes = 0
    delay_time: Minutes = 0
    timeout: Minutes = 0
    timeout_strategy: TimeoutStrategy = TimeoutStrategy.FAILED
    dispatch_timeout: Minutes = 0
    flag: Annotated[Flag, BeforeValidator(_flag, json_schema_input_type=Flag | bool)] = Flag.YES
    local_params: LocalParams = ()
    strict_outputs: bool | None = None
    cache: bool = False
    skip_exit_codes: SkipExitCodes = ()
    files: Annotated[tuple[FileOrFolder, ...], Field(max_length=100), AfterValidator(plain_data)] = ()
    data_sources: Annotated[tuple[Name, ...], Field(max_length=DATA_SOURCES_MAX), AfterValidator(each_once)] = ()
    environment: Name | None = None
    tenant: TenantName | None = None
    resources: Resources = {}
    stream: bool = False
    restart: Restart = Restart.ALWAYS
    restart_pause: Minutes = 1 / 60
    restart_pause_max: Minutes = 5
    healthy_after: Minutes = 1
    readiness: Readiness | None = None
    teardown: bool = False
    on_exit: bool = False
    updates: Annotated[tuple[Name, ...], Field(max_length=UPDATES_MAX), AfterValidator(each_once)] = ()
    code: Annotated[int, Field(gt=0, le=TASK_CODE_MAX)] | None = None

    @property
    def is_closing(self) -> bool:
        """Whether the task runs after everything else of its run."""
        return self.teardown or self.on_exit


class WorkflowSpec(BaseModel):
    """The content of one version of a workflow. Create one with `WorkflowSpec.parse`, which formats the errors.

    `tags` are words by which people find it. `params` are its global parameters, and `secrets` the names of the SECRET
    ones, whose value is there or given at the start; a definition may write one in `params` as `{type: SECRET, value:
    ...}`. `declared` is what else it says there of parameters (`model/parameters/declared.py`). `outputs` names those
    that a run passes to its parent workflow. `serial_key` has references: a serial workflow has a line for each of its
    values (`model/runs/serial_lines.py`). `max_active` of its runs, or of those of one key, go on at once; the current
    version says how many. With `after_last` a scheduled or backfilled run begins its tasks only when that of the date
    before has succeeded (`model/definitions/after_last.py`). Each of its `triggers` starts it. A run that exceeds
    `timeout_minutes` causes a warning, or fails (`timeout_strategy`). `warning_type` says which ends raise an alert for
    `alert_group`. Time expressions are computed in `time_zone` unless a schedule has another. `strict_outputs` is the
    default of its tasks. `file_contents` is written as it is saved (`model/files/task_files.py`). `defaults` are given
    to the tasks as the definition is read: then there are none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    description: Description = ""
    tags: Tags = ()
    priority: Priority = Priority.MEDIUM
    failure_strategy: FailureStrategy = FailureStrategy.CONTINUE
    worker_group: GroupName = DEFAULT_WORKER_GROUP
    execution_type: ExecutionType = ExecutionType.PARALLEL
    serial_key: SerialKey | None = None
    max_active: MaxActive = 1
    after_last: AfterLast | None = None
    triggers: Triggers = ()
    timeout_minutes: Minutes = 0
    timeout_strategy: TimeoutStrategy = TimeoutStrategy.WARN
    warning_type: WarningType = WarningType.NONE
    alert_group: Name | None = None
    time_zone: Annotated[str, AfterValidator(_zone_name)] = "UTC"
    environment: Name | None = None
    tenant: TenantName | None = None
    params: GlobalParams = {}
    declared: dict[str, Declaration] = {}
    secrets: Annotated[tuple[str, ...], AfterValidator(plain_data)] = ()
    outputs: Annotated[tuple[str, ...], AfterValidator(plain_data)] = ()
    strict_outputs: bool = True
    file_contents: dict[FilePath, FileHash] = {}
    defaults: TaskDefaults | None = Field(None, exclude=True)
    tasks: tuple[TaskSpec, ...] = Field(max_length=TASKS_MAX)

    @model_validator(mode="before")
    @classmethod
    def _written_out(cls, given: Any) -> Any:
        return with_defaults(secrets_apart(declared_apart(with_lines(given)))) if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _names_fit_together(self) -> Self:
        if not self.tasks:
            raise ValueError('a workflow needs at least one task; add one under "tasks"')
        names = [task.name for task in self.tasks]
        places = {name: place for place, name in reversed(list(enumerate(names)))}
        codes = [task.code for task in self.tasks if task.code is not None]
        if len(set(codes)) < len(codes) or (codes and len(codes) < len(names)):
            raise ValueError("task codes must be given to all tasks or to none, each its own; leave them out")
        if misfits := [
            (place, f'task "{task.name}": {sentence}')
            for place, task in enumerate(self.tasks)
            for param in task.local_params
            if (sentence := misfit(param))
        ]:
            raise wrong_task(misfits[0][0], "; ".join(sentence for _, sentence in misfits[:20]))
        for place, task in enumerate(self.tasks):
            if places[task.name] != place:
                raise wrong_task(place, f'task "{task.name}" stands there twice; give each task a different name')
            for before in task.after:
                if before == task.name:
                    raise wrong_task(place, f'task "{task.name}" waits for itself; remove it from its "after"')
            if len({param.name for param in task.local_params}) < len(task.local_params):
                raise wrong_task(place, f'task "{task.name}" has two local_params of one name; give each its own')
            if sentence := _unfit(task):
                raise wrong_task(place, f'task "{task.name}": {sentence}')
            if len(set(task.after)) < len(task.after):
                raise wrong_task(place, f'task "{task.name}" names the same task twice in its "after"; once is enough')
        for name in namesakes((task.name for task in self.tasks if task.each is not None), names):
            raise wrong_task(places[name], f'task "{name}" has the name of an element of a task with each; rename it')
        if absent := [
            (place, task.name, before)
            for place, task in enumerate(self.tasks)
            for before in task.after
            if before not in places
        ]:
            shown = "; ".join(_absent(task, before, names) for _, task, before in absent[:20])
            raise wrong_task(absent[0][0], shown)
        for place, task in enumerate(self.tasks):
            if sentence := fault_of_names(task.data_sources):
                raise wrong_task(place, f'task "{task.name}": {sentence}')
        for place, sentence in misplaced(self.tasks, places):
            raise wrong_task(place, f'task "{self.tasks[place].name}": {sentence}')
        if all(task.is_closing for task in self.tasks):
            raise ValueError("a workflow needs a task without teardown and on_exit, after which these clean up")
        cycle = find_cycle({task.name: task.after for task in self.tasks})
        if cycle:
            raise wrong_task(
                places[cycle[0]],
                f"tasks wait for each other in a circle: {' -> '.join(cycle)}; remove one of these arrows",
            )
        return self

    @model_validator(mode="after")
    def _defaults_are_as_declared(self) -> Self:
        for name, declared in self.declared.items():
            if (declared.type is ParameterType.SECRET) != (name in self.secrets):
                raise wrong_field("declared", f'parameter "{name}" is declared both as SECRET and as no SECRET')
            value = self.params.get(name, "")
            if value and not is_open(value, given=True) and (sentence := misfit_of(name, declared, value)):
                raise wrong_field("params", sentence)
        return self

    @model_validator(mode="after")
    def _parallel_has_no_lines(self) -> Self:
        if self.serial_key is not None and self.execution_type is ExecutionType.PARALLEL:
            raise wrong_field(
                "serial_key",
                "serial_key makes lines of runs, and PARALLEL runs wait for none; write execution_type: SERIAL_WAIT "
                "beside it, or remove it",
            )
        if self.max_active > 1 and self.execution_type is ExecutionType.PARALLEL:
            raise wrong_field(
                "max_active",
                "max_active makes runs wait, and PARALLEL runs wait for none; remove execution_type: PARALLEL, or "
                "max_active",
            )
        return self

    @model_validator(mode="after")
    def _triggers_can_come(self) -> Self:
        if sentence := unfit_trigger(self.triggers):
            raise wrong_field("triggers", sentence)
        return self

    @model_validator(mode="after")
    def _dates_come_one_by_one(self) -> Self:
        if self.after_last is None:
            return self
        if self.execution_type is not ExecutionType.PARALLEL:
            raise wrong_field(
                "after_last",
                "after_last runs one date after the other by itself, and a run that waits in a line would keep the one "
                f"before from being repeated; remove execution_type: {self.execution_type}, or after_last",
            )
        if GATE in (task.name for task in self.tasks):
            raise wrong_field("after_last", f'after_last adds a task "{GATE}"; give yours another name')
        return self

    @model_validator(mode="after")
    def _logic_tasks_fit_in(self) -> Self:
        logic = {place: task for place, task in enumerate(self.tasks) if task.type in LOGIC_TYPES}
        after: dict[str, list[str]] = {task.name: [] for task in logic.values()}
        for task in self.tasks if logic else ():
            for before in task.after:
                if before in after:
                    after[before].append(task.name)
        for place, task in logic.items():
            for field in NOT_OF_LOGIC:
                if field in task.model_fields_set and getattr(task, field) and not _is_dependent_timeout(task, field):
                    sentence = f"a {task.type} task runs in the master and has no {field}; remove it"
                    raise wrong_task(place, f'task "{task.name}": {sentence}')
            for sentence in check_logic(task.type, task.params, after[task.name], task.after):
                raise wrong_task(place, f'task "{task.name}": {sentence}')
        return self

    @model_validator(mode="after")
    def _secrets_stay_secret(self) -> Self:
        if not (secrets := self.secret_names()):
            return self
        for name in self.outputs:
            if name in secrets:
                raise ValueError(f'the output "{name}" is SECRET; what a run gives is stored in clear, so remove it')
        for name, value in self.params.items():
            if name not in self.secrets and (sentence := made_of_secret(name, value, secrets)):
                raise ValueError(sentence)
        if self.serial_key is not None and (sentence := made_of_secret("serial_key", self.serial_key, secrets)):
            raise wrong_field("serial_key", f"a key is stored in clear: {sentence}")
        for place, task in enumerate(self.tasks):
            if task.each is not None and (sentence := made_of_secret("each", task.each.written, secrets)):
                raise wrong_task(place, f'task "{task.name}": its elements are stored in clear: {sentence}')
            for param in task.local_params:
                if param.type is not ParameterType.SECRET and (
                    sentence := made_of_secret(param.name, param.value, secrets)
                ):
                    raise wrong_task(place, f'task "{task.name}": {sentence}')
            if task.type in LOGIC_TYPES and (named := secrets.intersection(references(json.dumps(task.params)))):
                sentence = f"{task.type} runs in the master, which opens no secret; remove ${{{min(named)}}}"
                raise wrong_task(place, f'task "{task.name}": {sentence}')
        return self

    def secret_names(self) -> frozenset[str]:
        """The names of all SECRET parameters, of the workflow and of its tasks."""
        local = (param.name for task in self.tasks for param in task.local_params if param.type is ParameterType.SECRET)
        return frozenset(chain(self.secrets, local))

    @classmethod
    def parse(cls, content: Mapping[str, Any], beside: Sequence[str] = ()) -> Self:
        """Validate and build. Raises `InvalidWorkflow` with one sentence for each problem.

        `beside` names the fields that stand beside those of a specification where `content` comes from.
        """
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            raise InvalidWorkflow.of(error, cls, content, beside) from None

    def coded(self, known: Mapping[str, int] | None = None) -> WorkflowSpec:
        """Give every task a code: its own, else its entry in `known` (name -> code), else a new one."""
        given = {task.name: task.code for task in self.tasks if task.code is not None}
        given = {**(known or {}), **given}
        taken = set(given.values())
        highest = max(taken, default=0)
        beyond, gaps = range(highest + 1, TASK_CODE_MAX + 1), range(1, highest)
        free = (code for code in chain(beyond, gaps) if code not in taken)
        tasks = []
        for task in self.tasks:
            if task.name not in given:
                given[task.name] = next(free)
            tasks.append(task.model_copy(update={"code": given[task.name]}))
        return self.model_copy(update={"tasks": tuple(tasks)})

    def gated(self, workflow: WorkflowCode) -> WorkflowSpec:
        """Add the task of `after_last` before the first tasks of a run. Needs `coded`."""
        if self.after_last is None:
            return self
        first = TaskSpec(**gate(workflow, {task.code for task in self.tasks}))
        tasks = [
            task if task.after or task.is_closing else task.model_copy(update={"after": (GATE,)}) for task in self.tasks
        ]
        return self.model_copy(update={"tasks": (first, *tasks)})

    def graph(self, *, without_closing: bool = False) -> Graph:
        """The dependencies of the tasks, by code. Needs `coded`."""
        codes = {task.name: TaskCode(task.code or 0) for task in self.tasks}
        tasks = [task for task in self.tasks if not (without_closing and task.is_closing)]
        return Graph.of({codes[task.name]: [codes[before] for before in task.after] for task in tasks})


def _is_dependent_timeout(task: TaskSpec, field: str) -> bool:
    return task.type == "DEPENDENT" and field == "timeout"


def _unfit(task: TaskSpec) -> str | None:
    """What in a task does not fit together; None if everything does."""
    unfit = unfit_to_wait(task) or misused(task) or unfit_to_close(task) or unfit_for_each(task)
    return unfit or _without_rule(task) or misplaced_output(task)


def _without_rule(task: TaskSpec) -> str | None:
    """Why a task cannot have its start rule; None if it can."""
    if task.start_when is StartWhen.ALL_SUCCESS:
        return None
    rule = f"start_when: {task.start_when}"
    if not task.after:
        return f'{rule} is about the tasks before it, and it has none; name them in "after", or remove it'
    if task.type == "CONDITIONS":
        return f"a CONDITIONS task starts when all tasks before it have ended; remove {rule}"
    return None


def _absent(task: str, before: str, names: Sequence[str]) -> str:
    near = nearest(before, names)
    fix = f'did you mean "{near}"?' if near else "add that task or remove it"
    return f'task "{task}" waits for "{before}", which does not exist; {fix}'
