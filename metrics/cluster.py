"""Figures of the whole cluster, which all who read them from the database see alike.

A scrape shows what was last read, with its age, and waits for nothing. Whoever reads them calls `show`; nothing is read
while nobody scrapes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from metrics.declaring import Part

PART = Part()

SHOWN_S_MAX = 60.0
"""Figures that are older are not shown: they would look like those of a cluster that stands still."""
ASKED_S = 120.0
"""For so long after a scrape the figures are read."""

reads_failed = PART.counter("shoal_cluster_reads_failed_total", "Reads of the figures of the cluster that failed.")


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric: its name, its meaning, the names of its labels, and the value of each set of labels."""

    name: str
    meaning: str
    labels: tuple[str, ...]
    values: Mapping[tuple[()], float] | Mapping[tuple[str], float] | Mapping[tuple[str, str], float]


class ClusterCollector(Collector):
    """What was last read of the cluster."""

    def __init__(self) -> None:
        self._figures: tuple[Figure, ...] = ()
        self._read_s = float("-inf")
        self._asked_s = float("-inf")
        self.on_asked: Callable[[], None] = lambda: None
        """Called in the responder's thread when somebody scrapes."""

    @property
    def is_asked(self) -> bool:
        """Whether somebody has scraped this process lately."""
        return time.monotonic() - self._asked_s < ASKED_S

    def show(self, figures: Iterable[Figure]) -> None:
        """Show these from now on."""
        self._figures, self._read_s = tuple(figures), time.monotonic()

    def hide(self) -> None:
        """Show none: another process does."""
        self._figures = ()

    def describe(self) -> Iterable[Metric]:
        """Nothing: so that it is not collected when it is registered."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Called in the responder's thread."""
        self._asked_s = now_s = time.monotonic()
        self.on_asked()
        figures, age_s = self._figures, now_s - self._read_s
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
