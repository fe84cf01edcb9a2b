"""Invariants of `each` tasks: every element ends once as a success, and the task ends as its elements do.

Judged from the committed rows alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from model.definitions.workflow import TaskSpec
from model.runs.command_moves import CommandType
from model.runs.states import TaskState
from tests.simulation.definitions import MAPPED, specs
from tests.simulation.tables import Change, Values

if TYPE_CHECKING:
    from tests.simulation.server import Server

T = TaskState
_WELL = (T.SUCCESS, T.SKIPPED, T.FORCED_SUCCESS)
_AFRESH = (CommandType.REPEAT_RUNNING, CommandType.EXECUTE_TASK)
_GIVEN_UP = "cannot be driven"
"""Such a run ends at once, and its tasks on workers are killed after that."""
_UNKEPT = "could not be kept"
"""The end of a task whose list of values is too large for its row, while the log store is away."""
_MOST = 16_384


def _begun_afresh(changes: Sequence[Change]) -> set[int]:
    """The runs that somebody wants run from the start, or with another version."""
    found = {
        after.instance
        for row, _, after in changes
        if row.table.name == "command_history" and after is not None and after.type in _AFRESH
    }
    return found | {
        row.id
        for row, before, after in changes
        if row.table.name == "workflow_instance"
        and before is not None
        and after is not None
        and before.workflow_version != after.workflow_version
    }


@cache
def _tasks(workflow: int) -> dict[int, TaskSpec]:
    """The tasks with elements, by code."""
    return {task.code or 0: task for task in specs()[workflow].coded().tasks if task.each is not None}


class ElementInvariants:
    def __init__(self, broken: Callable[[str, str], None]) -> None:
        self._broken = broken
        self.server: Server

    def committed(self, changes: Sequence[Change]) -> None:
        """I36: an element that succeeded is not run again unless somebody asks for all; no more are under way than may
        be; a task ends when none is, and as they did."""
        tasks = [(before, after) for row, before, after in changes if row.table.name == "task_instance"]
        counted = {
            (before.workflow_instance_id, before.task_code): before.state
            for before, _ in tasks
            if before is not None and before.flag
        }
        afresh = _begun_afresh(changes)
        for before, after in tasks:
            if after is None:
                continue
            run = self.server.instances.rows[after.workflow_instance_id].values
            if run is None or run.workflow_code not in MAPPED:
                continue
            if after.task_code < 0 and before is None and not after.state.is_final:
                id_, whole = after.workflow_instance_id, -after.task_code // _MOST
                is_again = counted.get((id_, after.task_code)) in _WELL and id_ not in afresh
                self._begins(after, run, again=is_again and counted.get((id_, whole)) not in _WELL)
            is_end = after.state.is_final and (before is None or not before.state.is_final)
            if after.task_code in _tasks(run.workflow_code) and is_end:
                self._ends(after, _tasks(run.workflow_code)[after.task_code])

    def _begins(self, task: Values, run: Values, *, again: bool) -> None:
        who = f"element {task.workflow_instance_id}/{task.name}#{task.attempt}"
        code, index = divmod(-task.task_code, _MOST)
        spec = _tasks(run.workflow_code)[code]
        assert spec.each is not None
        if again:
            self._broken("I36", f"{who} had succeeded, and runs again")
        if json.loads(task.parameter_values)["each"] != spec.each.over[index]:
            self._broken("I36", f"{who} has another value than its list says")
        live = [each for each in self._rows(task.workflow_instance_id, code) if not each.state.is_final]
        if len(live) > spec.each.parallel:
            self._broken("I36", f"{who} begins, and with it {len(live)} are under way")

    def _ends(self, whole: Values, spec: TaskSpec) -> None:
        assert spec.each is not None
        who = f"task {whole.workflow_instance_id}/{whole.name}#{whole.attempt}"
        rows = self._rows(whole.workflow_instance_id, whole.task_code)
        live = [each.name for each in rows if not each.state.is_final]
        counting: dict[int, Any] = {-each.task_code % _MOST: each.state for each in rows if each.flag}
        if live and _GIVEN_UP not in (whole.reason or ""):
            self._broken("I36", f"{who} ended as {whole.state}, and {live} are under way")
        well = [index for index, state in counting.items() if state in _WELL]
        if whole.state in (T.SUCCESS, T.SKIPPED) and len(well) < len(spec.each.over):
            self._broken("I36", f"{who} ended as {whole.state}, with elements {counting}")
        if whole.state is T.FAILURE and len(well) == len(spec.each.over) and _UNKEPT not in (whole.reason or ""):
            self._broken("I36", f"{who} failed, and all its elements are well")

    def _rows(self, run: int, code: int) -> list[Values]:
        return [
            each.values
            for each in self.server.tasks.by_key.get(run, ())
            if each.values is not None and -each.values.task_code // _MOST == code and each.values.task_code < 0
        ]
