"""Figures of the whole cluster, which every process reads alike from the database.

A scrape requests them and waits a moment; then it shows the last ones, with their age. The reader calls `show`; without
scrapes nothing is read.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from metrics.declaring import Part

PART = Part()

SHOWN_S_MAX = 60.0
"""Older figures are hidden: they would look like those of a cluster at a standstill."""
FRESH_S_MAX = 0.25
"""How long a scrape waits for newer ones."""
LOOK_S = 0.01

reads_failed = PART.counter("shoal_cluster_reads_failed_total", "Reads of the figures of the cluster that failed.")


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric: its name, its meaning, the names of its labels, and the value of each set of labels."""

    name: str
    meaning: str
    labels: tuple[str, ...]
    values: Mapping[tuple[()], float] | Mapping[tuple[str], float] | Mapping[tuple[str, str], float]


class ClusterCollector(Collector):
    """The figures that were last read."""

    def __init__(self) -> None:
        self.on_asked: Callable[[], None] | None = None
        """Called in the responder's thread to request a read; None = nobody reads."""
        self._figures: tuple[Figure, ...] = ()
        self._read_s = float("-inf")
        self._rests_until_s = float("-inf")
        self._rounds = 0

    async def refresh(self) -> None:
        """Request a read if one is due. Called in the responder's thread before each scrape."""
        now_s = time.monotonic()
        if self.on_asked is None or now_s < self._rests_until_s:
            return
        before = self._rounds
        self.on_asked()
        while self._rounds == before and time.monotonic() < now_s + FRESH_S_MAX:  # noqa: ASYNC110 - of another thread
            await asyncio.sleep(LOOK_S)

    def rest(self, seconds: float) -> None:
        """Request no read for `seconds`: the figures were read, could not be, or are not shown here."""
        self._rests_until_s = time.monotonic() + seconds
        self._rounds += 1

    def show(self, figures: Iterable[Figure]) -> None:
        self._figures, self._read_s = tuple(figures), time.monotonic()

    def hide(self) -> None:
        """Show none: another process does."""
        self._figures = ()

    def describe(self) -> Iterable[Metric]:
        """Return nothing, so that registering does not collect."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Called in the responder's thread."""
        figures, age_s = self._figures, time.monotonic() - self._read_s
        if not figures:
            return
        meaning = "Seconds since the figures of the cluster were read; above 60 they are not shown."
        age = GaugeMetricFamily("shoal_cluster_figures_age_seconds", meaning)
        age.add_metric((), age_s)
        yield age
        if age_s > SHOWN_S_MAX:
            return
        for figure in figures:
            family = GaugeMetricFamily(figure.name, figure.meaning, labels=figure.labels)
            for labels, value in figure.values.items():
                family.add_metric(labels, value)
            yield family


collector = ClusterCollector()
PART.registry.register(collector)
PART.refresh = collector.refresh
