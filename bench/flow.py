"""From inserted commands to ended workflows: one master, one worker, FAKE tasks, which do nothing.

All times are the database's: `task_instance.queued_at`, `started_at` (written by the worker's claim) and `ended_at`
(written by its report), `command_history.created_at`. A time is taken while its statement runs, so a difference does
not include the COMMIT after the last one; "a step of a single chain" includes everything.
"""

from __future__ import annotations

import time

from bench.cluster import Cluster, fake
from bench.cpu import cores_told, work_of, work_told
from bench.figures import Figure, Target
from bench.sizes import Sizes

PART = "Running tasks: one master, one worker"
_ONE, _PARALLEL, _SEQUENCE, _MODERATE, _CHAIN, _MAPPED = 1001, 1002, 1003, 1004, 1005, 1006
_WIDTH = 10
_MODERATE_TASK_S = 0.02

_TASKS_PER_S = """
    SELECT count(*), extract(epoch FROM max(t.ended_at) - (SELECT max(created_at) FROM command_history
                                                           WHERE command_id BETWEEN %(first)s AND %(last)s))::float8
    FROM task_instance t JOIN workflow_instance i ON i.id = t.workflow_instance_id
    WHERE i.command_id BETWEEN %(first)s AND %(last)s
"""
_LAG = """
    SELECT count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY ms), percentile_cont(0.99) WITHIN GROUP (ORDER BY ms)
    FROM (SELECT extract(epoch FROM b.started_at - a.ended_at)::float8 * 1000 AS ms
          FROM workflow_instance i
          JOIN task_instance a ON a.workflow_instance_id = i.id
          JOIN task_instance b ON b.workflow_instance_id = i.id AND b.task_code = a.task_code + 1
          WHERE i.command_id BETWEEN %(first)s AND %(last)s) AS lags
"""
_FIRST_TASK = """
    SELECT count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY ms), percentile_cont(0.99) WITHIN GROUP (ORDER BY ms)
    FROM (SELECT extract(epoch FROM t.started_at - h.created_at)::float8 * 1000 AS ms
          FROM command_history h JOIN task_instance t ON t.workflow_instance_id = h.workflow_instance_id
          WHERE h.command_id BETWEEN %(first)s AND %(last)s) AS lags
"""


