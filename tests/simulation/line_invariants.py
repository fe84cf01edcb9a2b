"""Invariants of serial lines: which runs are live together, in which order, and that none waits that could begin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from model.choices import ExecutionType
from model.runs.command_moves import STARTING, CommandType
from model.runs.serial_lines import Line
from model.runs.states import WorkflowState
from tests.simulation.tables import Change, Row, Values

if TYPE_CHECKING:
    from tests.simulation.server import Server

W = WorkflowState
_LIVE = (W.RUNNING_EXECUTION, W.READY_PAUSE, W.READY_STOP, W.FAILOVER)


class LineInvariants:
    def __init__(self, broken: Callable[[str, str], None]) -> None:
        self._broken = broken
        self._last: dict[Line, int] = {}
        """For each line with a key: the newest command whose run has begun."""
        self.server: Server

    def committed(self, changes: Sequence[Change]) -> None:
        """I18, I21 and I32."""
        begun: dict[Line, list[int]] = {}
        touched: set[Line] = set()
        for row, before, after in changes:
            if row.table.name == "command" and before is not None and after is None:
                touched |= self._lines_of(before)
            if row.table.name != "workflow_instance" or after is None:
                continue
            if after.execution_type is ExecutionType.PARALLEL or (before and before.state is after.state):
                continue
            line = Line(after.workflow_code, after.serial_key)
            touched.add(line)
            if after.state in _LIVE and (before is None or before.state not in _LIVE):
                self._made_live(row, line)
                if line.key and (before is None or before.state is W.SERIAL_WAIT):
                    begun.setdefault(line, []).append(after.command_id)
        for line, commands in begun.items():
            newer = self._last.get(line, 0)
            if min(commands) < newer:
                self._broken("I21", f"the run of command {min(commands)} begins after that of {newer}, of one key")
            self._last[line] = max(newer, *commands)
        for line in touched:
            self._nobody_waits_in_vain(line)

    def _made_live(self, row: Row, line: Line) -> None:
        """I18: of a line of a serial workflow no more runs are live than may be at once."""
        others = [other.id for other, _ in self._runs(line, _LIVE) if other is not row]
        if len(others) >= self._max_active(line):
            self._broken("I18", f"workflow instance {row.id} of a serial workflow begins beside {others}")

    def _nobody_waits_in_vain(self, line: Line) -> None:
        """I32: if there is room for a waiting run, a command calls it, or an older one of its key delays it."""
        waiting = [run for _, run in self._runs(line, (W.SERIAL_WAIT,))]
        if not waiting or len(self._runs(line, _LIVE)) >= self._max_active(line):
            return
        for command in self.server.commands.rows.values():
            asked = command.values
            if asked is None or int(asked.row.workflow_code or 0) != line.workflow_code:
                continue
            if asked.type is CommandType.RECOVER_SERIAL_WAIT:
                return
            if line.key and asked.type in STARTING and command.id < min(run.command_id for run in waiting):
                return
        self._broken("I32", f"{len(waiting)} runs wait in {tuple(line)}, which has room, and nobody calls them")

    def _lines_of(self, command: Values) -> set[Line]:
        """The lines in which a run may have waited for that command."""
        code = int(command.row.workflow_code or 0)
        return {
            Line(run.workflow_code, run.serial_key)
            for other in self.server.instances.unfinished.values()
            if (run := other.values) is not None and run.workflow_code == code and run.state is W.SERIAL_WAIT
        }

    def _runs(self, line: Line, states: Sequence[WorkflowState]) -> list[tuple[Row, Values]]:
        return [
            (other, run)
            for other in self.server.instances.unfinished.values()
            if (run := other.values) is not None
            and Line(run.workflow_code, run.serial_key) == line
            and run.state in states
        ]

    def _max_active(self, line: Line) -> int:
        definition = self.server.definitions.rows[line.workflow_code].values
        return definition.max_active if definition is not None else 1
