"""What the tasks of one instance see of each other's outputs: by ancestry, never across unrelated branches. Pure.

A task sees what its ancestors gave; a nearer one overrides its own ancestors. Between unrelated ones a value that is
not empty wins, then the one that finished first. (Apache DolphinScheduler keeps one pool for the whole workflow
instead, so that values leak between branches.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from model.graph import Graph
from model.ids import TaskCode


@dataclass(frozen=True, slots=True)
class Given:
    """A value and the task that gave it."""

    value: str
    by: TaskCode


Context = Mapping[str, Given]
_NOTHING: Context = {}


class Contexts:
    """Of one workflow instance."""

    __slots__ = ("_after", "_finished", "_graph", "_outputs")

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._outputs: dict[TaskCode, Mapping[str, str]] = {}
        self._finished: dict[TaskCode, int] = {}
        self._after: dict[TaskCode, Context] = {}

    def gave(self, code: TaskCode, outputs: Mapping[str, str]) -> None:
        """A task has ended well and gave these."""
        if outputs:
            self._outputs[code] = outputs
            self._finished[code] = len(self._finished)
            if code in self._after:  # a task after it was asked for: where tasks were left out, it need not wait
                self._after.clear()

    def seen_by(self, code: TaskCode) -> Mapping[str, str]:
        """What the ancestors of a task gave, by name."""
        if not self._outputs:
            return {}
        self._reckon(self._graph.predecessors[code])
        return _values(self._merged(self._graph.predecessors[code]))

    def at_the_end(self) -> Mapping[str, str]:
        """What all tasks gave, as a task after all of them would see it."""
        if not self._outputs:
            return {}
        leaves = [code for code, after in self._graph.successors.items() if not after]
        self._reckon(leaves)
        return _values(self._merged(leaves))

    def _reckon(self, codes: Iterable[TaskCode]) -> None:
        """What is seen after these tasks and all before them, each kept; upwards with a stack of our own."""
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
                context = {**context, **{name: Given(value, code) for name, value in outputs.items()}}
            self._after[code] = context

    def _merged(self, befores: Iterable[TaskCode]) -> Context:
        contexts = [context for before in befores if (context := self._after[before])]
        if not contexts:
            return _NOTHING
        merged = dict(contexts[0])
        rivals: dict[str, dict[TaskCode, Given]] = {}
        for context in contexts[1:]:
            if context is contexts[0]:
                continue
            for name, given in context.items():
                other = merged.setdefault(name, given)
                if other.by != given.by:
                    rivals.setdefault(name, {other.by: other})[given.by] = given
        nearest: dict[frozenset[TaskCode], frozenset[TaskCode]] = {}
        for name, candidates in rivals.items():
            who = frozenset(candidates)
            if who not in nearest:
                nearest[who] = self._graph.nearest(who)
            merged[name] = min((candidates[code] for code in nearest[who]), key=self._rank)
        return merged

    def _rank(self, given: Given) -> tuple[bool, int]:
        return (not given.value, self._finished[given.by])


def _values(context: Context) -> dict[str, str]:
    return {name: given.value for name, given in context.items()}
