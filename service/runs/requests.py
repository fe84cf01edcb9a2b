"""What is said with a request about runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field, field_validator

from dao.run_lists import run_conditions
from model.choices import FailureStrategy, Priority, TaskDependType, WarningType
from model.fields import NAME_LENGTH_MAX
from model.runs.backfill import DATES_MAX, Order
from model.runs.bulk import BulkAction
from model.runs.serial_lines import KEY_LENGTH_MAX
from model.runs.states import TaskState, WorkflowState
from model.runs.triggers import Trigger
from service.fields import Asked, GivenId, Id, Moment, Text
from service.paging import HowCounted, PageQuery
from service.runs.answers import AttemptAnswer, ListedRun
from service.wanted_fields import FieldOf, Fields

REFERENCE_LENGTH_MAX = 400
BULK_MAX = 10_000
WAIT_S_MAX = 30
Name = Annotated[Text, Field(max_length=NAME_LENGTH_MAX)]
Date = Annotated[Text, Field(max_length=60)]
Chain = Annotated[Sequence[Moment], Field(max_length=DATES_MAX)]
Project = Annotated[Name | None, Field(description="only of workflows of this project")]
Warn = Annotated[WarningType | None, Field(description="which ends raise an alert; null: as its definition says")]
AlertGroup = Annotated[Name | None, Field(description="who gets its alerts; null: as its definition says")]
Triggers = Annotated[
    Sequence[Trigger],
    Field(max_length=20, description="started by one of these: HAND is a person, a program or a row of `command`"),
]
Words = Annotated[Text, Field(min_length=1, max_length=200)]
Parameters = Annotated[
    Sequence[Annotated[Text, Field(max_length=2_000, pattern="^[^=]+=")]],
    Field(
        max_length=10,
        description="with these start parameters, each as name=value, with the value that the run has; all of them",
    ),
]


def pairs(parameters: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, _, value in (each.partition("=") for each in parameters))


class RunFilter(Asked):
    """Which runs are meant; newest first."""

    state: Annotated[Sequence[WorkflowState], Field(description="in one of these states")] = ()
    trigger: Triggers = ()
    master: Annotated[Name | None, Field(description="that this master drives now: its id, address or name")] = None
    worker: Annotated[
        Name | None, Field(description="of which this worker has or had an attempt: its id, address or name")
    ] = None
    parameter: Parameters = ()
    q: Annotated[
        Words | None,
        Field(description="digits: the beginning of its id; else a part of its workflow's name, or of its reason"),
    ] = None
    serial_key: Annotated[
        Text | None,
        Field(min_length=1, max_length=KEY_LENGTH_MAX, description="of the line of this key of a serial workflow"),
    ] = None
    workflow: Annotated[Name | None, Field(description="of workflows with this name")] = None
    project: Project = None
    since: Annotated[Text | None, Field(max_length=40, description="started within this time: 30s, 15m, 12h, 7d")] = (
        None
    )
    started_after: Annotated[Moment | None, Field(description="started then or later")] = None
    started_before: Annotated[Moment | None, Field(description="started before then")] = None
    children: Annotated[
        bool,
        Field(
            description="also child runs, of SUB_PROCESS and DYNAMIC tasks; always with `workflow`, `q`, "
            "`serial_key` or the trigger PARENT"
        ),
    ] = False

    @property
    def has_children(self) -> bool:
        """Whether child runs are meant too."""
        named = any(each is not None for each in (self.workflow, self.q, self.serial_key))
        return self.children or named or Trigger.PARENT in self.trigger

    @property
    def conditions(self) -> run_conditions.RunConditions:
        """What no index has of it."""
        return run_conditions.RunConditions(
            self.trigger, self.master, self.worker, pairs(self.parameter), self.q, self.serial_key
        )


class RunQuery(RunFilter, PageQuery):
    """A page of runs. Where few of many fit, a page may be short or empty and not the last: `has_more` says so."""

    count_children: Annotated[
        bool,
        Field(
            description="count the child runs that are left out; not with `trigger`, `master`, `worker`, `parameter`"
        ),
    ] = False
    progress: Annotated[
        bool, Field(description="also `usual_s`, `left_s`, `tasks_total` and `tasks_done`; naming one in `fields` too")
    ] = False
    fields: Annotated[Sequence[Annotated[Text, FieldOf(ListedRun)]], *Fields] = ()
    count: HowCounted = None


class RunReference(Asked):
    """How people name a run."""

    name: Annotated[
        Text,
        Field(
            max_length=REFERENCE_LENGTH_MAX, description="its id, @last, @failed, or a workflow's name for its last run"
        ),
    ]
    project: Project = None


class TaskReference(Asked):
    """How people name an attempt of a task."""

    name: Annotated[
        Text,
        Field(max_length=2 * REFERENCE_LENGTH_MAX, description="its id, or RUN/name for the last attempt of that task"),
    ]
    project: Project = None


class StartOptions(Asked):
    """How runs are started; what is left out is as the definition says."""

    priority: Priority | None = None
    failure_strategy: FailureStrategy | None = None
    worker_group: Name | None = None
    warning_type: Warn = None
    alert_group: AlertGroup = None
    environment: Annotated[Name | None, Field(description="for the tasks that have none")] = None


class StartRun(StartOptions):
    """How a workflow is started; what is left out is as its definition says."""

    params: Annotated[dict[Text, Text], Field(max_length=1000, default_factory=dict, description="their values")]
    version: Annotated[int | None, Field(ge=1, le=2**31 - 1, description="another version than the current one")] = None
    date: Annotated[Date | None, Field(description="the date or time that it is for; left out: now")] = None
    tasks: Annotated[Sequence[Name], Field(max_length=10_000, description="begin with these tasks only")] = ()
    depend: Annotated[
        TaskDependType | None, Field(description="with `tasks`: alone, with all before them, or with all after them")
    ] = None
    dry_run: Annotated[bool, Field(description="everything happens except the tasks' own work")] = False


class RerunRun(Asked):
    """What of an ended run runs again: all of it, only what failed, or some tasks."""

    failed: Annotated[bool, Field(description="only what failed or was killed, and all after it; successes stay")] = (
        False
    )
    tasks: Annotated[Sequence[Name], Field(max_length=10_000, description="only these tasks")] = ()
    depend: Annotated[TaskDependType | None, Field(description="with `tasks`: which others run")] = None
    newest: Annotated[
        bool,
        Field(
            description="go on with the newest version; alone: what succeeded and is the same in it counts as done, "
            "and all else runs"
        ),
    ] = False


class StartBackfill(Asked):
    """For which dates a workflow runs, in which chains. Either `dates`, or `from` and `to`, both inclusive."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    begin: Annotated[Date | None, Field(alias="from", description="the first date")] = None
    end: Annotated[Date | None, Field(alias="to", description="the last date")] = None
    dates: Annotated[Sequence[Date], Field(max_length=DATES_MAX, description="single dates instead")] = ()
    parallelism: Annotated[
        int | None, Field(ge=0, le=DATES_MAX, description="how many chains; 0: each date is one; left out: one chain")
    ] = None
    order: Annotated[Order, Field(description="which date of a chain comes first")] = Order.ASC
    dependents: Annotated[bool, Field(description="also the workflows that depend on it")] = False
    skip_done: Annotated[bool, Field(description="leave out the dates for which a run has succeeded")] = False
    params: Annotated[dict[Text, Text], Field(max_length=1000, default_factory=dict, description="of each run")]
    warning_type: Warn = None
    alert_group: AlertGroup = None
    dry_run: Annotated[bool, Field(description="only say which dates; start nothing")] = False


