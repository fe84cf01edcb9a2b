"""An index of the ends that DEPENDENT tasks await, so that the end of a run or task only costs work for these tasks.

It is in memory, and only a hint which tasks to evaluate: the evaluation itself reads the rows. It is filled from the
rows of this master's waiting tasks, and keyed by day, since a task mostly awaits runs of a few days.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dao.runs.dependencies import Notice, Span, checksum
from model.ids import TaskInstanceId
from model.logic.dependent import ALL_TASKS

_DAY_S = 86_400
_Key = tuple[int, int | None, int]
"""Workflow, checksum of the task or None for a whole run, day since 1970."""


class Awaited:
    """DEPENDENT tasks by what they await."""

    def __init__(self) -> None:
        self._spans: dict[_Key, dict[TaskInstanceId, list[tuple[float, float]]]] = {}
        self._keys: dict[TaskInstanceId, frozenset[_Key]] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, id_: TaskInstanceId) -> bool:
        return id_ in self._keys

    def put(self, id_: TaskInstanceId, spans: Iterable[Span]) -> None:
        """Register the spans in which this task awaits runs or tasks of them; replaces its earlier spans."""
        self.drop(id_)
        keys = set()
        for span in spans:
            for key in _keys(span):
                keys.add(key)
                of_task = self._spans.setdefault(key, {}).setdefault(id_, [])
                of_task.append((span.begin.timestamp(), span.end.timestamp()))
        self._keys[id_] = frozenset(keys)

    def drop(self, id_: TaskInstanceId) -> None:
        """Remove a task, which no longer waits."""
        for key in self._keys.pop(id_, ()):
            of_key = self._spans[key]
            del of_key[id_]
            if not of_key:
                del self._spans[key]

    def by(self, notices: Iterable[Notice]) -> set[TaskInstanceId]:
        """The tasks that await any of these ends."""
        return {
            id_
            for each in notices
            for id_, spans in self._spans.get((each.workflow_code, each.task, each.at_s // _DAY_S), {}).items()
            if any(begin_s <= each.at_s < end_s for begin_s, end_s in spans)
        }


def _keys(span: Span) -> Iterator[_Key]:
    """The keys of a span. The end of a run decides every task of it that has not succeeded."""
    first, last = int(span.begin.timestamp()) // _DAY_S, int(span.end.timestamp() - 1) // _DAY_S
    for day in range(first, last + 1):
        yield (span.workflow_code, None, day)
        if span.task is not None and span.task not in ALL_TASKS:
            yield (span.workflow_code, checksum(span.task), day)
