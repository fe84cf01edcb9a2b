"""Invariants of resource pools: nobody gets what another has, and nobody is overtaken forever."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from model.runs.states import TaskState
from tests.simulation.statements.tasks.task_claims import urgency
from tests.simulation.tables import Change, Row, Values
from tests.simulation.trace import Trace

if TYPE_CHECKING:
    from tests.simulation.server import Server
    from tests.simulation.task_runs import TaskRun

BEGINNING = (TaskState.DISPATCH, TaskState.RUNNING_EXECUTION)
NOTICED_S = 3.0
"""A waiter of this age, on a server that was not frozen, was seen by every claim that commits now."""


def could_begin(server: Server, task: Values) -> bool:
    """Whether as much is free as it needs, regardless of its place in the order."""
    free = Counter(
        each.values.pool for each in server.resources.rows.values() if each.values and each.values.holder is None
    )
    return all(free[pool] >= number for pool, number in json.loads(task.resources).items())


class PoolInvariants:
    def __init__(self, trace: Trace, broken: Callable[[str, str], None]) -> None:
        self._trace = trace
        self._broken = broken
        self._users: dict[str, TaskRun] = {}
        self._seen_since_s: dict[int, float] = {}
        self._left: list[tuple[float, tuple[int, int, int, int]]] = []
        """When somebody stopped waiting, lately, and its place until then."""
        self._given_back_s: dict[int, float] = {}
        """When a stream gave back each resource, the last time."""
        self.server: Server

    def changed(self, row: Row, before: Values, after: Values) -> None:
        """I22: nobody gets what another has."""
        self._trace.add("tables", f"resource {row.id} of task {before.holder} -> {after.holder} at {after.worker_id}")
        if before.holder is not None and after.holder is None and self._is_stream(before.holder):
            self._given_back_s[row.id] = self.server.awake_s
        if before.holder is not None and after.holder not in (None, before.holder):
            self._broken("I22", f"resource {row.id} of task {before.holder} is given to task {after.holder}")

    def leases_are_whole(self, changes: Sequence[Change]) -> None:
        """I22: an attempt that begins holds everything it needs. I24: nobody takes what the first in order needs."""
        tasks = [(row.id, before, after) for row, before, after in changes if row.table.name == "task_instance"]
        for id_, before, after in tasks:
            if self._waits(after) and not self._waits(before):
                self._seen_since_s[id_] = self.server.awake_s
        begun = [
            after
            for _, before, after in tasks
            if before is not None
            and after is not None
            and before.state is TaskState.QUEUED
            and after.state in BEGINNING
            and after.resources is not None
        ]
        for task in begun:
            held = [each.values for each in self.server.resources.rows.values() if each.values is not None]
            for pool, number in json.loads(task.resources).items():
                mine = [each for each in held if each.pool == pool and each.holder == task.id]
                if len(mine) != number:
                    self._broken("I22", f"task {task.id} begins with {len(mine)} of {number} resources of {pool}")
            self._nobody_is_overtaken(task)
        lately_s = self.server.awake_s - NOTICED_S
        leave = [before for _, before, after in tasks if before and self._waits(before) and not self._waits(after)]
        self._left = [each for each in self._left if each[0] > lately_s]
        self._left += [(self.server.awake_s, urgency(before)) for before in leave]

    @staticmethod
    def _waits(task: Values | None) -> bool:
        return task is not None and task.state is TaskState.QUEUED and task.resources is not None

    def _nobody_is_overtaken(self, task: Values) -> None:
        """The first of all waiters keeps what it needs, once it has been the first for some seconds.

        A former first may have reserved what both lack, in a claim that commits now: then it reserved nothing.
        """
        rows = [row.values for row in self.server.tasks.unfinished.values()]
        waiting = [values for values in rows if values is not None and self._waits(values)]
        first = min(waiting, key=urgency, default=None)
        if first is None or urgency(first) > urgency(task):
            return
        if self.server.awake_s - self._seen_since_s[first.id] < NOTICED_S:  # its transaction may have committed late
            return
        lately_s = self.server.awake_s - NOTICED_S
        if any(left_s > lately_s and place < urgency(first) for left_s, place in self._left):
            return
        needs = json.loads(first.resources)
        stuck = {pool for pool, number in needs.items() if self._left_by_streams(pool) < number}
        for pool in (stuck or needs.keys()) & json.loads(task.resources).keys():
            own = [row.values for row in self.server.resources.rows.values() if row.values and row.values.pool == pool]
            if sum(each.holder is None for each in own) < needs[pool]:
                self._broken("I24", f"task {task.id} takes of {pool} what task {first.id} needs, which is before it")

    def _left_by_streams(self, pool: str) -> int:
        """How many of a pool no stream holds, or held when a claim that commits now may have read it."""
        resources = [row for row in self.server.resources.rows.values() if row.values and row.values.pool == pool]
        held = [row for row in resources if row.values and row.values.holder and self._is_stream(row.values.holder)]
        lately_s = self.server.awake_s - NOTICED_S
        given_back = [row for row in resources if self._given_back_s.get(row.id, lately_s) > lately_s]
        return len(resources) - len({row.id for row in (*held, *given_back)})

    def _is_stream(self, holder: int) -> bool:
        task = self.server.tasks.rows[holder].values
        return task is not None and task.stream is not None

    def task_starts(self, run: TaskRun) -> None:
        """I23: no two processes have one resource."""
        for pool, leases in json.loads(run.task.leases or "{}").items():
            for lease in leases:
                self._uses(run, f"{pool} {lease['name']}")

    def _uses(self, run: TaskRun, resource: str) -> None:
        other = self._users.get(resource)
        if other is not None and other.is_alive:
            self._broken(
                "I23",
                f"task {run.task.id} at {run.process.name} has {resource} beside task {other.task.id}, which runs at "
                f"{other.process.name}",
            )
        self._users[resource] = run

    def all_are_free(self) -> None:
        """I22: at the end nobody holds anything."""
        held = [row.id for row in self.server.resources.rows.values() if row.values is not None and row.values.holder]
        if held:
            self._broken("I22", f"nothing runs, and resources {held} are held")
