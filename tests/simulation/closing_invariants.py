"""Invariants of cleaning up: when its tasks run, that all of them do, and how the run ends.

Judged by docs/guides/workflows.md, "Cleaning up", from the committed rows of the run, independent of
`model/runs/closing.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from model.choices import Flag
from model.definitions.workflow import TaskSpec
from model.runs.states import TaskState, WorkflowState
from tests.simulation.definitions import CLOSING, specs
from tests.simulation.tables import Change, Row, Values

if TYPE_CHECKING:
    from tests.simulation.server import Server

T, W = TaskState, WorkflowState
_GIVEN_UP = ("cannot be driven", "its masters died")


@cache
def _tasks(workflow: int) -> dict[int, TaskSpec]:
    """The tasks by code, as a plan numbers tasks without one."""
    return {task.code or 0: task for task in specs()[workflow].coded().tasks}


def _time_of(run: Values) -> int | None:
    """Which time it cleans up; None = it does not. A run that was paused while it cleaned up may be run again."""
    return None if run.ending_as is None else run.ending_after


class ClosingInvariants:
    def __init__(self, broken: Callable[[str, str], None]) -> None:
        self._broken = broken
        self._before: dict[int, set[int]] = {}
        """For each run that cleans up, or did: the attempts that existed when it began to."""
        self.server: Server

    def committed(self, changes: Sequence[Change]) -> None:
        """I31: what cleans up does so once, when all else is over, and in its order; all of it does; and its run ends
        as it would have ended without."""
        new = {row.id for row, before, after in changes if row.table.name == "task_instance" and before is None}
        for row, before, after in changes:
            if after is None or row.table.name != "workflow_instance" or after.workflow_code not in CLOSING:
                continue
            if after.ending_as is not None and (before is None or _time_of(before) != _time_of(after)):
                self._before[row.id] = {each.id for each in self._rows(row.id)} - new
                if not self._own(row.id, after):
                    self._broken("I31", f"workflow instance {row.id} cleans up, and has nothing that does")
        for row, before, after in changes:
            if after is None:
                continue
            if row.table.name == "task_instance" and before is None and not after.state.is_final:
                run = self.server.instances.rows[after.workflow_instance_id].values
                if run is not None and run.workflow_code in CLOSING:
                    self._begins(after, run)
            elif (
                row.table.name == "workflow_instance"
                and before is not None
                and after.workflow_code in CLOSING
                and not before.state.is_final
                and after.state.is_final
            ):
                self._ends(row, before, after)

    def _begins(self, task: Values, run: Values) -> None:
        """Skips tasks that are held back or killed as they are made, since their run is halted."""
        tasks, id_ = _tasks(run.workflow_code), task.workflow_instance_id
        spec = tasks[task.task_code]
        who = f"task {id_}/{spec.name}#{task.attempt}"
        if not spec.is_closing:
            if run.ending_as is not None:
                self._broken("I31", f"{who} begins while its run cleans up")
            return
        if run.ending_as is None:
            self._broken("I31", f"{who} cleans up before all else is over")
            return
        now = self._now(id_)
        left = [
            each.id
            for each in self._rows(id_)
            if each.values is not None
            and not each.values.state.is_final
            and not tasks[each.values.task_code].is_closing
        ]
        if left:
            self._broken("I31", f"{who} cleans up while {left} have not ended")
        own = self._own(id_, run)
        if spec.name not in own:
            self._broken("I31", f"{who} cleans up though it is not to: {sorted(own)} are")
        earlier = [each.state for each in now.get(spec.name, ()) if each.attempt < task.attempt]
        if T.SUCCESS in earlier or T.SKIPPED in earlier:
            self._broken("I31", f"{who} cleans up once more")
        befores = {each.name for each in tasks.values() if each.teardown} if spec.on_exit else set()
        for name in (befores | set(spec.after)) & own:
            if not any(each.state.is_final and each.state is not T.PAUSE for each in now.get(name, ())):
                self._broken("I31", f"{who} cleans up before {name}")

    def _ends(self, row: Row, before: Values, after: Values) -> None:
        if after.state is W.PAUSE or any(each in (after.reason or "") for each in _GIVEN_UP):
            return
        own = self._own(row.id, before)
        who = f"workflow instance {row.id} ended as {after.state}"
        if before.ending_as is None:
            if own and before.state is not W.SERIAL_WAIT:
                self._broken("I31", f"{who} without {sorted(own)}, which were to clean up")
            return
        is_stopped = after.state is W.STOP and "stopped while it cleaned up" in (after.reason or "")
        if is_stopped:
            return
        now = self._now(row.id)
        over = {name for name, rows in now.items() if rows[-1].state.is_final and rows[-1].state is not T.PAUSE}
        if left := own - over:
            self._broken("I31", f"{who}, and {sorted(left)} did not clean up")
        if after.state is not before.ending_as:
            self._broken("I31", f"{who}, and was to end as {before.ending_as}")

    def _rows(self, run: int) -> list[Row]:
        return [row for row in self.server.tasks.by_key.get(run, ()) if row.values is not None]

    def _now(self, run: int) -> dict[str, list[Values]]:
        """The attempts of this time that it cleans up, by name and in order."""
        found: dict[str, list[Values]] = {}
        for row in self._rows(run):
            if row.id not in self._before[run] and row.values is not None:
                found.setdefault(self._name(run, row.values), []).append(row.values)
        return {name: sorted(rows, key=lambda each: each.attempt) for name, rows in found.items()}

    def _name(self, run: int, task: Values) -> str:
        instance = self.server.instances.rows[run].values
        assert instance is not None
        return _tasks(instance.workflow_code)[task.task_code].name

    def _own(self, run: int, instance: Values) -> set[str]:
        """The tasks that are to clean up after it, given what has begun by now."""
        tasks = _tasks(instance.workflow_code)
        scope = json.loads(instance.executing or instance.scope or "null")
        runs = {each.name: each for code, each in tasks.items() if scope is None or code in scope}
        runs = {name: each for name, each in runs.items() if each.flag is Flag.YES}
        begun = {tasks[row.values.task_code].name for row in self._rows(run) if row.values is not None}
        counting = {
            name: [before for before in each.after if before in runs and not runs[before].is_closing]
            for name, each in runs.items()
            if each.is_closing
        }
        return {name for name, befores in counting.items() if not befores or begun.intersection(befores)}
