"""The statements of `dao/runs/serial_line.py`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from dao.runs.serial_line import Deadlock, InLine, Standing
from model.choices import ExecutionType
from model.ids import WorkflowCode, WorkflowInstanceId
from model.runs.command_moves import CommandType
from model.runs.serial_lines import Line
from model.runs.states import WorkflowState
from tests.simulation.statements.commands import commands
from tests.simulation.tables import Transaction, Values

C, W = CommandType, WorkflowState


def lock(tx: Transaction, codes: Collection[WorkflowCode]) -> None:
    """The definition rows FOR NO KEY UPDATE in the order of their codes."""
    for code in sorted(set(codes)):
        tx.lock(tx.server.definitions.rows[code])


def standing(tx: Transaction, lines: Collection[Line]) -> list[Standing]:
    return [
        Standing(line, places, tuple(live(tx, line)[:places]), next(iter(_waiting(tx, line)), None))
        for line in sorted(set(lines))
        for places in [_max_active(tx, line.workflow_code)]
    ]


def _max_active(tx: Transaction, code: WorkflowCode) -> int:
    """The value of the current version."""
    row = tx.server.definitions.rows.get(code)
    return row.values.max_active if row is not None and row.values is not None else 1


def live(tx: Transaction, line: Line) -> list[InLine]:
    return [
        InLine(each.id, line, each.requested_state or each.state, each.command_id)
        for each in sorted(_standing(tx, line), key=lambda each: int(each.id))
        if each.state is not W.SERIAL_WAIT
    ]


def _waiting(tx: Transaction, line: Line) -> list[InLine]:
    return [
        InLine(each.id, line, each.state, each.command_id)
        for each in sorted(_standing(tx, line), key=_place)
        if each.state is W.SERIAL_WAIT
    ]


def _place(run: Values) -> int:
    return int(run.command_id if run.serial_key else run.id)


def _line(run: Values) -> Line:
    return Line(run.workflow_code, run.serial_key)


def _standing(tx: Transaction, line: Line) -> list[Values]:
    """The runs that have not ended."""
    unfinished = (each for _, each in tx.scan(tx.server.instances.unfinished))
    return [each for each in unfinished if _line(each) == line and not each.state.is_final]


def waiting(tx: Transaction, lines: Mapping[Line, int]) -> list[InLine]:
    return [each for line in sorted(lines) for each in _waiting(tx, line)[: lines[line]]]


def overtaken(tx: Transaction, lines: Mapping[Line, int], limit: int) -> dict[Line, list[WorkflowInstanceId]]:
    """Runs before the newest waiting one with priority, and too old to be among the newest `max_active`."""
    found = {}
    for line in sorted(lines):
        runs = sorted((each for each in _standing(tx, line) if each.state is W.SERIAL_WAIT), key=_place)
        urgent = [_place(run) for run in runs if run.execution_type is ExecutionType.SERIAL_PRIORITY]
        until = [run.id for run in runs if _place(run) <= max(urgent, default=0)]
        if before := until[: max(0, len(until) - lines[line])][:limit]:
            found[line] = before
    return found


def with_room(tx: Transaction, code: WorkflowCode, limit: int, first: str = "") -> list[Line]:
    return [line for line in _with_room(tx) if line.workflow_code == code and line.key >= first][:limit]


def _with_room(tx: Transaction) -> list[Line]:
    """The lines in which somebody waits and fewer are live than may be."""
    standing = [each for _, each in tx.scan(tx.server.instances.unfinished) if not each.state.is_final]
    waiting = {_line(each) for each in standing if each.state is W.SERIAL_WAIT}
    live = Counter(_line(each) for each in standing if each.state is not W.SERIAL_WAIT)
    return sorted(line for line in waiting if live[line] < _max_active(tx, line.workflow_code))


def call(tx: Transaction, codes: Collection[WorkflowCode]) -> None:
    """Call all lines of workflows with waiting runs, unless they are called by a command that killed no master."""
    called = {code for code, params in _called(tx, deaths_max=0) if params == "{}"}
    waits = {each.workflow_code for _, each in tx.scan(tx.server.instances.unfinished) if each.state is W.SERIAL_WAIT}
    for code in sorted(waits & set(codes)):
        if str(code) not in called:
            commands.ask(tx, C.RECOVER_SERIAL_WAIT, workflow_code=str(code), created_by="serial")


def call_without_lock(tx: Transaction, code: WorkflowCode) -> None:
    """Call all lines of a workflow with waiting runs, called or not."""
    waits = {each.workflow_code for _, each in tx.scan(tx.server.instances.unfinished) if each.state is W.SERIAL_WAIT}
    if code in waits:
        commands.ask(tx, C.RECOVER_SERIAL_WAIT, workflow_code=str(code), created_by="serial")


def _called(tx: Transaction, deaths_max: int = 1_000) -> set[tuple[str | None, str | None]]:
    """The workflow and parameters of each call of lines of which no more masters may have died."""
    return {
        (each.row.workflow_code, each.row.params)
        for _, each in tx.scan(tx.server.commands.rows)
        if each.type is C.RECOVER_SERIAL_WAIT and each.row.workflow_instance_id is None and each.deaths <= deaths_max
    }


def call_from(tx: Transaction, line: Line) -> None:
    """The command by which this line and those after it are called."""
    code, params = str(line.workflow_code), f'{{"serial_from" : "{line.key}"}}'
    commands.ask(tx, C.RECOVER_SERIAL_WAIT, workflow_code=code, params=params, created_by="serial")


def call_line(tx: Transaction, line: Line) -> None:
    """The command by which a line is called."""
    code = str(line.workflow_code)
    commands.ask(tx, C.RECOVER_SERIAL_WAIT, workflow_code=code, params=_params(line), created_by="serial")


def _params(line: Line) -> str:
    return f'{{"serial_key" : "{line.key}"}}' if line.key else "{}"


def call_missed(tx: Transaction) -> int:
    """Call all lines of each workflow whose lines have room and are not called."""
    called = _called(tx)
    whole = {code for code, params in called if params == "{}" or str(params).startswith('{"serial_from"')}
    calls = {
        str(line.workflow_code)
        for line in _with_room(tx)
        if str(line.workflow_code) not in whole and (str(line.workflow_code), _params(line)) not in called
    }
    for code in sorted(calls, key=int):
        commands.ask(tx, C.RECOVER_SERIAL_WAIT, workflow_code=code, created_by="serial")
    return len(calls)


def deadlocked(_: Transaction) -> list[Deadlock]:
    """No workflow of a simulation contains itself."""
    return []
