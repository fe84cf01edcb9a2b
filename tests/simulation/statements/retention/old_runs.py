"""The statements of `dao/retention/old_runs.py`. Ended runs are kept for `KEPT_S`, and few are read at a time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta

from dao.retention.old_runs import Deleted, OldRuns
from model.ids import WorkflowCode, WorkflowInstanceId
from model.runs.command_moves import CommandType
from model.runs.retention_pace import ROWS_MAX
from tests.simulation.server import EPOCH
from tests.simulation.tables import Row, Transaction, Values

KEPT_S = 10.0
"""Longer than a worker that is cut off may run what others have ended."""
HISTORY_KEPT_S = 5.0
"""What was handled more recently is not deleted, and neither is its run."""
READ_MAX = 4
_STARTS = (
    *(CommandType.START_PROCESS, CommandType.SCHEDULER, CommandType.COMPLEMENT_DATA),
    CommandType.START_CURRENT_TASK_PROCESS,
)


def find(
    tx: Transaction,
    after: int,
    kept_days: int,
    named: Collection[WorkflowCode],
    waited: Collection[WorkflowCode],
    attempts_max: int,
) -> OldRuns:
    del attempts_max  # the few runs that are read at a time have few attempts
    horizon_s = tx.server.now_s - KEPT_S
    walked = sorted((row.id, each) for row, each in tx.scan(tx.server.instances.rows) if row.id > after)[:READ_MAX]
    asked = {command.row.workflow_instance_id for _, command in tx.scan(tx.server.commands.rows)}
    old = [
        (WorkflowInstanceId(id_), each)
        for id_, each in walked
        if str(id_) not in asked
        and each.state.is_final
        and each.ended_s < horizon_s
        and not {each.workflow_code} & {*named, *waited}
        if not tx.server.protections.family or not (_has_parent(tx, each) or unfinished_below(tx, id_))
    ]
    return OldRuns(
        [id_ for id_, _ in old],
        [_moment(each) for _, each in old],
        max((id_ for id_, _ in walked), default=after),
        len(walked) < READ_MAX or is_over([each.started_s for _, each in walked], tx.server.now_s),
    )


def is_over(times_s: Sequence[float], now_s: float) -> bool:
    """Whether what follows these, by id, is not old enough either: times in the future say nothing."""
    past_s = [time_s for time_s in times_s if time_s <= now_s]
    return bool(past_s) and min(past_s) >= now_s - KEPT_S


def _moment(run: Values) -> str:
    return (EPOCH + timedelta(seconds=run.ended_s)).isoformat()


def _has_parent(tx: Transaction, run: Values) -> bool:
    return run.parent is not None and tx.get(tx.server.instances, run.parent.instance) is not None


def unfinished_below(tx: Transaction, run: int) -> bool:
    """Whether a run below this one, however far, has not ended."""
    below = {run}
    runs = [(row.id, each) for row, each in tx.scan(tx.server.instances.rows) if each.parent is not None]
    while more := {id_ for id_, each in runs if each.parent.instance in below} - below:
        below |= more
    return any(id_ in below and not each.state.is_final for id_, each in runs)


def left_over(_: Transaction, after: int) -> None:
    """None: no run has so many attempts."""


def delete(tx: Transaction, old: OldRuns, rows_max: int = ROWS_MAX) -> Deleted:
    """FOR UPDATE SKIP LOCKED of those whose end is still the same."""
    del rows_max
    going = [
        row
        for id_, ended_at in zip(old.ids, old.ended_at, strict=True)
        if (row := tx.server.instances.rows.get(id_)) is not None
        and (run := tx.see(row)) is not None
        and ((run.state.is_final and _moment(run) == ended_at) or not tx.server.protections.continued)
        and tx.try_lock(row)
    ]
    ids = {row.id for row in going}
    attempts = [row for id_ in ids for row, _ in tx.of_key(tx.server.tasks, id_)]
    events = [row for row, each in tx.scan(tx.server.events.rows) if each.workflow_instance_id in ids]
    commands = {run.command_id for row in going if (run := tx.see(row)) is not None}
    history = [
        row
        for row, each in tx.scan(tx.server.history.rows)
        if row.id in commands or (each.instance in ids and each.type not in _STARTS)
    ]
    delete_history(tx, history)  # it sees the runs that are going
    for row in (*attempts, *events, *going):
        tx.delete(row)
    return Deleted(len(going), len(attempts), 0.0)


def delete_history(tx: Transaction, rows: Sequence[Row]) -> int:
    """Delete old history below the first waiting command and the newest run's, except the newest; raises the floor."""
    waiting = min((row.id for row, _ in tx.scan(tx.server.commands.rows)), default=2**63 - 1)
    newest = max((row.id for row, _ in tx.scan(tx.server.history.rows)), default=0)
    last = max(((row.id, each.command_id) for row, each in tx.scan(tx.server.instances.rows)), default=None)
    top = min(waiting, newest, 2**63 - 1 if last is None else last[1])
    horizon_s = tx.server.now_s - HISTORY_KEPT_S
    may_go = [row for row in rows if row.id < top and (each := tx.see(row)) is not None and each.handled_s < horizon_s]
    if may_go:
        highest = max(row.id for row in may_go)
        floor = tx.server.floor.rows.get(1)
        if floor is None:
            tx.insert(tx.server.floor, 1, Values(command_id=highest))
        else:
            tx.lock(floor)
            before = tx.see(floor)
            tx.update(floor, command_id=max(highest, before.command_id if before else 0))
    for row in may_go:
        tx.delete(row)
    return len(may_go)
