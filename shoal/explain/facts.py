"""The facts behind `why`: the state of a command, a run or a task, read from the tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.cluster.nodes import NodeRow
from dao.runs import relations
from dao.runs.relations import ChildRun
from dao.views import listings, lookups, queue_listings
from dao.views.listings import Run, TaskRun
from master.drive.plan import Plan
from model.command_moves import URGENT
from model.errors import NotFound
from model.ids import CommandId, WorkflowInstanceId
from model.logic.dependent import DependentParams
from model.nodes import Heartbeat, NodeKind, NodeState, NodeStatus, Slot
from model.states import TaskState, WorkflowState
from shoal.cluster.slot_report import SlotReport
from shoal.explain.answer import Why
from shoal.explain.choices import choice_behind, read_choices
from shoal.explain.explanation import SILENT_AFTER_S, why_command, why_task
from shoal.explain.run_explanation import RunFacts, why_run
from shoal.explain.subjects import CommandFacts, GroupFacts, MasterFacts, TaskFacts
from shoal.explain.tasks_without_attempts import NotBegun, latest_by_name, without_attempts
from shoal.runs.references import as_id, find_plan, find_run

PLACES_ASKED_MAX = 20
"""Positions in the queue are counted one by one; a larger number is not useful."""
NESTED_MAX = 5
"""The maximum depth of nested runs in a readable sentence."""


@dataclass(frozen=True)
class Surroundings:
    """The state of the cluster, read once for an answer."""

    slots: SlotReport
    workers: Sequence[NodeRow]
    id_step: int
    steal_after: timedelta
    now: datetime


async def answer_command(connection: AsyncConnection, around: Surroundings, named: str) -> Why:
    """Why a command is not taken. Raises `NotFound`."""
    number = as_id(named)
    if number is None:
        raise NotFound(f'"{named}" is no command; give its id, as `shoal queue` shows it')
    return why_command(await _command(connection, around, CommandId(number)))


async def answer_run_or_task(
    connection: AsyncConnection, around: Surroundings, named: str, project: str | None = None
) -> Why:
    """Why a run does not move (an id, @last, @failed, a workflow), or a task of it (RUN/name).

    Raises `NotFound`, and `Refused` as `find_run`.
    """
    of_run, slash, task_name = named.partition("/")
    facts = await _run(connection, around, await find_run(connection, of_run, project))
    if not slash:
        return why_run(facts)
    task = next((task for task in facts.tasks if task.name == task_name), None)
    if task is None:
        known = ", ".join(task.name for task in facts.tasks[:20])
        raise NotFound(f'run {facts.id} has no task "{task_name}"; it has {known}')
    if facts.is_left:
        return why_run(facts)  # without an owner nothing begins
    if task.not_begun is NotBegun.WAITING and (facts.requested or facts.state) is not WorkflowState.RUNNING_EXECUTION:
        run = why_run(facts)
        return Why(f"{task.name} has not begun, since its run begins nothing now. {run.sentence}", run.do)
    return why_task(task, facts.state)


async def _command(connection: AsyncConnection, around: Surroundings, id_: CommandId) -> CommandFacts:
    fate = await lookups.fate_of(connection, id_)
    if fate.handled_at is not None:
        return CommandFacts(fate.id, waits=False, age_s=fate.age_s, run=fate.run, refused=fate.reason)
    total = around.slots.total
    slot = Slot.of(fate.id, around.id_step, total) if total else None
    owner = next((master.row for master in around.slots.masters if slot and master.slot == slot), None)
    needs_room = fate.type not in URGENT
    return CommandFacts(
        fate.id,
        waits=True,
        age_s=fate.age_s,
        slot=slot,
        owner=master_facts(owner) if owner else None,
        steal_after_s=around.steal_after.total_seconds(),
        masters=[master_facts(each.row) for each in around.slots.masters] if needs_room else (),
    )


async def _run(connection: AsyncConnection, around: Surroundings, id_: WorkflowInstanceId, nested: int = 0) -> RunFacts:
    """A run. Those below it are read as far as they explain it; `nested` is the number of runs above it."""
    run, attempts = await listings.run(connection, id_)
    plan = await find_plan(connection, run)
    failing_over = None if run.state.is_final else await lookups.failing_over(connection, id_)
    owner = await lookups.node_life(connection, run.master)
    latest = latest_by_name(attempts)
    choices = await read_choices(connection, plan, attempts)
    facts = _without_attempt(run, plan, attempts, latest, choices) if plan else []
    facts += await _begun(connection, around, run, attempts, plan, nested)
    idle_s = await lookups.idle_s(connection, id_)
    facts = [replace(task, idle_s=idle_s, choice=choices.get(task.name, task.choice)) for task in facts]
    places = {name: place for place, name in enumerate(plan.codes)} if plan else {}
    facts.sort(key=lambda task: places.get(task.name, 0))
    is_driven = run.state.is_driven or run.state is WorkflowState.FAILOVER
    is_in_line = run.state is WorkflowState.SERIAL_WAIT
    rows = [master.row for master in around.slots.masters]
    silent_s = next((row.beat_age_s for row in rows if is_driven and row.epoch == run.master), 0.0)
    resuming = await lookups.resuming(connection, id_) if run.state.is_final else None
    return RunFacts(
        run.id,
        run.workflow or f"code {run.workflow_code}",
        run.state,
        facts,
        run.took_s,
        run.reason,
        run.owner,
        owner_gone=is_driven and (owner is None or owner.state in (NodeState.LEFT, NodeState.FENCED)),
        masters=sum(row.beat_age_s <= SILENT_AFTER_S for row in rows),
        failing_over=await _command(connection, around, failing_over) if failing_over is not None else None,
        before=await relations.before(connection, id_, run.workflow_code) if is_in_line else (),
        requested=None if run.state.is_final else run.requested_state,
        idle_s=idle_s,
        silent_s=silent_s,
        dates_left=run.dates_left,
        resuming=await _command(connection, around, resuming) if resuming is not None else None,
        above=await _above(connection, run) if run.state.is_final else None,
        project=run.project,
    )


async def _above(connection: AsyncConnection, run: Run) -> tuple[int, WorkflowState] | None:
    """The topmost run above one at rest that is at rest too; else its parent; None if it is no child."""
    found, above, seen = None, run, {run.id}
    while above.parent is not None and above.parent not in seen:
        seen.add(above.parent)
        try:
            above = await listings.run_head(connection, above.parent)
        except NotFound:
            break
        if found is None or above.state.is_final:
            found = (above.id, above.state)
        if not above.state.is_final:
            break
    return found


def _without_attempt(
    run: Run, plan: Plan, attempts: Sequence[TaskRun], latest: Mapping[str, TaskRun], choices: Mapping[str, str]
) -> list[TaskFacts]:
    return [
        TaskFacts(
            run.id,
            name,
            waits_for=[(before, latest[before].state if before in latest else None) for before in not_begun.missing],
            not_begun=not_begun.state,
            choice=choice_behind(plan, plan.codes[name], choices) if not_begun.state is NotBegun.SKIPPED else None,
        )
        for name, not_begun in without_attempts(plan, run.scope, attempts, ended=run.state.is_final).items()
    ]


async def _begun(
    connection: AsyncConnection,
    around: Surroundings,
    run: Run,
    attempts: Sequence[TaskRun],
    plan: Plan | None,
    nested: int,
) -> list[TaskFacts]:
    """The tasks with an attempt that counts."""
    groups = await _groups(connection, around.workers)
    has_children = plan is None or plan.has_children
    children = await relations.children(connection, run.id) if has_children else []
    on_their_way = await relations.asked(connection, run.id) if has_children and not run.state.is_final else []
    facts = []
    for position, attempt in enumerate(latest_by_name(attempts).values()):
        asks = attempt.state is TaskState.QUEUED and position < PLACES_ASKED_MAX
        place = await lookups.place_in_queue(connection, attempt.id) if asks else None
        own = [child for child in children if (child.code, child.attempt) == (attempt.code, attempt.attempt)]
        here = (attempt.code, attempt.attempt)
        asked = [id_ for id_, parent in on_their_way if (parent.code, parent.attempt) == here]
        child, first = None, _telling(own, run, attempt)
        if first is not None and nested < NESTED_MAX:
            child = why_run(await _run(connection, around, first.id, nested + 1))
        elif first is None and asked and not attempt.state.is_final:
            child = why_command(await _command(connection, around, asked[0]))
        facts.append(
            TaskFacts(
                run.id,
                attempt.name,
                attempt.id,
                attempt.state,
                group=groups.get(attempt.worker_group, GroupFacts(attempt.worker_group, 0, 0, 0, 0)),
                place=place,
                worker=attempt.worker_address,
                worker_gone=await _is_gone(connection, attempt),
                since_s=attempt.took_s,
                queued_s=(around.now - attempt.queued_at).total_seconds(),
                kill_requested=attempt.kill_requested,
                reason=attempt.reason,
                wait_reason=attempt.wait_reason,
                due_in_s=attempt.due_in_s,
                children=[(each.id, each.state) for each in own],
                asked=asked,
                child=child,
                depends_on=_depends_on(plan, attempt),
                given_back=_given_back(attempts, attempt),
            )
        )
    return facts


def _telling(children: Sequence[ChildRun], run: Run, attempt: TaskRun) -> ChildRun | None:
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
    """Why a worker gave back the attempt before this one; None if none did."""
    for each in attempts:
        if (each.code, each.attempt) == (attempt.code, attempt.attempt - 1) and each.worker is not None:
            return each.reason if each.state is TaskState.PAUSE else None
    return None


def _depends_on(plan: Plan | None, attempt: TaskRun) -> list[str]:
    task = plan.tasks.get(attempt.code) if plan else None
    return [str(item) for item in task.logic.items()] if task and isinstance(task.logic, DependentParams) else []


async def _is_gone(connection: AsyncConnection, attempt: TaskRun) -> bool:
    if attempt.state.is_final or attempt.worker is None:
        return False
    life = await lookups.node_life(connection, attempt.worker)
    return life is None or life.state in (NodeState.LEFT, NodeState.FENCED)


async def _groups(connection: AsyncConnection, workers: Iterable[NodeRow]) -> dict[str, GroupFacts]:
    waiting = {each.worker_group: each.waiting for each in await queue_listings.queue_by_group(connection)}
    serving: dict[str, list[Heartbeat]] = {name: [] for name in waiting}
    for worker in workers:
        if worker.state is NodeState.ALIVE and worker.heartbeat is not None:
            for name in worker.heartbeat.groups:
                serving.setdefault(name, []).append(worker.heartbeat)
    return {name: _group(name, beats, waiting.get(name, 0)) for name, beats in serving.items()}


def _group(name: str, workers: Sequence[Heartbeat], waiting: int) -> GroupFacts:
    busy = [worker for worker in workers if worker.status is NodeStatus.BUSY]
    ready = [worker for worker in workers if worker.status is not NodeStatus.BUSY]
    return GroupFacts(
        name,
        len(workers),
        sum(worker.running for worker in ready),
        sum(worker.capacity for worker in ready),
        waiting,
        len(busy),
        [worker.because for worker in busy],
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
