"""The order of the measurements: all against one PostgreSQL, one at a time."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from bench import (
    api,
    browser,
    buffers,
    command_line,
    dependents,
    endurance,
    heavy,
    holds,
    idle,
    large,
    line,
    pools,
    postgres_alone,
    retention,
    scale,
    scraped,
    shell,
    starts,
    stored,
    sustained,
    waits,
    watched,
)
from bench.cluster import Cluster
from bench.figures import Figure
from bench.flow import Flow
from bench.history import History
from bench.machine import Machine, load_before, look
from bench.server import BenchServer
from bench.sizes import Sizes

PARTS = (
    "limits",
    "starts",
    "backlog",
    "flow",
    "sustained",
    "idle",
    "scale",
    "shell",
    "large",
    "holds",
    "line",
    "dependents",
    "pools",
    "waits",
    "command-line",
    "watched",
    "scraped",
    "stored",
    "api",
    "heavy",
    "page",
    "retention",
    "history",
)
"""The parts that can be measured alone, in this order."""
ENDURANCE = "endurance"
"""A part that is measured only when it is asked for."""
RATIOS = "Shoal beside the limits, in this run"
Measurement = tuple[str, Callable[[], list[Figure]]]


@dataclass(frozen=True, slots=True)
class Result:
    """All results of one execution of the bench."""

    machine: Machine
    figures: list[Figure]
    took_s: float
    is_quick: bool
    warnings: dict[str, int] = field(default_factory=dict)
    is_whole: bool = True
    """Whether everything was measured, without a stop or a failure."""
    has_failed: bool = False

    def as_json(self) -> dict[str, object]:
        return {
            "machine": self.machine.as_json(),
            "is_quick": self.is_quick,
            "took_s": round(self.took_s, 1),
            "figures": [figure.as_json() for figure in self.figures],
            "warnings_of_shoal": self.warnings,
        }


def run(sizes: Sizes, say: Callable[[str], None], parts: Collection[str] = PARTS) -> Result:
    """Measure these parts; `say` is called with the name of each measurement before it starts.

    `KeyboardInterrupt` ends it with what has been measured, and so does an error, which is printed.
    """
    load, began = load_before(), time.monotonic()
    figures: list[Figure] = []
    warnings: dict[str, int] = {}
    is_whole, has_failed = False, False
    with BenchServer() as server:
        try:
            for what, measure in _course(server, sizes, parts, warnings):
                say(what)
                figures += measure()
            is_whole = True
        except KeyboardInterrupt:
            pass
        except Exception:  # noqa: BLE001 - whatever it is, half an hour of figures is not lost
            has_failed = True
            traceback.print_exc()
        figures += ratios(figures)
        took_s = time.monotonic() - began
        return Result(look(server, load), figures, took_s, sizes.is_quick, warnings, is_whole, has_failed)


def _course(
    server: BenchServer, sizes: Sizes, parts: Collection[str], warnings: dict[str, int]
) -> Iterator[Measurement]:
    if "limits" in parts:
        yield "pgbench", lambda: postgres_alone.pgbench(server, sizes)
        yield "single commits", lambda: postgres_alone.single_commits(server, sizes)
        yield "the bare claim in SQL", lambda: postgres_alone.bare_claim(server, sizes)
    if "starts" in parts:
        yield "starts by two masters", lambda: starts.started(server, sizes)
    if "backlog" in parts:
        yield f"starts with {sizes.backlog_commands:,} commands waiting", lambda: starts.backlog(server, sizes)
    if not {"flow", "sustained", "idle"}.isdisjoint(parts):
        yield from _on_one_cluster(server, sizes, parts, warnings)
    if "scale" in parts:
        yield "many masters and idle workers", lambda: scale.scale(server, sizes)
    if "shell" in parts:
        yield "tasks that run programs", lambda: shell.programs(server, sizes)
    if "large" in parts:
        with Cluster(server, "large", masters=1, workers=1) as cluster:
            yield "one workflow of many tasks", lambda: large.layered(cluster, sizes)
            yield "many sub-workflows at once", lambda: large.children(cluster, sizes)
    if "holds" in parts:
        yield "how long one large workflow holds the loop", lambda: holds.holds(server, sizes)
    if "line" in parts:
        yield f"a line of {sizes.line_length:,} runs", lambda: line.long_line(server, sizes)
    if "dependents" in parts:
        what = f"tasks beside {sizes.waiting_dependents:,} that wait for other workflows"
        yield what, lambda: dependents.beside_waiting(server, sizes)
    if "pools" in parts:
        yield "tasks beside resource pools in use", lambda: pools.beside_pools(server, sizes)
    if "waits" in parts:
        yield "looks of tasks that wait", lambda: waits.looks(server, sizes)
    if "command-line" in parts:
        yield "short verbs of the command line", lambda: command_line.verbs(server, sizes)
    if "watched" in parts:
        yield "tasks while somebody watches", lambda: watched.watched(server, sizes)
    if "scraped" in parts:
        yield "tasks while masters and workers are scraped", lambda: scraped.scraped(server, sizes)
    if "stored" in parts:
        yield "tasks while their logs are copied", lambda: stored.beside_copies(server, sizes)
    if "api" in parts:
        yield f"the API with {sizes.api_runs:,} runs", lambda: api.api(server, sizes)
    if "heavy" in parts:
        yield "the API with its largest requests", lambda: heavy.heavy(server, sizes)
    if "page" in parts:
        yield "the web page in a browser", lambda: browser.page(sizes)
    if "retention" in parts:
        yield "a history that is deleted beside work", lambda: retention.beside_work(server, sizes)
    if ENDURANCE in parts:
        yield f"{sizes.endurance_minutes} minutes of full load", lambda: _endurance(sizes)
    if "history" in parts:
        yield from _with_history(sizes)


def _on_one_cluster(
    server: BenchServer, sizes: Sizes, parts: Collection[str], warnings: dict[str, int]
) -> Iterator[Measurement]:
    with Cluster(server, "flow", masters=1, workers=1) as cluster:
        flow = Flow(cluster, sizes)
        if "flow" in parts:
            yield "insert → first task", flow.first_task
            yield "lag at a moderate load", flow.moderate_lag
            yield "a single chain", flow.single_chain
            yield "tasks, 10 in parallel", flow.parallel
            yield "tasks, 10 in sequence", flow.sequence
            yield "elements of a task", flow.elements
        if "sustained" in parts:
            yield f"{sizes.sustained_s} s of full load", lambda: sustained.sustained(cluster, sizes)
            yield "insert → first task, after the loads", lambda: flow.first_task("first_task_later", sustained.PART)
        if "idle" in parts:
            yield "what statements read then", lambda: buffers.idle_statements(cluster)
            yield "idle", lambda: idle.idle(server, cluster, sizes)
            yield "memory", lambda: idle.memory(cluster)
        for node in cluster.nodes:
            for name in node.warnings():
                warnings[f"{node.role}: {name}"] = warnings.get(f"{node.role}: {name}", 0) + 1


def _endurance(sizes: Sizes) -> list[Figure]:
    """Runs on a server of its own, since its data does not fit into memory."""
    with BenchServer(on_disk=True) as server:
        return endurance.endurance(server, sizes)


def _with_history(sizes: Sizes) -> Iterator[Measurement]:
    """Runs on a server of its own, since a long history does not fit into memory."""
    with BenchServer(on_disk=True) as server, History(server, sizes) as history:
        yield f"filling a history of {sizes.history_attempts:,} attempts", history.fill
        yield "lists with a history and without", history.lists
        yield "tasks with a history and without, then while a month of it is deleted", history.tasks
        yield "starts with a history and without", history.starts


def ratios(figures: list[Figure]) -> list[Figure]:
    """Ratios between figures of one execution: the share of the limit that Shoal reaches, whatever the machine.

    A ratio of what was not measured is left out.
    """
    value = {figure.key: figure.value for figure in figures}
    pairs = (
        ("ratio_started_bare_claim", "started / bare claim", "started_per_s", "bare_claim_per_s"),
        ("ratio_started_bare_start", "started / bare claim with queueing", "started_per_s", "bare_start_per_s"),
        ("ratio_started_pgbench", "started / pgbench", "started_per_s", "pgbench_tps"),
        ("ratio_tasks_pgbench", "tasks in parallel / pgbench", "parallel_tasks_per_s", "pgbench_tps"),
        ("ratio_backlog", "started with a long queue / with a short one", "started_backlog_per_s", "started_per_s"),
    )
    return [
        Figure(key, RATIOS, what, value[over] / value[under], "x")
        for key, what, over, under in pairs
        if over in value and under in value
    ]
