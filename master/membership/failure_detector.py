"""Failure detection: which nodes must be fenced, given what was observed and when. Pure.

Death is observed, not computed from timestamps: a node is suspected when its beat number stands still in *our* reads by
*our* clock. Times of two machines are never compared, and whatever keeps us from reading (a database outage, a pause of
our own) restarts the observation instead of killing healthy nodes. A wrong verdict on a master wastes work and breaks
nothing, since it is fenced; one on a worker kills tasks, so for a worker both channels must be silent.

A node announces with its beats how long it may be silent, and obeys it: this master may have other settings. This
master's own limits apply only to a node that announces none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from model.cluster.nodes import NodeKind
from model.cluster.timing import TASKS_END_S, WORKER_CUT_MARGIN_S, Silence, Timing
from model.ids import Epoch


@dataclass(frozen=True, slots=True)
class Sight:
    """A node in one read: its beat number, whether its process is provably gone from this machine, and how long it may
    be silent according to that beat."""

    epoch: Epoch
    kind: NodeKind
    beat_no: int
    is_gone: bool
    silence: Silence | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Fence this node, for this reason."""

    epoch: Epoch
    why: str


@dataclass(slots=True)
class _Seen:
    """`died_unseen`: it was already gone at our first read, or at the first read after an interruption. `gone_at` is
    the beat at which it was first seen gone, `gone_since_s` the time."""

    beat_no: int
    since_s: float
    died_unseen: bool
    gone_at: int | None = None
    gone_since_s: float = 0.0


class FailureDetector:
    """What one master has observed of the others' beats. Pass it every read, in order."""

    def __init__(self, me: Epoch, timing: Timing) -> None:
        self._me = me
        self._timing = timing
        self._seen: dict[Epoch, _Seen] = {}
        self._last_observed_s: float | None = None

    def observe(self, sights: Iterable[Sight], now_s: float) -> list[Sight]:
        """Process one read, answered at `now_s` of a monotonic clock; returns the suspects, to be checked in the
        registry.

        `now_s` is the time of the answer, not of the query: a beat in it may have been sent just before.
        """
        beat_s = self._timing.heartbeat_every.total_seconds()
        if self._last_observed_s is not None and now_s - self._last_observed_s > 2.5 * beat_s:
            self._seen.clear()
        self._last_observed_s = now_s
        others = [sight for sight in sights if sight.epoch != self._me]
        before, self._seen = self._seen, {}
        for sight in others:
            seen = before.get(sight.epoch) or _Seen(sight.beat_no, now_s, died_unseen=sight.is_gone)
            if seen.beat_no != sight.beat_no:
                seen = replace(seen, beat_no=sight.beat_no, since_s=now_s)
            if sight.is_gone and seen.gone_at is None:
                seen.gone_at, seen.gone_since_s = sight.beat_no, now_s
            self._seen[sight.epoch] = seen
        believed = [replace(sight, is_gone=sight.is_gone and not self._belies(sight, now_s)) for sight in others]
        return [sight for sight in believed if sight.is_gone or self._is_still(sight, now_s)]

    def verdicts(self, suspects: Iterable[Sight], present: Collection[Epoch] | None, now_s: float) -> list[Verdict]:
        """The nodes to fence.

        Args:
            suspects: as returned by `observe`.
            present: epochs in a list just read from a connected registry; None when there is no such list.
            now_s: the same time as in `observe`.
        """
        return [Verdict(suspect.epoch, why) for suspect in suspects if (why := self._why(suspect, present, now_s))]

    def _why(self, suspect: Sight, present: Collection[Epoch] | None, now_s: float) -> str | None:
        still_s = self._still_s(suspect, now_s)
        if suspect.is_gone and not self._may_be_reported_for(suspect, still_s) and not self._may_run_on(suspect, now_s):
            return "its process is gone"
        absent = present is not None and suspect.epoch not in present
        if suspect.kind is NodeKind.MASTER:
            if absent:
                return f"it left the registry and its beat stood still for {still_s:.0f} s"
            limit_s = self._silence(suspect).fence_s
        else:
            if absent and still_s >= self._silence(suspect).fence_s:
                return f"it left the registry and its beat stood still for {still_s:.0f} s"
            limit_s = self._silence(suspect).cut_s + WORKER_CUT_MARGIN_S
        return f"its beat stood still for {still_s:.0f} s" if still_s >= limit_s else None

    def _may_be_reported_for(self, suspect: Sight, still_s: float) -> bool:
        """Whether another process may still report for it. A worker that died unobserved, while the database was away,
        may have left results on its disk: its successor gets as long to report them as the registry would take to
        expire it."""
        died_unseen = suspect.kind is NodeKind.WORKER and self._seen[suspect.epoch].died_unseen
        return died_unseen and still_s < self._silence(suspect).session_s

    def _may_run_on(self, suspect: Sight, now_s: float) -> bool:
        """Whether its tasks may still run for a moment. After the fence they may run elsewhere."""
        return suspect.kind is NodeKind.WORKER and now_s - self._seen[suspect.epoch].gone_since_s < TASKS_END_S

    def _belies(self, sight: Sight, now_s: float) -> bool:
        """Whether it still beats although it was seen gone. A single beat may have been in flight when it died."""
        return sight.beat_no != self._seen[sight.epoch].gone_at and not self._is_still(sight, now_s)

    def _is_still(self, sight: Sight, now_s: float) -> bool:
        return self._still_s(sight, now_s) >= 3 * self._silence(sight).beat_s

    def _still_s(self, sight: Sight, now_s: float) -> float:
        return now_s - self._seen[sight.epoch].since_s

    def _silence(self, sight: Sight) -> Silence:
        return sight.silence or sight.kind.silence(self._timing)
