"""The statements of `dao/runs/started_runs.py`."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from model.ids import Epoch, WorkflowInstanceId
from model.logic.sub_process import STARTED_RUN
from model.runs.commands import read_parent
from model.runs.instances import ChildState, Parent
from model.runs.states import WorkflowState
from tests.simulation.statements.rows import note_owners, tell_event
from tests.simulation.tables import Transaction


def _of(tx: Transaction, runs: Collection[int]) -> list[tuple[int, Parent]]:
    found = []
    for row, each in tx.scan(tx.server.instances.rows):
        parent = None if "/e" in (each.started_by or "") else read_parent(each.started_by)
        if parent is not None and parent.instance in runs:
            found.append((row.id, parent))
    return found


def existing(tx: Transaction, parents: Sequence[Parent]) -> dict[Parent, WorkflowInstanceId]:
    by_place = {parent.place: parent for parent in parents}
    runs = {parent.instance for parent in parents}
    return {by_place[p.place]: WorkflowInstanceId(id_) for id_, p in _of(tx, runs) if p.place in by_place}


def of(tx: Transaction, runs: Collection[WorkflowInstanceId]) -> dict[WorkflowInstanceId, list[ChildState]]:
    found: dict[WorkflowInstanceId, list[ChildState]] = defaultdict(list)
    for id_, parent in sorted(_of(tx, runs), key=lambda each: each[0]):
        outputs = json.dumps({STARTED_RUN: str(id_)})
        found[parent.instance].append(ChildState(parent.code, parent.attempt, 0, WorkflowState.SUCCESS, outputs))
    return found


def report(tx: Transaction, begun: Mapping[WorkflowInstanceId, Parent]) -> set[Epoch]:
    for id_, parent in begun.items():
        outputs = json.dumps({STARTED_RUN: str(id_)})
        tell_event(tx, parent.instance, parent.code, parent.attempt, WorkflowState.SUCCESS, parent.index, outputs)
    return note_owners(tx, {parent.instance for parent in begun.values()})
