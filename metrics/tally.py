"""A node's counters in one life, for its beats: the same numbers that Prometheus gets.

Beats carry them to displays of a cluster without Prometheus (`service/cluster/figures.py`), at the cost of some bytes
in a row that is written anyway.
"""

from __future__ import annotations

from prometheus_client import Counter, Histogram

from metrics import master, worker
from model.cluster.nodes import Counted

_MICROSECOND_DIGITS = 6


class Tally:
    """The counters since the life began. Create one for each life: a process's counters are never reset."""

    def __init__(self) -> None:
        self._before = _read()

    def counted(self) -> Counted:
        """The counts since it was created."""
        now, before = _read(), self._before
        return Counted(
            commands=now.commands - before.commands,
            ends=now.ends - before.ends,
            ends_s=round(now.ends_s - before.ends_s, _MICROSECOND_DIGITS),
            started=now.started - before.started,
            ended=now.ended - before.ended,
            waits=now.waits - before.waits,
            waits_s=round(now.waits_s - before.waits_s, _MICROSECOND_DIGITS),
        )


def _read() -> Counted:
    ends, ends_s = _times(master.event_delay_seconds)
    waits, waits_s = _times(worker.queue_wait_seconds)
    return Counted(
        commands=_total(master.commands_claimed),
        ends=ends,
        ends_s=ends_s,
        started=_total(worker.attempts_claimed),
        ended=_total(worker.attempts_ended),
        waits=waits,
        waits_s=waits_s,
    )


def _total(counter: Counter) -> int:
    samples = (sample for metric in counter.collect() for sample in metric.samples)
    return round(sum(sample.value for sample in samples if sample.name.endswith("_total")))


def _times(histogram: Histogram) -> tuple[int, float]:
    """How many times were counted, and their sum in seconds."""
    values = {
        suffix: sample.value
        for metric in histogram.collect()
        for sample in metric.samples
        if (suffix := sample.name.removeprefix(metric.name)) in ("_count", "_sum")
    }
    return round(values["_count"]), values["_sum"]
