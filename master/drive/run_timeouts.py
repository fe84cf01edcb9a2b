"""The timeouts of runs: that of their workflow, and the maximum in the master's settings.

The row says since when a run has been running, so its elapsed time survives its master. This module only has timers.
When one fires, the database is asked for the elapsed time. The timers end with the run.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta

from master.drive.runnable import WorkflowRunnable
from model.choices import TimeoutStrategy
from model.definitions.workflow import WorkflowSpec
from model.ids import WorkflowInstanceId
from model.time.durations import said_duration
from registry.clock import boottime_s

MARGIN_S = 0.02
"""Slightly more than the remaining time, so that the check finds the limit exceeded."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The seconds until a warning and until the run fails, and why; None = never."""

    warn_s: float | None
    fail_s: float | None
    why: str = ""

    @classmethod
    def of(cls, spec: WorkflowSpec, longest: timedelta | None) -> Limits:
        """The limits of a run; `longest` applies to every run."""
        own_s = 60 * spec.timeout_minutes or None
        warns = spec.timeout_strategy is not TimeoutStrategy.FAILED
        fails = spec.timeout_strategy is not TimeoutStrategy.WARN
        fail_s, why = None, ""
        if own_s is not None and fails:
            fail_s, why = own_s, f"it took longer than its timeout of {said_duration(own_s)}"
        if longest is not None and (fail_s is None or longest.total_seconds() < fail_s):
            fail_s = longest.total_seconds()
            why = f"it took longer than any run may, {said_duration(fail_s)} (master.longest_run)"
        return cls(own_s if warns else None, fail_s, why)

    def next_after(self, ran_s: float) -> float | None:
        """The first limit later than `ran_s`."""
        return min((each for each in (self.warn_s, self.fail_s) if each is not None and each > ran_s), default=None)


class Lengths:
    """The timers of one master's runs; `wake` is set when one has fired."""

    def __init__(self, wake: asyncio.Event, longest: timedelta | None) -> None:
        self._wake = wake
        self._longest = longest
        self._timers: dict[WorkflowInstanceId, tuple[float, asyncio.TimerHandle]] = {}
        """The due time of each, by `boottime_s`, and its timer."""
        self._rung: set[WorkflowInstanceId] = set()

    def of(self, runnable: WorkflowRunnable) -> Limits:
        """The limits of that run."""
        return Limits.of(runnable.plan.spec, self._longest)

    def watch(self, runnable: WorkflowRunnable) -> None:
        """Start the timer of a run; a limit that is already exceeded fires at once."""
        ran_s = runnable.instance.ran_s
        limits = self.of(runnable)
        reached = [each for each in (limits.warn_s, limits.fail_s) if each is not None and each <= ran_s]
        self.ring_at(runnable.instance.id, ran_s if reached else limits.next_after(ran_s), ran_s)

    def ring_at(self, id_: WorkflowInstanceId, length_s: float | None, ran_s: float) -> None:
        """Fire when a run that has run for `ran_s` has run for `length_s`; None = never."""
        self.drop(id_)
        if length_s is not None:
            delay_s = max(0.0, length_s - ran_s) + MARGIN_S
            timer = asyncio.get_running_loop().call_later(delay_s, self._ring, id_)
            self._timers[id_] = (boottime_s() + delay_s, timer)

    def drop(self, id_: WorkflowInstanceId) -> None:
        """Cancel the timer. A timer of a day must not retain a run that took a second."""
        self._rung.discard(id_)
        if known := self._timers.pop(id_, None):
            known[1].cancel()

    def ring_late(self) -> None:
        """Fire overdue timers: a timer does not count the time that the machine sleeps."""
        now_s = boottime_s()
        for id_ in [id_ for id_, (due_s, _) in self._timers.items() if due_s < now_s]:
            self._timers[id_][1].cancel()
            self._ring(id_)

    def take(self) -> set[WorkflowInstanceId]:
        """The runs whose timers have fired since the last call."""
        rung, self._rung = self._rung, set()
        return rung

    def _ring(self, id_: WorkflowInstanceId) -> None:
        del self._timers[id_]
        self._rung.add(id_)
        self._wake.set()
