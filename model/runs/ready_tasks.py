"""How far a workflow has come: which tasks are decided, and which may begin because of that. Pure.

An edge is decided when the task before it is. It is *live* when that task succeeded and, if it chooses branches, chose
this one; *dead* when it was skipped, or skipped itself, or chose others; *failed* when it finally failed or never
begins. By its edges a task begins, is skipped, or never begins (`start_rules.py`). The default: when all its edges are
decided, it begins if one of them is live or if it has none; with only dead edges it is skipped; with a failed one it
never begins. A CONDITIONS takes a failed edge for a live one. A task that does not begin decides its own edges in turn.

A forbidden task is passed over: its edges are decided as the task itself would be. Tasks that a start or EXECUTE_TASK
left out of its scope are decided from the beginning, since the user named the tasks to run. A task that has an attempt
has begun, whatever its edges say: it may have begun before others ended, or ended before a task before it ran again.
Tasks that clean up have no part in this (`closing.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from enum import Enum, auto

from model.choices import StartWhen
from model.definitions.plan import Plan
from model.ids import TaskCode
from model.runs.start_rules import Decision, decision


class Edge(Enum):
    """How the task before it decided an edge."""

    LIVE = auto()
    DEAD = auto()
    FAILED = auto()


LIVE, DEAD, FAILED = Edge
# Faster than attributes of the enumeration: used for each task of every run.


class Progress:
    """The progress of one run. `scope` limits it to some tasks; None = all."""

    __slots__ = (
        *("_chosen", "_dead", "_failed", "_left", "_live", "_plan", "_scope", "_settled"),
        *("by_itself", "done", "never", "skipped"),
    )

    def __init__(self, plan: Plan, scope: Collection[TaskCode] | None) -> None:
        self._plan = plan
        self._scope = scope
        self._left = dict(plan.predecessor_count)
        self._live: set[TaskCode] = set(plan.work.roots)
        """Tasks with a live edge, or without edges; likewise `_failed`, and `_dead` of those with a start rule."""
        self._failed: set[TaskCode] = set()
        self._dead: set[TaskCode] = set()
        self._settled: set[TaskCode] = set()
        """Tasks that had begun, or were decided before all their edges: no edge changes them."""
        self._chosen: dict[TaskCode, frozenset[TaskCode] | None] = {}
        """With a scope: the tasks that succeeded, within it or before, and the branches they chose."""
        self.done: set[TaskCode] = set()
        """Tasks that succeeded, were skipped or passed over, or are out of scope."""
        self.skipped: set[TaskCode] = set()
        """The skipped tasks, including those that skipped themselves."""
        self.by_itself: set[TaskCode] = set()
        """Tasks that began and skipped themselves, within the scope or before."""
        self.never: set[TaskCode] = set()
        """Tasks that never begin, since tasks before them failed."""

    def begin(self, begun: Iterable[TaskCode] = ()) -> list[TaskCode]:
        """The tasks that may begin at once; called once, before anything is decided. `begun` already have attempts."""
        self._settled.update(begun)
        ready = list(self._plan.work.roots)
        if self._plan.rules:
            ready += [code for code, rule in self._plan.rules.items() if rule is StartWhen.ALWAYS]
        if self._scope is not None:
            for code in self._plan.work.depth:
                if code not in self._scope:
                    self.done.add(code)
                    ready += self._decide_edges(code, self._plan.work.successors[code], LIVE)
        return self._beginning(ready)

    def is_in_scope(self, code: TaskCode) -> bool:
        """Whether this task runs at all."""
        return self._scope is None or code in self._scope

    def succeeded(self, code: TaskCode, chosen: frozenset[TaskCode] | None = None) -> list[TaskCode]:
        """Record a success and the branches it chose, if any; returns the tasks that may begin now."""
        self.done.add(code)
        if self._scope is not None:
            self._chosen[code] = chosen
        after: Sequence[TaskCode] = self._plan.work.successors[code]
        if chosen is None:
            return self._beginning(self._decide_edges(code, after, LIVE))
        dead = self._plan.tasks[code].branches - chosen
        ready = self._decide_edges(code, [each for each in after if each not in dead], LIVE)
        return self._beginning(ready + self._decide_edges(code, [each for each in after if each in dead], DEAD))

    def skipped_itself(self, code: TaskCode) -> list[TaskCode]:
        """Record a task that began and ended as skipped; returns the tasks that may begin now."""
        self.by_itself.add(code)
        return self._beginning(self._skip(code))

    def kept(self, code: TaskCode, chosen: frozenset[TaskCode] | None) -> None:
        """Record that a task out of scope had succeeded before, and the branches it chose, if any."""
        self._chosen[code] = chosen

    def kept_skipped(self, code: TaskCode) -> None:
        """Record that a task out of scope had skipped itself before."""
        self.by_itself.add(code)

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
            elif code in self.by_itself:
                pending += whole.skipped_itself(code)
            elif code in failed:
                pending += whole.failed(code)
            else:
                return False
        return True

    def failed(self, code: TaskCode) -> list[TaskCode]:
        """Record a final failure; returns the tasks that may begin now."""
        return self._beginning(self._decide_edges(code, self._plan.work.successors[code], FAILED))

    def _decide_edges(self, code: TaskCode, after: Sequence[TaskCode], edge: Edge) -> list[TaskCode]:
        """Decide these edges of a task; returns the tasks behind them that may now be decided."""
        is_left_out = False
        if self._scope is not None:
            is_left_out = code not in self._scope
            after = after if is_left_out else [each for each in after if each in self._scope]
        if edge is FAILED or self._plan.rules:
            return self._decide_by_rules(after, edge, is_left_out=is_left_out)
        left, ready = self._left, []
        if edge is LIVE:
            self._live.update(after)
        for each in after:  # most edges of most runs: the same as below, at half the time
            left[each] -= 1
            if left[each] == 0:
                ready.append(each)
        return ready

    def _decide_by_rules(self, after: Sequence[TaskCode], edge: Edge, *, is_left_out: bool) -> list[TaskCode]:
        rules, ready = self._plan.rules, []
        for each in after:
            self._left[each] -= 1
            if edge is LIVE or (edge is FAILED and each in self._plan.evaluators):
                if not (is_left_out and each in rules):
                    self._live.add(each)
            elif edge is FAILED:
                self._failed.add(each)
            elif each in rules:
                self._dead.add(each)
            if self._left[each] == 0 or each in rules or each in self._failed:
                ready.append(each)
        return ready

    def _beginning(self, ready: list[TaskCode]) -> list[TaskCode]:
        """Of the tasks that may be decided now, return those that run; the others decide their own edges in turn."""
        rules, tasks, live, failed = self._plan.rules, self._plan.tasks, self._live, self._failed
        settled, scope = self._settled, self._scope
        beginning = []
        pending = list(reversed(ready))
        while pending:
            code = pending.pop()
            if code in settled or (scope is not None and code not in scope):
                continue
            if code in rules or code in failed or code not in live:
                decided = self._decided(code)
                if decided is None:
                    continue
                if code in rules or decided is Decision.NEVER:
                    settled.add(code)
                if decided is not Decision.STARTS:
                    pending += reversed(self._does_not_begin(code, decided))
                    continue
            if tasks[code].is_forbidden:
                self.done.add(code)
                pending += reversed(self._decide_edges(code, self._plan.work.successors[code], LIVE))
            else:
                beginning.append(code)
        return beginning

    def _decided(self, code: TaskCode) -> Decision | None:
        rule = self._plan.rules.get(code)
        if rule is None:
            return Decision.NEVER if code in self._failed else Decision.SKIPPED
        return decision(
            rule,
            waits=self._left[code] > 0,
            succeeded=code in self._live,
            skipped=code in self._dead,
            failed=code in self._failed,
        )

    def _does_not_begin(self, code: TaskCode, decided: Decision) -> list[TaskCode]:
        if decided is Decision.NEVER:
            self.never.add(code)
            return self._decide_edges(code, self._plan.work.successors[code], FAILED)
        return self._skip(code)

    def _skip(self, code: TaskCode) -> list[TaskCode]:
        self.done.add(code)
        self.skipped.add(code)
        return self._decide_edges(code, self._plan.work.successors[code], DEAD)
