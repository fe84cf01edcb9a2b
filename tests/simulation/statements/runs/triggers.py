"""The statements of `dao/runs/triggers.py`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dao.runs.triggers import TRIGGER, DatasetUpdate
from model.definitions.triggers import EVENT
from model.ids import Epoch, WorkflowInstanceId
from model.runs.command_moves import CommandType
from tests.simulation.statements.commands import commands
from tests.simulation.statements.rows import is_owned, rows_of
from tests.simulation.tables import Transaction, Values


def after_runs(tx: Transaction, ids: Sequence[WorkflowInstanceId]) -> None:
    for row, each in rows_of(tx, ids):
        ended = f"w{each.workflow_code}"
        starts = [
            code
            for code, triggers in sorted(tx.server.triggers.items())
            if any(trigger.workflow == ended and each.state in trigger.states for trigger in triggers)
        ]
        for code in () if each.dry_run else starts:
            _insert(tx, code, each, f"{row.id}/0/0", {"kind": "workflow", "state": each.state}, _chain(each))


def after_updates(tx: Transaction, updates: Sequence[DatasetUpdate], master: Epoch) -> None:
    known = []
    for update in sorted(updates, key=lambda each: (each.instance, each.code, each.attempt)):
        run = tx.get(tx.server.instances, update.instance)
        if run is None or not is_owned(tx, run, master):
            continue
        for row, task in list(tx.of_key(tx.server.tasks, update.instance)):
            if (task.task_code, task.attempt) == (update.code, update.attempt) and task.updated_datasets is None:
                tx.update(row, updated_datasets=list(update.datasets))
                known.append(_Known(update, run, task.name))
    starts = [*heard(tx, known), *_each_starts(tx, known)]
    for last, code, chain, told in sorted(starts, key=_order):
        _insert(tx, code, last.run, last.place, told, chain)


@dataclass(frozen=True, slots=True)
class _Known:
    update: DatasetUpdate
    run: Values
    task: str

    @property
    def place(self) -> str:
        return f"{self.update.instance}/{self.update.code}/{self.update.attempt}"


_Start = tuple[_Known, int, int, dict[str, object]]
"""The last update before it, the workflow, how many runs triggered one another before it, and what it is told."""


def _order(start: _Start) -> tuple[object, ...]:
    last, code, _, told = start
    datasets = told["datasets"]
    assert isinstance(datasets, list)
    return last.update.instance, last.update.code, code, len(datasets), datasets


def _each_starts(tx: Transaction, known: Sequence[_Known]) -> Iterator[_Start]:
    for each in known:
        for code, triggers in sorted(tx.server.triggers.items()):
            datasets = sorted({one.dataset for one in triggers if one.dataset is not None} & set(each.update.datasets))
            if datasets:
                told: dict[str, object] = {"kind": "dataset", "datasets": datasets, "task": each.task}
                yield each, code, _chain(each.run), told


def heard(tx: Transaction, known: Sequence[_Known]) -> Iterator[_Start]:
    """ON CONFLICT DO UPDATE, which waits for who inserts or updates the same row."""
    waits = [(code, trigger.datasets) for code, all_ in sorted(tx.server.triggers.items()) for trigger in all_]
    for code, datasets in waits:
        new = {name: each for each in known for name in each.update.datasets if name in datasets}
        if not new:
            continue
        row = tx.server.dataset_waits.rows.get((code, "default", datasets))
        before = None if row is None else tx.see(row)
        if row is None or before is None:
            before = Values(workflow_code=code, project="default", datasets=list(datasets), missing=[], updates={})
            row = tx.insert(tx.server.dataset_waits, (code, "default", datasets), before)
        updates = (before.updates if before.missing else {}) | {name: _told(each) for name, each in new.items()}
        missing = [name for name in (before.missing or datasets) if name not in new]
        tx.update(row, missing=missing, updates=updates)
        if not missing:
            last = [each for each in known if set(each.update.datasets) & set(datasets)][-1]
            told = {"kind": "dataset", "datasets": list(datasets), "task": last.task, "updates": updates}
            yield last, code, min(each["chain"] for each in updates.values()), told


def _told(update: _Known) -> dict[str, object]:
    known = {"workflow": f"w{update.run.workflow_code}", "run": str(update.run.id), "task": update.task}
    return known | {"attempt": update.update.attempt, "chain": _chain(update.run)}


def _chain(run: Values) -> int:
    return int(run.started_by.rpartition("/e")[2].split(".")[0]) if "/e" in (run.started_by or "") else 0


def _insert(tx: Transaction, code: int, run: Values, place: str, told: dict[str, object], chain: int) -> None:
    whole = {"project": "default", "workflow": f"w{run.workflow_code}", "run": str(run.id), **told}
    commands.ask(
        tx,
        CommandType.START_PROCESS,
        workflow_code=str(code),
        params=json.dumps({EVENT: json.dumps(whole)}),
        parent=f"{place}/{chain + 1}/event",
        created_by=TRIGGER,
        from_above="true",
    )