class BackfillDates(Asked):
    """The dates of a backfill, as its start answered them."""

    workflows: Annotated[Sequence[Id], Field(min_length=1, max_length=1000, description="their codes")]
    chains: Annotated[Sequence[Chain], Field(max_length=DATES_MAX)]
    runs: Annotated[bool, Field(description="also answer the run of each date")] = False

    @field_validator("chains")
    @classmethod
    def _not_too_many(cls, chains: Sequence[Sequence[datetime]]) -> Sequence[Sequence[datetime]]:
        if sum(map(len, chains)) > DATES_MAX:
            raise ValueError(f"a backfill has at most {DATES_MAX} dates")
        return chains


class WaitQuery(Asked):
    """How long the answer may wait for a master to take the command."""

    wait: Annotated[float, Field(ge=0, le=WAIT_S_MAX, description="seconds")] = 0.0


class WhyQuery(Asked):
    """What of a run is to be explained."""

    task: Annotated[Name | None, Field(description="a task of it, by name")] = None


class TaskQuery(PageQuery):
    """A page of attempts of tasks, newest first. Where few of many fit, a page may be short or empty and not the last:
    `has_more` says so."""

    state: Annotated[Sequence[TaskState], Field(max_length=20, description="in one of these states")] = ()
    type: Annotated[Sequence[Name], Field(max_length=50, description="of one of these task types")] = ()
    name: Annotated[Name | None, Field(description="of tasks with this name")] = None
    workflow: Annotated[Name | None, Field(description="of workflows with this name")] = None
    project: Project = None
    worker: Annotated[Name | None, Field(description="that this worker ran: its id, address or name")] = None
    worker_group: Annotated[Name | None, Field(description="of this worker group")] = None
    trigger: Triggers = ()
    master: Annotated[Name | None, Field(description="of runs that this master drives now")] = None
    parameter: Parameters = ()
    q: Annotated[
        Words | None, Field(description="digits: the beginning of its id; else a part of the task's name or its reason")
    ] = None
    since: Annotated[Text | None, Field(max_length=40, description="started within this time: 30s, 15m, 12h, 7d")] = (
        None
    )
    started_after: Annotated[Moment | None, Field(description="started then or later")] = None
    started_before: Annotated[Moment | None, Field(description="started before then")] = None
    fields: Annotated[Sequence[Annotated[Text, FieldOf(AttemptAnswer)]], *Fields] = ()
    count: HowCounted = None


class ElementQuery(PageQuery):
    """Which elements of a task, by their index."""

    task: Annotated[Name, Field(description="the name of the task")]
    state: Annotated[Sequence[TaskState], Field(max_length=20, description="in one of these states")] = ()


class BulkRuns(Asked):
    """One request for many runs: those with these ids, or those that match a filter."""

    action: BulkAction
    ids: Annotated[Sequence[GivenId], Field(max_length=BULK_MAX)] = ()
    filter: RunFilter | None = None
    dry_run: Annotated[bool, Field(description="only say what would be done")] = True


class CommandsQuery(Asked):
    """Which commands."""

    ids: Annotated[Sequence[GivenId], Field(min_length=1, max_length=BULK_MAX)]
