"""The cost of metrics: throughput while master and worker are scraped every second, relative to that without."""

from __future__ import annotations

import threading
import urllib.request
from statistics import median
from types import TracebackType

from bench.cluster import BenchFailed, Cluster, fake
from bench.figures import Figure, Target
from bench.server import BenchServer
from bench.sizes import Sizes

PART = "Metrics: one master, one worker, scraped every second"
EVERY_S = 1.0
_PARALLEL = 1001
_WIDTH = 10


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
        pairs: list[tuple[float, float]] = []
        scrapes = 0
        for number in range(sizes.scraped_rounds):
            rates: dict[bool, float] = {}
            for is_scraped in (False, True) if number % 2 else (True, False):
                if is_scraped:
                    with _Scraping(urls) as scraping:
                        rates[True] = _rate(cluster, sizes)
                    scrapes += scraping.scrapes
                else:
                    rates[False] = _rate(cluster, sizes)
            pairs.append((rates[False], rates[True]))
    how = f"{len(pairs)} pairs of {sizes.scraped_workflows * _WIDTH:,} tasks, {scrapes:,} scrapes"
    ratios = sorted(with_ / without for without, with_ in pairs)
    spread = f"{how}; ratios of the pairs {ratios[0]:.3f} to {ratios[-1]:.3f}"
    what = "FAKE tasks while both nodes are scraped every second"
    return [
        Figure(
            "scraped_none_per_s",
            PART,
            "FAKE tasks, 10 in parallel, while nobody scrapes",
            median(rate for rate, _ in pairs),
            "/s",
        ),
        Figure("scraped_per_s", PART, what, median(rate for _, rate in pairs), "/s", how=how),
        Figure("ratio_scraped", PART, f"{what} / without", median(ratios), "x", Target(0.99, "higher"), spread),
    ]


def _rate(cluster: Cluster, sizes: Sizes) -> float:
    return sizes.scraped_workflows * _WIDTH / cluster.timed(_PARALLEL, sizes.scraped_workflows)
