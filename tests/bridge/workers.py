"""The calls of workers."""

from __future__ import annotations

from collections.abc import Collection

from dao.cluster.nodes import Me
from dao.pools import pool_leases
from dao.streams import stream_readiness
from dao.streams.stream_readiness import Probed
from dao.tasks import requeue, task_claims, task_progress
from dao.tasks.task_claims import ClaimedTask, Report
from dao.tasks.task_progress import Reported
from model.cluster.nodes import NodeKind
from model.runs.looks import Again
from model.runs.states import TaskState
from tests.bridge.program import Program
from tests.simulation.tables import Values

T = TaskState
GROUPS = ("default", "gpu")
_RUNNING = (T.DISPATCH, T.RUNNING_EXECUTION)
_ENDS = (T.SUCCESS, T.SUCCESS, T.FAILURE, T.KILL, T.SKIPPED)


def _id_of(task: ClaimedTask) -> int:
    return task.id


async def claim_tasks(p: Program) -> None:
    me = await p.licensed(NodeKind.WORKER)
    groups = p.random.choice((GROUPS, GROUPS, GROUPS[:1], GROUPS[1:]))
    first = p.random.choice((0, 1, 5, 20))
    await p.call(task_claims.work_waits, groups, me.epoch, walks=p.chance(0.9), first=first, runs=p.chance(0.8))
    claimed = await p.call(task_claims.claim, groups, p.random.choice((1, 2, 5)), me.epoch)
    for task in sorted(claimed, key=_id_of):
        if task.state == T.DISPATCH and p.chance(0.3):
            await p.call(task_claims.mark_running, task, me.epoch)


async def mark_running(p: Program) -> None:
    me = await p.licensed(NodeKind.WORKER)
    task = p.one(sorted(await p.call(task_claims.owned, me.epoch), key=_id_of))
    await p.call(task_claims.mark_running, task, me.epoch)


def running_on(p: Program, me: Me) -> list[Values]:
    """The attempts of a worker."""
    return [
        each for _, each in p.rows(p.server.tasks, lambda each: each.worker_id == me.epoch and each.state in _RUNNING)
    ]


async def give_back(p: Program) -> None:
    """Give back some of what it claimed and has not started."""
    me = await p.licensed(NodeKind.WORKER)
    claimed = p.rows(p.server.tasks, lambda each: each.worker_id == me.epoch and each.state is T.DISPATCH)
    await p.call(requeue.put_back, p.some([row.id for row, _ in claimed]) if claimed else [])


async def report(p: Program, busy: Collection[int] = ()) -> None:
    """Report ends of attempts, with their resources; sometimes of attempts that were taken from it."""
    me = await p.licensed(NodeKind.WORKER, busy)
    await p.call(task_claims.to_end, me.epoch)
    tasks = [each for _, each in p.rows(p.server.tasks)] if p.chance(0.15) else running_on(p, me)
    if not tasks:
        return
    ended = p.some(tasks, 4)
    await p.call(task_claims.report, [_report(p, task) for task in ended], me.epoch)
    if leased := [task.id for task in ended if task.resources is not None]:
        await p.call(pool_leases.free, leased, me.epoch)


def _report(p: Program, task: Values) -> Report:
    state = p.random.choice(_ENDS)
    if p.chance(0.2):
        return Report(
            task.id, task.attempt + p.chance(0.1), T.DELAY_EXECUTION, "no such file", None, None, None, _again(p)
        )
    outputs = '{"x":"1"}' if state is T.SUCCESS and p.chance(0.5) else None
    attempt = task.attempt + p.chance(0.1)
    return Report(task.id, attempt, state, "" if state is T.SUCCESS else "it failed", 0, outputs)


def _again(p: Program) -> Again:
    """Pauses of whole hours, so that moments between the two stores do not count."""
    late = p.random.choice((T.FAILURE, T.SKIPPED))
    at_s = p.random.choice((None, None, None, 0.0))
    return Again(7200.0, p.random.choice((1, 2)), 36_000.0, p.random.choice((None, 0.0, 1e8)), late, at_s)


async def tell_people(p: Program) -> None:
    """Write for people what no simulated task says, also about attempts taken from the worker."""
    me = await p.licensed(NodeKind.WORKER)
    if tasks := [each for _, each in p.rows(p.server.tasks, lambda each: each.state in _RUNNING)]:
        progress = [Reported(each.id, each.attempt, 1.0, 2.0, "half of it") for each in p.some(tasks)]
        await p.call(task_progress.record, progress, me.epoch)
        probed = [Probed(each.id, each.workflow_instance_id, each.attempt, is_ready=p.chance(0.5)) for each in tasks]
        await p.call(stream_readiness.record, probed, me.epoch)


ACTIONS = ((claim_tasks, 12), (mark_running, 6), (give_back, 2), (report, 13), (tell_people, 1))