class Flow:
    """The measurements on one cluster, one after the other."""

    def __init__(self, cluster: Cluster, sizes: Sizes) -> None:
        self._cluster = cluster
        self._sizes = sizes
        cluster.define(_ONE, [fake("a")])
        cluster.define(_PARALLEL, [fake(f"t{number}") for number in range(_WIDTH)])
        cluster.define(_SEQUENCE, _chain(_WIDTH))
        cluster.define(_MODERATE, _chain(sizes.moderate_length, sleep_s=_MODERATE_TASK_S))
        cluster.define(_CHAIN, _chain(sizes.moderate_length))
        cluster.define(_MAPPED, [{**fake("a"), "each": list(range(sizes.elements))}])
        cluster.start(_ONE)  # one-time costs, such as reading the definition, are not part of the measurement
        cluster.start(_MODERATE)
        cluster.wait_until_all_ended(60)

    def first_task(self, key: str = "first_task", part: str = PART) -> list[Figure]:
        """Single commands, each inserted a pause after the previous one has ended: the time until its task starts.

        From `command_history.created_at`, which the INSERT sets, to `task_instance.started_at`.
        """
        first = last = 0
        for _ in range(self._sizes.single_commands):
            _, last = ids = self._cluster.start(_ONE)
            first = first or ids[0]
            time.sleep(0.03)
        self._cluster.wait_until_all_ended(60)
        count, p50, p99 = self._cluster.row(_FIRST_TASK, first=first, last=last)
        how, what = f"{count} single commands, 30 ms apart", "insert → first task started"
        return [
            Figure(f"{key}_p50_ms", part, f"{what}, p50", p50, "ms", Target(20, "lower"), how),
            Figure(f"{key}_p99_ms", part, f"{what}, p99", p99, "ms", None, how),
        ]

    def moderate_lag(self) -> list[Figure]:
        """From one task's `ended_at` to the next one's `started_at`: 20 chains of 100 tasks of 20 ms, all at once."""
        chains, length = self._sizes.moderate_chains, self._sizes.moderate_length
        cpu = self._cluster.cpu()
        count, p50, p99, rate = self._lags(_MODERATE, chains)
        used = cpu.used()
        how = (
            f"{chains} chains of {length} tasks of {_MODERATE_TASK_S * 1000:.0f} ms, {count:,} lags, "
            f"{rate:,.0f} tasks/s; cores: {cores_told(used)}"
        )
        what = f"end of a task → start of the next, {chains} chains"
        return [
            Figure("lag_p50_ms", PART, f"{what}, p50", p50, "ms", Target(10, "lower"), how, {"cores": used}),
            Figure("lag_p99_ms", PART, f"{what}, p99", p99, "ms", None, how),
        ]

    def single_chain(self) -> list[Figure]:
        """One chain of 100 tasks that take no time, alone: its total duration divided by the number of its tasks.

        This includes everything: report, COMMIT, notification, the master's transaction, notification, claim, COMMIT.
        """
        first, last = self._cluster.start(_CHAIN)
        self._cluster.wait_until_all_ended(120)
        count, took_s = self._cluster.row(_TASKS_PER_S, first=first, last=last)
        how = f"{count} tasks in {took_s:.2f} s"
        return [Figure("step_ms", PART, "a step of a single chain, all included", took_s / count * 1000, "ms", how=how)]

    def parallel(self) -> list[Figure]:
        """Ended FAKE tasks a second, 10 in parallel in a workflow: from the last command's `created_at` to the end."""
        return self._throughput("parallel", _PARALLEL, self._sizes.parallel_workflows, "10 in parallel")[0]

    def sequence(self) -> list[Figure]:
        """The same with 10 tasks in sequence, and the lag between them under full load.

        Saturated: far more chains than the worker runs tasks, the older first, so that a chain also waits for its turn.
        """
        workflows = self._sizes.sequence_workflows
        throughput, ids = self._throughput("sequence", _SEQUENCE, workflows, "10 in sequence")
        count, p50, p99 = self._cluster.row(_LAG, first=ids[0], last=ids[1])
        how = f"{workflows:,} chains at once, {count:,} lags"
        what = "end of a task → start of the next, saturated"
        return [
            *throughput,
            Figure("lag_saturated_p50_ms", PART, f"{what}, p50", p50, "ms", None, how),
            Figure("lag_saturated_p99_ms", PART, f"{what}, p99", p99, "ms", None, how),
        ]

    def elements(self) -> list[Figure]:
        """Ended elements a second of one task, from the command's `created_at` to the end of the task itself."""
        cpu = self._cluster.cpu()
        first, last = self._cluster.start(_MAPPED)
        self._cluster.wait_until_all_ended(120)
        used = cpu.used()
        count, took_s = self._cluster.row(_TASKS_PER_S, first=first, last=last)
        how = f"one task, {count - 1:,} elements in {took_s:.1f} s; cores: {cores_told(used)}"
        what = "elements of one FAKE task end to end"
        return [Figure("elements_per_s", PART, what, (count - 1) / took_s, "/s", Target(3_000, "higher"), how)]

    def _throughput(self, key: str, code: int, workflows: int, what: str) -> tuple[list[Figure], tuple[int, int]]:
        """The rate, and what a task costs: processor, statements, WAL. The ids of the commands."""
        with self._cluster.costs() as counts:
            cpu = self._cluster.cpu()
            first, last = self._cluster.start(code, workflows)
            self._cluster.wait_until_all_ended(300)
            used, costs = cpu.used(), counts.used(workflows * _WIDTH)
        each = work_of(used, cpu.elapsed_s, workflows * _WIDTH)
        count, took_s = self._cluster.row(_TASKS_PER_S, first=first, last=last)
        cost = work_told(used, cpu.elapsed_s, workflows * _WIDTH, "task")
        how = f"{workflows:,} workflows, {count:,} tasks in {took_s:.1f} s; {cost}"
        of_one, what = f"a FAKE task, {what}", f"FAKE tasks end to end, {what}"
        told = f"{costs.transactions:.2f} transactions"
        return [
            Figure(
                f"{key}_tasks_per_s", PART, what, count / took_s, "/s", Target(3_000, "higher"),
                how, {"cores": used},
            ),
            Figure(f"{key}_cpu_us", PART, f"processor of {of_one}", sum(each.values()), "µs", Target(110, "lower")),
            Figure(f"{key}_statements", PART, f"statements of {of_one}", costs.statements, "", how=told),
            Figure(f"{key}_wal_bytes", PART, f"WAL of {of_one}", costs.wal_bytes, "bytes"),
        ], (first, last)  # fmt: skip

    def _lags(self, code: int, chains: int) -> tuple[int, float, float, float]:
        first, last = self._cluster.start(code, chains)
        self._cluster.wait_until_all_ended(120)
        count, p50, p99 = self._cluster.row(_LAG, first=first, last=last)
        tasks, took_s = self._cluster.row(_TASKS_PER_S, first=first, last=last)
        return count, p50, p99, tasks / took_s


def _chain(length: int, **params: object) -> list[dict[str, object]]:
    return [fake(f"t{n}", *([f"t{n - 1}"] if n else []), **params) for n in range(length)]
