"""The shape of a workflow: which task waits for which. Everything here is linear in tasks and edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from model.ids import TaskCode


@dataclass(frozen=True)
class Graph:
    """A directed acyclic graph of tasks.

    `successors` and `predecessor_count` have an entry for every task; `roots` are those that wait for nobody, in the
    order of the definition.
    """

    successors: Mapping[TaskCode, tuple[TaskCode, ...]]
    predecessor_count: Mapping[TaskCode, int]
    roots: tuple[TaskCode, ...]

    @classmethod
    def of(cls, predecessors: Mapping[TaskCode, Sequence[TaskCode]]) -> Graph:
        """Build from task -> the tasks it waits for. The caller has checked that there is no cycle (`find_cycle`)."""
        successors: dict[TaskCode, list[TaskCode]] = {code: [] for code in predecessors}
        for code, befores in predecessors.items():
            for before in befores:
                successors[before].append(code)
        return cls(
            {code: tuple(after) for code, after in successors.items()},
            {code: len(befores) for code, befores in predecessors.items()},
            tuple(code for code, befores in predecessors.items() if not befores),
        )


def find_cycle(predecessors: Mapping[str, Iterable[str]]) -> list[str] | None:
    """The names along one cycle, first name repeated at the end, or None. Names without an entry are ignored.

    Depth first with three colours and an explicit stack: a chain of 10,000 tasks must not exhaust Python's own.
    """
    done: set[str] = set()
    for start in predecessors:
        if start in done:
            continue
        path: list[str] = [start]
        on_path = {start}
        pending = [iter(predecessors[start])]
        while pending:
            before = next(pending[-1], None)
            if before is None:
                pending.pop()
                finished = path.pop()
                on_path.discard(finished)
                done.add(finished)
            elif before in on_path:
                return [*reversed(path[path.index(before) :]), path[-1]]
            elif before not in done and before in predecessors:
                path.append(before)
                on_path.add(before)
                pending.append(iter(predecessors[before]))
    return None
