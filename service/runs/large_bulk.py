"""Changes of more runs than one transaction takes: how one begins, and how its next part is done, by any process.

Progress stands in its row, never in memory. A part is one transaction with its commands, its audit rows and the
progress, so that a process that is killed has done a part or has not.
"""

from __future__ import annotations

from collections.abc import Sequence

from dao.accounts import audit
from dao.accounts.audit import AuditEntry
from dao.commands import bulk_operations, commands
from dao.commands.bulk_operations import Asker, BulkOperation, BulkState, NewOperation
from dao.commands.commands import NewCommand
from dao.postgres.database import Database
from dao.postgres.pool import AsyncConnection
from dao.run_lists.wanted_runs import WantedRuns
from dao.runs import bulk
from dao.runs.bulk import RunState
from model.errors import ShoalError, Unavailable
from model.runs.bulk import COMMAND_OF, BulkAction
from model.runs.command_moves import COMMAND_MOVES, REVIVING
from service.callers import Caller
from service.projects.limits import refused_reruns
from service.runs.audited_runs import subjects_of

PART_MAX = 1_000
"""Runs of one part."""
READ_MAX = 100_000
"""Ids of runs among which one part searches: where few of many match, a part must end too."""
OPERATION = "operation"


async def begin(
    connection: AsyncConnection, caller: Caller, action: BulkAction, wanted: WantedRuns, first: int, total: int
) -> int:
    """Insert an operation, which goes on in parts, and return its id.

    Args:
        connection: the transaction in which it is inserted.
        caller: the account or token that calls.
        action: what is done with each run.
        wanted: which runs are meant.
        first: the id of the first one.
        total: how many there are.
    """
    asker = Asker(caller.kind, caller.name, caller.account, caller.address, caller.request_id)
    last = await bulk_operations.last_run(connection)
    return await bulk_operations.insert(connection, NewOperation(action, wanted, total, first - 1, last, asker))


async def do_part(database: Database) -> bool:
    """Do the next part of any operation that runs. Returns whether there was one.

    Raises:
        Unavailable: the part was not done; it can be tried again.
        Unknown: it is not known whether it was done; its row says so.
    """
    operation: BulkOperation | None = None
    try:
        async with database.writing() as connection:
            operation = await bulk_operations.lock_next(connection)
            if operation is not None:
                await _do(connection, operation)
    except Unavailable:
        raise
    except Exception as error:
        if operation is None:
            raise
        # Whatever it is, a repetition meets it again, and the next operations would wait for this one.
        said = str(error) if isinstance(error, ShoalError) else "an error of Shoal; the log of the API has it"
        await database.write(bulk_operations.end, operation.id, BulkState.FAILED, said)
        if not isinstance(error, ShoalError):
            raise
    return operation is not None


async def _do(connection: AsyncConnection, operation: BulkOperation) -> None:
    type_ = COMMAND_OF[operation.action]
    until = min(operation.done_to + READ_MAX, operation.last_run)
    found = await bulk.in_states(
        connection, operation.wanted, COMMAND_MOVES[type_], PART_MAX, after=operation.done_to, until=until
    )
    runs = found
    if type_ in REVIVING:
        refused = await refused_reruns(connection, [run.id for run in found])
        runs = [run for run in found if run.id not in refused]
    by = operation.asker.name
    await commands.insert_many(
        connection, [NewCommand(type_, workflow_instance_id=run.id, created_by=by) for run in runs]
    )
    await audit.insert(connection, _entries(operation, runs))
    done_to = found[-1].id if len(found) == PART_MAX else until
    await bulk_operations.advance(connection, operation.id, done_to, len(runs), len(found) - len(runs))


def _entries(operation: BulkOperation, runs: Sequence[RunState]) -> list[AuditEntry]:
    """The audit rows of a part: one for each project."""
    by = operation.asker
    caller = Caller(by.kind, by.name, by.account, address=by.address, request_id=by.request_id)
    said = {"action": operation.action, "operation": str(operation.id)}
    return [
        caller.entry("change_runs", each.kind, None, each.name, project=each.project, after={**said, **each.after})
        for each in subjects_of(runs)
    ]
