"""Finds runs of serial workflows that would wait forever, behind runs that wait for them.

A run waits for its child runs. A run that waits in a line begins when any live run of that line ends. So it waits
forever only if none of these can end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from model.ids import WorkflowInstanceId
from model.runs.serial_lines import Line


class Unfinished(NamedTuple):
    """An unfinished run; `above` is its parent. `max_active`, of a waiting run, limits the live runs of its line."""

    id: WorkflowInstanceId
    line: Line
    above: WorkflowInstanceId | None = None
    waits: bool = False
    max_active: int = 1


def deadlocked(found: Iterable[Unfinished]) -> dict[WorkflowInstanceId, WorkflowInstanceId]:
    """The deadlocked runs, each with a live run of its line that waits for it.

    `found` has all live runs of the lines with waiting runs, and all unfinished runs below them. A run that merely
    waits behind a deadlock is not named: it continues once that is resolved.
    """
    runs = {each.id: each for each in found}
    live: dict[Line, list[WorkflowInstanceId]] = defaultdict(list)
    waiting: dict[Line, list[WorkflowInstanceId]] = defaultdict(list)
    for each in runs.values():
        (waiting if each.waits else live)[each.line].append(each.id)
    stuck = _stuck(runs, live)
    ended: dict[WorkflowInstanceId, WorkflowInstanceId] = {}
    for line, ids in waiting.items():
        for id_ in stuck.intersection(ids):
            if behind := _awaiting(id_, runs, waiting).intersection(live[line]):
                ended[id_] = max(behind)
    return ended


def _stuck(
    runs: Mapping[WorkflowInstanceId, Unfinished], live: Mapping[Line, list[WorkflowInstanceId]]
) -> set[WorkflowInstanceId]:
    """All runs that cannot end: those that can are removed until nothing changes."""
    stuck = set(runs)
    while True:
        holding = {runs[id_].above for id_ in stuck}
        full = {line: len(ids) for line, ids in live.items() if stuck.issuperset(ids)}
        left = {
            id_
            for id_ in stuck
            if (full.get(runs[id_].line, 0) >= runs[id_].max_active if runs[id_].waits else id_ in holding)
        }
        if left == stuck:
            return stuck
        stuck = left


def _awaiting(
    id_: WorkflowInstanceId,
    runs: Mapping[WorkflowInstanceId, Unfinished],
    waiting: Mapping[Line, list[WorkflowInstanceId]],
) -> set[WorkflowInstanceId]:
    """All runs that wait for this one, directly or through others."""
    seen: set[WorkflowInstanceId] = set()
    left = [id_]
    while left:
        run = runs[left.pop()]
        above = [run.above] if run.above in runs else []
        for each in (*above, *(() if run.waits else waiting.get(run.line, ()))):
            if each is not None and each not in seen:
                seen.add(each)
                left.append(each)
    return seen
