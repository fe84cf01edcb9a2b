"""The operations about large bulk changes: how far one has come, stopping it, and letting it go on."""

from __future__ import annotations

from dao.commands import bulk_operations
from dao.commands.bulk_operations import BulkOperation, BulkState
from model.accounts.rights import Right
from model.errors import NotFound
from service.call import Call, Subject
from service.fields import Answer, Id
from service.operation import operation
from service.runs.large_bulk import OPERATION

TAG = "operations"


class OperationAnswer(Answer, BulkOperation, without={"wanted", "done_to", "last_run", "asker"}):
    """A change of many runs, done in parts by any API process.

    `total` runs were to be changed when it began. `asked` commands were inserted since; `refused` runs were left out,
    since their project may not use what they need. Runs whose state changed before their turn are in neither.
    `updated_at` and `idle_s` say when the last part was done: an operation that is RUNNING goes on within seconds as
    long as an API lives. One that is FAILED has a `problem`; it can be resumed, as one that is STOPPED.
    """

    id: Id
    by: str

    @property
    def is_done(self) -> bool:
        """Whether all was asked for."""
        return self.state is BulkState.DONE

    @classmethod
    def of(cls, found: BulkOperation) -> OperationAnswer:
        return cls.showing(found, by=found.asker.name)


@operation("GET", "/operations/{id}", Right.VIEW, TAG)
async def get_operation(call: Call, id: Id) -> OperationAnswer:
    """Show how far a large bulk change has come."""
    return OperationAnswer.of(await _find(call, id))


@operation("POST", "/operations/{id}/stop", Right.OPERATE, TAG)
async def stop_operation(call: Call, id: Id) -> OperationAnswer:
    """Stop a large bulk change: what was asked for stays, the other runs are left as they are."""
    found = await _find(call, id)
    async with call.changing(*_subjects(found)) as change:
        await bulk_operations.end(change.connection, id, BulkState.STOPPED)
        change.before, change.after = {"state": found.state}, {"state": BulkState.STOPPED}
        change.answer = OperationAnswer.of(await bulk_operations.find(change.connection, id))
    return change.answered(OperationAnswer)


@operation("POST", "/operations/{id}/resume", Right.OPERATE, TAG, status=202)
async def resume_operation(call: Call, id: Id) -> OperationAnswer:
    """Let a large bulk change go on that was stopped or failed, from where it had come."""
    found = await _find(call, id)
    async with call.changing(*_subjects(found)) as change:
        await bulk_operations.resume(change.connection, id)
        change.before, change.after = {"state": found.state}, {"state": BulkState.RUNNING}
        change.answer = OperationAnswer.of(await bulk_operations.find(change.connection, id))
    if call.backend.large_bulk is not None:
        call.backend.large_bulk.set()
    return change.answered(OperationAnswer)


async def _find(call: Call, id_: int) -> BulkOperation:
    """An operation, all of whose projects the caller has the right on. Raises `NotFound`, `Forbidden`."""
    found = await call.read(bulk_operations.find, id_)
    for subject in _subjects(found):
        call.permit(subject.project)
    if not _subjects(found):
        raise NotFound(f"there is no operation {id_}")
    return found


def _subjects(found: BulkOperation) -> list[Subject]:
    """One for each project whose runs it may change; None stands for all."""
    wanted = found.wanted
    projects = [wanted.project] if wanted.project is not None else wanted.visible
    return [Subject(OPERATION, found.id, project) for project in ([None] if projects is None else projects)]
