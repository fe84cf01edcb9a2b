"""Which outputs each task of a run sees: those of its ancestors, never of unrelated branches. Pure.

References by task name are in `results.py`. By their own names:

A task sees the outputs of its ancestors; a nearer ancestor overrides its own ancestors. Between unrelated ancestors a
value that is not empty wins, then the one that finished first. (Apache DolphinScheduler has one pool for the whole
workflow instead, so values leak between branches.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from model.definitions.graph import Graph
from model.ids import TaskCode

Context = Mapping[str, frozenset[TaskCode]]
"""Name -> the tasks that output it, except those with another such task after them. It keeps more than the present
winner, which may be overridden further on, so that another one wins."""
_NOTHING: Context = {}


class Contexts:
    """The outputs of one run."""

    __slots__ = ("_after", "_finished", "_graph", "_nearest", "_outputs")

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._outputs: dict[TaskCode, Mapping[str, str]] = {}
        self._finished: dict[TaskCode, int] = {}
        self._after: dict[TaskCode, Context] = {}
        self._nearest: dict[frozenset[TaskCode], frozenset[TaskCode]] = {}

    def gave(self, code: TaskCode, outputs: Mapping[str, str]) -> None:
        """Record the outputs of a successful task."""
        if outputs:
            self._outputs[code] = outputs
            self._finished[code] = len(self._finished)
            if code in self._after:  # a later task was computed already: with tasks left out, it need not wait
                self._after.clear()

    def given_by(self, code: TaskCode) -> Mapping[str, str]:
        """The outputs of one task; empty if it has not succeeded."""
        return self._outputs.get(code, {})

    def seen_by(self, code: TaskCode) -> Mapping[str, str]:
        """The outputs of a task's ancestors, by name."""
        if not self._outputs:
            return {}
        self._compute(self._graph.predecessors[code])
        return self._values(self._merged(self._graph.predecessors[code]))

    def at_the_end(self) -> Mapping[str, str]:
        """The outputs of all tasks, as a task after all of them would see them."""
        if not self._outputs:
            return {}
        leaves = [code for code, after in self._graph.successors.items() if not after]
        self._compute(leaves)
        return self._values(self._merged(leaves))

    def _compute(self, codes: Iterable[TaskCode]) -> None:
        """Compute and cache what is visible after these tasks and all before them, without recursion."""
        pending = [code for code in codes if code not in self._after]
        while pending:
            code = pending[-1]
            befores = self._graph.predecessors[code]
            missing = [before for before in befores if before not in self._after]
            if missing:
                pending += missing
                continue
            pending.pop()
            context = self._merged(befores)
            if outputs := self._outputs.get(code):
                context = {**context, **dict.fromkeys(outputs, frozenset({code}))}
            self._after[code] = context

    def _merged(self, befores: Iterable[TaskCode]) -> Context:
        contexts = {id(context): context for before in befores if (context := self._after[before])}
        if not contexts:
            return _NOTHING
        first, *others = contexts.values()
        if not others:
            return first
        merged = dict(first)
        rivals: dict[str, set[TaskCode]] = {}
        for context in others:
            for name, givers in context.items():
                known = merged.setdefault(name, givers)
                if known is not givers:
                    rivals.setdefault(name, set(known)).update(givers)
        for name, candidates in rivals.items():
            who = frozenset(candidates)
            if who not in self._nearest:
                self._nearest[who] = self._graph.nearest(who)
            merged[name] = self._nearest[who]
        return merged

    def _values(self, context: Context) -> dict[str, str]:
        return {name: self._best(name, givers) for name, givers in context.items()}

    def _best(self, name: str, givers: Iterable[TaskCode]) -> str:
        """Choose between unrelated tasks: a non-empty value wins, then the one that finished first."""
        best = min(givers, key=lambda code: (not self._outputs[code][name], self._finished[code]))
        return self._outputs[best][name]
