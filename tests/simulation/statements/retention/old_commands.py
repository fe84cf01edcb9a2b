"""The statements of `dao/retention/old_commands.py`."""

from __future__ import annotations

from dao.retention.old_commands import DeletedCommands
from tests.simulation.statements.retention.old_runs import KEPT_S, READ_MAX, delete_history, is_over
from tests.simulation.tables import Transaction


def delete(tx: Transaction, after: int, kept_days: int) -> DeletedCommands:
    """Commands that no longer have a run, or never had one."""
    horizon_s, server = tx.server.now_s - KEPT_S, tx.server
    walked = sorted(((row.id, row, each) for row, each in tx.scan(server.history.rows) if row.id > after), key=_by_id)
    walked = walked[:READ_MAX]
    made_by = {each.command_id for _, each in tx.scan(server.instances.rows)}
    old = [
        row
        for _, row, each in walked
        if (each.handled_s < horizon_s or each.instance is not None)
        and (each.instance is None or tx.get(server.instances, each.instance) is None)
        and row.id not in made_by
    ]
    ends = len(walked) < READ_MAX or is_over([each.handled_s for _, _, each in walked], server.now_s)
    return DeletedCommands(delete_history(tx, old), max((row.id for _, row, _ in walked), default=after), ends)


def _by_id(walked: tuple[int, object, object]) -> int:
    return walked[0]
