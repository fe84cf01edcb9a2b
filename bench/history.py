"""A database with a long history beside an empty one: starts, tasks, lists, and the retention of the oldest month.

All of it on one PostgreSQL on the disk. The two databases take turns, so that what changes on the machine meets both
alike; a ratio is the median over the pairs of turns.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from statistics import median
from types import TracebackType

from bench import api, long_history
from bench.cluster import Cluster, fake
from bench.cpu import cores_told
from bench.figures import Figure, Target
from bench.http_client import HttpClient
from bench.lists import Compared, compared
from bench.retention import reading
from bench.server import BenchServer
from bench.sizes import Sizes

PART = "A long history beside an empty database"
_DAYS, _KEPT_DAYS = 90, 60
_MONTH_SHARE = (_DAYS - _KEPT_DAYS) / _DAYS
_WORKFLOW, _ONE_TASK = 1001, 1002
_WIDTH = 10
_SHORT_ATTEMPTS = 250_000
"""The attempts of the database with which lists are compared: enough that its pages are as full. It only covers the
last hours."""
_HOT_PATH = Target(0.95, "higher")
_SECONDS = Target(2_000, "lower")
"""No single start waits longer than this while a month is deleted."""
_DELETED = r"""
    SELECT coalesce((SELECT (progress->>'attempts')::bigint FROM duty WHERE name = 'retention'), 0)
           + coalesce((SELECT sum(substring(result FROM 'with (\d+) attempts')::bigint)::bigint FROM duty_done
                       WHERE name = 'retention'), 0)
"""
_STEPS = """
    SELECT (SELECT steps FROM duty WHERE name = 'retention')
           + (SELECT coalesce(sum(steps), 0)::bigint FROM duty_done WHERE name = 'retention')
"""
_IS_OVER = "SELECT steps = 0 FROM duty WHERE name = 'retention'"
_STARTED = "SELECT count(*) FROM command_history WHERE command_id BETWEEN %(first)s AND %(last)s"
_START_TOOK = """
    SELECT extract(epoch FROM max(handled_at) - max(created_at))::float8 FROM command_history
    WHERE command_id BETWEEN %(first)s AND %(last)s
"""
_FIRST_TASK = """
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ms), percentile_cont(0.99) WITHIN GROUP (ORDER BY ms), max(ms)
    FROM (SELECT extract(epoch FROM t.started_at - h.created_at)::float8 * 1000 AS ms
          FROM command_history h JOIN task_instance t ON t.workflow_instance_id = h.workflow_instance_id
          WHERE h.command_id BETWEEN %(first)s AND %(last)s) AS lags
"""


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The seconds of each turn, without and with what is measured: a history, or its deletion."""

    without_s: list[float]
    with_s: list[float]

    @property
    def ratio(self) -> float:
        """The ratio of the rates: below 1 = slower with it."""
        return median(without / with_ for without, with_ in zip(self.without_s, self.with_s, strict=True))

    @property
    def told(self) -> str:
        ratios = sorted(without / with_ for without, with_ in zip(self.without_s, self.with_s, strict=True))
        return f"{len(ratios)} pairs, their ratios from {ratios[0]:.3f} to {ratios[-1]:.3f}"


