"""How far a workflow has come: which tasks are decided, and which may begin because of that. Pure.

An edge is decided when the task before it is. It is *live* when that task succeeded and, if it chooses branches, chose
this one; else it is *dead*. When all edges of a task are decided, the task begins if one of them is live or if it has
none. With only dead edges it is skipped, and so are its own edges. A task that finally failed decides only its edges to
CONDITIONS: other tasks after it never begin, and decide as little.

A forbidden task is passed over: its edges are decided as the task itself would be. Tasks that a start or EXECUTE_TASK
left out of its scope are decided from the beginning, since the user named the tasks to run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from model.definitions.plan import Plan
from model.ids import TaskCode


class Progress:
    """The progress of one workflow instance. `scope` limits it to some tasks; None = all."""

    __slots__ = ("_blocked", "_chosen", "_left", "_live", "_plan", "_scope", "done", "skipped")

    def __init__(self, plan: Plan, scope: Collection[TaskCode] | None) -> None:
        self._plan = plan
        self._scope = scope
        self._left = dict(plan.predecessor_count)
        self._live: set[TaskCode] = set(plan.graph.roots)
        self._chosen: dict[TaskCode, frozenset[TaskCode] | None] = {}
        """With a scope: what succeeded, within it or before, and the tasks that it chose."""
        self._blocked: set[TaskCode] = set()
        """What never begins, since a task before it failed; the CONDITIONS after it know."""
        self.done: set[TaskCode] = set()
        """What succeeded, was skipped or passed over, or is out of scope."""
        self.skipped: set[TaskCode] = set()
        """The skipped ones: on branches that were not chosen."""

    def begin(self) -> list[TaskCode]:
        """What may begin at once; called once, before anything is decided."""
        ready = list(self._plan.graph.roots)
        if self._scope is not None:
            for code in self._plan.tasks:
                if code not in self._scope:
                    self.done.add(code)
                    ready += self._decide_edges(code, self._plan.graph.successors[code], live=True)
        return self._beginning(ready)

    def is_in_scope(self, code: TaskCode) -> bool:
        """Whether this task is to run at all."""
        return self._scope is None or code in self._scope

    def succeeded(self, code: TaskCode, chosen: frozenset[TaskCode] | None = None) -> list[TaskCode]:
        """A task succeeded, and chose these tasks if it is one that chooses; returns what may begin now."""
        self.done.add(code)
        if self._scope is not None:
            self._chosen[code] = chosen
        after: Sequence[TaskCode] = self._plan.graph.successors[code]
        if code in self._blocked:  # it had succeeded before the task before it failed
            after = [each for each in after if each not in self._plan.evaluators.get(code, ())]
        if chosen is None:
            return self._beginning(self._decide_edges(code, after, live=True))
        dead = self._plan.tasks[code].branches - chosen
        ready = self._decide_edges(code, [each for each in after if each not in dead], live=True)
        return self._beginning(ready + self._decide_edges(code, [each for each in after if each in dead], live=False))

    def kept(self, code: TaskCode, chosen: frozenset[TaskCode] | None) -> None:
        """A task that is out of scope had succeeded before, and chose these tasks if it is one that chooses."""
        self._chosen[code] = chosen

    def is_whole(self, failed: Collection[TaskCode]) -> bool:
        """Whether nothing would begin without the scope either, given that these tasks failed."""
        if self._scope is None:
            return True
        whole = Progress(self._plan, None)
        pending = whole.begin()
        while pending:
            code = pending.pop()
            if code in self._chosen:
                pending += whole.succeeded(code, self._chosen[code])
            elif code in failed:
                pending += whole.failed(code)
            else:
                return False
        return True

    def failed(self, code: TaskCode) -> list[TaskCode]:
        """A task finally failed; returns the CONDITIONS that may begin now."""
        ready = []
        pending = [code]
        while pending:
            each = pending.pop()
            evaluators = self._plan.evaluators.get(each, ())
            if each not in self._blocked:
                ready += self._decide_edges(each, evaluators, live=True)
            if each != code:
                self._blocked.add(each)
            pending += [
                after
                for after in self._plan.graph.successors[each]
                if after not in evaluators
                and after not in self._blocked
                and after not in self.done
                and self.is_in_scope(after)
            ]
        return self._beginning(ready)

    def _decide_edges(self, code: TaskCode, after: Iterable[TaskCode], *, live: bool) -> list[TaskCode]:
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
        """Of the tasks whose edges are decided those that run; the others decide their own edges in turn."""
        beginning = []
        pending = list(reversed(ready))
        while pending:
            code = pending.pop()
            if not self.is_in_scope(code):
                continue
            if code not in self._live:
                self.done.add(code)
                self.skipped.add(code)
                pending += reversed(self._decide_edges(code, self._plan.graph.successors[code], live=False))
            elif self._plan.tasks[code].is_forbidden:
                self.done.add(code)
                pending += reversed(self._decide_edges(code, self._plan.graph.successors[code], live=True))
            else:
                beginning.append(code)
        return beginning
