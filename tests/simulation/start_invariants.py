"""Invariants of start rules: a task begins as its rule allows, and a run does not end before what may begin.

Judged by the rules in `tests/master/reference.py`, from the committed rows of the run alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from model.choices import FailureStrategy
from model.definitions.plan import Plan
from model.ids import TaskCode, WorkflowCode
from model.runs.states import TaskState, WorkflowState
from tests.master import reference
from tests.master.reference import Reference, Standing
from tests.simulation.definitions import RULED, specs
from tests.simulation.tables import Change, Row, Values

if TYPE_CHECKING:
    from tests.simulation.server import Server

_BY_ITSELF = (WorkflowState.SUCCESS, WorkflowState.FAILURE)
_GIVEN_UP = ("cannot be driven", "its masters died")


@cache
def _plan(code: int) -> Plan:
    return Plan.of(WorkflowCode(code), 1, specs()[code])


class StartInvariants:
    def __init__(self, broken: Callable[[str, str], None]) -> None:
        self._broken = broken
        self.server: Server

    def committed(self, changes: Sequence[Change]) -> None:
        """I30: what begins may; a run that ends by itself leaves nothing that may begin."""
        for row, before, after in changes:
            if after is None:
                continue
            if row.table.name == "task_instance" and before is None:
                run = self.server.instances.rows[after.workflow_instance_id].values
                if run is not None and run.workflow_code in RULED and not _is_again(after, changes):
                    self._begins(after, run, row)
            elif row.table.name == "workflow_instance" and before is not None and after.workflow_code in RULED:
                self._ends(row, before, after)

    def _begins(self, task: Values, run: Values, row: Row) -> None:
        told = self._reference(task.workflow_instance_id, run, without=row)
        if (standing := told.may_begin(task.task_code)) is not Standing.BEGINS:
            who = f"task {task.workflow_instance_id}/{task.task_code}#{task.attempt}"
            ends = {code: standing.name for code, standing in told.standing.items()}
            self._broken("I30", f"{who} begins though its rule says {standing.name}, with {ends}")

    def _ends(self, row: Row, before: Values, after: Values) -> None:
        """Checks only its own end: a halt may have come in the same batch as its last event."""
        is_halted = before.state is not WorkflowState.RUNNING_EXECUTION or before.requested_state is not None
        if is_halted or after.state not in _BY_ITSELF:
            return
        is_ended = after.state is WorkflowState.FAILURE and after.failure_strategy is FailureStrategy.END
        if is_ended or any(each in (after.reason or "") for each in _GIVEN_UP):
            return
        told = self._reference(row.id, before)
        if left := told.left():
            self._broken("I30", f"workflow instance {row.id} ended as {after.state}, and tasks {left} may still begin")
        elif (verdict := told.verdict(before.state)) is not after.state:
            self._broken("I30", f"workflow instance {row.id} ended as {after.state}, and came to {verdict}")

    def _reference(self, instance: int, run: Values, without: Row | None = None) -> Reference:
        rows: dict[TaskCode, list[reference.Row]] = {}
        attempts = [
            each.values
            for each in self.server.tasks.by_key.get(instance, ())
            if each is not without and each.values is not None
        ]
        for each in sorted(attempts, key=lambda each: each.attempt):
            branch = None if each.branch is None else frozenset(map(TaskCode, json.loads(each.branch)))
            attempt = reference.Row(each.state, each.retries, each.flag, branch=branch)
            rows.setdefault(each.task_code, []).append(attempt)
        scope = json.loads(run.executing or run.scope or "null")
        return Reference(_plan(run.workflow_code), None if scope is None else frozenset(scope), rows)


def _is_again(task: Values, changes: Sequence[Change]) -> bool:
    """Whether it takes the place of an attempt that was lost, and not of one that was held back."""
    return any(
        row.table.name == "task_instance"
        and before is not None
        and after is not None
        and (after.workflow_instance_id, after.task_code) == (task.workflow_instance_id, task.task_code)
        and (before.flag, after.flag) == (True, False)
        and before.state is not TaskState.PAUSE
        for row, before, after in changes
    )
