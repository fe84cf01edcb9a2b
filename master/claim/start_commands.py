"""Commands that make a new run: START_PROCESS, START_CURRENT_TASK_PROCESS, SCHEDULER, COMPLEMENT_DATA.

They are handled as a set: definitions and plans are read together, a faulty command is refused alone, the others are
inserted in one statement, and each run that begins gets its runnable. If no child can be made, its command also
notifies the parent run.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from dao.definitions.definitions import Definition
from dao.postgres.database import FencedTransaction, database_time
from dao.runs import after_end, children, serial_line, started_runs, workflow_instances
from dao.runs.children import Above, Unmade
from dao.runs.workflow_instances import NewInstance
from master.claim.backfill_chains import first_date
from master.claim.batch_work import BatchWork
from master.claim.line_keys import OlderCommands, were_many
from master.claim.serial import line_up
from master.claim.to_start import ToStart, parameters_of, rule_of
from master.drive.driver import Driver
from master.drive.events import Started
from master.drive.handling import feed
from master.drive.latest import tell_latest
from master.drive.runnable import WorkflowRunnable
from model.choices import ExecutionType
from model.definitions.names import as_id
from model.definitions.plan import Plan
from model.errors import NotFound, Refused
from model.ids import CommandId, Epoch, WorkflowCode, WorkflowInstanceId
from model.runs.command_moves import CommandType
from model.runs.commands import CommandRow, Start, read_parent, scrubbed
from model.runs.instances import Parent, WorkflowInstance
from model.runs.states import WorkflowState
from model.time.intervals import Interval, interval_at
from node.threads import in_thread

W = WorkflowState
NOT_FROM_ABOVE = (
    "only a task that stands for another workflow makes a child of its run, by its master; leave parent out to start "
    "a run of its own"
)
CHAIN_MAX = 100
"""How many runs may trigger one another in a chain: circles of workflows stop here."""
TOO_LONG_A_CHAIN = (
    f"{CHAIN_MAX} runs have triggered one another up to this one; their workflows seem to do so in a circle: remove "
    "one of their triggers"
)
DEPTH_MAX = 30
"""The maximum nesting depth of workflows: one that contains itself stops here."""


@dataclass(frozen=True, slots=True)
class _Accepted:
    row: CommandRow
    new: NewInstance
    plan: Plan


class _NotAwaited(Refused):
    """No task waits for that child, or it no longer does."""


class Starter:
    """Makes new runs, owned by this master."""

    def __init__(self, epoch: Epoch, driver: Driver) -> None:
        self._epoch = epoch
        self._driver = driver

    async def handle(self, starts: Sequence[tuple[CommandRow, Start]], to_start: ToStart, work: BatchWork) -> None:
        """Handle these commands, after the batch's other changes to their lines."""
        connection = work.connection
        parents = {command.parent for _, command in starts if command.parent}
        above = await children.above(connection, {parent.instance for parent in parents}) if parents else {}
        # A duplicate, by a master that failed over while the first command was on its way. It is looked up while the
        # parents are locked: otherwise one that is being made now would be missed, and counted as halted or not
        # awaited.
        made = await _existing(connection, parents) if parents else {}
        now = await database_time(connection)
        accepted: list[_Accepted] = []
        unmade: list[Unmade] = []
        for row, command in starts:
            if command.parent in made:
                work.done(row, made[command.parent])
                continue
            try:
                halted = _halted(command.parent, above) if command.parent else None
                if (command.parent or command.source) and row.from_above != "true":
                    raise Refused(NOT_FROM_ABOVE)
                if command.source and command.source.chain > CHAIN_MAX:
                    raise Refused(TOO_LONG_A_CHAIN)
                if command.parent and halted:
                    unmade.append(Unmade(command.parent, halted))
                    work.done(row)
                    continue
                head, plan = to_start.startable(command)
                if command.backfill is not None:
                    command = await first_date(connection, command, plan)
                new = _new_instance(command, head, plan, above, now, await _interval(command, head, above, now))
                accepted.append(_Accepted(row, new, plan))
            except Refused as error:
                if isinstance(error, _NotAwaited) and row.from_above == "true":
                    work.done(row)  # its task was stopped since, or has another attempt
                    continue
                plan_of = to_start.plan_of(command)
                work.refuse(scrubbed(row, plan_of.secrets) if plan_of else row, str(error))
                if command.parent and command.parent.instance in above and row.from_above == "true":
                    unmade.append(Unmade(command.parent, W.FAILURE, str(error), command.workflow_code))
        made_now = await self._make(accepted, work) if accepted else ()
        if unmade:
            await children.report_unmade(connection, unmade)
        keyed = [(row, command) for row, command in starts if command.workflow_code in to_start.keyed]
        # Runs of any key may have waited for these: they have none, or it was not known before, or they were many.
        over = {
            command.workflow_code
            for row, command in keyed
            if row.id not in made_now or command.type is CommandType.COMPLEMENT_DATA
        }
        if keyed:
            over |= await were_many(connection, Counter(command.workflow_code for _, command in keyed))
        if over:
            await serial_line.call(connection, over)

    async def _make(self, accepted: Sequence[_Accepted], work: BatchWork) -> Collection[CommandId]:
        """Returns the commands that made a new run."""
        connection = work.connection
        if any(each.new.execution_type is not ExecutionType.PARALLEL for each in accepted):
            older = OlderCommands(work, self._driver.plans)
            lined_up = await line_up(connection, work.lines, [each.new for each in accepted], older.oldest)
            accepted = [replace(each, new=new) for each, new in zip(accepted, lined_up, strict=True)]
        made = await workflow_instances.insert(connection, [each.new for each in accepted], self._epoch)
        running: list[WorkflowRunnable] = []
        over: list[WorkflowInstanceId] = []
        for each in accepted:
            if each.row.id not in made:
                await self._explain(each, work)
                continue
            id_, schedule_time = made[each.row.id]
            if each.new.state is W.RUNNING_EXECUTION:
                running.append(WorkflowRunnable(_instance(id_, schedule_time, each.new), each.plan))
            elif each.new.state.is_final:
                over.append(id_)
            work.done(each.row, id_)
        starters = [(each.row.id, each.new.started_by) for each in accepted]
        begun = {made[id_][0]: starter for id_, starter in starters if starter and id_ in made}
        if begun:
            await started_runs.report(connection, begun)
        await after_end.notify_awaiting(connection, over)
        await tell_latest(connection, running)
        for runnable in running:
            await feed(runnable, Started(), work.writes)
        work.touch(runnable.instance.id for runnable in running)
        self._driver.runs.hold(running)
        return made

    async def _explain(self, each: _Accepted, work: BatchWork) -> None:
        """Report why nothing was made: the run exists already."""
        parent = each.new.parent or each.new.started_by
        if parent is not None:
            work.done(each.row, (await _existing(work.connection, [parent])).get(parent))
        else:
            when = each.new.schedule_time
            work.refuse(
                scrubbed(each.row, each.plan.secrets),
                f"schedule {each.new.schedule_id} has already started a run for {when}",
            )


