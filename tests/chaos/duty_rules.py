"""Duties under faults: once a period, one after the other, and at the end they are done again."""

from __future__ import annotations

from collections.abc import Iterator

from model.cluster.duties import DutyName
from tests.cluster.cluster import Cluster

EVERY_S = 5.0
"""The period of all duties in a chaos test."""
FASTER = f"UPDATE duty SET every_s = {EVERY_S}, due_at = clock_timestamp()"
_OUT_OF_STEP = """
    SELECT name, due_at, next_due FROM (
        SELECT name, due_at, lead(due_at) OVER (PARTITION BY name ORDER BY due_at) AS next_due,
               row_number() OVER (PARTITION BY name ORDER BY due_at) AS number
        FROM duty_done) AS d
    WHERE number > 1 AND abs(extract(epoch FROM next_due - due_at) / %s
                             - round(extract(epoch FROM next_due - due_at) / %s)) > 0.001
"""
_OVERLAP = """
    SELECT name, ended_at, next_began FROM (
        SELECT name, ended_at, lead(began_at) OVER (PARTITION BY name ORDER BY due_at) AS next_began
        FROM duty_done) AS d
    WHERE next_began < ended_at
"""
# Nobody takes the one of alerts while there is nothing to alert of.
_LEFT = f"""
    SELECT name, due_at, failures, error FROM duty
    WHERE failures > 0 OR (due_at < clock_timestamp() - interval '10 s'
                           AND (name <> '{DutyName.ALERT_RULES}' OR EXISTS (
                               SELECT FROM alerts_waiting() AS a
                               WHERE a.ends OR a.rules OR a.refused OR a.late_tasks OR a.lost_nodes)))
"""


def broken(cluster: Cluster) -> Iterator[str]:
    """The faults of the duties that were done; the primary key ensures that no period occurs twice."""
    for name, due_at, next_due in cluster.rows(_OUT_OF_STEP, EVERY_S, EVERY_S):
        yield f"the periods of {name} are out of step: {due_at}, {next_due}"
    for name, ended_at, next_began in cluster.rows(_OVERLAP):
        yield f"{name} began at {next_began}, before the period before it ended at {ended_at}"
    for name, due_at, failures, error in cluster.rows(_LEFT):
        yield f"{name} is due since {due_at}, and failed {failures} times: {error}"
