"""The statements of `dao/workflow_instances.py`, `instance_moves.py`, `serial_line.py`, `ends.py` and `children.py`.

Under the same names, but for those that two of these modules have.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from dao.children import ASKED_BY, Above, ChildRow, NewChild
from dao.errors import BadData
from dao.instance_moves import Locked, Revival
from dao.notify import EVENT
from dao.serial_line import InLine
from dao.workflow_instances import InstanceEnd, NewInstance, OwnershipLost
from model.choices import ExecutionType
from model.command_moves import CommandType
from model.ids import CommandId, Epoch, TaskCode, WorkflowCode, WorkflowInstanceId
from model.instances import Parent, WorkflowInstance
from model.nodes import NodeKind
from model.states import TaskState, WorkflowState
from tests.simulation.statements import commands
from tests.simulation.statements.nodes import is_gone, open_recovers
from tests.simulation.tables import Row, Transaction, Values

C, T, W = CommandType, TaskState, WorkflowState
_WAITING = (W.SUBMITTED_SUCCESS, W.SERIAL_WAIT, W.WAIT_TO_RUN)


def is_owned(tx: Transaction, instance: Values, master: Epoch) -> bool:
    """`master_id = :master`, as the statements of an owner have it."""
    return instance.master_id == master or not tx.server.protections.fencing


def rows_of(tx: Transaction, ids: Collection[int]) -> list[tuple[Row, Values]]:
    """Those that exist, in the order of the ids."""
    rows = [tx.server.instances.rows.get(id_) for id_ in sorted(ids)]
    return [(row, values) for row in rows if row is not None and (values := tx.see(row)) is not None]


def tell_event(
    tx: Transaction, instance: int, code: int, attempt: int, state: str, child: int | None = None, given: str | None = None
) -> None:
    id_ = tx.server.events.next_id()
    values = Values(
        workflow_instance_id=instance, task_code=code, attempt=attempt, state=state, child_index=child, outputs=given
    )
    tx.insert(tx.server.events, id_, values)


def note_owners(tx: Transaction, instances: Collection[int]) -> None:
    tx.notes.append((EVENT, ",".join(sorted({str(each.master_id) for _, each in rows_of(tx, instances)}))))


# --------------------------------------------------------------------------------------- workflow_instances


def insert(
    tx: Transaction, new: Sequence[NewInstance], master: Epoch
) -> dict[CommandId, tuple[WorkflowInstanceId, datetime]]:
    """With ON CONFLICT DO NOTHING for whatever may be there already: children, fires."""
    server, made = tx.server, {}
    once = any(each.parent is not None or each.schedule_id is not None for each in new)
    for each in new:
        try:
            for row in list(server.instances.rows.values()):
                if constraint := _same_key(tx, row, each):
                    tx.refuse_if_there(row, constraint)
        except BadData:
            if once:
                continue
            raise
        id_ = WorkflowInstanceId(server.instances.next_id())
        runs = each.state is W.RUNNING_EXECUTION
        values = {name: getattr(each, name) for name in NewInstance.__slots__}
        values |= {
            "id": id_,
            "master_id": master if runs else 0,
            "requested_state": None,
            "executing": None,
            "outputs": None,
            "takeovers": 0,
            "run_times": 1,
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
    fire = (new.schedule_id, new.schedule_time)
    if new.schedule_id is not None and tx.server.protections.fire and (there.schedule_id, there.schedule_time) == fire:
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
    if len(own) != len(states):
        raise OwnershipLost(f"{len(states) - len(own)} of {len(states)} instances to halt are not its own")


def finish(tx: Transaction, ends: Sequence[InstanceEnd], master: Epoch) -> list[WorkflowInstanceId]:
    """WHERE master_id = :master AND state IN the driven ones."""
    awaited, ended = [], 0
    for end in ends:
        for row, each in rows_of(tx, [end.id]):
            if is_owned(tx, each, master) and each.state.is_driven:
                tx.update(row, state=end.state, reason=end.reason, outputs=end.outputs, requested_state=None)
                ended += 1
                if each.parent is not None or each.execution_type is not ExecutionType.PARALLEL or each.backfill:
                    awaited.append(end.id)
    if ended != len(ends):
        raise OwnershipLost(f"{len(ends) - ended} of {len(ends)} instances to finish are not master {master}'s")
    return awaited


def take_over(
    tx: Transaction, ids: Sequence[WorkflowInstanceId], master: Epoch
) -> dict[WorkflowInstanceId, tuple[WorkflowInstance, int]]:
    """FOR UPDATE in the order of the ids; only what belongs to a FENCED or LEFT master and has not ended."""
    taken = {}
    for row, _ in rows_of(tx, ids):
        tx.lock(row)
    for row, each in rows_of(tx, ids):
        owner = tx.get(tx.server.nodes, each.master_id)
        if owner is None or not (is_gone(tx, each.master_id, NodeKind.MASTER) or not tx.server.protections.takeover):
            continue
        if each.state.is_driven or each.state is W.FAILOVER:
            state = each.requested_state or (W.RUNNING_EXECUTION if each.state is W.FAILOVER else each.state)
            takeovers = each.takeovers + (owner.state == "FENCED")
            after = tx.update(row, master_id=master, state=state, takeovers=takeovers)
            taken[row.id] = (read_instance(after), takeovers)
    return taken


def settle(tx: Transaction, ids: Sequence[WorkflowInstanceId], master: Epoch) -> None:
    for row, each in rows_of(tx, ids):
        if each.master_id == master and each.takeovers:
            tx.update(row, takeovers=0)


def owned(tx: Transaction, master: Epoch) -> set[WorkflowInstanceId]:
    return {
        row.id
        for row, each in tx.scan(tx.server.instances.unfinished)
        if each.master_id == master and not each.state.is_final
    }


def read_owned(tx: Transaction, ids: Sequence[WorkflowInstanceId], master: Epoch) -> list[WorkflowInstance]:
    return [
        read_instance(each)
        for _, each in rows_of(tx, ids)
        if is_owned(tx, each, master) and not each.state.is_final
    ]


def hand_on(tx: Transaction, limit: int) -> int:
    """What a FENCED or LEFT master has unfinished and without an open RECOVER command, FOR UPDATE SKIP LOCKED."""
    recovering = open_recovers(tx) if tx.server.protections.recover else set()
    handed = 0
    for row, each in list(tx.scan(tx.server.instances.unfinished)):
        if each.state.is_final or not is_gone(tx, each.master_id, NodeKind.MASTER) or str(row.id) in recovering:
            continue
        if handed < limit and tx.try_lock(row):
            tx.update(row, state=W.FAILOVER)
            commands.insert_recover(tx, row.id, each.workflow_code)
            handed += 1
    return handed


def why_not_recovered(tx: Transaction, id_: WorkflowInstanceId) -> str:
    each = tx.get(tx.server.instances, id_)
    return f"workflow instance {id_} is {each and each.state} and belongs to master {each and each.master_id}"


def read_instance(each: Values) -> WorkflowInstance:
    scope = each.executing or each.scope
    return WorkflowInstance(
        each.id,
        each.workflow_code,
        each.workflow_version,
        each.failure_strategy,
        each.priority,
        each.worker_group,
        each.params,
        each.state,
        each.requested_state,
        each.startup_names,
        each.schedule_time,
        each.time_zone,
        each.dry_run,
        each.environment,
        None if scope is None else frozenset(map(TaskCode, json.loads(scope))),
        each.depth,
        each.parent,
    )


# ------------------------------------------------------------------------------- instance_moves, serial_line


def lock(tx: Transaction, ids: Collection[WorkflowInstanceId]) -> dict[WorkflowInstanceId, Locked]:
    """FOR UPDATE in the order of the ids."""
    for row, _ in rows_of(tx, set(ids)):
        tx.lock(row)
    return {
        row.id: Locked(
            row.id, each.workflow_code, each.workflow_version, each.requested_state or each.state, each.execution_type
        )
        for row, each in rows_of(tx, set(ids))
    }


def serial_codes(tx: Transaction, ids: Collection[WorkflowInstanceId]) -> set[WorkflowCode]:
    return {each.workflow_code for _, each in rows_of(tx, ids) if each.execution_type is not ExecutionType.PARALLEL}


def ask_halt(tx: Transaction, states: Mapping[WorkflowInstanceId, WorkflowState]) -> None:
    for row, _ in rows_of(tx, states):
        tx.update(row, requested_state=states[row.id])
    for id_, state in states.items():
        tell_event(tx, id_, 0, 0, state)
    note_owners(tx, states)


def end_waiting(tx: Transaction, ends: Mapping[WorkflowInstanceId, tuple[WorkflowState, str]]) -> None:
    for row, each in rows_of(tx, ends):
        if each.state in _WAITING:
            state, reason = ends[row.id]
            tx.update(row, state=state, reason=reason)


def revive(
    tx: Transaction, revivals: Sequence[Revival], master: Epoch
) -> dict[WorkflowInstanceId, WorkflowInstance]:
    """WHERE id = ...: whoever revives holds the row since it judged its state (`lock`)."""
    revived = {}
    for each in revivals:
        for row, before in rows_of(tx, [each.id]):
            parent = before.parent
            if parent is not None and each.parent is not None:
                parent = Parent(parent.instance, parent.code, each.parent.attempt, parent.index)
            executing = None if each.executing is None else json.dumps(sorted(each.executing))
            after = tx.update(
                row,
                state=W.RUNNING_EXECUTION,
                master_id=master,
                reason=None,
                requested_state=None,
                takeovers=0,
                outputs=None,
                run_times=before.run_times + each.repeats,
                executing=before.executing if each.keeps_executing else executing,
                parent=parent,
            )
            revived[each.id] = read_instance(after)
    return revived


def lock_line(tx: Transaction, codes: Collection[WorkflowCode]) -> list[InLine]:
    """`serial_line.lock`: the definition rows FOR NO KEY UPDATE, then who stands in their lines."""
    for code in sorted(set(codes)):
        tx.lock(tx.server.definitions.rows[code])
    return [
        InLine(row.id, each.workflow_code, each.requested_state or each.state)
        for row, each in tx.scan(tx.server.instances.unfinished)
        if each.workflow_code in codes and not each.state.is_final
    ]


def anyone_waits(tx: Transaction) -> bool:
    return any(each.state in (W.SERIAL_WAIT, W.WAIT_TO_RUN) for _, each in tx.scan(tx.server.instances.unfinished))


def call_forgotten(tx: Transaction) -> int:
    """Serial workflows in whose lines nobody runs and whom nobody has called."""
    standing = [each for _, each in tx.scan(tx.server.instances.unfinished) if not each.state.is_final]
    waiting = {each.workflow_code for each in standing if each.state is W.SERIAL_WAIT}
    waiting -= {each.workflow_code for each in standing if each.state is not W.SERIAL_WAIT}
    called = {each.row.workflow_code for _, each in tx.scan(tx.server.commands.rows) if each.type is C.RECOVER_SERIAL_WAIT}
    calls = [code for code in sorted(waiting) if str(code) not in called]
    for code in calls:
        commands.insert(tx, C.RECOVER_SERIAL_WAIT, workflow_code=str(code))
    return len(calls)


# ------------------------------------------------------------------------------------------- ends, children


def tell_ends(tx: Transaction, ids: Sequence[WorkflowInstanceId]) -> None:
    """`ends.tell`."""
    tell_parents(tx, ids)
    ended = [each for _, each in rows_of(tx, ids)]
    for code in sorted({each.workflow_code for each in ended if each.execution_type is not ExecutionType.PARALLEL}):
        commands.insert(tx, C.RECOVER_SERIAL_WAIT, workflow_code=str(code))


def tell_parents(tx: Transaction, ids: Sequence[WorkflowInstanceId]) -> None:
    above = [each for _, each in rows_of(tx, ids) if each.parent is not None]
    for each in above:
        parent = each.parent
        tell_event(tx, parent.instance, parent.code, parent.attempt, each.state, parent.index, each.outputs)
    if above:
        note_owners(tx, {each.parent.instance for each in above})


def above(tx: Transaction, ids: Collection[WorkflowInstanceId]) -> dict[WorkflowInstanceId, Above]:
    """FOR SHARE in the order of the ids."""
    for row, _ in rows_of(tx, set(ids)):
        tx.share(row)
    return {
        row.id: Above(each.requested_state or each.state, each.params, each.depth, _standing(tx, row.id))
        for row, each in rows_of(tx, set(ids))
    }


def _standing(tx: Transaction, id_: WorkflowInstanceId) -> dict[TaskCode, int]:
    return {
        task.task_code: task.attempt
        for _, task in tx.of_key(tx.server.tasks, id_)
        if task.state is T.RUNNING_EXECUTION and task.worker_id is None
    }


def _children(tx: Transaction, ids: Collection[int]) -> list[tuple[Row, Values]]:
    return [
        (row, each)
        for row, each in tx.scan(tx.server.instances.rows)
        if each.parent is not None and each.parent.instance in ids
    ]


def of(tx: Transaction, parents: Collection[WorkflowInstanceId]) -> dict[WorkflowInstanceId, list[ChildRow]]:
    found: dict[WorkflowInstanceId, list[ChildRow]] = {id_: [] for id_ in parents}
    for _, each in _children(tx, parents):
        found[each.parent.instance].append(ChildRow(each.parent, each.state, each.outputs))
    return found


def existing(tx: Transaction, parents: Sequence[Parent]) -> dict[Parent, WorkflowInstanceId]:
    instances = {parent.instance for parent in parents}
    return {each.parent: row.id for row, each in _children(tx, instances) if each.parent in parents}


def start(tx: Transaction, new: Sequence[NewChild]) -> None:
    for each in new:
        commands.insert(
            tx,
            C.START_PROCESS,
            workflow_code=str(each.workflow),
            params=json.dumps(dict(each.params)),
            priority=each.priority,
            worker_group=each.worker_group,
            schedule_time=None if each.schedule_time is None else each.schedule_time.isoformat(),
            time_zone=each.time_zone,
            parent=str(each.parent),
        )


_RESUMES = {
    W.FAILURE: C.START_FAILURE_TASK_PROCESS,
    W.PAUSE: C.RECOVER_SUSPENDED_PROCESS,
    W.STOP: C.RECOVER_SUSPENDED_PROCESS,
}


def resume(tx: Transaction, links: Sequence[tuple[Parent, int]]) -> None:
    for parent, attempt in links:
        for row, each in _children(tx, {parent.instance}):
            if each.parent == parent:
                after = tx.update(row, parent=Parent(parent.instance, parent.code, attempt, parent.index))
                if after.state in _RESUMES:
                    commands.insert(tx, _RESUMES[after.state], workflow_instance_id=str(row.id), created_by=ASKED_BY)


def halt_children(tx: Transaction, halts: Mapping[WorkflowInstanceId, TaskState]) -> None:
    """`children.halt`."""
    for row, each in _children(tx, halts):
        asked = each.requested_state or each.state
        pauses = halts[each.parent.instance] is T.PAUSE
        if each.state.is_final or asked is W.READY_STOP or (pauses and asked is W.READY_PAUSE):
            continue
        commands.insert(tx, C.PAUSE if pauses else C.STOP, workflow_instance_id=str(row.id))


def tell_unmade(tx: Transaction, ends: Sequence[tuple[Parent, WorkflowState]]) -> None:
    """`children.tell`."""
    for parent, state in ends:
        tell_event(tx, parent.instance, parent.code, parent.attempt, state, parent.index)
    note_owners(tx, {parent.instance for parent, _ in ends})
