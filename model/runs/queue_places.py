"""Where attempts may wait in the queue, so that a claim need not search all of it.

The index of the queue keeps claimed entries until VACUUM, exactly where a claim begins: under lasting load it would
step over hundreds of thousands. So a worker remembers where its last claim ended, and notifications say where attempts
were queued. For a moment it also searches the former places: another worker's claim may have locked rows there that it
gives back. Everything unannounced (a row written by hand, one locked for long) is found by a full search, at most every
two seconds while it claims, and whenever a poll finds waiting attempts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from model.choices import Priority

Places = Mapping[Priority, Mapping[str, int]]
"""The lowest run id with waiting attempts, for each priority of a workflow and worker group; nothing waits in groups
without an entry."""

AGAIN_S = 0.5
"""Former places are searched again for this long, and up to twice as long."""
ALL_EVERY_S = 2.0
HINTS_BYTES_MAX = 3_500
"""Longer hints would crowd the group names out of a notification; then everything is searched."""

_RANKS = {priority: rank for rank, priority in enumerate(Priority)}
_HINT = re.compile(rf">({'|'.join(Priority)}):(\d{{1,18}}):(.+)")
"""No group name has this form."""


def of_streams(group: str) -> str:
    """The hint that streams of this worker group were queued. No group has such a name."""
    return f"~{group}"


class QueuedAttempt(NamedTuple):
    """A queued attempt that needs only a place."""

    priority: Priority
    worker_group: str
    run: int
    is_stream: bool = False


class Queued:
    """What a transaction queued, for the notification of the workers."""

    def __init__(self, attempts: Iterable[QueuedAttempt] = ()) -> None:
        self._names: set[str] = set()
        self._lowest: dict[tuple[Priority, str], int] = {}
        self.add(attempts)

    def add(self, attempts: Iterable[QueuedAttempt]) -> None:
        for priority, group, run, is_stream in attempts:
            self._names.add(of_streams(group) if is_stream else group)
            if not is_stream:
                self._lowest[priority, group] = min(run, self._lowest.get((priority, group), run))

    @property
    def hints(self) -> set[str]:
        """The worker groups, and where to search in their queue, unless that is too long. All hints of one transaction
        go together: a worker that gets hints for a group searches only there."""
        where = {f">{priority}:{run}:{group}" for (priority, group), run in self._lowest.items()}
        return self._names | (where if sum(len(each.encode()) + 1 for each in where) <= HINTS_BYTES_MAX else set())


class QueuePlaces:
    """What a worker of these groups knows about the queue. Initially nothing, so everything is searched."""

    def __init__(self, groups: Sequence[str], again_s: float = AGAIN_S, all_every_s: float = ALL_EVERY_S) -> None:
        self._again_s = again_s
        self._all_every_s = all_every_s
        self._groups = frozenset(groups)
        self._known: Places | None = None
        self._searched: Places | None = {}
        self._lately: Places = {}
        self._before: Places = {}
        self._since_s = float("-inf")
        self._all_s = self._begun_s = float("-inf")

    @property
    def all(self) -> Places | None:
        """Everywhere that anything may wait, including where a claim in progress searches; None = everywhere."""
        if self._known is None or self._searched is None:
            return None
        return _union(self._known, _union(self._lately, self._before))

    def note(self, payload: str) -> None:
        """Record a notification; `payload` has names of groups and hints, empty = any group."""
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
        """Search everything next time."""
        self._known = None

    def begin(self, now_s: float) -> Places | None:
        """Where a claim that begins now (seconds of any clock) must search; None = everywhere. It may miss what is
        noted from here on."""
        known, self._known = self._known, {}
        if now_s - self._begun_s > self._all_every_s:
            self._all_s = now_s  # polls since the last claim have noted unannounced attempts
        self._begun_s = now_s
        if now_s - self._since_s >= self._again_s:
            self._before, self._lately, self._since_s = self._lately, {}, now_s
        self._lately = _union(self._lately, known or {})
        if known is None or now_s - self._all_s >= self._all_every_s:
            self._searched, self._all_s = None, now_s
        else:
            self._searched = _union(self._lately, self._before)
        return self._searched

    def end(self, taken: Iterable[tuple[Priority, int]]) -> None:
        """Record a claim that took these priorities and runs: more may wait after the last of them, nothing before it.
        If it took less than it could, they are empty: nothing waits where it searched."""
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
            self._known = _union(self._known, {priority: runs})


def _union(places: Places, others: Places) -> Places:
    """The union: the lower run for each priority and group."""
    return {
        priority: {
            group: min(runs.get(group, run), run)
            for runs, more in ((places.get(priority, {}), others.get(priority, {})),)
            for group, run in {**runs, **more}.items()
        }
        for priority in Priority
        if priority in places or priority in others
    }
