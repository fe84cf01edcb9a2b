"""Which runs of a serial workflow go on: decided with its line held, run by run in the order of their commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncConnection

from dao import ends, instance_moves, serial_line
from dao.serial_line import InLine
from dao.workflow_instances import NewInstance
from model.choices import ExecutionType
from model.ids import WorkflowCode, WorkflowInstanceId
from model.states import WorkflowState

E, W = ExecutionType, WorkflowState


async def line_up(connection: AsyncConnection, new: Sequence[NewInstance]) -> list[NewInstance]:
    """The same with the states in which they begin: running, waiting, or over. What has to give way is halted."""
    codes = {each.workflow_code for each in new if each.execution_type is not E.PARALLEL}
    standing = await serial_line.lock(connection, codes)
    running = {each.workflow_code: _those(standing, each.workflow_code, waiting=False) for each in new}
    waiting = {each.workflow_code: _those(standing, each.workflow_code, waiting=True) for each in new}
    stops: dict[WorkflowInstanceId, WorkflowState] = {}
    over: dict[WorkflowInstanceId, tuple[WorkflowState, str]] = {}
    lined_up: list[NewInstance] = []
    busy = {code for code in codes if running[code] or waiting[code]}
    for each in new:
        code = each.workflow_code
        if code in busy:
            match each.execution_type:
                case E.SERIAL_WAIT:
                    each = replace(each, state=W.SERIAL_WAIT)
                case E.SERIAL_DISCARD:
                    reason = "another run of this workflow had not ended, and its execution type is SERIAL_DISCARD"
                    each = replace(each, state=W.STOP, reason=reason)
                case E.SERIAL_PRIORITY:
                    stops |= {run.id: W.READY_STOP for run in running[code] if run.state is not W.READY_STOP}
                    gives_way = (W.STOP, "a newer run of this workflow has priority")
                    over |= {run.id: gives_way for run in waiting[code]}
                    lined_up = [_superseded(other, code) for other in lined_up]
                    each = replace(each, state=W.SERIAL_WAIT)
        if code in codes and not each.state.is_final:
            busy.add(code)
        lined_up.append(each)
    if over:
        await instance_moves.end_waiting(connection, over)
        await ends.tell(connection, list(over))
    if stops:
        await instance_moves.ask_halt(connection, stops)
    return lined_up


def _superseded(other: NewInstance, code: WorkflowCode) -> NewInstance:
    """One of the same batch that a newer one of its workflow overtakes before it has begun to run."""
    if other.workflow_code != code or other.state.is_final:
        return other
    return replace(other, state=W.STOP, reason="a newer run of this workflow has priority")


def _those(standing: Sequence[InLine], code: WorkflowCode, *, waiting: bool) -> list[InLine]:
    return [each for each in standing if each.workflow_code == code and (each.state is W.SERIAL_WAIT) == waiting]
