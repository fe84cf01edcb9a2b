"""How a metric is declared: one line, in a module that only the roles import that have it.

A metric is a name at the top of a module, as a log is. Its name begins with `shoal_` and the part that counts
(`shoal_master_`), a counter's ends with `_total`, a time is in seconds. Labels have few values, known in advance: never
an id of a run, a task or a command. A process exposes what it has imported, so a master shows nothing of workers.
"""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Summary, disable_created_metrics

# Else each counter has a second series with the time of its creation, which Prometheus knows anyway.
disable_created_metrics()

EXPOSED = CollectorRegistry()
"""The metrics of this process."""

TIMES_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The limits for what is one round trip or a few."""
WAITS_S = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, 5.0, 15.0, 60.0, 300.0, 1800.0)
"""The limits for what waits for its turn."""


def counter(name: str, meaning: str, labels: Sequence[str] = ()) -> Counter:
    """What only grows. `meaning` is one sentence with its unit."""
    return Counter(name, meaning, labels, registry=EXPOSED)


def gauge(name: str, meaning: str, labels: Sequence[str] = ()) -> Gauge:
    """What goes up and down."""
    return Gauge(name, meaning, labels, registry=EXPOSED)


def histogram(name: str, meaning: str, limits: Sequence[float] = TIMES_S, labels: Sequence[str] = ()) -> Histogram:
    """Times in seconds, counted up to each limit."""
    return Histogram(name, meaning, labels, registry=EXPOSED, buckets=limits)


def summary(name: str, meaning: str, labels: Sequence[str] = ()) -> Summary:
    """How many times, and their sum in seconds: a mean, without the series of a histogram."""
    return Summary(name, meaning, labels, registry=EXPOSED)
