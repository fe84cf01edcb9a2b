"""What each duty does in one step. A step is short, and part of the transaction that records it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from dao.alerts import alerts
from dao.checks import table_checks
from dao.cluster import drains, gone_nodes, slot_changes
from dao.cluster.node_rows import NodeRow
from dao.commands import queue_listings
from dao.commands.queue_listings import GroupQueue
from dao.definitions import files
from dao.duties import duties, queue_statistics
from dao.duties.queue_statistics import LAG, VACUUMED, TableState
from dao.pools import pool_leases, pool_line_repair
from dao.postgres.database import FencedTransaction
from master.duties import alert_rules, retention, standing_queues
from model.cluster.duties import DutyName, Step
from model.cluster.nodes import NodeKind

BATCH = 500
NODES_KEPT = timedelta(days=30)
SLOT_CHANGES_KEPT = timedelta(hours=24)
HISTORY_KEPT = timedelta(days=3)
ALERTS_KEPT = timedelta(days=90)
CONTENTS_KEPT = timedelta(days=1)
SHOWN_MAX = 3
"""How many findings of a check its result names."""


@dataclass(frozen=True, slots=True)
class Context:
    """What steps need to know.

    Args:
        failed_over_after: the time within which living nodes have done each failover.
        kept_days: how long ended runs are kept in projects without a setting; 0 = forever.
        living: the living nodes, by this master's last beat.
    """

    failed_over_after: timedelta
    kept_days: int
    living: Callable[[], Sequence[NodeRow]]


DoStep = Callable[[FencedTransaction, Context, Mapping[str, Any]], Awaitable[Step]]


def deleting(
    delete: Callable[[FencedTransaction, timedelta, int], Awaitable[int]], kept: timedelta, what: str
) -> DoStep:
    """A duty that deletes old rows, in batches."""

    async def do(connection: FencedTransaction, _context: Context, progress: Mapping[str, Any]) -> Step:
        deleted = await delete(connection, kept, BATCH)
        total = counted(progress, "deleted") + deleted
        return Step(f"deleted {total} {what}", is_over=deleted < BATCH, progress={"deleted": total})

    return do


def counted(progress: Mapping[str, Any], name: str) -> int:
    """A number that an earlier step counted; 0 if there is none."""
    count = progress.get(name)
    return count if isinstance(count, int) and not isinstance(count, bool) else 0


async def check_left_work(connection: FencedTransaction, context: Context, _progress: Mapping[str, Any]) -> Step:
    """Check for overdue failovers of runs or tasks: masters normally do them within seconds."""
    values = {"failed_over_after": context.failed_over_after}
    finds = [await table_checks.find(connection, check, values) for check in table_checks.OF_LOST_NODES]
    count = sum(each.count for each in finds)
    if not count:
        return Step("no failover is overdue")
    return _found(count, "overdue failovers", [what for each in finds for what in each.shown])


async def check_worker_groups(connection: FencedTransaction, context: Context, _progress: Mapping[str, Any]) -> Step:
    """Check for tasks that wait for a group without a living worker, or for a queue or pool that stands."""
    without = await _groups_without_workers(connection, context)
    stands = await standing_queues.check(connection, without)
    if not without and not stands:
        return Step("each group with waiting tasks has a worker")
    if not without:
        return _found(len(stands), "queues and pools that stand", stands)
    shown = [f'group "{each.worker_group}": {each.waiting} waiting' for each in without]
    return _found(len(without), "worker groups without a worker", [*shown, *stands])


async def _groups_without_workers(connection: FencedTransaction, context: Context) -> list[GroupQueue]:
    """Worker groups with waiting tasks that no living worker serves, by name."""
    workers = [node.heartbeat for node in context.living() if node.kind is NodeKind.WORKER]
    served = {group for heartbeat in workers if heartbeat is not None for group in heartbeat.groups}
    queues = await queue_listings.queue_by_group(connection)
    return [each for each in queues if each.waiting and each.worker_group not in served]


def _found(count: int, what: str, shown: list[str]) -> Step:
    more = f" and {count - SHOWN_MAX} more" if count > SHOWN_MAX else ""
    return Step(f"{what}: {count}; {'; '.join(shown[:SHOWN_MAX])}{more}", is_fine=False)


async def maintain_queues(connection: FencedTransaction, _context: Context, progress: Mapping[str, Any]) -> Step:
    """Collect statistics and remove dead rows where autovacuum lags behind, as far as this user may."""
    done = list(map(str, given)) if isinstance(given := progress.get("done"), list) else []
    tables = await queue_statistics.read(connection)
    stale = [table for table in tables if table.stale > LAG]
    for table in stale:
        if table.may_maintain:
            await queue_statistics.analyze(connection, table.name)
            done.append(f"analyzed {table.name}")
    vacuum = [each for each in tables if each.dead > LAG and each.name in VACUUMED and each.may_maintain]
    if vacuum and not progress:
        done += (f"vacuumed {each.name}" for each in vacuum)
        return Step("", is_over=False, progress={"done": done}, vacuum=[each.name for each in vacuum])
    left = [_advice(each) for each in tables if _lags(each)]
    if left:
        return Step("; ".join([*done, *left]), is_fine=False)
    return Step("; ".join(done) or "autovacuum keeps up")


def _lags(table: TableState) -> bool:
    return table.dead > LAG or (table.stale > LAG and not table.may_maintain)


def _advice(table: TableState) -> str:
    why = (
        "" if table.may_maintain else ", and masters log in as a user who may not vacuum it (docs/internals/duties.md)"
    )
    return f"autovacuum lags behind at {table.name}: {table.dead_rows} dead rows{why}; run VACUUM ANALYZE {table.name}"


async def delete_what_is_over(connection: FencedTransaction, context: Context, progress: Mapping[str, Any]) -> Step:
    """Delete what has exceeded its retention."""
    return await retention.delete_old(connection, context.kept_days, progress)


async def keep_up_pools(connection: FencedTransaction, _context: Context, progress: Mapping[str, Any]) -> Step:
    """Free the resources that nobody uses, and repair the lines of pools: needed only after changes by hand."""
    total = {name: counted(progress, name) for name in ("freed", "left", "joined", "lines")}
    if not total["lines"]:  # in a separate step: lines may be so long that reading them fails
        freed = await pool_leases.free_left(connection, BATCH)
        total |= {"freed": total["freed"] + freed, "lines": int(freed < BATCH)}
        return Step("resources of pools are as they should be", is_over=False, progress=total)
    left = await pool_line_repair.leave_lines(connection, BATCH)
    joined = await pool_line_repair.join_lines(connection, BATCH)
    total |= {"left": total["left"] + left, "joined": total["joined"] + joined}
    is_over = max(left, joined) < BATCH
    if is_over and not any(total[name] for name in ("freed", "left", "joined")):
        return Step("resources and lines of pools are as they should be")
    result = (
        f"freed {total['freed']} resources that nobody used, deleted {total['left']} places in lines without a task, "
        f"and gave {total['joined']} tasks a place"
    )
    return Step(result, is_over=is_over, progress=total)


async def apply_alert_rules(connection: FencedTransaction, _context: Context, progress: Mapping[str, Any]) -> Step:
    """Write the alerts of rules, of tasks that take too long and of refused commands."""
    return await alert_rules.apply_rules(connection, progress)


_delete_nodes = deleting(gone_nodes.delete_ended, NODES_KEPT, "nodes that ended long ago")


async def delete_ended_nodes(connection: FencedTransaction, context: Context, progress: Mapping[str, Any]) -> Step:
    """Delete the rows of nodes that ended long ago, and the drains of names that no node has had since."""
    await drains.delete_unused(connection, NODES_KEPT)
    return await _delete_nodes(connection, context, progress)


STEPS: Mapping[DutyName, DoStep] = {
    DutyName.ALERT_RULES: apply_alert_rules,
    DutyName.ALERT_HISTORY: deleting(alerts.delete_old, ALERTS_KEPT, "old alerts"),
    DutyName.LEFT_WORK: check_left_work,
    DutyName.WORKER_GROUPS: check_worker_groups,
    DutyName.POOL_UPKEEP: keep_up_pools,
    DutyName.QUEUE_STATISTICS: maintain_queues,
    DutyName.RETENTION: delete_what_is_over,
    DutyName.ENDED_NODES: delete_ended_nodes,
    DutyName.FILE_CONTENTS: deleting(files.delete_unnamed, CONTENTS_KEPT, "contents of files that nothing names"),
    DutyName.SLOT_HISTORY: deleting(slot_changes.delete_old, SLOT_CHANGES_KEPT, "old changes of slots"),
    DutyName.DUTY_HISTORY: deleting(duties.delete_old, HISTORY_KEPT, "old rows of duties"),
}
"""Duty -> its step."""
