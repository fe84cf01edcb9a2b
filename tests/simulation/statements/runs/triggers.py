"""The statements of `dao/runs/triggers.py`."""

from __future__ import annotations

import json
from collections.abc import Sequence

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
            _insert(tx, code, each, f"{row.id}/0/0", {"kind": "workflow", "state": each.state})


def after_updates(tx: Transaction, updates: Sequence[DatasetUpdate], master: Epoch) -> None:
    for update in sorted(updates, key=lambda each: (each.instance, each.code)):
        run = tx.get(tx.server.instances, update.instance)
        if run is None or not is_owned(tx, run, master):
            continue
        for row, task in list(tx.of_key(tx.server.tasks, update.instance)):
            if (task.task_code, task.attempt) != (update.code, update.attempt) or task.updated_datasets is not None:
                continue
            tx.update(row, updated_datasets=list(update.datasets))
            for code, triggers in sorted(tx.server.triggers.items()):
                datasets = sorted(
                    {name for each in triggers if (name := each.dataset) is not None and name in update.datasets}
                )
                if datasets:
                    told = {"kind": "dataset", "datasets": datasets, "task": task.name}
                    _insert(tx, code, run, f"{update.instance}/{update.code}/{update.attempt}", told)


def _insert(tx: Transaction, code: int, run: Values, place: str, told: dict[str, object]) -> None:
    chain = int(run.started_by.rpartition("/e")[2].split(".")[0]) + 1 if "/e" in (run.started_by or "") else 1
    whole = {"project": "default", "workflow": f"w{run.workflow_code}", "run": str(run.id), **told}
    commands.ask(
        tx,
        CommandType.START_PROCESS,
        workflow_code=str(code),
        params=json.dumps({EVENT: json.dumps(whole)}),
        parent=f"{place}/{chain}/event",
        created_by=TRIGGER,
        from_above="true",
    )
