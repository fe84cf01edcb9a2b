"""What resource pools cost tasks that need none: throughput while pools are in use, relative to that without any."""

from __future__ import annotations

from bench.cluster import Cluster, fake
from bench.cpu import cores_told
from bench.dependents import run_round
from bench.figures import Figure, Target
from bench.server import BenchServer
from bench.sizes import Sizes

PART = "Beside tasks that need resources of a pool: one master, one worker each"
_PARALLEL, _NEEDY = 1001, 1102
_WIDTH = 10
_SIZE, _NEED = 4, 200
"""A pool of 4 and 200 tasks of a second that wait for it: some begin and end all the while."""
_MAKE = """
    WITH made AS (INSERT INTO resource_pool (name, counted) VALUES ('gate', %(size)s) RETURNING code)
    INSERT INTO pool_resource (pool_code, name, place)
    SELECT code, n::text, n FROM made, generate_series(1, %(size)s) AS n
"""
_WAIT = "SELECT count(*) FROM pool_line"


def beside_pools(server: BenchServer, sizes: Sizes) -> list[Figure]:
    """FAKE tasks a second, 10 in parallel in a workflow, in a cluster where others wait for a pool and in one without.

    The two clusters take turns, so that other load on the machine affects both equally.
    """
    with Cluster(server, "no-pools", 1, 1) as plain, Cluster(server, "pools", 1, 1) as crowded:
        for cluster in (plain, crowded):
            cluster.define(_PARALLEL, [fake(f"t{number}") for number in range(_WIDTH)])
            run_round(cluster, 20)
        crowded.rows(_MAKE, size=_SIZE)
        needs = {"resources": {"gate": 1}}
        crowded.define(_NEEDY, [{**fake(f"n{number}", sleep_s=1), **needs} for number in range(_NEED)])
        crowded.start(_NEEDY, 1)
        crowded.wait_until(lambda: bool(crowded.one(_WAIT)), 60, "tasks waited for the pool")
        took_s = {plain: 0.0, crowded: 0.0}
        cpu = crowded.cpu()
        for number in range(sizes.dependents_rounds):
            for cluster in (plain, crowded) if number % 2 else (crowded, plain):
                if not crowded.one(_WAIT):
                    crowded.start(_NEEDY, 1)
                took_s[cluster] += run_round(cluster, sizes.dependents_workflows)
        used = cpu.used()
        tasks = sizes.dependents_rounds * sizes.dependents_workflows * _WIDTH
        without, beside = tasks / took_s[plain], tasks / took_s[crowded]
        how = f"{tasks:,} tasks in {sizes.dependents_rounds} rounds; cores: {cores_told(used)}"
    what = f"FAKE tasks beside {_NEED} that wait for a pool of {_SIZE}"
    return [
        Figure("pools_none_per_s", PART, "FAKE tasks, 10 in parallel, without pools", without, "/s"),
        Figure("pools_per_s", PART, what, beside, "/s", how=how),
        Figure("ratio_pools", PART, f"{what} / without", beside / without, "x", Target(0.95, "higher")),
    ]
