"""Sustained load: a minute at full load, and how much the hot statements then read to find that nothing waits.

PostgreSQL stores deleted rows and index entries until VACUUM; a queue that uses DELETE can be slowed down by rows that
are no longer in it.
"""

from __future__ import annotations

import time

from bench.cluster import Cluster
from bench.cpu import cores_told
from bench.figures import Figure
from bench.sizes import Sizes

PART = "Under lasting load: one master, one worker"
_WORKFLOW = 1002  # ten tasks in parallel, see bench/flow.py
_UNFINISHED = 1_500
_WINDOWS = 6
_PER_WINDOW = """
    SELECT width_bucket(extract(epoch FROM t.ended_at - %(began)s)::float8, 0, %(seconds)s, %(windows)s) AS part,
           count(*)
    FROM task_instance t
    WHERE t.ended_at >= %(began)s AND t.ended_at < %(began)s + make_interval(secs => %(seconds)s)
    GROUP BY 1 ORDER BY 1
"""


def sustained(cluster: Cluster, sizes: Sizes) -> list[Figure]:
    """A minute with always 1,500 workflows of 10 FAKE tasks unfinished: tasks a second, and those of each 10 seconds.

    The second figure is the rate of the last window in per cent of that of the first full one.
    """
    began = cluster.one("SELECT clock_timestamp()")
    cpu = cluster.cpu()
    deadline = time.monotonic() + sizes.sustained_s
    while time.monotonic() < deadline:
        unfinished = cluster.one(
            """SELECT (SELECT count(*) FROM command)
                    + (SELECT count(*) FROM workflow_instance WHERE ended_at IS NULL)"""
        )
        if unfinished < _UNFINISHED:
            cluster.start(_WORKFLOW, _UNFINISHED - unfinished)
        time.sleep(0.1)
    used = cpu.used()
    cluster.wait_until_all_ended(120)
    rows = cluster.rows(_PER_WINDOW, began=began, seconds=sizes.sustained_s, windows=_WINDOWS)
    window_s = sizes.sustained_s / _WINDOWS
    rates = [round(count / window_s) for _, count in rows]
    # The first window begins with an idle cluster, so the second is the first full one.
    kept = 100 * rates[-1] / rates[1]
    told = ", ".join(f"{rate:,}" for rate in rates)
    how = f"{sizes.sustained_s} s; tasks/s in each {window_s:g} s: {told}; cores: {cores_told(used)}"
    mean = sum(rates) / len(rates)
    return [
        Figure("sustained_tasks_per_s", PART, "FAKE tasks end to end", mean, "/s", None, how, {"rates": rates}),
        Figure("sustained_kept_percent", PART, "rate of the last window, of the second's", kept, "%"),
    ]  # fmt: skip
