"""The facts behind `why`: the state of a command, a run or a task, from the rows that were read. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from dao.cluster.node_rows import NodeRow
from dao.commands.queue_listings import GroupQueue
from dao.runs.relations import ChildRun
from dao.runs.rows import CommandFate, Run, TaskRun
from dao.runs.run_readings import LEVELS_BELOW_MAX, OpenCommand, RunReading
from model.accounts.rights import is_seen
from model.choices import OnWorkerLoss
from model.cluster.master_settings import MasterSettings
from model.cluster.nodes import Heartbeat, NodeKind, NodeState, NodeStatus
from model.cluster.slots import Slot
from model.definitions.plan import Plan
from model.ids import Epoch, WorkflowInstanceId
from model.logic.dependent import DependentParams
from model.runs.command_moves import URGENT, CommandType
from model.runs.elements import task_of
from model.runs.states import NotBegun, TaskState, WorkflowState
from service.explain.choices import choice_behind, choices_of
from service.explain.explanation import SILENT_AFTER_S, why_command
from service.explain.run_explanation import RunFacts, why_run
from service.explain.subjects import CommandFacts, GroupFacts, MasterFacts, RestartFacts, TaskFacts
from service.explain.tasks_without_attempts import latest_by_name, without_attempts
from service.runs.references import plan_of
from service.slots.slot_report import MasterSlot, report


@dataclass(frozen=True)
class Masters:
    """The living masters, in the order of their slots, the number of slots, and how masters take commands."""

    living: Sequence[MasterSlot]
    total: int
    settings: MasterSettings

    @classmethod
    def of(cls, living: Sequence[NodeRow], members: Sequence[Heartbeat] | None, settings: MasterSettings) -> Masters:
        """Those of the living nodes; `members` are the masters that the registry has, None if it cannot be read."""
        slots = report([node for node in living if node.kind is NodeKind.MASTER], members, (), None)
        return cls(slots.masters, slots.total, settings)

    @property
    def draining(self) -> list[str]:
        return [each.row.shown for each in self.living if each.row.drain is not None]

    def _taking(self) -> list[MasterFacts]:
        return [master_facts(each.row) for each in self.living if each.row.drain is None]

    def command(self, waiting: OpenCommand | CommandFate) -> CommandFacts:
        """A command that waits for one of them."""
        slot = Slot.of(waiting.id, self.settings.id_step, self.total) if self.total else None
        owner = next((each.row for each in self.living if slot and each.slot == slot), None)
        return CommandFacts(
            waiting.id,
            waits=True,
            age_s=waiting.age_s,
            slot=slot,
            owner=master_facts(owner) if owner else None,
            steal_after_s=self.settings.steal_after.total_seconds(),
            masters=self._taking() if waiting.type not in URGENT else (),
            draining=self.draining,
        )


def command_facts(fate: CommandFate, masters: Masters) -> CommandFacts:
    """A command that waits, or did."""
    if fate.handled_at is None:
        return masters.command(fate)
    return CommandFacts(fate.id, waits=False, age_s=fate.age_s, run=fate.run_id, refused=fate.reason)


@dataclass(frozen=True)
class Family:
    """The run that was asked about and those below it, as facts."""

    reading: RunReading
    masters: Masters
    groups: dict[str, GroupFacts]
    visible: Collection[str] | None
    """The projects whose runs may be named; None = all."""

    @classmethod
    def of(cls, reading: RunReading, masters: Masters, visible: Collection[str] | None = None) -> Family:
        """Compute the facts that all its runs share."""
        return cls(reading, masters, _groups(reading.living, reading.queue), visible)

    def run(self, id_: WorkflowInstanceId, nested: int = 0) -> RunFacts:
        """A run; `nested` is the number of runs above it that are explained by it."""
        reading, run, attempts = self.reading, self.reading.runs[id_], self.reading.attempts[id_]
        plan = plan_of(run, reading.specs)
        choices = choices_of(plan, attempts, reading.values)
        tasks = _without_attempt(run, plan, attempts, choices) if plan else []
        tasks += [self._task(run, attempt, plan, nested) for attempt in latest_by_name(attempts).values()]
        idle_s = reading.idle_s[id_]
        tasks = [replace(task, idle_s=idle_s, choice=choices.get(task.name, task.choice)) for task in tasks]
        places = {name: place for place, name in enumerate(plan.codes)} if plan else {}
        tasks.sort(key=lambda task: places.get(task.name, 0))
        asked = [command for command in reading.commands.get(id_, ()) if command.parent is None]
        failing_over = [each for each in asked if each.type == CommandType.RECOVER_TOLERANCE_FAULT_PROCESS]
        resuming = [each for each in asked if each not in failing_over]
        is_driven = run.state.is_driven or run.state is WorkflowState.FAILOVER
        beats = {each.row.epoch: each.row.beat_age_s for each in self.masters.living}
        taking = [each.row for each in self.masters.living if each.row.drain is None]
        return RunFacts(
            run.id,
            run.workflow or f"code {run.workflow_code}",
            run.state,
            tasks,
            run.took_s,
            run.reason,
            run.master,
            owner_gone=is_driven and self._is_gone(run.master_id),
            masters=sum(row.beat_age_s <= SILENT_AFTER_S for row in taking),
            draining=self.masters.draining,
            failing_over=self.masters.command(failing_over[0]) if failing_over and not run.state.is_final else None,
            before=reading.before.get(id_, ()),
            serial_key=run.serial_key,
            older=reading.older.get(id_),
            max_active=reading.max_active.get(id_, 1),
            requested=None if run.state.is_final else run.requested_state,
            idle_s=idle_s,
            silent_s=beats.get(run.master_id, 0.0) if is_driven else 0.0,
            dates_left=run.dates_left or 0,
            resuming=self.masters.command(resuming[0]) if resuming and run.state.is_final else None,
            above=self._above(run) if run.state.is_final else None,
            project=run.project,
            ending_as=run.ending_as,
        )

    def _is_gone(self, epoch: Epoch) -> bool:
        return self.reading.life.get(epoch) in (None, NodeState.LEFT, NodeState.FENCED)

    def _above(self, run: Run) -> tuple[int, WorkflowState] | None:
        """The topmost run above one at rest that is at rest too; else its parent; None if it is no child."""
        found, above, seen = None, run, {run.id}
        while above.parent_id is not None and above.parent_id in self.reading.runs and above.parent_id not in seen:
            if not is_seen(above.parent_project, self.visible):
                break
            above = self.reading.runs[above.parent_id]
            seen.add(above.id)
            if found is None or above.state.is_final:
                found = (above.id, above.state)
            if not above.state.is_final:
                break
        return found

    def _task(self, run: Run, attempt: TaskRun, plan: Plan | None, nested: int) -> TaskFacts:
        """A task with an attempt that counts."""
        reading, here = self.reading, (attempt.code, attempt.attempt)
        own = [each for each in reading.children[run.id] if (each.code, each.attempt) == here]
        asked_of_own = [
            command
            for command in reading.commands.get(run.id, ())
            if command.parent is not None and (command.parent.code, command.parent.attempt) == here
        ]
        children = [each for each in own if is_seen(each.project, self.visible)]
        asked = [each for each in asked_of_own if is_seen(each.project, self.visible)]
        child, first = None, _explaining(children, run, attempt)
        if first is not None and nested < LEVELS_BELOW_MAX and first.id in reading.attempts:
            child = why_run(self.run(first.id, nested + 1))
        elif first is None and asked and not attempt.state.is_final:
            child = why_command(self.masters.command(asked[0]))
        return TaskFacts(
            run.id,
            attempt.name,
            attempt.id,
            attempt.state,
            group=self.groups.get(attempt.worker_group, GroupFacts(attempt.worker_group, 0, 0, 0, 0)),
            place=reading.places.get(attempt.id),
            worker=attempt.worker_address,
            worker_gone=not attempt.state.is_final and attempt.worker is not None and self._is_gone(attempt.worker),
            since_s=attempt.took_s,
            queued_s=_queued_s(reading, attempt),
            kill_requested=attempt.kill_requested,
            reason=attempt.reason,
            wait_reason=attempt.wait_reason,
            due_in_s=_due_in_s(reading, attempt),
            children=[(each.id, each.state) for each in children],
            asked=[command.id for command in asked],
            hidden=len(own) + len(asked_of_own) - len(children) - len(asked),
            child=child,
            depends_on=_depends_on(plan, attempt),
            awaits=reading.awaits.get(attempt.id),
            asks=reading.asks.get(attempt.id),
            given_back=_given_back(reading.attempts[run.id], attempt),
            progress=attempt.progress,
            is_stream=attempt.is_stream,
            is_ready=attempt.is_ready,
            restart=_restart(reading, run, attempt),
            loss_is_final=_loss_is_final(plan, attempt),
            looks=attempt.looks,
            retries=attempt.retries,
            last_exit_code=_exit_code_before(reading.attempts[run.id], attempt),
            pools=reading.pools.get(attempt.id, ()),
            elements=reading.elements.get(attempt.id),
        )


def _due_in_s(reading: RunReading, attempt: TaskRun) -> float | None:
    """The rest of its wait for a time, or for an answer."""
    asks = reading.asks.get(attempt.id)
    if asks is None:
        return attempt.due_in_s
    return None if asks.due_at is None else (asks.due_at - reading.now).total_seconds()


def _queued_s(reading: RunReading, attempt: TaskRun) -> float:
    """How long ago it was queued: for its next look, if it looks again."""
    queued_s = (reading.now - attempt.queued_at).total_seconds()
    return queued_s if attempt.looks is None or attempt.due_in_s is None else min(queued_s, -attempt.due_in_s)


def _without_attempt(run: Run, plan: Plan, attempts: Sequence[TaskRun], choices: Mapping[str, str]) -> list[TaskFacts]:
    latest = latest_by_name(attempts)
    return [
        TaskFacts(
            run.id,
            name,
            waits_for=[(before, latest[before].state if before in latest else None) for before in not_begun.missing],
            not_begun=not_begun.state,
            choice=choice_behind(plan, plan.codes[name], choices) if not_begun.state is NotBegun.SKIPPED else None,
            rule=not_begun.rule,
            never=not_begun.never,
            unmet=not_begun.unmet,
            closes=not_begun.closes,
        )
        for name, not_begun in without_attempts(
            plan, run.scope, attempts, ended=run.state.is_final, cleans_up=run.ending_as is not None
        ).items()
    ]


def _explaining(children: Sequence[ChildRun], run: Run, attempt: TaskRun) -> ChildRun | None:
    """The child that explains a task: of one that failed a failed one; else a paused one, for which somebody must act,
    before one that has not ended."""
    if attempt.state.is_final:
        states = [WorkflowState.FAILURE] if attempt.state is TaskState.FAILURE else []
    else:
        goes_on = run.state in (WorkflowState.RUNNING_EXECUTION, WorkflowState.FAILOVER) and not run.requested_state
        states = [WorkflowState.PAUSE] * goes_on + [state for state in WorkflowState if not state.is_final]
    found = [child for child in children if child.state in states]
    return min(found, key=lambda child: child.state is not WorkflowState.PAUSE, default=None)


def _given_back(attempts: Sequence[TaskRun], attempt: TaskRun) -> str | None:
    """Why a worker gave back the attempt before this one; None if none did. A stream that moved had begun."""
    if attempt.is_stream:
        return None
    for each in attempts:
        if (each.code, each.attempt) == (attempt.code, attempt.attempt - 1) and each.worker is not None:
            return each.reason if each.state is TaskState.PAUSE else None
    return None


def _exit_code_before(attempts: Sequence[TaskRun], attempt: TaskRun) -> int | None:
    """The exit code of the attempt before this one, if it had one."""
    before = (attempt.code, attempt.attempt - 1)
    return next((each.exit_code for each in attempts if (each.code, each.attempt) == before), None)


def _loss_is_final(plan: Plan | None, attempt: TaskRun) -> bool:
    """Whether its definition says that a loss of its worker is a failure."""
    task = plan.tasks.get(task_of(attempt.code)) if plan else None
    return task is not None and task.on_worker_loss is OnWorkerLoss.FAIL


def _restart(reading: RunReading, run: Run, attempt: TaskRun) -> RestartFacts | None:
    """The restart of this stream, if there is one."""
    restarts = [] if run.state.is_final else reading.restarts.get(run.id, ())
    mine = next((each for each in restarts if each.code == attempt.code), None)
    if mine is None:
        return None
    names = {each.code: each.name for each in reading.attempts[run.id] if each.valid}
    begun = [names[each.code] for each in restarts if each.has_begun and each.code in names]
    wait = [names[each.code] for each in restarts if not each.has_begun and each.code in names]
    if mine.has_begun:
        return RestartFacts(mine.asked_by, then=wait)
    queued = [
        each.name
        for each in reading.attempts[run.id]
        if each.valid and each.is_stream and each.code != mine.code and each.state is TaskState.QUEUED
    ]
    return RestartFacts(mine.asked_by, after=begun, queued=queued)


def _depends_on(plan: Plan | None, attempt: TaskRun) -> list[str]:
    task = plan.tasks.get(attempt.code) if plan else None
    return [str(item) for item in task.logic.items()] if task and isinstance(task.logic, DependentParams) else []


def _groups(living: Sequence[NodeRow], queue: Sequence[GroupQueue]) -> dict[str, GroupFacts]:
    waiting = {each.worker_group: each.waiting for each in queue}
    serving: dict[str, list[NodeRow]] = {name: [] for name in waiting}
    for node in living:
        if node.kind is NodeKind.WORKER and node.state is NodeState.ALIVE and node.heartbeat is not None:
            for name in node.heartbeat.groups:
                serving.setdefault(name, []).append(node)
    return {name: _group(name, nodes, waiting.get(name, 0)) for name, nodes in serving.items()}


def _group(name: str, workers: Sequence[NodeRow], waiting: int) -> GroupFacts:
    taking = [worker.heartbeat for worker in workers if worker.drain is None and worker.heartbeat is not None]
    busy = [worker for worker in taking if worker.status is NodeStatus.BUSY]
    ready = [worker for worker in taking if worker.status is not NodeStatus.BUSY]
    return GroupFacts(
        name,
        len(workers),
        sum(worker.running for worker in ready),
        sum(worker.capacity for worker in ready),
        waiting,
        len(busy),
        [worker.because for worker in busy],
        [worker.shown for worker in workers if worker.drain is not None],
    )


def master_facts(row: NodeRow) -> MasterFacts:
    """A living master, according to its last beat."""
    assert row.kind is NodeKind.MASTER
    beat = row.heartbeat
    if beat is None:
        return MasterFacts(row.address, is_busy=False, running=0, capacity=0, beat_age_s=row.beat_age_s)
    return MasterFacts(
        row.address,
        beat.status is NodeStatus.BUSY,
        beat.running,
        beat.capacity,
        beat_age_s=row.beat_age_s,
        because=beat.because,
    )