class History:
    """The measurements, in the order of the methods. Use it as a context manager.

    Args:
        server: on the disk; see `BenchServer`.
    """

    def __init__(self, server: BenchServer, sizes: Sizes) -> None:
        self._server = server
        self._sizes = sizes
        self._empty, self._short, self._full = (Cluster(server, name, 0, 0) for name in ("empty", "short", "full"))
        self._attempts = 0

    def __enter__(self) -> History:
        self._stack = ExitStack()
        with self._stack:
            for cluster in (self._empty, self._short, self._full):
                self._stack.enter_context(cluster)
                cluster.define(_WORKFLOW, [fake(f"t{number}") for number in range(_WIDTH)])
                cluster.define(_ONE_TASK, [fake("a")])
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def fill(self) -> list[Figure]:
        """Both histories have one run after the other at the same pace: the long one for 90 days until now."""
        began = time.monotonic()
        every_s = _DAYS * 86_400 / (self._sizes.history_attempts // long_history.TASKS)
        self._attempts = long_history.fill(self._server, self._full, self._sizes.history_attempts, every_s)
        took_s = time.monotonic() - began
        short = min(_SHORT_ATTEMPTS, self._sizes.history_attempts)
        long_history.fill(self._server, self._short, short, every_s)
        gigabytes = self._full.one("SELECT pg_database_size(current_database())::float8") / 1e9
        how = f"{self._attempts:,} attempts over {_DAYS} days, {gigabytes:.1f} GB with indexes"
        return [Figure("history_fill_s", PART, "making the history by SQL", took_s, "s", None, how)]

    def lists(self) -> list[Figure]:
        """Each list of runs and attempts over the API, in turn with a database that has only the last hours."""
        tokens = [api.admin_token(cluster) for cluster in (self._short, self._full)]
        rounds = [asyncio.run(self._compare_lists(tokens, n)) for n in range(self._sizes.history_list_rounds)]
        found = [
            Compared(each[0].what, median(one.before_ms for one in each), median(one.ms for one in each))
            for each in zip(*rounds, strict=True)
        ]
        worst = min(found, key=lambda each: each.before_ms / each.ms)
        before_ms, ms = (sum(getattr(each, name) for each in found) for name in ("before_ms", "ms"))
        how = (
            f"{len(found)} lists, p50 of {self._sizes.history_lists} calls each in {len(rounds)} rounds, their sum "
            f"{before_ms:.0f} and {ms:.0f} ms; the worst: {worst.what}, {worst.before_ms:.1f} and {worst.ms:.1f} ms"
        )
        details = {"lists": {each.what: [round(each.before_ms, 2), round(each.ms, 2)] for each in found}}
        what = "lists of runs and attempts with a history / with that of the last hours"
        return [Figure("history_lists_ratio", PART, what, before_ms / ms, "x", _HOT_PATH, how, details)]

    async def _compare_lists(self, tokens: list[str], number: int) -> list[Compared]:
        """Compare with new API processes: two that do the same differ by some per cent for as long as they live."""
        with (
            api.serving(self._server, self._short.url, f"api-short-{number}") as (short, _),
            api.serving(self._server, self._full.url, f"api-full-{number}") as (full, _),
        ):
            async with HttpClient(short, tokens[0]) as before, HttpClient(full, tokens[1]) as client:
                return await compared(before, client, self._sizes.history_lists, api.RARE)

    def tasks(self) -> list[Figure]:
        """FAKE tasks a second and the latency of single starts; then the same while the oldest month is deleted."""
        with self._empty.running(1, 1), self._full.running(1, 1):
            for cluster in (self._empty, self._full):
                cluster.timed(_WORKFLOW, 20)
            pairs = self._pairs(lambda cluster: cluster.timed(_WORKFLOW, self._sizes.history_workflows))
            latency = {cluster: self._latency(cluster) for cluster in (self._empty, self._full)}
            figures = [
                self._tasks("history_tasks", "FAKE tasks end to end, with a history / without", pairs),
                *self._latencies("history_first_task", "insert → first task started", latency[self._full], None,
                                 f"with an empty database p50 {latency[self._empty][0]:.1f} ms, "
                                 f"p99 {latency[self._empty][1]:.1f} ms"),
            ]  # fmt: skip
            return figures + self._deleting()

    def _deleting(self) -> list[Figure]:
        """Measure with and without the deletion of a month, in turns, while a page of runs is read repeatedly."""
        full, count = self._full, self._sizes.history_workflows
        pairs, deleted, used = _Pairs([], []), 0, dict[str, float]()
        pages_ms: list[float] = []
        with self._server.connect(full.name, as_shoal=True) as reader:
            for number in range(self._sizes.history_rounds):
                for is_deleted in (True, False) if number % 2 else (False, True):
                    if is_deleted:
                        with self._month_leaves(), reading(reader, pages_ms):
                            cpu, before = full.cpu(), full.one(_DELETED)
                            pairs.with_s.append(full.timed(_WORKFLOW, count))
                            used, deleted = cpu.used(), deleted + full.one(_DELETED) - before
                    else:
                        with reading(reader, []):
                            pairs.without_s.append(full.timed(_WORKFLOW, count))
            with self._month_leaves(), reading(reader, pages_ms):
                latency = self._latency(full)
        with self._month_leaves():
            began, before = time.monotonic(), full.one(_DELETED)
            time.sleep(self._sizes.history_idle_s)
            alone = (full.one(_DELETED) - before) / (time.monotonic() - began)
        beside = deleted / sum(pairs.with_s)
        month = self._attempts * _MONTH_SHARE
        hours = ", ".join(
            f"{month / rate / 3600:.1f} h {when}"
            for rate, when in ((beside, "beside full load"), (alone, "alone"))
            if rate
        )
        how = f"a month of {month:,.0f} attempts takes {hours}; cores: {cores_told(used)}"
        return [
            self._tasks("history_tasks_deleting", "FAKE tasks while the oldest month is deleted / while not", pairs),
            *self._latencies(
                "history_first_task_deleting", "insert → first task started, meanwhile", latency, _SECONDS
            ),
            Figure("history_page_deleting_ms", PART, "a page of runs by SQL, meanwhile, p95", _p95(pages_ms), "ms"),
            Figure("history_deleted_per_s", PART, "attempts deleted beside full load", beside, "/s", None, how),
            Figure("history_deleted_alone_per_s", PART, "attempts deleted without other work", alone, "/s"),
        ]

    @contextmanager
    def _month_leaves(self) -> Iterator[None]:
        """Delete the history within the block, except its last days; the block begins after the first step."""
        full, before = self._full, self._full.one(_STEPS)
        full.connection.execute(f"UPDATE project SET kept_days = {_KEPT_DAYS} WHERE kept_days = 0".encode())
        full.connection.execute(b"UPDATE duty SET due_at = clock_timestamp() WHERE name = 'retention' AND steps = 0")
        full.wait_until(lambda: bool(full.one(_STEPS) > before), 60, "the deletion began")
        try:
            yield
        finally:
            full.connection.execute(f"UPDATE project SET kept_days = 0 WHERE kept_days = {_KEPT_DAYS}".encode())
            full.wait_until(lambda: bool(full.one(_IS_OVER)), 60, "the deletion ended")

    def starts(self) -> list[Figure]:
        """Commands a second that two masters start, no worker (`bench/starts.py`). Their runs do not end."""
        with self._empty.running(2, 0), self._full.running(2, 0):
            pairs = self._pairs(self._start)
        rate = self._sizes.history_commands / median(pairs.with_s)
        what = "commands → instances started"
        how = f"with an empty database {self._sizes.history_commands / median(pairs.without_s):,.0f} /s"
        return [
            Figure("history_started_per_s", PART, f"{what}, with a history", rate, "/s", None, how),
            Figure(
                "history_starts_ratio",
                PART,
                f"{what}, with a history / without",
                pairs.ratio,
                "x",
                _HOT_PATH,
                pairs.told,
            ),
        ]

    def _start(self, cluster: Cluster) -> float:
        count = self._sizes.history_commands
        first, last = cluster.start(_ONE_TASK, count)
        ids = {"first": first, "last": last}
        cluster.wait_until(lambda: bool(cluster.one(_STARTED, **ids) == count), 120, "all commands were handled")
        return float(cluster.one(_START_TOOK, **ids))

    def _pairs(self, measure: Callable[[Cluster], float]) -> _Pairs:
        pairs = _Pairs([], [])
        for number in range(self._sizes.history_rounds):
            turns = [(self._empty, pairs.without_s), (self._full, pairs.with_s)]
            for cluster, took_s in turns if number % 2 else reversed(turns):
                took_s.append(measure(cluster))
        return pairs

    def _tasks(self, key: str, what: str, pairs: _Pairs) -> Figure:
        tasks = self._sizes.history_workflows * _WIDTH
        without, with_ = (tasks / median(took_s) for took_s in (pairs.without_s, pairs.with_s))
        how = f"{with_:,.0f} and {without:,.0f} tasks/s; {pairs.told}"
        return Figure(f"{key}_ratio", PART, what, pairs.ratio, "x", _HOT_PATH, how)

    def _latency(self, cluster: Cluster) -> tuple[float, float, float]:
        """Single starts: p50, p99 and the longest time until the task starts, in ms."""
        first = last = 0
        for _ in range(self._sizes.history_singles):
            _, last = ids = cluster.start(_ONE_TASK)
            first = first or ids[0]
            time.sleep(0.03)
        cluster.wait_until_ended(first, last, self._sizes.history_singles)
        p50, p99, longest = cluster.row(_FIRST_TASK, first=first, last=last)
        return p50, p99, longest

    def _latencies(
        self, key: str, what: str, ms: tuple[float, float, float], target: Target | None, how: str = ""
    ) -> list[Figure]:
        return [
            Figure(f"{key}_{name}_ms", PART, f"{what}, {shown}", value, "ms", wanted, how)
            for name, shown, value, wanted in (
                ("p50", "p50", ms[0], None), ("p99", "p99", ms[1], None), ("max", "the longest", ms[2], target)
            )
        ]  # fmt: skip


def _p95(times_ms: list[float]) -> float:
    return sorted(times_ms)[max(0, -(-95 * len(times_ms) // 100) - 1)]
