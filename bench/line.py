"""A serial workflow with a long line: the cost of a command, the speed of the line, the effect on other runs.

One master, one worker, FAKE tasks, which do nothing. Each figure is a ratio of two measurements: with the long line
over without it.
"""

from __future__ import annotations

import time

from bench.cluster import Cluster, fake
from bench.figures import Figure, Target
from bench.server import BenchServer
from bench.sizes import Sizes

PART = "A long line of one serial workflow: one master, one worker"
_SHORT, _LONG, _BESIDE = 1101, 1102, 1103
_WAITING = "SELECT count(*) FROM workflow_instance WHERE workflow_code = %(code)s AND state = 'SERIAL_WAIT'"
_HOLD = """
    INSERT INTO command (type, workflow_code, worker_group) VALUES ('START_PROCESS', %(code)s, 'nobody') RETURNING id
"""
_LET_GO = """
    INSERT INTO command (type, workflow_instance_id)
    SELECT 'STOP', id FROM workflow_instance WHERE workflow_code = %(code)s AND state = 'RUNNING_EXECUTION' RETURNING id
"""
# None of these queries reads a whole long line.
_ALL_TAKEN = "SELECT NOT EXISTS (SELECT FROM command WHERE id <= %(id)s)"
_ALL_ENDED = """
    SELECT NOT EXISTS (SELECT FROM command WHERE id <= %(id)s) AND NOT EXISTS
           (SELECT FROM workflow_instance WHERE workflow_code = %(code)s
              AND (state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP', 'SERIAL_WAIT')) IS NOT TRUE)
"""
_NEXT = """
    SELECT id FROM workflow_instance WHERE workflow_code = %(code)s AND state = 'SERIAL_WAIT'
    ORDER BY id LIMIT %(count)s
"""
_HAS_ENDED = "SELECT ended_at IS NOT NULL FROM workflow_instance WHERE id = %(id)s"
_HOLD = """
    INSERT INTO command (type, workflow_code, worker_group) VALUES ('START_PROCESS', %(code)s, 'nobody') RETURNING id
"""
_LET_GO = """
    INSERT INTO command (type, workflow_instance_id)
    SELECT 'STOP', id FROM workflow_instance WHERE workflow_code = %(code)s AND state = 'RUNNING_EXECUTION' RETURNING id
"""
_ENDED = "SELECT count(*) FROM workflow_instance WHERE workflow_code = %(code)s AND ended_at IS NOT NULL"


def long_line(server: BenchServer, sizes: Sizes) -> list[Figure]:
    """A line of a few runs, then one of `line_length`.

    Its first run waits for a worker that never starts, and is stopped when the line is to move.
    """
    with Cluster(server, "line", masters=1, workers=1) as cluster:
        for code in (_SHORT, _LONG):
            cluster.define(code, [fake("a")], execution_type="SERIAL_WAIT")
        cluster.define(_BESIDE, [fake("a")])
        _beside(cluster, sizes)  # one-time costs are not part of the measurement
        beside = _beside(cluster, sizes)
        for code in (_SHORT, _LONG):
            cluster.rows(_HOLD, code=code)
        joins = _joins(cluster, _SHORT, sizes.line_steps)
        moves = _moves(cluster, _SHORT, sizes.line_steps)
        _joins(cluster, _LONG, sizes.line_length)
        joins_long = _joins(cluster, _LONG, sizes.line_steps)
        beside_long = _beside(cluster, sizes)
        moves_long = _moves(cluster, _LONG, sizes.line_steps)
        beside_moving = _beside(cluster, sizes)
    length = sizes.line_length
    return [
        _ratio("line_joins", "commands into the line", joins_long, joins, Target(0.9, "higher"), length),
        _ratio("line_moves", "runs of the line", moves_long, moves, Target(0.9, "higher"), length),
        _ratio("line_beside", "ordinary runs beside it", beside_long, beside, Target(0.9, "higher"), length),
        _ratio("line_beside_moving", "ordinary runs while it moves", beside_moving, beside, None, length),
    ]


def _ratio(key: str, what: str, long: float, short: float, target: Target | None, length: int) -> Figure:
    how = f"{long:,.0f}/s with {length:,} in line, {short:,.0f}/s without"
    return Figure(f"ratio_{key}", PART, f"{what}: with a long line / without", long / short, "x", target, how)


def _beside(cluster: Cluster, sizes: Sizes) -> float:
    """Ordinary runs a second, from their commands to their ends."""
    began_s = time.monotonic()
    _, last = cluster.start(_BESIDE, sizes.line_beside)
    cluster.wait_until(
        lambda: bool(cluster.one(_ALL_ENDED, id=last, code=_BESIDE)), 300, "the runs beside it ended", 0.02
    )
    return sizes.line_beside / (time.monotonic() - began_s)


def _joins(cluster: Cluster, code: int, count: int) -> float:
    """Commands a second that add runs to a line."""
    began_s = time.monotonic()
    _, last = cluster.start(code, count)
    cluster.wait_until(lambda: bool(cluster.one(_ALL_TAKEN, id=last)), 600, "all stood in line", 0.02)
    return count / (time.monotonic() - began_s)


def _moves(cluster: Cluster, code: int, count: int) -> float:
    """Runs of a line a second, once its first one is stopped; each begins when the previous one has ended."""
    *_, (last,) = cluster.rows(_NEXT, code=code, count=count)
    began_s = time.monotonic()
    cluster.rows(_LET_GO, code=code)
    cluster.wait_until(lambda: bool(cluster.one(_HAS_ENDED, id=last)), 300, "the line had moved on", 0.02)
    return count / (time.monotonic() - began_s)
