"""The cost of metrics: throughput while master and worker are scraped every second, relative to that without."""

from __future__ import annotations

import threading
import urllib.request
from statistics import median
from types import TracebackType
from typing import NamedTuple

from bench.cluster import BenchFailed, Cluster, fake
from bench.figures import Figure, Target
from bench.server import BenchServer
from bench.sizes import Sizes

PART = "Metrics: one master, one worker, scraped every second"
EVERY_S = 1.0
_PARALLEL = 1001
_WIDTH = 10


class _Round(NamedTuple):
    """Tasks a second, and the microseconds of processor that master, worker and PostgreSQL took for a task."""

    rate: float
    cpu_us: float


class _Scraping:
    """A thread that scrapes these addresses every second, for the block."""

    def __init__(self, urls: list[str]) -> None:
        self.scrapes = 0
        self._urls = urls
        self._ends = threading.Event()
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._scrape)

    def _scrape(self) -> None:
        while not self._ends.is_set():
            for url in self._urls:
                try:
                    with urllib.request.urlopen(url, timeout=10) as answer:
                        answer.read()
                except OSError as error:
                    self._error = error
                    return
                self.scrapes += 1
            self._ends.wait(EVERY_S)

    def __enter__(self) -> _Scraping:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ends.set()
        self._thread.join()
        if self._error is not None:
            raise BenchFailed(f"a scrape failed: {self._error}")


def scraped(server: BenchServer, sizes: Sizes) -> list[Figure]:
    """FAKE tasks a second, 10 in parallel in a workflow, while both nodes are scraped, and while they are not.

    On one cluster, in turns (with, without, without, with, and so on), so that other load on the machine affects both
    equally; the ratio is the median of those of the pairs.
    """
    with Cluster(server, "scraped", 1, 1) as cluster:
        cluster.define(_PARALLEL, [fake(f"t{number}") for number in range(_WIDTH)])
        cluster.timed(_PARALLEL, 20)
        urls = [node.metrics_url() for node in cluster.nodes]
        pairs: list[tuple[_Round, _Round]] = []
        scrapes = 0
        for number in range(sizes.scraped_rounds):
            rounds: dict[bool, _Round] = {}
            for is_scraped in (False, True) if number % 2 else (True, False):
                if is_scraped:
                    with _Scraping(urls) as scraping:
                        rounds[True] = _round(cluster, sizes)
                    scrapes += scraping.scrapes
                else:
                    rounds[False] = _round(cluster, sizes)
            pairs.append((rounds[False], rounds[True]))
    how = f"{len(pairs)} pairs of {sizes.scraped_workflows * _WIDTH:,} tasks, {scrapes:,} scrapes"
    ratios = sorted(with_.rate / without.rate for without, with_ in pairs)
    costs = sorted(with_.cpu_us / without.cpu_us for without, with_ in pairs)
    what = "FAKE tasks while both nodes are scraped every second"
    none_us, us = median(each.cpu_us for each, _ in pairs), median(each.cpu_us for _, each in pairs)
    return [
        Figure(
            *("scraped_none_per_s", PART, "FAKE tasks, 10 in parallel, while nobody scrapes"),
            median(each.rate for each, _ in pairs), "/s", how=f"µs of processor a task: {none_us:.1f}",
        ),
        Figure(
            *("scraped_per_s", PART, what, median(each.rate for _, each in pairs), "/s"),
            how=f"{how}; µs of processor a task: {us:.1f}",
        ),
        Figure(
            *("ratio_scraped", PART, f"{what} / without", median(ratios), "x"),
            Target(0.99, "higher"), f"{how}; the middle half of the ratios {_middle(ratios)}",
        ),
        Figure(
            *("ratio_scraped_processor", PART, "processor a task while scraped / without", median(costs), "x"),
            Target(1.01, "lower"), f"{how}; the middle half of the ratios {_middle(costs)}",
        ),
    ]  # fmt: skip


def _middle(ratios: list[float]) -> str:
    """Between which two the middle half of these sorted ones is."""
    quarter = len(ratios) // 4
    return f"{ratios[quarter]:.3f} to {ratios[-1 - quarter]:.3f}"


def _round(cluster: Cluster, sizes: Sizes) -> _Round:
    cpu, tasks = cluster.cpu(), sizes.scraped_workflows * _WIDTH
    rate = tasks / cluster.timed(_PARALLEL, sizes.scraped_workflows)
    used = cpu.used()
    cores = sum(used[part] for part in ("master", "worker", "postgres"))
    return _Round(rate, cores * cpu.elapsed_s / tasks * 1e6)
