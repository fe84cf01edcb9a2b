"""Queries that several statements share."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from dao.postgres.notify import EVENT
from model.cluster.nodes import NodeKind, NodeState
from model.ids import Epoch, TaskCode
from model.runs.command_moves import CommandType
from model.runs.instances import WorkflowInstance
from model.runs.states import TaskState
from tests.simulation.tables import Row, Transaction, Values

GONE = (NodeState.FENCED, NodeState.LEFT)
RUNNING = (TaskState.DISPATCH, TaskState.RUNNING_EXECUTION)


def is_gone(tx: Transaction, epoch: int, kind: NodeKind) -> bool:
    """Whether `node` has it as FENCED or LEFT."""
    node = tx.get(tx.server.nodes, epoch)
    return node is not None and node.kind is kind and node.state in GONE


def owns_no_more(tx: Transaction, epoch: int, kind: NodeKind) -> bool:
    """Whether `node` does not have it ALIVE or LEAVING in this role: it is gone, or never was."""
    node = tx.get(tx.server.nodes, epoch)
    return node is None or node.kind is not kind or node.state in GONE


def open_recovers(tx: Transaction) -> set[str]:
    """The instances, as text, for which a RECOVER command is open."""
    type_ = CommandType.RECOVER_TOLERANCE_FAULT_PROCESS
    return {each.row.workflow_instance_id for _, each in tx.scan(tx.server.commands.rows) if each.type is type_}


def is_owned(tx: Transaction, instance: Values, master: Epoch) -> bool:
    """`master_id = :master`, as the statements of an owner have it."""
    return instance.master_id == master or not tx.server.protections.fencing


def rows_of(tx: Transaction, ids: Collection[int]) -> list[tuple[Row, Values]]:
    """The existing rows, in the order of the ids."""
    rows = [tx.server.instances.rows.get(id_) for id_ in sorted(ids)]
    return [(row, values) for row in rows if row is not None and (values := tx.see(row)) is not None]


def move_child(tx: Transaction, row: Row, attempt: int, **changes: Any) -> Values:
    """Put it under another attempt, with whatever else changes; a unique index lets one child stand in a place."""
    before = tx.see(row)
    assert before is not None
    place = replace(before.parent, attempt=attempt)
    for other in list(tx.server.instances.rows.values()):
        there = tx.see(other) or (other.owner.writes.get(other) if other.owner else None)
        if other is not row and there is not None and there.parent == place:
            tx.refuse_if_there(other, "workflow_instance_child")
    return tx.update(row, parent=place, **changes)


def tell_event(
    tx: Transaction,
    instance: int,
    code: int,
    attempt: int,
    state: str,
    child: int | None = None,
    given: str | None = None,
    *,
    is_suspect: bool | None = None,
) -> None:
    id_ = tx.server.events.next_id()
    run = tx.get(tx.server.instances, instance)
    values = Values(
        workflow_instance_id=instance,
        task_code=code,
        attempt=attempt,
        state=state,
        child_index=child,
        outputs=given,
        is_suspect=is_suspect,
        owner=0 if run is None else run.master_id,
    )
    tx.insert(tx.server.events, id_, values)


def note_owners(tx: Transaction, instances: Collection[int]) -> set[Epoch]:
    """Wake the owners of these runs, and return them."""
    owners = {Epoch(each.master_id) for _, each in rows_of(tx, instances)}
    if owners:
        tx.notes.append((EVENT, ",".join(sorted(map(str, owners)))))
    return owners


def read_instance(tx: Transaction, each: Values) -> WorkflowInstance:
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
        tx.server.now_s - each.running_since_s,
        each.interval,
        each.ending_as,
        each.ending_reason or "",
    )
