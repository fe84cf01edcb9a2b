"""Streams, as masters begin, move and restart them (`master/streams.py`), and workers share them out."""

from __future__ import annotations

from dao.streams import stream_claims, stream_ends, streams
from dao.streams.streams import AskedRestart
from dao.tasks import task_claims, task_instances
from dao.tasks.task_claims import Report
from dao.tasks.task_instances import NewTask
from model.cluster.nodes import NodeKind
from model.ids import TaskCode, TaskInstanceId, WorkflowInstanceId
from model.runs.states import TaskState, WaitReason
from tests.bridge.masters import new_task
from tests.bridge.program import Program
from tests.bridge.workers import GROUPS, running_on
from tests.simulation.statements.rows import RUNNING
from tests.simulation.tables import Values

T = TaskState
STREAMS = (4, 5)
"""Their codes in each run."""
_ENDS = (T.FAILURE, T.FAILURE, T.FAILURE, T.FAILURE, T.SUCCESS, T.KILL)
_BEGUN = (T.RUNNING_EXECUTION, T.DELAY_EXECUTION)


async def begin(p: Program) -> None:
    """Each that is not there, or has ended: some pause first. What is too old goes, and nothing that counts."""
    me = await p.licensed(NodeKind.MASTER, p.drivers())
    owned = p.owned(me)
    new = [each for id_, _ in (p.some(owned) if owned else []) for each in _next_streams(p, id_)]
    if not new:
        return
    await p.call(task_instances.queue, new, me.epoch)
    kept = p.random.choice((1, 3))
    old = [(each.workflow_instance_id, each.attempt.code, each.attempt.attempt - kept) for each in new]
    await p.call(stream_ends.delete_old, [*old, (new[0].workflow_instance_id, TaskCode(1), 100)], me.epoch)


def _next_streams(p: Program, id_: WorkflowInstanceId) -> list[NewTask]:
    """The next attempts of a run's streams, mostly of those that neither wait nor run."""
    lasts = {task.task_code: task for task in p.tasks_of(id_) if task.flag}
    over = [code for code in STREAMS if code not in lasts or lasts[code].state.is_final or p.chance(0.03)]
    return [_new_stream(p, id_, code) for code in over]


def _new_stream(p: Program, id_: WorkflowInstanceId, code: int) -> NewTask:
    wait = p.random.choice((None, None, None, None, WaitReason.RETRY))
    state = T.QUEUED if wait is None else T.DELAY_EXECUTION
    return new_task(p, id_, code, state=state, wait_reason=wait)._replace(stream="{}", dispatch_timeout_s=None)


async def wear_out(p: Program) -> None:
    """Streams of a run fail on a worker as soon as they have begun, again and again; others go on there."""
    me = await p.licensed(NodeKind.MASTER, p.drivers())
    id_, _ = p.one(p.owned(me))
    worker = p.node(NodeKind.WORKER, _busy(p))
    for _ in range(p.random.choice((1, 2, 3))):
        if new := _next_streams(p, id_):
            await p.call(task_instances.queue, new, me.epoch)
        begun = await p.call(stream_claims.claim, dict.fromkeys(GROUPS, 9), worker.epoch)
        failed = [Report(task.id, task.attempt, T.FAILURE, "it failed", 1, None) for task in begun if p.chance(0.8)]
        await p.call(task_claims.report, failed, worker.epoch)
    if new := _next_streams(p, id_):
        await p.call(task_instances.queue, new, me.epoch)
    await p.call(stream_claims.troubled)


async def care(p: Program) -> None:
    """Take care of all streams, as the master whose turn it is does."""
    await p.licensed(NodeKind.MASTER)
    await p.call(streams.try_lock)
    asked = await p.call(streams.restarts)
    for each in asked:
        if p.chance(0.5):
            await _begin_restart(p, each)
    done = [each.restart for each in asked if p.chance(0.3) or not each.restart.goes_on]
    await p.call(streams.restarted, done)
    if asked and p.chance(0.3):
        await p.call(streams.restarts)
    groups = await p.call(streams.asked_rebalances)
    living = await p.call(streams.living)
    await p.call(stream_claims.troubled)
    await p.call(streams.first_in_line)
    if living and p.chance(0.4):
        await p.call(streams.hand_over, {each.id: "it moves" for each in p.some(living, 2)})
    await p.call(streams.rebalanced, groups)


