"""The statements of `dao/runs/workflow_instances.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from dao.postgres.errors import BadData
from dao.runs.workflow_instances import InstanceEnd, NewInstance, OwnershipLost, named
from model.choices import ExecutionType
from model.ids import CommandId, Epoch, WorkflowInstanceId
from model.runs.instances import WorkflowInstance
from model.runs.states import WorkflowState
from tests.simulation.server import Session
from tests.simulation.statements.rows import is_owned, read_instance, rows_of
from tests.simulation.tables import Row, Transaction, Values

W = WorkflowState
_ENDED = {"ending_as": None, "ending_reason": None}


def insert(
    tx: Transaction, new: Sequence[NewInstance], master: Epoch
) -> dict[CommandId, tuple[WorkflowInstanceId, datetime]]:
    """With ON CONFLICT DO NOTHING for what may exist already: children, starts by tasks, fires."""
    server, made = tx.server, {}
    if isinstance(tx, Session) and any(each.workflow_code == server.suspect_code for each in new):
        server.on_suspect(tx.process)
    once = any(each.parent or each.started_by or each.schedule_id is not None for each in new)
    for each in new:
        id_ = WorkflowInstanceId(server.instances.next_id())
        try:
            for row in list(server.instances.rows.values()):
                if constraint := _same_key(tx, row, each):
                    tx.refuse_if_there(row, constraint)
        except BadData:
            if once:
                continue
            raise
        runs = each.state is W.RUNNING_EXECUTION
        values = {name: getattr(each, name) for name in NewInstance.__slots__}
        values |= {
            "id": id_,
            "reason": each.reason or None,
            "master_id": master if runs else 0,
            "requested_state": None,
            "ending_as": None,
            "ending_reason": None,
            "ending_after": None,
            "executing": None,
            "resumes": None,
            "outputs": None,
            "started_by": (
                each.source.place(each.command_id) if each.source else each.started_by and each.started_by.place
            ),
            "takeovers": 0,
            "run_times": 1,
            "started_s": server.now_s,
            "owned_s": None,
            "running_since_s": server.now_s,
            "ended_s": server.now_s if each.state.is_final else None,
            "schedule_time": each.schedule_time or server.now(),
        }
        tx.insert(server.instances, id_, Values(**values))
        made[each.command_id] = (id_, values["schedule_time"])
    return made


def _same_key(tx: Transaction, row: Row, new: NewInstance) -> str | None:
    there = tx.see(row) or (row.owner.writes.get(row) if row.owner else None)
    if there is None:
        return None
    if there.command_id == new.command_id:
        return "workflow_instance_command"
    if new.parent is not None and there.parent == new.parent:
        return "workflow_instance_child"
    if new.started_by is not None and there.started_by == new.started_by.place:
        return "workflow_instance_started_by_task"
    fire = (new.schedule_id, new.schedule_time)
    if (
        new.schedule_id is not None
        and tx.server.protections.fire_once
        and (there.schedule_id, there.schedule_time) == fire
    ):
        return "workflow_instance_fire"
    return None


def enter(tx: Transaction, states: Mapping[WorkflowInstanceId, WorkflowState], master: Epoch) -> None:
    """WHERE master_id = :master AND state IN ('RUNNING_EXECUTION', 'READY_PAUSE')."""
    own = [
        row
        for row, each in rows_of(tx, states)
        if is_owned(tx, each, master) and each.state in (W.RUNNING_EXECUTION, W.READY_PAUSE)
    ]
    for row in own:
        tx.update(row, state=states[row.id])
    if missed := states.keys() - {row.id for row in own}:
        raise OwnershipLost(missed, f"{named(missed)} of {len(states)} runs to halt are not driven by master {master}")


def close(tx: Transaction, ends: Sequence[InstanceEnd], master: Epoch) -> None:
    """WHERE master_id = :master AND state IN the driven ones AND ending_as IS NULL."""
    closed: set[WorkflowInstanceId] = set()
    for end in ends:
        for row, each in rows_of(tx, [end.id]):
            if is_owned(tx, each, master) and each.state.is_driven and each.ending_as is None:
                newest = tx.server.commands.last_id
                ending = {"ending_as": end.state, "ending_reason": end.reason or None, "ending_after": newest}
                tx.update(row, state=W.RUNNING_EXECUTION, requested_state=None, **ending)
                closed.add(end.id)
    ids = {end.id for end in ends}
    if missed := ids - closed:
        raise OwnershipLost(missed, f"{named(missed)} of {len(ids)} runs to clean up are not driven by master {master}")


def finish(tx: Transaction, ends: Sequence[InstanceEnd], master: Epoch) -> list[WorkflowInstanceId]:
    """WHERE master_id = :master AND state IN the driven ones."""
    awaited: list[WorkflowInstanceId] = []
    ended: set[WorkflowInstanceId] = set()
    for end in ends:
        for row, each in rows_of(tx, [end.id]):
            if is_owned(tx, each, master) and each.state.is_driven:
                told = {"state": end.state, "reason": end.reason or None, "ended_s": tx.server.now_s}
                is_held = end.state is W.PAUSE
                told |= {"ending_as": each.ending_as, "ending_reason": each.ending_reason} if is_held else _ENDED
                limit = None if end.state is WorkflowState.SUCCESS and end.is_whole else each.executing
                tx.update(row, outputs=end.outputs, requested_state=None, executing=limit, **told)
                ended.add(end.id)
                is_serial = each.execution_type is not ExecutionType.PARALLEL
                if each.parent is not None or is_serial or each.backfill or tx.server.triggers:
                    awaited.append(end.id)
    if missed := {end.id for end in ends} - ended:
        raise OwnershipLost(missed, f"{named(missed)} of {len(ends)} runs to finish are not driven by master {master}")
    return awaited


def reset_takeovers(tx: Transaction, ids: Sequence[WorkflowInstanceId], master: Epoch) -> None:
    for row, each in rows_of(tx, ids):
        if each.master_id == master and each.takeovers:
            tx.update(row, takeovers=0)


def owned(tx: Transaction, master: Epoch) -> set[WorkflowInstanceId]:
    return {
        row.id
        for row, each in tx.scan(tx.server.instances.unfinished)
        if each.master_id == master and _may_be_driven(each.state)
    }


def read_owned(tx: Transaction, ids: Sequence[WorkflowInstanceId], master: Epoch) -> list[WorkflowInstance]:
    return [
        read_instance(tx, each)
        for _, each in rows_of(tx, ids)
        if is_owned(tx, each, master) and _may_be_driven(each.state)
    ]


def still_owned(tx: Transaction, ids: Sequence[WorkflowInstanceId], master: Epoch) -> list[WorkflowInstanceId]:
    """The same by their ids alone."""
    return [row.id for row, each in rows_of(tx, ids) if is_owned(tx, each, master) and _may_be_driven(each.state)]


def take_back(tx: Transaction, ids: Sequence[WorkflowInstanceId], master: Epoch) -> None:
    """WHERE master_id = :master AND state = 'FAILOVER'."""
    for row, each in rows_of(tx, ids):
        if is_owned(tx, each, master) and each.state is W.FAILOVER:
            tx.update(row, state=each.requested_state or W.RUNNING_EXECUTION)


def _may_be_driven(state: WorkflowState) -> bool:
    """Unfinished, and not in line."""
    return not state.is_final and state is not W.SERIAL_WAIT


def ran_s(tx: Transaction, ids: Sequence[WorkflowInstanceId], master: Epoch) -> dict[WorkflowInstanceId, float]:
    """For those that `read_owned` finds."""
    return {each.id: each.ran_s for each in read_owned(tx, ids, master)}
