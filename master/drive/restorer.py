"""Restores runnables from the rows of their runs: after a failover, a command, or a failed transaction."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from dao.cluster.nodes import Me
from dao.runs import children, started_runs, workflow_instances
from dao.tasks import past_attempts
from master.drive.events import Restored
from master.drive.handling import feed
from master.drive.held_runs import HeldRuns
from master.drive.latest import tell_latest
from master.drive.plans import Plans, plan_key
from master.drive.run_limit import Delay
from master.drive.runnable import WorkflowRunnable
from master.drive.work import Work
from model.definitions.plan import Plan
from model.errors import Refused
from model.ids import TaskCode, WorkflowInstanceId
from model.runs.instances import HaltRequest, WorkflowInstance
from model.runs.states import TaskState, WorkflowState


class Restorer:
    """Restores runs of one master, and holds them in `runs`."""

    def __init__(self, me: Me, plans: Plans, runs: HeldRuns) -> None:
        self._me = me
        self._plans = plans
        self._runs = runs

    async def restore(
        self,
        work: Work,
        instances: Sequence[WorkflowInstance],
        resumes: Mapping[WorkflowInstanceId, frozenset[TaskCode]] | None = None,
    ) -> None:
        """Restore the runnables of own runs from their rows, and hold them. One that cannot run ends as FAILURE.

        `resumes` are the tasks whose children continue instead of restarting.
        """
        if not instances:
            return
        connection, writes = work.connection, work.writes
        plans = self._plans.at_hand({plan_key(each) for each in instances}, writes.plans)
        attempts = await past_attempts.latest_attempts(connection, [instance.id for instance in instances])
        with_children = [
            each.id for each in instances if isinstance(known := plans[plan_key(each)], Plan) and known.has_children
        ]
        found = await children.of(connection, with_children)
        starting = [
            each.id for each in instances if isinstance(known := plans[plan_key(each)], Plan) and known.starts_apart
        ]
        if starting:
            for id_, begun in (await started_runs.of(connection, starting)).items():
                found[id_] = [*found[id_], *begun]
        restored = []
        for instance in instances:
            plan = plans[plan_key(instance)]
            if isinstance(plan, Refused):
                writes.fail(instance.id, str(plan))
                continue
            runnable = WorkflowRunnable(instance, plan)
            again = (resumes or {}).get(instance.id, frozenset())
            below = tuple(found.get(instance.id, ()))
            await tell_latest(connection, [runnable])
            await feed(runnable, Restored(tuple(attempts[instance.id]), below, again), writes)
            if plan.has_dependents:
                writes.dependents.add(instance.id)
            for attempt in attempts[instance.id] if plan.updates_datasets else ():
                if attempt.state is TaskState.SUCCESS:
                    writes.note_updates(runnable, attempt)
            if instance.requested_state is not None:
                await feed(runnable, HaltRequest(instance.requested_state), writes)
            restored.append(runnable)
            writes.delays += [
                Delay(instance.id, each.code, each.attempt, each.due_in_minutes)
                for each in attempts[instance.id]
                if each.due_in_minutes
            ]
        work.touch(runnable.instance.id for runnable in restored)
        self._runs.hold(restored)

    async def restore_owned(self, work: Work, ids: Collection[WorkflowInstanceId]) -> None:
        """Restore the runs among these that are ours by their rows; an unfinished failover is reverted."""
        if not ids:
            return
        owned = await workflow_instances.read_owned(work.connection, list(ids), self._me.epoch)
        if failed_over := [each.id for each in owned if each.state is WorkflowState.FAILOVER]:
            await workflow_instances.take_back(work.connection, failed_over, self._me.epoch)
            owned = await workflow_instances.read_owned(work.connection, list(ids), self._me.epoch)
        await self.restore(work, owned)