async def _begin_restart(p: Program, asked: AskedRestart) -> None:
    """Begin a restart from the last attempt as it is now, or was a moment ago."""
    state, ended = p.random.choice((asked.restart.state, asked.restart.state, *_BEGUN)), 0
    if asked.id is not None and state is T.RUNNING_EXECUTION:
        ended = asked.restart.attempt if await p.call(streams.hand_over, {asked.id: "somebody restarts it"}) else 0
    elif asked.id is not None and state is T.DELAY_EXECUTION:
        await p.call(streams.start_now, [asked.id])
    await p.call(streams.begin_restart, asked.restart, ended)


async def ask_restart(p: Program) -> None:
    """Also of what is no stream, and of runs that have ended or do not exist."""
    living = p.rows(p.server.tasks, lambda each: each.stream is not None and not each.state.is_final)
    runs = [each.workflow_instance_id for _, each in living] if p.chance(0.8) else p.instances()
    codes = [TaskCode(code) for code in p.some((*STREAMS, *STREAMS, 1))]
    await p.call(streams.ask_restart, p.one(runs), sorted(set(codes)), p.random.choice(("anna", "otto")))


async def start_now(p: Program) -> None:
    """Start what pauses, and what does not."""
    await p.licensed(NodeKind.MASTER)
    tasks = [TaskInstanceId(row.id) for row, each in p.rows(p.server.tasks) if each.state in _BEGUN]
    if tasks:
        await p.call(streams.start_now, p.some(tasks))
        await p.call(streams.hand_over, dict.fromkeys(p.some(tasks), "it moves"))


async def claim(p: Program) -> None:
    me = await p.licensed(NodeKind.WORKER)
    groups = p.random.choice((GROUPS, GROUPS, GROUPS[:1], GROUPS[1:]))
    found = await p.call(stream_claims.count, groups)
    limits = {group: p.random.choice((1, 2, 3)) for group in groups if found[group].waiting or p.chance(0.1)}
    claimed = await p.call(stream_claims.claim, limits, me.epoch)
    for task in sorted(claimed, key=lambda each: each.id):
        if task.state == T.DISPATCH and p.chance(0.7):
            await p.call(task_claims.mark_running, task, me.epoch)


async def end(p: Program) -> None:
    """End streams: most fail; those handed over pause."""
    me = await p.licensed(NodeKind.WORKER, _busy(p))
    asked = await p.call(task_claims.to_end, me.epoch)
    running = [task for task in running_on(p, me) if task.stream is not None]
    if not running:
        return
    reports = [_report(p, task, asked) for task in p.some(running)]
    await p.call(task_claims.report, reports, me.epoch)
    ends = [(each.workflow_instance_id, each.task_code, each.attempt) for each in p.some(running)]
    await p.call(stream_ends.ran_s, ends)


def _busy(p: Program) -> set[int]:
    """The workers that run streams."""
    return {task.worker_id for _, task in p.rows(p.server.tasks, lambda task: task.stream and task.state in RUNNING)}


def _report(p: Program, task: Values, asked: dict[TaskInstanceId, str | None]) -> Report:
    is_asked = task.id in asked
    state = (T.KILL if asked[task.id] is None else T.PAUSE) if is_asked else p.random.choice(_ENDS)
    return Report(task.id, task.attempt, state, "" if state is T.SUCCESS else "it ended", 0, None)


ACTIONS = ((begin, 40), (wear_out, 12), (care, 40), (ask_restart, 15), (start_now, 6), (claim, 45), (end, 35))