async def _existing(connection: FencedTransaction, parents: Collection[Parent]) -> dict[Parent, WorkflowInstanceId]:
    """The runs that already exist for these parents."""
    waiting = [parent for parent in parents if parent.waits]
    found = await children.existing(connection, waiting) if waiting else {}
    if len(waiting) < len(parents):
        found |= await started_runs.existing(connection, [parent for parent in parents if not parent.waits])
    return found


async def notify_parent(connection: FencedTransaction, row: CommandRow, reason: str) -> None:
    """Notify the parent of a child that is not made, so that it does not wait forever."""
    try:
        parent = read_parent(row.parent)
    except Refused:
        return
    if row.from_above != "true":
        return  # no task asked for it, so none waits
    if parent is None or not await children.above(connection, [parent.instance]):
        return
    if not await _existing(connection, [parent]):  # else a duplicate: the child notifies the parent
        code = as_id(row.workflow_code or "")
        workflow = None if code is None else WorkflowCode(code)
        await children.report_unmade(connection, [Unmade(parent, W.FAILURE, reason, workflow)])


def _halted(parent: Parent, above: Mapping[WorkflowInstanceId, Above]) -> WorkflowState | None:
    """The state that counts for a child that is not made because its parent is being halted. Raises `Refused`."""
    instance = above.get(parent.instance)
    if instance is None:
        raise NotFound(f"there is no workflow instance {parent.instance} to be its parent")
    if instance.state is W.READY_PAUSE:
        return W.PAUSE
    if instance.state is W.READY_STOP or parent.code in instance.killed:
        return W.STOP
    if instance.attempts.get(parent.code) != parent.attempt:
        raise _NotAwaited(f"workflow instance {parent.instance} does not wait for this child")
    if instance.depth >= DEPTH_MAX:
        raise Refused(f"workflows are nested {DEPTH_MAX} deep; one of them seems to contain itself")
    return None


