"""How far a workflow has come: which tasks are settled, and which may begin because of that. Pure.

An edge is settled when the task before it is. It is *live* when that task succeeded and chose, if it is one that
chooses, the branch of the edge; else it is *dead*. A task all of whose edges are settled begins if one of them is
live, or if it has none; with dead ones only it is skipped, and so are its own edges. A task that failed for good
settles no edge but those to the CONDITIONS that ask for its end: what else hangs on it never begins.

A forbidden task is passed over: it settles its edges as it would be settled itself. What a start or EXECUTE_TASK left
out of its scope is settled from the beginning, since somebody named the tasks that are to run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from master.plan import Plan
from model.ids import TaskCode


class Progress:
    """Of one workflow instance. `scope` limits it to some tasks; None = all."""

    __slots__ = ("_left", "_live", "_plan", "_scope", "done", "skipped")

    def __init__(self, plan: Plan, scope: Collection[TaskCode] | None) -> None:
        self._plan = plan
        self._scope = scope
        self._left = dict(plan.predecessor_count)
        self._live: set[TaskCode] = set(plan.graph.roots)
        self.done: set[TaskCode] = set()
        """What succeeded, was skipped or passed over, or is out of scope."""
        self.skipped: set[TaskCode] = set()
        """Those of them on branches that were not chosen."""

    def begin(self) -> list[TaskCode]:
        """What may begin at once; called once, before anything is settled."""
        ready = list(self._plan.graph.roots)
        if self._scope is not None:
            for code in self._plan.tasks:
                if code not in self._scope:
                    self.done.add(code)
                    ready += self._settle_edges(code, self._plan.graph.successors[code], live=True)
        return self._beginning(ready)

    def is_in_scope(self, code: TaskCode) -> bool:
        """Whether this task is meant to run at all."""
        return self._scope is None or code in self._scope

    def succeeded(self, code: TaskCode, chosen: frozenset[TaskCode] | None = None) -> list[TaskCode]:
        """A task did what it was for, and chose these if it is one that chooses; what may begin now."""
        self.done.add(code)
        after = self._plan.graph.successors[code]
        if chosen is None:
            return self._beginning(self._settle_edges(code, after, live=True))
        dead = self._plan.tasks[code].branches - chosen
        ready = self._settle_edges(code, [each for each in after if each not in dead], live=True)
        return self._beginning(ready + self._settle_edges(code, [each for each in after if each in dead], live=False))

    def failed(self, code: TaskCode) -> list[TaskCode]:
        """A task failed for good; the CONDITIONS that may begin now."""
        return self._beginning(self._settle_edges(code, self._plan.judges.get(code, ()), live=True))

    def _settle_edges(self, code: TaskCode, after: Iterable[TaskCode], *, live: bool) -> list[TaskCode]:
        if self._scope is not None and code in self._scope:
            after = [each for each in after if each in self._scope]
        ready = []
        for each in after:
            self._left[each] -= 1
            if live:
                self._live.add(each)
            if self._left[each] == 0:
                ready.append(each)
        return ready

    def _beginning(self, ready: list[TaskCode]) -> list[TaskCode]:
        """Of those whose edges are settled the ones to run; the others settle edges in turn."""
        beginning = []
        pending = list(reversed(ready))
        while pending:
            code = pending.pop()
            if not self.is_in_scope(code):
                continue
            if code not in self._live:
                self.done.add(code)
                self.skipped.add(code)
                pending += reversed(self._settle_edges(code, self._plan.graph.successors[code], live=False))
            elif self._plan.tasks[code].is_forbidden:
                self.done.add(code)
                pending += reversed(self._settle_edges(code, self._plan.graph.successors[code], live=True))
            else:
                beginning.append(code)
        return beginning
