"""Invariants of runs that tasks start without waiting: each attempt starts one, and names it.

Judged from the committed rows alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from model.logic.sub_process import STARTED_RUN
from model.runs.states import TaskState
from tests.simulation.definitions import STARTING
from tests.simulation.tables import Change, Values

if TYPE_CHECKING:
    from tests.simulation.server import Server


class StartedInvariants:
    def __init__(self, broken: Callable[[str, str], None]) -> None:
        self._broken = broken
        self._runs: dict[tuple[str, ...], int] = {}
        """Run, task and attempt -> the run that it started."""
        self._asked: dict[int, str] = {}
        """The commands that ask for such a run, each with the attempt."""
        self.server: Server

    def committed(self, changes: Sequence[Change]) -> None:
        """I35: no attempt starts two runs, each run asked for so knows who asked, and a success names its run."""
        for row, before, after in changes:
            if after is None:
                continue
            if row.table.name == "command" and before is None and (after.row.parent or "").endswith("/apart"):
                self._asked[row.id] = after.row.parent.removesuffix("/apart")
            elif row.table.name == "workflow_instance" and before is None and after.command_id in self._asked:
                self._is_made(row.id, after)
        for row, before, after in changes:
            if row.table.name == "task_instance" and after is not None and after.state is TaskState.SUCCESS:
                run = self.server.instances.rows[after.workflow_instance_id].values
                is_new = before is None or before.state is not TaskState.SUCCESS
                if is_new and run is not None and run.workflow_code in STARTING and after.type == "SUB_PROCESS":
                    self._ends(after)

    def _is_made(self, run: int, after: Values) -> None:
        place = self._asked[after.command_id]
        if after.parent is not None or after.started_by != place:
            self._broken("I35", f"workflow instance {run} was started by {place}, and says {after.started_by}")
        key = tuple(place.split("/"))
        if key in self._runs:
            self._broken("I35", f"attempt {place} started two runs: {self._runs[key]} and {run}")
        self._runs[key] = run

    def _ends(self, task: Values) -> None:
        who = f"task {task.workflow_instance_id}/{task.name}#{task.attempt}"
        named = json.loads(task.outputs or "{}").get(STARTED_RUN)
        started = {
            str(run)
            for (instance, code, *_), run in self._runs.items()
            if (instance, code) == (str(task.workflow_instance_id), str(task.task_code))
        }
        if named not in started:
            self._broken("I35", f"{who} has succeeded with {named}, and started {sorted(started)}")
