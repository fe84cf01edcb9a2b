"""Invariants of approvals: each ends once, and the task after it sees its answer.

Judged from the committed rows alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from model.logic.approval import ANSWERED_BY, APPROVAL
from model.runs.states import TaskState, WorkflowState
from tests.simulation.definitions import ASKING
from tests.simulation.tables import Change, Values

if TYPE_CHECKING:
    from tests.simulation.server import Server


class ApprovalInvariants:
    """Checks all runs; `broken` is called with the number of an invariant and what broke it."""

    def __init__(self, broken: Callable[[str, str], None]) -> None:
        self._broken = broken
        self.server: Server

    def committed(self, changes: Sequence[Change]) -> None:
        """I38: an approval ends once, and what its person gave is what the task after it sees; that does not begin
        without it."""
        for row, before, after in changes:
            if row.table.name == "task_instance" and after is not None and after.type == APPROVAL:
                same = before is None or (after.state, after.outputs) == (before.state, before.outputs)
                if before is not None and before.state.is_final and not same:
                    self._broken("I38", f"approval {row.id} ended as {before.state} and then as {after.state}")
            elif row.table.name == "workflow_instance" and after is not None and after.workflow_code in ASKING:
                self._used(row.id, after)

    def _used(self, run: int, after: Values) -> None:
        if after.state is not WorkflowState.SUCCESS:
            return
        tasks = [row.values for row in self.server.tasks.by_key.get(run, ()) if row.values is not None]
        valid = {task.name: task for task in tasks if task.flag}
        asked, then = valid.get("t0"), valid.get("t1")
        if asked is None or then is None or not _is_answered(asked):
            return
        seen, given = json.loads(then.parameter_values), json.loads(asked.outputs)
        if {name: seen.get(name) for name in given} != given:
            self._broken("I38", f"approval {asked.id} gave {given}, and the task after it saw {seen}")


def _is_answered(asked: Values) -> bool:
    return asked.state is TaskState.SUCCESS and ANSWERED_BY in (asked.outputs or "")
