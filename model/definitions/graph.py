"""The shape of a workflow: which task waits for which. Everything here is linear in tasks and edges."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from model.choices import TaskDependType
from model.ids import TaskCode


@dataclass(frozen=True)
class Graph:
    """A directed acyclic graph of tasks.

    `successors`, `predecessors` and `depth` have an entry for every task. `depth` is the length of the longest path to
    it, so a task is always deeper than its predecessors. `roots` are the tasks without predecessors, in the order of
    the definition.
    """

    successors: Mapping[TaskCode, tuple[TaskCode, ...]]
    predecessors: Mapping[TaskCode, tuple[TaskCode, ...]]
    depth: Mapping[TaskCode, int]
    roots: tuple[TaskCode, ...]

    @classmethod
    def of(cls, predecessors: Mapping[TaskCode, Sequence[TaskCode]]) -> Graph:
        """Build from task -> the tasks it waits for. The caller has checked that there is no cycle (`find_cycle`)."""
        successors: dict[TaskCode, list[TaskCode]] = {code: [] for code in predecessors}
        for code, befores in predecessors.items():
            for before in befores:
                successors[before].append(code)
        roots = tuple(code for code, befores in predecessors.items() if not befores)
        return cls(
            {code: tuple(after) for code, after in successors.items()},
            {code: tuple(befores) for code, befores in predecessors.items()},
            _depths(predecessors, successors, roots),
            roots,
        )

    def around(self, codes: Iterable[TaskCode], depend_type: TaskDependType) -> frozenset[TaskCode]:
        """These tasks and those that `depend_type` adds."""
        match depend_type:
            case TaskDependType.TASK_ONLY:
                return frozenset(codes)
            case TaskDependType.TASK_PRE:
                return self.with_all_before(codes)
            case TaskDependType.TASK_POST:
                return self.with_all_after(codes)

    def with_all_before(self, codes: Iterable[TaskCode]) -> frozenset[TaskCode]:
        return _closure(codes, self.predecessors)

    def with_all_after(self, codes: Iterable[TaskCode]) -> frozenset[TaskCode]:
        return _closure(codes, self.successors)

    def marked_before(self, marks: Mapping[TaskCode, int]) -> Mapping[TaskCode, int]:
        """For each task the marks of all tasks before it, combined by `|`; linear with one bit for each mark."""
        found = dict.fromkeys(self.depth, 0)
        if marks:
            for code in sorted(self.depth, key=self.depth.__getitem__):
                for before in self.predecessors[code]:
                    found[code] |= found[before] | marks.get(before, 0)
        return found

    def nearest(self, codes: Collection[TaskCode]) -> frozenset[TaskCode]:
        """The codes that have no other of `codes` downstream. Walks up only to the least deep of them."""
        highest = min(self.depth[code] for code in codes)
        pending, passed = list(codes), set[TaskCode]()
        while pending:
            for before in self.predecessors[pending.pop()]:
                if before not in passed and self.depth[before] >= highest:
                    passed.add(before)
                    pending.append(before)
        return frozenset(codes) - passed


def _depths(
    predecessors: Mapping[TaskCode, Sequence[TaskCode]],
    successors: Mapping[TaskCode, Sequence[TaskCode]],
    roots: Iterable[TaskCode],
) -> dict[TaskCode, int]:
    depth = dict.fromkeys(predecessors, 0)
    left = {code: len(befores) for code, befores in predecessors.items()}
    pending = list(roots)
    while pending:
        code = pending.pop()
        for after in successors[code]:
            depth[after] = max(depth[after], depth[code] + 1)
            left[after] -= 1
            if left[after] == 0:
                pending.append(after)
    return depth


def _closure(codes: Iterable[TaskCode], next_to: Mapping[TaskCode, Sequence[TaskCode]]) -> frozenset[TaskCode]:
    pending = list(codes)
    found = set(pending)
    while pending:
        for each in next_to[pending.pop()]:
            if each not in found:
                found.add(each)
                pending.append(each)
    return frozenset(found)


def find_cycle(predecessors: Mapping[str, Iterable[str]]) -> list[str] | None:
    """The names along one cycle, first name repeated at the end, or None. Names without an entry are ignored.

    Depth first with three colours and an explicit stack: a chain of 10,000 tasks must not exhaust Python's call stack.
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
