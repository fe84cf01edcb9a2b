"""Where in the queue attempts may wait, so that a claim need not search all of it.

The index of the queue keeps the entries of what was claimed until VACUUM removes them, and they are where a claim
begins: it would step over hundreds of thousands under lasting load. So a worker remembers where its last claim came to,
and whoever queues attempts says where. Nothing depends on it: what was not said (rows that were written by hand, or
that another worker locked and left) is found by the next poll, which has everything searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from model.choices import Priority

Places = Mapping[Priority, Mapping[str, int]]
"""The lowest id of a run of which anything may wait, of each priority of a workflow and worker group; where none is
given, nothing waits."""

_RANKS = {priority: rank for rank, priority in enumerate(Priority)}
_HINT = re.compile(rf">({'|'.join(Priority)}):(\d{{1,18}}):(.+)")
"""No name of a group looks like it."""


def hints(queued: Iterable[tuple[Priority, str, int]]) -> set[str]:
    """What to say of attempts that were queued: the priority, worker group and run of each."""
    lowest: dict[tuple[Priority, str], int] = {}
    for priority, group, run in queued:
        lowest[priority, group] = min(run, lowest.get((priority, group), run))
    return {f">{priority}:{run}:{group}" for (priority, group), run in lowest.items()}


class QueuePlaces:
    """What a worker of these groups knows of the queue: nothing at first, so that everything is searched."""

    def __init__(self, groups: Sequence[str]) -> None:
        self._groups = frozenset(groups)
        self._known: dict[Priority, dict[str, int]] | None = None
        self._searched: Places | None = {}

    @property
    def all(self) -> Places | None:
        """Where anything may wait, what a claim under way searches included; None = everywhere."""
        if self._known is None or self._searched is None:
            return None
        return {
            priority: _lower(self._known.get(priority, {}), self._searched.get(priority, {}))
            for priority in Priority
            if priority in self._known or priority in self._searched
        }

    def note(self, payload: str) -> None:
        """Attempts were queued; `payload` as a notification has it: names of groups and hints, empty = of any group."""
        named, said = set(), set()
        for each in payload.split(","):
            if (hint := _HINT.fullmatch(each)) is None:
                named.add(each)
            elif hint[3] in self._groups:
                said.add(hint[3])
                self._add(Priority(hint[1]), {hint[3]: int(hint[2])})
        if not payload or (named & self._groups) - said:
            self.search_all()

    def search_all(self) -> None:
        """Anything may wait anywhere."""
        self._known = None

    def begin(self) -> Places | None:
        """Where a claim is to search; None = everywhere. What is noted from here on may be what it does not see."""
        self._searched, self._known = self._known, {}
        return self._searched

    def end(self, taken: Iterable[tuple[Priority, int]]) -> None:
        """The claim took all that it could, of these priorities and runs: behind the last of them more may wait, before
        it nothing does. None = nothing waits where it searched."""
        searched, self._searched = self._searched, {}
        last = max(((_RANKS[priority], run) for priority, run in taken), default=None)
        if last is None:
            return
        rank, run = last
        for priority in tuple(Priority)[rank:]:
            there = dict.fromkeys(self._groups, 0) if searched is None else searched.get(priority, {})
            is_reached = _RANKS[priority] == rank
            self._add(priority, {group: max(lowest, run) if is_reached else lowest for group, lowest in there.items()})

    def _add(self, priority: Priority, runs: Mapping[str, int]) -> None:
        if self._known is not None and runs:
            self._known[priority] = _lower(self._known.get(priority, {}), runs)


def _lower(runs: Mapping[str, int], others: Mapping[str, int]) -> dict[str, int]:
    """The lower one of each group."""
    return {group: min(others.get(group, run), run) for group, run in {**others, **runs}.items()}
