"""Invariants of `after_last`: no date begins its tasks before the one before it has succeeded.

Judged from the committed rows of the runs and of the commands alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from model.definitions.after_last import GATE
from model.runs.states import TaskState, WorkflowState
from tests.simulation.definitions import DATED
from tests.simulation.tables import Change, Values

if TYPE_CHECKING:
    from tests.simulation.server import Server

_PASSED = (TaskState.SUCCESS, TaskState.FORCED_SUCCESS)


class DateInvariants:
    def __init__(self, broken: Callable[[str, str], None]) -> None:
        self._broken = broken
        self._asked: dict[int, dict[str, int]] = {}
        """Workflow -> each requested date, with its command."""
        self._succeeded: set[int] = set()
        """The commands whose runs have succeeded."""
        self.server: Server

    def committed(self, changes: Sequence[Change]) -> None:
        """I33: the gate of a date opens when the date before has succeeded, and its tasks begin behind the gate."""
        for row, before, after in changes:
            if after is None:
                continue
            if row.table.name == "command" and before is None and after.row.schedule_time is not None:
                self._asked.setdefault(int(after.row.workflow_code or 0), {})[after.row.schedule_time] = row.id
            elif row.table.name == "workflow_instance" and after.state is WorkflowState.SUCCESS:
                self._succeeded.add(after.command_id)
        for row, before, after in changes:
            if after is None or row.table.name != "task_instance":
                continue
            run = self.server.instances.rows[after.workflow_instance_id].values
            if run is None or run.workflow_code not in DATED:
                continue
            if after.name == GATE and after.state in _PASSED and (before is None or before.state not in _PASSED):
                self._opens(after.workflow_instance_id, run)
            elif (
                after.name != GATE
                and before is None
                and not (run.executing or self._is_open(after.workflow_instance_id))
            ):
                self._broken("I33", f"task {after.workflow_instance_id}/{after.name} begins before its date's turn")

    def _opens(self, instance: int, run: Values) -> None:
        own = str(run.schedule_time)
        earlier = {due: command for due, command in self._asked.get(run.workflow_code, {}).items() if due < own}
        if earlier and own in self._asked[run.workflow_code]:
            last = max(earlier)
            if earlier[last] not in self._succeeded:
                self._broken("I33", f"workflow instance {instance} for {own} begins, and {last} has not succeeded")

    def _is_open(self, instance: int) -> bool:
        gates = [row.values for row in self.server.tasks.by_key.get(instance, ()) if row.values is not None]
        return any(each.name == GATE and each.flag and each.state in _PASSED for each in gates)
