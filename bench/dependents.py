"""The cost of waiting DEPENDENT tasks for other work: throughput with many of them, relative to that without any."""

from __future__ import annotations

from bench.cluster import Cluster, fake
from bench.cpu import cores_told
from bench.figures import Figure, Target
from bench.server import BenchServer
from bench.sizes import Sizes

PART = "Beside tasks that wait for other workflows: one master, one worker each"
_PARALLEL, _WAITS, _AWAITED = 1001, 2000, 5000
_WIDTH = 10
_KINDS = 100
"""How many workflows wait, for as many others that never run."""
_WAITING = """
    SELECT count(*) FROM task_instance WHERE state = 'RUNNING_EXECUTION' AND task_type = 'DEPENDENT'
"""


def beside_waiting(server: BenchServer, sizes: Sizes) -> list[Figure]:
    """FAKE tasks a second, 10 in parallel in a workflow, in a cluster with waiting DEPENDENT tasks and in one without.

    The two clusters take turns (with, without, without, with, and so on), so that other load on the machine affects
    both equally. A rate covers all rounds: their tasks divided by the sum of their times, from the last command's
    `created_at` to the last run's `ended_at`.
    """
    with Cluster(server, "nobody-waits", 1, 1) as plain, Cluster(server, "many-wait", 1, 1) as crowded:
        for cluster in (plain, crowded):
            cluster.define(_PARALLEL, [fake(f"t{number}") for number in range(_WIDTH)])
            cluster.timed(_PARALLEL, 20)
        _have_wait(crowded, sizes.waiting_dependents)
        took_s = {plain: 0.0, crowded: 0.0}
        cpu = crowded.cpu()
        for number in range(sizes.dependents_rounds):
            turns = (plain, crowded) if number % 2 else (crowded, plain)
            for cluster in turns:
                took_s[cluster] += cluster.timed(_PARALLEL, sizes.dependents_workflows)
        used = cpu.used()
        tasks = sizes.dependents_rounds * sizes.dependents_workflows * _WIDTH
        without, beside = tasks / took_s[plain], tasks / took_s[crowded]
        waiting = crowded.one(_WAITING)
        how = f"{tasks:,} tasks in {sizes.dependents_rounds} rounds; {waiting:,} waited to the end"
        what = f"FAKE tasks beside {sizes.waiting_dependents:,} DEPENDENT tasks that wait"
    return [
        Figure("dependents_none_per_s", PART, "FAKE tasks, 10 in parallel, where none waits", without, "/s"),
        Figure("dependents_per_s", PART, what, beside, "/s", how=f"{how}; cores: {cores_told(used)}"),
        Figure("ratio_dependents", PART, f"{what} / without", beside / without, "x", Target(0.95, "higher")),
    ]


def _have_wait(cluster: Cluster, count: int) -> None:
    for kind in range(_KINDS):
        params = {"groups": [{"items": [{"workflow": _AWAITED + kind, "cycle": "today"}]}]}
        cluster.define(_WAITS + kind, [{"name": "wait", "type": "DEPENDENT", "params": params}])
        cluster.start(_WAITS + kind, count // _KINDS)
    wanted = count // _KINDS * _KINDS
    cluster.wait_until(lambda: bool(cluster.one(_WAITING) == wanted), 120, f"{wanted:,} DEPENDENT tasks waited")