async def _interval(
    command: Start, head: Definition, above: Mapping[WorkflowInstanceId, Above], now: datetime
) -> Interval | None:
    """The interval of the new run, kept even if its schedule changes; a child has its parent's."""
    if command.parent:
        return above[command.parent.instance].interval
    rule = rule_of(command, head)
    # In a thread: a cron rule with distant times may take longer than this master's other work can wait.
    return None if rule is None else await in_thread(interval_at, rule, command.schedule_time or now)


def _new_instance(
    command: Start,
    head: Definition,
    plan: Plan,
    above: Mapping[WorkflowInstanceId, Above],
    now: datetime,
    interval: Interval | None,
) -> NewInstance:
    spec = plan.spec
    parent = above[command.parent.instance] if command.parent else None
    given = parameters_of(command, head, plan, parent.params if parent else None, now, interval)
    scope = plan.graph.around(plan.find(command.start_tasks), command.depend_type) if command.start_tasks else None
    if command.params:
        plan.check_given({name: given.values[name] for name in command.params}, scope)
    return NewInstance(
        command.id,
        plan.workflow_code,
        plan.version,
        command.failure_strategy or spec.failure_strategy,
        command.priority or spec.priority,
        command.worker_group or spec.worker_group,
        json.dumps(given.values, ensure_ascii=False) if given.values else "{}",
        command_type=command.type,
        execution_type=spec.execution_type,
        startup_names=json.dumps(list(command.params), ensure_ascii=False) if command.params else "[]",
        schedule_time=given.time.at,
        time_zone=given.time.time_zone,
        interval=given.time.interval,
        schedule_id=command.schedule_id,
        dry_run=command.dry_run,
        environment=command.environment or spec.environment,
        warning_type=command.warning_type or spec.warning_type,
        alert_group=command.alert_group or spec.alert_group,
        scope=None if scope is None else json.dumps(sorted(scope)),
        backfill=command.backfill,
        depth=parent.depth + 1 if parent else 0,
        parent=command.parent if command.parent and command.parent.waits else None,
        started_by=command.parent if command.parent and not command.parent.waits else None,
        source=command.source,
        serial_key=given.key,
        traceparent=command.traceparent,
    )


def _instance(id_: WorkflowInstanceId, schedule_time: datetime, new: NewInstance) -> WorkflowInstance:
    return WorkflowInstance(
        id_,
        new.workflow_code,
        new.workflow_version,
        new.failure_strategy,
        new.priority,
        new.worker_group,
        new.params,
        startup_names=new.startup_names,
        schedule_time=schedule_time,
        time_zone=new.time_zone,
        dry_run=new.dry_run,
        environment=new.environment,
        scope=None if new.scope is None else frozenset(json.loads(new.scope)),
        depth=new.depth,
        parent=new.parent,
        interval=new.interval,
    )
