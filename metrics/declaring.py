"""Declares metrics: one line each, in the module of the part that counts.

A metric is a module-level name, like a log. Its name begins with `shoal_` and the part that counts (`shoal_master_`), a
counter's ends with `_total`, a time is in seconds. Labels have few values, known in advance: never an id of a run, a
task or a command. `shoal/config/metrics.py` lists the parts that a role shows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter as Counts
from collections.abc import Awaitable, Callable, Collection, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Summary, disable_created_metrics

# Else each counter has a second series with the time of its creation, which Prometheus knows anyway.
disable_created_metrics()  # type: ignore[no-untyped-call]

TIMES_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The buckets for one or a few round trips."""
WAITS_S = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, 5.0, 15.0, 60.0, 300.0, 1800.0)
"""The buckets for waits in a queue."""


class Times(Histogram):
    """Times in seconds, counted up to each bucket limit."""

    def observe_all(self, seconds: Collection[float]) -> None:
        """Observe many times in the hot path: a few locks for a batch instead of two for each."""
        if not seconds:
            return
        self._sum.inc(sum(seconds))
        for place, count in Counts(bisect_left(self._upper_bounds, each) for each in seconds).items():
            self._buckets[place].inc(count)


class Part:
    """The metrics of one part of the product."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.refresh: Callable[[], Awaitable[None]] | None = None
        """Awaited before each scrape, in the responder's thread; must take only a moment."""

    def counter(self, name: str, meaning: str, labels: Sequence[str] = ()) -> Counter:
        """A value that only grows. `meaning` is one sentence with its unit."""
        return Counter(name, meaning, labels, registry=self.registry)

    def gauge(self, name: str, meaning: str, labels: Sequence[str] = ()) -> Gauge:
        """A value that rises and falls."""
        return Gauge(name, meaning, labels, registry=self.registry)

    def times(self, name: str, meaning: str, limits: Sequence[float] = TIMES_S, labels: Sequence[str] = ()) -> Times:
        return Times(name, meaning, labels, registry=self.registry, buckets=limits)

    def sums(self, name: str, meaning: str, labels: Sequence[str] = ()) -> Summary:
        """A count of times, and their sum in seconds: a mean, without the series of a histogram."""
        return Summary(name, meaning, labels, registry=self.registry)
