"""Commands → runs: how fast two masters start workflows, and whether a long queue slows them down."""

from __future__ import annotations

from bench.cluster import Cluster, fake
from bench.cpu import work_told
from bench.figures import Figure, Target
from bench.server import BenchServer
from bench.sizes import Sizes

PART = "Starting workflows: two masters, no worker"
_MASTERS = 2
_ONE_TASK = 1001
_MEASURED = """
    SELECT count(*), extract(epoch FROM max(handled_at) - %(asked_at)s)::float8,
           count(*) FILTER (WHERE command_id %% slot_total <> slot_current)
    FROM (SELECT * FROM command_history ORDER BY handled_at LIMIT %(measured)s) AS first_ones
"""


def started(server: BenchServer, sizes: Sizes) -> list[Figure]:
    """Commands of a workflow with one task, inserted by one statement while two masters wait, until all are started.

    Started = the command is deleted, and run, history and the queued first task are written; no worker takes the task.
    Commands a second from the last command's `created_at` (they become visible at the COMMIT just after it) to the last
    `command_history.handled_at`: this includes the wake of the masters and the growth of their batches.
    """
    per_s, how, details = rate(server, "starts", sizes.start_commands, sizes.start_commands)
    how = f"{sizes.start_commands:,} commands, {how}"
    what = "commands → instances started"
    return [Figure("started_per_s", PART, what, per_s, "/s", Target(8_000, "higher"), how, details)]


def backlog(server: BenchServer, sizes: Sizes) -> list[Figure]:
    """The same rate over the first 40,000 commands, with 1,000,000 of them waiting.

    All of them have waited longer than `steal_after` when they become visible, since writing them takes that long: so
    this also measures the case in which masters steal each other's commands.
    """
    per_s, how, details = rate(server, "backlog", sizes.backlog_commands, sizes.start_commands)
    how = f"rate over the first {sizes.start_commands:,}, {how}"
    what = f"the same with {sizes.backlog_commands:,} waiting"
    return [Figure("started_backlog_per_s", PART, what, per_s, "/s", how=how, details=details)]


def rate(
    server: BenchServer, name: str, waiting: int, measured: int, masters: int = _MASTERS
) -> tuple[float, str, dict[str, object]]:
    """Starts a second over the first `measured` of `waiting` commands, the CPU use as text, and as values."""
    with Cluster(server, name, masters, 0) as cluster:
        cluster.define(_ONE_TASK, [fake("a")])
        with cluster.connection.transaction():  # afterwards the last row may be deleted already
            cluster.start(_ONE_TASK, waiting)
            asked_at = cluster.one("SELECT max(created_at) FROM command")
        cpu = cluster.cpu()
        cluster.wait_until_taken(measured, timeout_s=300)
        used = cpu.used()
        taken = cluster.one("SELECT last_value FROM workflow_instance_id_seq")
        cost = work_told(used, cpu.elapsed_s, taken, "command")
        cluster.wait_until(
            lambda: bool(cluster.one("SELECT count(*) >= %(n)s FROM command_history", n=measured)),
            30,
            "the last batch was committed",
        )
        count, took_s, by_age = cluster.row(_MEASURED, asked_at=asked_at, measured=measured)
        how = f"{by_age:,} taken by age; {cost}"
        return count / took_s, how, {"cores": used, "by_age": by_age}
