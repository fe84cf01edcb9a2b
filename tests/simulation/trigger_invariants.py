"""Invariants of triggers: each event starts each workflow that waits for it once, and nothing else does.

Judged from the committed rows alone.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from dao.runs.triggers import TRIGGER
from model.definitions.triggers import EVENT
from model.runs.states import TaskState
from tests.simulation.definitions import TRIGGERED, TRIGGERING, specs
from tests.simulation.tables import Change, Values

if TYPE_CHECKING:
    from tests.simulation.server import Server

_GIVEN_UP = ("be driven", "masters died")
"""A run that ends for such a reason is no longer noted."""


@cache
def _updates(workflow: int) -> dict[int, tuple[str, ...]]:
    """The datasets that its tasks update, by code."""
    return {task.code or 0: task.updates for task in specs()[workflow].coded().tasks if task.updates}


@cache
def _after_end(workflow: int, state: str) -> tuple[int, ...]:
    name = f"w{workflow}"
    waits = {code: specs()[code].triggers for code in TRIGGERED}
    return tuple(
        code for code, all_ in waits.items() if any(each.workflow == name and state in each.states for each in all_)
    )


@cache
def _waits() -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Which workflows wait for all of which datasets."""
    return tuple((code, each.datasets) for code in TRIGGERED for each in specs()[code].triggers if each.datasets)


@cache
def _after_update(datasets: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(code for code in TRIGGERED if any(each.dataset in datasets for each in specs()[code].triggers))


class TriggerInvariants:
    def __init__(self, broken: Callable[[str, str], None]) -> None:
        self._broken = broken
        self._told: set[tuple[str, str]] = set()
        """The attempts that started a workflow: their places, and the workflow."""
        self._heard: dict[tuple[int, tuple[str, ...]], dict[str, str]] = {each: {} for each in _waits()}
        """For each wait for several datasets: the attempts that updated them since it last started its workflow."""
        self._updated: set[str] = set()
        self.server: Server

    def committed(self, changes: Sequence[Change]) -> None:
        """I37: the end of a run starts what waits for it, in its transaction; the success of an attempt does once,
        before its run ends."""
        asked: Counter[tuple[str, str]] = Counter()
        together: Counter[tuple[str, frozenset[str]]] = Counter()
        for row, before, after in changes:
            if row.table.name == "command" and before is None and after is not None and after.row.created_by == TRIGGER:
                place = after.row.parent.rsplit("/", 2)[0]
                if updates := json.loads(json.loads(after.row.params)[EVENT]).get("updates"):
                    together[after.row.workflow_code, frozenset(map(_known, updates.items()))] += 1
                    continue
                asked[place, after.row.workflow_code] += 1
        due: Counter[tuple[str, str]] = Counter()
        for row, before, after in changes:
            if row.table.name != "workflow_instance" or after is None:
                continue
            if after.workflow_code in (*TRIGGERING, *TRIGGERED) and _is_end(before, after):
                due.update((f"{row.id}/0/0", str(code)) for code in _after_end(after.workflow_code, after.state))
        ends = Counter({key: count for key, count in asked.items() if key[0].endswith("/0/0")})
        if ends != due:
            self._broken("I37", f"ends of runs were to start {dict(due)}, and started {dict(ends)}")
        for key in asked:
            if key not in ends and (key in self._told or asked[key] > 1):
                self._broken("I37", f"attempt {key[0]} started workflow {key[1]} twice")
            self._told.add(key)
        self._started_together(changes, together)
        for row, before, after in changes:
            if row.table.name == "workflow_instance" and after is not None and _is_end(before, after):
                self._all_told(row.id, after)

    def _started_together(self, changes: Sequence[Change], together: Counter[tuple[str, frozenset[str]]]) -> None:
        """A wait for several datasets starts its workflow in the transaction of the last, with the newest updates, none
        of which has started it before."""
        updates: dict[tuple[int, int, int], Values] = {}
        for row, before, after in changes:
            is_new = before is None or before.updated_datasets is None if row.table.name == "task_instance" else False
            if is_new and after is not None and after.updated_datasets is not None:
                updates[after.workflow_instance_id, after.task_code, after.attempt] = after
        due: Counter[tuple[str, frozenset[str]]] = Counter()
        for place in sorted(updates):
            if str(place) in self._updated:
                self._broken("I37", f"attempt {place} updated its datasets twice")
            self._updated.add(str(place))
        for wait, heard in self._heard.items():
            for place, task in sorted(updates.items()):
                heard |= {
                    each: f"{place[0]}/{task.name}/{place[2]}" for each in task.updated_datasets if each in wait[1]
                }
            if len(heard) == len(wait[1]):
                due[str(wait[0]), frozenset(f"{name} {known}" for name, known in heard.items())] += 1
                heard.clear()
        if due != together:
            self._broken("I37", f"updates of several datasets were to start {dict(due)}, and started {dict(together)}")

    def _all_told(self, run: int, after: Values) -> None:
        updates = _updates(after.workflow_code) if after.workflow_code in (*TRIGGERING, *TRIGGERED) else {}
        if any(each in (after.reason or "") for each in _GIVEN_UP):
            return
        for row in self.server.tasks.by_key.get(run, ()) if updates else ():
            task = row.values
            if task is None or task.state is not TaskState.SUCCESS or not task.flag or task.task_code not in updates:
                continue
            place = f"{run}/{task.task_code}/{task.attempt}"
            if task.updated_datasets is None:
                self._broken(
                    "I37", f"attempt {place} has succeeded, its run has ended, and nobody heard of its updates"
                )
            if missing := [
                code for code in _after_update(updates[task.task_code]) if (place, str(code)) not in self._told
            ]:
                self._broken("I37", f"attempt {place} has succeeded, its run has ended, and {missing} did not start")


def _is_end(before: Values | None, after: Values) -> bool:
    """Whether it has ended; one that a rerun began and that is over in the same transaction has ended again."""
    return bool(after.state.is_final) and (before is None or before.ended_s != after.ended_s)


def _known(update: tuple[str, dict[str, object]]) -> str:
    name, known = update
    return f"{name} {known['run']}/{known['task']}/{known['attempt']}"
