"""What START commands start: the definitions, the plans of their versions, and the parameters and key of a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from dao.definitions import definitions
from dao.definitions.definitions import Definition
from dao.postgres.pool import AsyncConnection
from master.drive.plans import Fetched, PlanKey, Plans
from model.accounts.project_limits import NO_LIMITS, used_by_start
from model.choices import ExecutionType, ReleaseState
from model.definitions.plan import Plan
from model.errors import NotFound, Refused
from model.ids import WorkflowCode, WorkflowInstanceId
from model.parameters.parameters import parse_parameters
from model.parameters.precedence import INSTANCE_ID, base_parameters, builtins_of
from model.runs.commands import Start
from model.runs.serial_lines import value_of_key
from model.time.intervals import FireRule, Interval
from model.time.run_time import RunTime


@dataclass(frozen=True, slots=True)
class RunParameters:
    """The parameters of a new run. `key` is empty without a `serial_key`."""

    values: Mapping[str, str]
    time: RunTime
    key: str


@dataclass(frozen=True, slots=True)
class ToStart:
    """The definitions that some commands start, and the plans of their versions, or the reason why there is none."""

    heads: Mapping[WorkflowCode, Definition]
    plans: Mapping[PlanKey, Plan | Refused]

    @property
    def serial(self) -> set[WorkflowCode]:
        return {plan.workflow_code for plan in self.plans.values() if isinstance(plan, Plan) and is_serial(plan)}

    @property
    def keyed(self) -> set[WorkflowCode]:
        """The workflows among them that have a line for each key."""
        plans = (plan for plan in self.plans.values() if isinstance(plan, Plan))
        return {plan.workflow_code for plan in plans if plan.spec.serial_key is not None}

    def startable(self, command: Start) -> tuple[Definition, Plan]:
        """The definition and plan that a command starts. Raises `Refused`."""
        head = self.heads.get(command.workflow_code)
        if head is None:
            raise NotFound(f"there is no workflow with code {command.workflow_code}")
        if head.release_state is not ReleaseState.ONLINE:
            raise Refused(f'workflow "{head.name}" is OFFLINE; put it ONLINE before starting it')
        plan = self.plans[head.code, command.workflow_version or head.version]
        if isinstance(plan, Refused):
            raise plan
        if head.limits != NO_LIMITS:
            head.limits.check(head.project, plan.used | used_by_start(command, plan.spec))
        return head, plan

    def plan_of(self, command: Start) -> Plan | None:
        """The plan that a command names, even if it cannot be started."""
        head = self.heads.get(command.workflow_code)
        plan = self.plans.get((head.code, command.workflow_version or head.version)) if head else None
        return plan if isinstance(plan, Plan) else None


async def read(connection: AsyncConnection, commands: Collection[Start], plans: Plans, fetched: Fetched) -> ToStart:
    """Read what these commands start. Raises `PlansMissing`."""
    if not commands:
        return ToStart({}, {})
    heads = await definitions.to_start(
        connection,
        {command.workflow_code for command in commands},
        {command.schedule_id for command in commands if command.schedule_id is not None},
        {command.workflow_code for command in commands if command.schedule_id is None and command.parent is None},
    )
    versions: set[PlanKey] = {
        (head.code, command.workflow_version or head.version)
        for command in commands
        if (head := heads.get(command.workflow_code))
    }
    plans.check_projects(heads, versions)
    return ToStart(heads, plans.at_hand(versions, fetched))


def is_serial(plan: Plan) -> bool:
    """Whether runs of this version wait for each other."""
    return plan.spec.execution_type is not ExecutionType.PARALLEL


def rule_of(command: Start, head: Definition) -> FireRule | None:
    """The rule for the interval of a run that is no child; None without a schedule."""
    return head.rule if command.schedule_id is None else head.rules.get(command.schedule_id)


def parameters_of(
    command: Start,
    head: Definition,
    plan: Plan,
    inherited: str | None,
    now: datetime,
    interval: Interval | None,
) -> RunParameters:
    """The parameters of the run that a command starts.

    Args:
        command: with the date of a backfill, if it is one.
        inherited: the parameters of the run above a child, as JSON text.
        now: database time; a run without a `schedule_time` is for this time.
        interval: of the run.
    Raises:
        Refused: a parameter, or the key made of them, is invalid.
    """
    time = RunTime(command.schedule_time or now, command.time_zone or plan.spec.time_zone, interval)
    values = base_parameters(
        plan,
        project=parse_parameters(head.project_params, "the project's parameters"),
        inherited=parse_parameters(inherited, "the parent's parameters") if inherited is not None else {},
        startup=command.params,
        time=time,
        are_made=command.parent is not None,
    )
    return RunParameters(values, time, _key(plan, values, time))


def _key(plan: Plan, values: Mapping[str, str], time: RunTime) -> str:
    written = plan.spec.serial_key
    if written is None:
        return ""
    builtins = dict(builtins_of(plan, WorkflowInstanceId(0), time))
    del builtins[INSTANCE_ID]  # a run has no id before its row exists
    return value_of_key(written, {**builtins, **values}, time.at, time.zone, time.interval)
