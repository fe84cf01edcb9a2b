"""The facts behind `why`: what is so about a command, a run or a task, read from the tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from dao import definitions, lists, questions
from dao.lists import Run, TaskRun
from dao.nodes import NodeRow
from model.errors import NotFound
from model.ids import CommandId, WorkflowInstanceId
from model.nodes import NodeKind, NodeState, NodeStatus, Slot
from model.states import TaskState
from model.workflow import TaskSpec, WorkflowSpec
from shoal.references import as_id, find_run
from shoal.slot_report import SlotReport
from shoal.why import CommandFacts, GroupFacts, MasterFacts, RunFacts, TaskFacts, Why, why_command, why_run, why_task

PLACES_ASKED_MAX = 20
"""Places in the queue are counted one by one; nobody reads more of them."""


@dataclass(frozen=True)
class Surroundings:
    """What is so about the cluster, read once for an answer."""

    slots: SlotReport
    workers: Sequence[NodeRow]
    id_step: int
    steal_after: timedelta


async def answer_command(connection: AsyncConnection, around: Surroundings, named: str) -> Why:
    """Why a command is not taken. Raises `NotFound`."""
    number = as_id(named)
    if number is None:
        raise NotFound(f'"{named}" is no command; give its id, as `shoal queue` shows it')
    return why_command(await _command(connection, around, CommandId(number)))


async def answer_run_or_task(connection: AsyncConnection, around: Surroundings, named: str) -> Why:
    """Why a run does not move (an id, @last, @failed, a workflow), or a task of it (RUN/name). Raises `NotFound`."""
    of_run, slash, task_name = named.partition("/")
    facts = await _run(connection, around, await find_run(connection, of_run))
    if not slash:
        return why_run(facts)
    task = next((task for task in facts.tasks if task.name == task_name), None)
    if task is None:
        known = ", ".join(task.name for task in facts.tasks[:20])
        raise NotFound(f'run {facts.id} has no task "{task_name}"; it has {known}')
    if facts.handing_on is not None or facts.owner_gone:
        return why_run(facts)  # nothing begins without an owner, whatever the task itself waits for
    return why_task(task, facts.state)


async def _command(connection: AsyncConnection, around: Surroundings, id_: CommandId) -> CommandFacts:
    fate = await questions.fate_of(connection, id_)
    if fate.handled_at is not None:
        return CommandFacts(fate.id, waits=False, age_s=fate.age_s, run=fate.run, refused=fate.reason)
    total = around.slots.total
    slot = Slot(fate.id // around.id_step % total, total) if total else None
    owner = next((master.row for master in around.slots.masters if slot and master.slot == slot), None)
    return CommandFacts(
        fate.id,
        waits=True,
        age_s=fate.age_s,
        slot=slot,
        owner=_master(owner) if owner else None,
        steal_after_s=around.steal_after.total_seconds(),
    )


async def _run(connection: AsyncConnection, around: Surroundings, id_: WorkflowInstanceId) -> RunFacts:
    run, attempts = await lists.run(connection, id_)
    key = (run.workflow_code, run.version)
    spec = (await definitions.specs(connection, [key])).get(key)
    handing_on = None if run.state.is_final else await questions.handing_on(connection, id_)
    owner = await questions.node_life(connection, run.master)
    groups = await _groups(connection, around.workers)
    latest = {attempt.name: attempt for attempt in attempts}
    tasks = spec.tasks if isinstance(spec, WorkflowSpec) else ()
    facts = [_waiting(run, task, latest) for task in tasks if task.name not in latest]
    for position, attempt in enumerate(latest.values()):
        asks = attempt.state is TaskState.QUEUED and position < PLACES_ASKED_MAX
        place = await questions.place_in_queue(connection, attempt.id) if asks else None
        facts.append(await _begun(connection, run, attempt, groups, place))
    return RunFacts(
        run.id,
        run.workflow or f"code {run.workflow_code}",
        run.state,
        facts,
        run.took_s,
        run.reason,
        run.owner,
        owner_gone=not run.state.is_final and (owner is None or owner.state in (NodeState.LEFT, NodeState.FENCED)),
        masters=len(around.slots.masters),
        handing_on=await _command(connection, around, handing_on) if handing_on is not None else None,
    )


def _waiting(run: Run, task: TaskSpec, latest: Mapping[str, TaskRun]) -> TaskFacts:
    states = {name: latest[name].state if name in latest else None for name in task.after}
    missing = [(name, state) for name, state in states.items() if state is not TaskState.SUCCESS]
    return TaskFacts(run.id, task.name, waits_for=missing)


async def _begun(
    connection: AsyncConnection, run: Run, attempt: TaskRun, groups: Mapping[str, GroupFacts], place: int | None
) -> TaskFacts:
    gone = False
    if not attempt.state.is_final and attempt.worker is not None:
        life = await questions.node_life(connection, attempt.worker)
        gone = life is None or life.state in (NodeState.LEFT, NodeState.FENCED)
    return TaskFacts(
        run.id,
        attempt.name,
        attempt.id,
        attempt.state,
        group=groups.get(attempt.worker_group, GroupFacts(attempt.worker_group, 0, 0, 0, 0)),
        place=place,
        worker=attempt.worker_address,
        worker_gone=gone,
        since_s=attempt.took_s,
        kill_requested=attempt.kill_requested,
        reason=attempt.reason,
        wait_reason=attempt.wait_reason,
        due_in_s=attempt.due_in_s,
    )


async def _groups(connection: AsyncConnection, workers: Iterable[NodeRow]) -> dict[str, GroupFacts]:
    waiting = {each.worker_group: each.waiting for each in await lists.queue_by_group(connection)}
    serving: dict[str, list[NodeRow]] = {name: [] for name in waiting}
    for worker in workers:
        if worker.state is NodeState.ALIVE and worker.heartbeat is not None:
            for name in worker.heartbeat.groups:
                serving.setdefault(name, []).append(worker)
    return {
        name: GroupFacts(
            name,
            len(rows),
            sum(row.heartbeat.running for row in rows if row.heartbeat),
            sum(row.heartbeat.capacity for row in rows if row.heartbeat),
            waiting.get(name, 0),
        )
        for name, rows in serving.items()
    }


def _master(row: NodeRow) -> MasterFacts:
    assert row.kind is NodeKind.MASTER
    beat = row.heartbeat
    if beat is None:
        return MasterFacts(row.address, is_busy=False, running=0, capacity=0, beat_age_s=row.beat_age_s)
    return MasterFacts(
        row.address, beat.status is NodeStatus.BUSY, beat.running, beat.capacity, beat_age_s=row.beat_age_s
    )
